package java.lang;

import static java.lang.JFluid1Client.*;
import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Stack.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Calling context trees of threads, in the session's buffer: where calls or bytecodes are counted, a call adds to a record, and nothing is
 * told of it (tree-layout.ts). Events tell of roots that begin and end outside of others. A record is written by one thread; the client
 * reads it at any time. Who needs a block when there is none waits until the client has made more.
 *
 * A record is found by its index, counted from the first block in records. Index 0 is the head of the first block, which no
 * record has: it stands for none, and what a method's id would be there is 0.
 */
public final class JFluid1Trees {
    private JFluid1Trees() {}

    private static final Unsafe U = Unsafe.getUnsafe();
    /** Room in the buffer for all blocks that there may be. */
    public static final long BYTES = MOST_BLOCKS * 4L + MOST_BLOCKS * (long) BLOCK_BYTES;
    /** The id of the record that a thread's roots are below. */
    private static final int TOP = -1;

    /** While there will be no more blocks, threads do not look for one again before so much time has passed. */
    private static final long FULL_NANOS = 1_000_000;

    /**
     * Where a session's blocks are. A thread keeps what it has found in its ThreadInfo: one that stays in a probe when its session
     * ends goes on in the buffer of that one, which is kept for it, whatever the next session has.
     */
    static final class Area {
        final long blocks;
        final long states;
        /** Where it is said how many there are: an int, which grows, and is negative once there will be no more. */
        final long count;
        int claimHint;
        /** A System.nanoTime(). */
        long fullUntil = System.nanoTime();

        Area(long states, long count) {
            this.states = states;
            this.count = count;
            blocks = states + MOST_BLOCKS * 4L;
        }
    }

    /** Null in a session without trees. */
    private static Area area;

    /**
     * @param at where the states of blocks are; 0 for a session without trees
     * @param countAt where it is said how many blocks there are
     */
    static void begin(long at, long countAt) {
        area = at == 0 ? null : new Area(at, countAt);
    }

    /** No thread is in a probe. */
    static void end() {
        area = null;
    }

    static boolean on() {
        return area != null;
    }

    /**
     * A method is called. It mostly is the one that was called last from there, or the one that was called after that before: callees
     * stand in a ring, in the order in which they came.
     *
     * @param record where the thread is
     */
    static void enter(ThreadInfo ti, long record, int id) {
        long blocks = ti.blocks;
        int child = U.getInt(null, record + RECORD_CHILD);
        long callee = at(blocks, child);
        if (U.getInt(null, callee + RECORD_METHOD) != id) {
            child = U.getInt(null, callee + RECORD_SIBLING);
            callee = at(blocks, child);
            if (U.getInt(null, callee + RECORD_METHOD) == id) {
                U.putInt(null, record + RECORD_CHILD, child);
            } else {
                callee = childOf(ti, record, id);
                if (callee == 0) {
                    return;
                }
            }
        }
        U.putLong(null, callee + RECORD_CALLS, U.getLong(null, callee + RECORD_CALLS) + 1);
        ti.record = callee;
    }

    /**
     * Records the whole call of a method in which no other one begins. As {@link #enter}, but the thread stays where it is. That the code is
     * here once more keeps the stack of {@link #enter} as it is: what {@link #leave} needs is compared with that.
     */
    static void leaf(ThreadInfo ti, long record, int executed, int id) {
        long blocks = ti.blocks;
        int child = U.getInt(null, record + RECORD_CHILD);
        long callee = at(blocks, child);
        if (U.getInt(null, callee + RECORD_METHOD) != id) {
            child = U.getInt(null, callee + RECORD_SIBLING);
            callee = at(blocks, child);
            if (U.getInt(null, callee + RECORD_METHOD) == id) {
                U.putInt(null, record + RECORD_CHILD, child);
            } else {
                callee = childOf(ti, record, id);
                if (callee == 0) {
                    return;
                }
            }
        }
        U.putLong(null, callee + RECORD_CALLS, U.getLong(null, callee + RECORD_CALLS) + 1);
        if (executed != 0) { // a constant
            ti.executed += executed;
            U.putLong(null, callee + RECORD_EXECUTED, U.getLong(null, callee + RECORD_EXECUTED) + executed);
        }
    }

