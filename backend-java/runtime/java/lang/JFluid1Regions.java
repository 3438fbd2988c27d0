package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/** The gross time of regions, where the probes could not tell it (regionEnter to regionExit of {@link JFluid1}). */
public final class JFluid1Regions {
    private JFluid1Regions() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** Executions after which a thread keeps its chunk, if not too many do. */
    private static final int KEEPS_AFTER = 32;
    /** Which session times regions, by its number among those of this JVM; 0 if the present one does not. */
    static int regionSession;
    private static int regionSessions;
    static long regionsSince;

    /** Where the hot path could not tell: no chunk, a full one, or a very long execution. */
    @ReservedStackAccess
    static void regionTold(ThreadInfo known, long since, long took, int id) {
        if (regionSession == 0 || !open || since - regionsSince < 0) {
            return; // of an earlier session
        }
        ThreadInfo w = known;
        try {
            Thread t = Carrier.thread();
            if (isOurs(t)) {
                return; // as in enterGraph
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
                long ticks = Math.max(0, took); // clocks of processors may differ a little
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
     * A thread that comes often keeps its chunk, which saves it two atomic operations each time. Half of the chunks are
     * for those that come seldom, or are one too many: their chunks can be taken back.
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
     * This session times regions. After begin(), and before the code that has the probes.
     *
     * @return its number, which the probes carry: what is left of an earlier session's code is not listened to
     */
    public static int timeRegions() {
        regionsSince = ticks();
        regionSession = ++regionSessions & 0x3fffff;
        return regionSession;
    }
}
