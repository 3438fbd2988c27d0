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
 * Calling context trees of threads in the session's buffer. Where calls or bytecodes are counted, a call increments the record of its tree
 * node and writes no event (tree-layout.ts); only outermost root calls write events. Only one thread writes a record; the client may read
 * the record at any time. If a thread needs a block and no block is free, the thread waits until the client has added blocks.
 *
 * A record is identified by its index, counted in records from the first block. Index 0 is the header of the first block and means no
 * record; the method id at that address is 0.
 */
public final class JFluid1Trees {
    private JFluid1Trees() {}

    private static final Unsafe U = Unsafe.getUnsafe();
    /** Size of the buffer for the maximum number of blocks, bytes. */
    public static final long BYTES = MAX_BLOCKS * 4L + MAX_BLOCKS * (long) BLOCK_BYTES;
    /** Method id of the record above a thread's roots. */
    private static final int TOP = -1;

    /** Minimum time between two searches for a free block once the client adds no more blocks, ns. */
    private static final long FULL_RETRY_DELAY_NANOS = 1_000_000;

    /**
     * The blocks of one session. A thread keeps its Area in its ThreadInfo. A thread that is still in a probe when its session ends
     * continues to use the buffer of that session, which stays mapped for it.
     */
    static final class Area {
        final long blocks;
        final long states;
        /** Address of the number of blocks: an int that grows; negative once the client adds no more blocks. */
        final long count;
        int claimHint;
        /** System.nanoTime() until which no thread searches for a block. */
        long fullUntil = System.nanoTime();

        Area(long states, long count) {
            this.states = states;
            this.count = count;
            blocks = states + MAX_BLOCKS * 4L;
        }
    }

    /** Null in a session without trees. */
    private static Area area;

    /**
     * @param at address of the states of blocks; 0 for a session without trees
     * @param countAt address of the number of blocks
     */
    static void begin(long at, long countAt) {
        area = at == 0 ? null : new Area(at, countAt);
    }

    /** Ends the session. Called when no thread is in a probe. */
    static void end() {
        area = null;
    }

    static boolean on() {
        return area != null;
    }

    /**
     * Moves the thread to the record of a callee. The callee is usually the caller's previous callee or the next record after it: the
     * records of a caller's callees form a ring, in the order of their first calls.
     *
     * @param record current record of the thread
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
     * Records the whole call of a method that calls no method. Like {@link #enter}, but the thread keeps its current record. The code is a
     * copy of enter(), so that the frame size of {@link #enter} does not change; the frame size of {@link #leave} is compared with enter's.
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
        if (executed != 0) { // a constant after inlining
            ti.executed += executed;
            U.putLong(null, callee + RECORD_EXECUTED, U.getLong(null, callee + RECORD_EXECUTED) + executed);
        }
    }

    /**
     * Moves the thread to the record of the caller. A method that was entered without recording has no record.
     *
     * @param executed bytecodes of this activation since it last reported its count, without its callees
     */
    static void leave(ThreadInfo ti, long here, int executed, int id) {
        // Also leaves callees without an exit probe. Like enter, this calls no method, see JFluid1Stack.
        long blocks = ti.blocks;
        while (U.getInt(null, here + RECORD_METHOD) != id) {
            int outer = U.getInt(null, here + RECORD_PARENT);
            if (outer == 0) {
                return;
            }
            here = blocks + ((long) outer << RECORD_SHIFT);
        }
        if (executed != 0) { // `executed` is a constant where only calls are counted
            ti.executed += executed;
            U.putLong(null, here + RECORD_EXECUTED, U.getLong(null, here + RECORD_EXECUTED) + executed);
        }
        ti.record = blocks + ((long) U.getInt(null, here + RECORD_PARENT) << RECORD_SHIFT);
    }

    static void executed(long record, int executed) {
        U.putLong(null, record + RECORD_EXECUTED, U.getLong(null, record + RECORD_EXECUTED) + executed);
    }

    /** Moves the thread to the record of a method at the start of its exception handler. All callees have ended. */
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
     * Begins an outermost root call. The caller has checked that the stack has enough space.
     *
     * @return whether the buffer had space, so that the thread is now inside the root call
     */
    static boolean enterRoot(ThreadInfo ti, int id) {
        if (ti.area == null) {
            Area in = area;
            if (in == null || current() != ti) {
                return ti.active = false; // the session has ended while the thread waited
            }
            ti.area = in;
            ti.blocks = in.blocks;
        }
        ti.active = true; // the thread stays active unless no block is free
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
     * Returns the record of a callee. Adds the record if it does not exist. If there is no space, the rest of the root call is not
     * recorded.
     *
     * @return address of the record; 0 if there is no space
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

    /** Finds the record of a callee and makes it the caller's previous callee. @return the record; 0 if it does not exist */
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
     * Waits for a free block. The client reads {@link JFluid1Layout#RING_STARVING} every few milliseconds. If the thread gets no block, it
     * counts as outside root calls, and a gap is counted.
     */
    @ReservedStackAccess
    private static boolean awaitBlock(ThreadInfo ti) {
        // The caller may have cleared the guard. Without the guard, probes would record an error thrown in here.
        ti.active = false;
        ti.guard = true;
        boolean on = false;
        try {
            Area in = ti.area;
            if (in != null && U.getIntVolatile(null, in.count) >= 0) {
                U.getAndAddInt(null, ring + RING_STARVING, 1);
                ClientWait wait = new ClientWait(ANSWER_TIMEOUT_NANOS, false);
                waiting(1);
                try {
                    while (enabled && !on && U.getIntVolatile(null, in.count) >= 0 && !wait.isOver()) {
                        wait.pause();
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
            in.fullUntil = System.nanoTime() + FULL_RETRY_DELAY_NANOS;
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

    /** Releases the blocks of a thread that has ended. Called only by the agent's thread. */
    static void forget(ThreadInfo ti) {
        int b = ti.latestBlock;
        ti.latestBlock = 0; // purge() may visit the same thread again
        while (b != 0) {
            // Once the state is BLOCK_OVER, the client may clear the block.
            int before = U.getInt(null, ti.blocks + (b - 1L) * BLOCK_BYTES + BLOCK_BEFORE);
            U.putIntRelease(null, ti.area.states + (b - 1L) * 4L, BLOCK_OVER);
            b = before;
        }
    }
}