    /**
     * A method ends. One that was entered when nothing was recorded has no record.
     *
     * @param executed by this activation since it last said so, without its callees
     */
    static void leave(ThreadInfo ti, long here, int executed, int id) {
        // What has not told its end is left, too. No method of ours is called, as at the start of a method: see JFluid1Stack.
        long blocks = ti.blocks;
        while (U.getInt(null, here + RECORD_METHOD) != id) {
            int outer = U.getInt(null, here + RECORD_PARENT);
            if (outer == 0) {
                return;
            }
            here = blocks + ((long) outer << RECORD_SHIFT);
        }
        if (executed != 0) { // a constant where only calls are counted
            ti.executed += executed;
            U.putLong(null, here + RECORD_EXECUTED, U.getLong(null, here + RECORD_EXECUTED) + executed);
        }
        ti.record = blocks + ((long) U.getInt(null, here + RECORD_PARENT) << RECORD_SHIFT);
    }

    static void executed(long record, int executed) {
        U.putLong(null, record + RECORD_EXECUTED, U.getLong(null, record + RECORD_EXECUTED) + executed);
    }

    /** The thread is in a handler of a method: what that has called has ended. */
    static void resume(ThreadInfo ti, long here, int id) {
        while (U.getInt(null, here + RECORD_METHOD) != id) {
            int outer = U.getInt(null, here + RECORD_PARENT);
            if (outer == 0) {
                return;
            }
            here = at(ti.blocks, outer);
        }
        ti.record = here;
    }

    /**
     * A root is called from outside. There is room on the stack: the caller has made sure of it.
     *
     * @return whether the thread is inside now: there was room in the buffer
     */
    static boolean enterRoot(ThreadInfo ti, int id) {
        if (ti.area == null) {
            Area in = area;
            if (in == null || current() != ti) {
                return ti.active = false; // its session has ended while it waited for an answer
            }
            ti.area = in;
            ti.blocks = in.blocks;
        }
        ti.active = true; // until there is no block for it
        long top = ti.treeTop;
        if (top == 0) {
            top = ti.treeTop = add(ti, 0, TOP);
        }
        long root = top == 0 ? 0 : find(ti, top, id);
        if (top != 0 && root == 0) {
            root = addCallee(ti, top, id);
        }
        if (root == 0) {
            return ti.active = false;
        }
        U.putLong(null, root + RECORD_CALLS, U.getLong(null, root + RECORD_CALLS) + 1);
        ti.record = root;
        return true;
    }

    private static long at(long blocks, int index) {
        return blocks + ((long) index << RECORD_SHIFT);
    }

    private static int index(ThreadInfo ti, long record) {
        return (int) (record - ti.blocks >>> RECORD_SHIFT);
    }

    /**
     * The record of any other method. Without room for it the rest of the root call goes unrecorded.
     *
     * @return 0 without room
     */
    @DontInline
    private static long childOf(ThreadInfo ti, long record, int id) {
        long callee = find(ti, record, id);
        if (callee != 0) {
            return callee;
        }
        needsRoom();
        return addCallee(ti, record, id);
    }

    /** @return the record of a callee that has one, which is then the one that was called last; else 0 */
    private static long find(ThreadInfo ti, long record, int id) {
        int latest = U.getInt(null, record + RECORD_CHILD);
        int next = latest;
        while (next != 0) {
            long child = at(ti.blocks, next);
            if (U.getInt(null, child + RECORD_METHOD) == id) {
                U.putInt(null, record + RECORD_CHILD, next);
                return child;
            }
            next = U.getInt(null, child + RECORD_SIBLING);
            if (next == latest) {
                break;
            }
        }
        return 0;
    }

