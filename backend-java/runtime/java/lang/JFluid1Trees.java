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

    /** Of the first block; 0 in a session without trees. */
    private static long blocks;
    private static long blockStates;
    /** Where it is said how many there are: an int, which grows, and is negative once there will be no more. */
    private static long blockCount;
    private static int claimHint;

    /**
     * @param at where the states of blocks are; 0 for a session without trees
     * @param countAt where it is said how many blocks there are
     */
    static void begin(long at, long countAt) {
        blockStates = at;
        blocks = at == 0 ? 0 : at + MOST_BLOCKS * 4L;
        blockCount = countAt;
        claimHint = 0;
    }

    /** No thread is in a probe. */
    static void end() {
        blocks = blockStates = blockCount = 0;
    }

    static boolean on() {
        return blocks != 0;
    }

    /**
     * A method is called. It mostly is the one that was called last from there, or the one that was called after that before: callees
     * stand in a ring, in the order in which they came.
     *
     * @param record where the thread is
     */
    static void enter(ThreadInfo ti, long record, int id) {
        int child = U.getInt(null, record + RECORD_CHILD);
        long callee = at(child);
        if (U.getInt(null, callee + RECORD_METHOD) != id) {
            child = U.getInt(null, callee + RECORD_SIBLING);
            callee = at(child);
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
     * A method ends. One that was entered when nothing was recorded has no record.
     *
     * @param executed by this activation since it last said so, without its callees
     */
    static void leave(ThreadInfo ti, long here, int executed, int id) {
        // What has not told its end is left, too. Not a method, and no variable more: see JFluid1Stack.
        while (U.getInt(null, here + RECORD_METHOD) != id) {
            int outer = U.getInt(null, here + RECORD_PARENT);
            if (outer == 0) {
                return;
            }
            here = at(outer);
        }
        if (executed != 0) { // a constant where only calls are counted
            ti.executed += executed;
            executed(here, executed);
        }
        ti.record = at(U.getInt(null, here + RECORD_PARENT));
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
            here = at(outer);
        }
        ti.record = here;
    }

    /**
     * A root is called from outside.
     *
     * @return whether the thread is inside now: there was room
     */
    static boolean enterRoot(ThreadInfo ti, int id) {
        long top = ti.treeTop;
        if (top == 0) {
            top = ti.treeTop = add(ti, 0, TOP);
        }
        if (top == 0) {
            return false;
        }
        ti.active = true; // as long as there is room
        enter(ti, top, id);
        return ti.active;
    }

    private static long at(int index) {
        return blocks + ((long) index << RECORD_SHIFT);
    }

    private static int index(long record) {
        return (int) (record - blocks >>> RECORD_SHIFT);
    }

    /**
     * The record of any other method. Without room for it the rest of the root call goes unrecorded.
     *
     * @return 0 without room
     */
    @DontInline
    private static long childOf(ThreadInfo ti, long record, int id) {
        int latest = U.getInt(null, record + RECORD_CHILD);
        if (latest != 0) {
            for (int next = U.getInt(null, at(latest) + RECORD_SIBLING); next != latest;) {
                long child = at(next);
                if (U.getInt(null, child + RECORD_METHOD) == id) {
                    U.putInt(null, record + RECORD_CHILD, next);
                    return child;
                }
                next = U.getInt(null, child + RECORD_SIBLING);
            }
        }
        needsRoom();
        long child = add(ti, record, id);
        if (child == 0) {
            return 0;
        }
        int own = index(child);
        if (latest == 0) {
            U.putInt(null, child + RECORD_SIBLING, own);
        } else {
            U.putInt(null, child + RECORD_SIBLING, U.getInt(null, at(latest) + RECORD_SIBLING));
            U.putInt(null, at(latest) + RECORD_SIBLING, own);
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
        U.putInt(null, record + RECORD_PARENT, parent == 0 ? 0 : index(parent));
        U.putIntRelease(null, record + RECORD_METHOD, id);
        return record;
    }

    /** The client looks at {@link JFluid1Layout#RING_STARVING} every few milliseconds. Without a block the thread is outside, and that is a gap. */
    @ReservedStackAccess
    private static boolean awaitBlock(ThreadInfo ti) {
        ti.active = false;
        ti.guard = true;
        boolean on = false;
        try {
            U.getAndAddInt(null, ring + RING_STARVING, 1);
            Patience patience = new Patience(LONGEST_NANOS, false);
            waiting(1);
            try {
                while (enabled && !on && U.getIntVolatile(null, blockCount) >= 0 && !patience.isOver()) {
                    patience.pause();
                    on = claim(ti);
                }
            } finally {
                waiting(-1);
                repay();
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
        int count = U.getIntVolatile(null, blockCount) & Integer.MAX_VALUE;
        int from = claimHint < count ? claimHint : 0;
        for (int i = 0; i < count; i++) {
            int b = from + i < count ? from + i : from + i - count;
            long state = blockStates + b * 4L;
            if (U.getIntVolatile(null, state) == BLOCK_FREE
                    && U.compareAndSetInt(null, state, BLOCK_FREE, BLOCK_TAKEN)) {
                claimHint = b + 1;
                long block = blocks + (long) b * BLOCK_BYTES;
                ti.nextRecord = block + RECORD_BYTES;
                ti.recordLimit = block + BLOCK_BYTES;
                U.putIntRelease(null, block + BLOCK_THREAD, ti.number);
                return true;
            }
        }
        return false;
    }

    /** The thread has ended: the client may give its blocks to others. Agent's thread only. */
    static void forget(ThreadInfo ti) {
        if (ti.treeTop == 0 || blocks == 0) {
            return;
        }
        ti.treeTop = 0; // it may be looked at once more
        int count = U.getIntVolatile(null, blockCount) & Integer.MAX_VALUE;
        for (int b = 0; b < count; b++) {
            long state = blockStates + b * 4L;
            boolean taken = U.getIntVolatile(null, state) == BLOCK_TAKEN;
            if (taken && U.getIntVolatile(null, blocks + (long) b * BLOCK_BYTES + BLOCK_THREAD) == ti.number) {
                U.putIntRelease(null, state, BLOCK_OVER);
            }
        }
    }
}
