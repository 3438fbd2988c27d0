package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/** Slow paths of the region probes (regionEnter to regionExit of {@link JFluid1}). */
public final class JFluid1Regions {
    private JFluid1Regions() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** Number of executions after which a thread keeps its chunk, unless too many threads keep a chunk. */
    private static final int KEEPS_AFTER = 32;
    /** Number of the current session if it times regions; otherwise 0. */
    static int regionSession;
    private static int regionSessions;
    static long regionsSince;

    /** Writes an execution that the hot path could not write: there was no chunk, the chunk was full, or the execution was very long. */
    @ReservedStackAccess
    static void regionTold(ThreadInfo known, long since, long took, int id) {
        if (regionSession == 0 || !open || since - regionsSince < 0) {
            return; // the probe belongs to an earlier session
        }
        ThreadInfo w = known;
        try {
            Thread t = Carrier.thread();
            if (isOurs(t)) {
                return; // the caller is a jfluid thread, see enterGraph
            }
            virtualSeen |= t != Thread.currentThread();
            if (w == null) {
                w = register(t);
            }
            if (w == null || w.guard) {
                return;
            }
            w.guard = true;
            boolean kept = w.keeps;
            w.keeps = false;
            if (!kept) {
                own(w);
            }
            boolean told = room(w, w, 4);
            if (told) {
                long ticks = Math.max(0, took); // `took` is negative if the clocks of two processors differ
                long epoch = ticks >>> TICK_BITS;
                if (epoch != 0) {
                    put(w, CONTROL_EPOCH | epoch);
                }
                put(w, KIND_EXIT | (long) id << TICK_BITS | ticks & TICK_MASK);
                if (epoch != 0) {
                    put(w, CONTROL_EPOCH);
                }
            }
            keepOrRest(w, kept, told);
            w.guard = false;
        } catch (Throwable t) {
            gap();
            if (w != null) {
                w.guard = false;
            }
            passOn(t);
        }
    }

    /**
     * Keeps or releases the writer's chunk. A thread with frequent executions keeps its chunk, which saves two atomic operations per
     * execution. At most half of the chunks are kept; the agent can reclaim all other chunks.
     */
    private static void keepOrRest(ThreadInfo w, boolean kept, boolean told) {
        if (kept) {
            w.keeps = told && enabled;
            if (!w.keeps) {
                U.getAndAddInt(counters, INTS_AT + COUNTER_KEEPERS * 4L, -1);
            }
        } else if (told) {
            if (++w.executions > KEEPS_AFTER && counters[COUNTER_KEEPERS] < chunkCount / 2) {
                U.getAndAddInt(counters, INTS_AT + COUNTER_KEEPERS * 4L, 1);
                w.keeps = enabled;
            } else {
                rest(w);
            }
        }
    }

    /**
     * Starts timing regions. Called after begin() and before the probes are installed.
     *
     * @return number of the session. The probes contain this number, so that probes of earlier sessions are ignored.
     */
    public static int timeRegions() {
        regionsSince = ticks();
        regionSession = ++regionSessions & 0x3fffff;
        return regionSession;
    }
}