    private static long addCallee(ThreadInfo ti, long record, int id) {
        long child = add(ti, record, id);
        if (child == 0) {
            return 0;
        }
        int own = index(ti, child);
        int latest = U.getInt(null, record + RECORD_CHILD);
        if (latest == 0) {
            U.putInt(null, child + RECORD_SIBLING, own);
        } else {
            long beside = at(ti.blocks, latest) + RECORD_SIBLING;
            U.putInt(null, child + RECORD_SIBLING, U.getInt(null, beside));
            U.putInt(null, beside, own);
        }
        U.putInt(null, record + RECORD_CHILD, own);
        return child;
    }

    private static long add(ThreadInfo ti, long parent, int id) {
        if (ti.nextRecord >= ti.recordLimit && !claim(ti) && !awaitBlock(ti)) {
            return 0;
        }
        long record = ti.nextRecord;
        ti.nextRecord = record + RECORD_BYTES;
        U.putInt(null, record + RECORD_PARENT, parent == 0 ? 0 : index(ti, parent));
        U.putIntRelease(null, record + RECORD_METHOD, id);
        return record;
    }

    /**
     * The client looks at {@link JFluid1Layout#RING_STARVING} every few milliseconds. Without a block the thread is outside, and that is
     * a gap.
     */
    @ReservedStackAccess
    private static boolean awaitBlock(ThreadInfo ti) {
        // A caller may have set the guard and go on without it: it is what keeps an error in here from being told by probes.
        ti.active = false;
        ti.guard = true;
        boolean on = false;
        try {
            Area in = ti.area;
            if (in != null && U.getIntVolatile(null, in.count) >= 0) {
                U.getAndAddInt(null, ring + RING_STARVING, 1);
                Patience patience = new Patience(ANSWER_TIMEOUT_NANOS, false);
                waiting(1);
                try {
                    while (enabled && !on && U.getIntVolatile(null, in.count) >= 0 && !patience.isOver()) {
                        patience.pause();
                        on = claim(ti);
                    }
                } finally {
                    waiting(-1);
                    repay();
                }
            }
            if (!on) {
                gap();
            }
            ti.active = on && enabled;
        } catch (Throwable t) {
            gap();
            ti.guard = false;
            passOn(t);
        }
        ti.guard = false;
        return ti.active;
    }

    private static boolean claim(ThreadInfo ti) {
        Area in = ti.area;
        if (in == null) {
            return false;
        }
        int known = U.getIntVolatile(null, in.count);
        boolean mayBeFull = known < 0;
        if (mayBeFull && in.fullUntil - System.nanoTime() > 0) {
            return false;
        }
        int count = known & Integer.MAX_VALUE;
        int from = in.claimHint < count ? in.claimHint : 0;
        for (int i = 0; i < count; i++) {
            int b = from + i < count ? from + i : from + i - count;
            long state = in.states + b * 4L;
            if (U.getIntVolatile(null, state) == BLOCK_FREE
                    && U.compareAndSetInt(null, state, BLOCK_FREE, BLOCK_TAKEN)) {
                in.claimHint = b + 1;
                take(ti, b);
                return true;
            }
        }
        if (mayBeFull) {
            in.fullUntil = System.nanoTime() + FULL_NANOS;
        }
        return false;
    }

    private static void take(ThreadInfo ti, int b) {
        long block = ti.blocks + (long) b * BLOCK_BYTES;
        U.putInt(null, block + BLOCK_BEFORE, ti.latestBlock);
        ti.latestBlock = b + 1;
        ti.nextRecord = block + RECORD_BYTES;
        ti.recordLimit = block + BLOCK_BYTES;
        U.putIntRelease(null, block + BLOCK_THREAD, ti.number);
    }

    /** The thread has ended: the client may give its blocks to others. Agent's thread only. */
    static void forget(ThreadInfo ti) {
        int b = ti.latestBlock;
        ti.latestBlock = 0; // purge() may meet the same thread again
        while (b != 0) {
            // Once the block is over, the client may clear it.
            int before = U.getInt(null, ti.blocks + (b - 1L) * BLOCK_BYTES + BLOCK_BEFORE);
            U.putIntRelease(null, ti.area.states + (b - 1L) * 4L, BLOCK_OVER);
            b = before;
        }
    }
}
