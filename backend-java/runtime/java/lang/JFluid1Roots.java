package java.lang;

import static java.lang.JFluid1Allocations.*;
import static java.lang.JFluid1Contexts.*;
import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Requests.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * The graph of a thread: how a root opens it, how it ends, and how its clock stands still meanwhile. Also roots that are
 * timed while nothing else has probes.
 */
public final class JFluid1Roots {
    private JFluid1Roots() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    @ReservedStackAccess
    static void enterGraph(ThreadInfo known, int id) {
        ThreadInfo ti = known;
        try {
            if (isOurs(Thread.currentThread())) {
                return; // it would wait for itself, and is none of the application's
            }
            if (isOfAnother(id)) {
                return;
            }
            if (ti == null) {
                ti = register(Thread.currentThread());
            }
            if (ti == null || ti.guard) {
                return;
            }
            ti.guard = true;
            if (timesBare && !mayEnter(ti)) {
                ti.guard = false;
                timedEntry(ti, id);
                return;
            }
            ti.waits = 0;
            ti.token = 0; // its first events were lost: what is left stands for itself
            Reporter to = reporter;
            if (to != null) {
                ThreadInfo[] session = table;
                if (ti.contexts == null) {
                    register(to, ti);
                }
                if (table != session) {
                    ti.guard = false; // it took its time, and that session is over
                    return;
                }
                ti.context = ti.contexts;
                enterContext(ti, id);
            }
            if (ti.virtual) {
                ti.nesting = 1;
                ThreadInfo w = carrier();
                if (w != null && room(w, ti, 5)) {
                    switchTo(w, ti);
                    put(w, CONTROL_ROOT);
                    ti.virtualActive = true;
                    ti.guard = false;
                    virtualEntry(ti, id);
                }
            } else {
                own(ti);
                if (room(ti, ti, 5)) {
                    switchTo(ti, ti);
                    put(ti, CONTROL_ROOT);
                    ti.nesting = 1;
                    if (state[id] >= READY || awaitReady(ti, ti, id)) {
                        Gauge by = gauge;
                        ti.allocatedBefore = by == null ? -1 : by.allocated();
                        event(ti, ti, KIND_ENTER | (long) id << TICK_BITS);
                        ti.active = enabled;
                    }
                }
            }
            ti.guard = false;
        } catch (Throwable t) {
            gap(); // no memory for a ThreadInfo, perhaps: the application must not hear of it
            if (ti != null) {
                ti.guard = false;
                ti.active = ti.virtualActive = false;
            }
            passOn(t);
        }
    }

    /** The thread's outermost activation inside the graph has ended. */
    static void leaveGraph(ThreadInfo ti) {
        ti.nesting = 0;
        ti.working = ti.virtualActive = false;
        if (ti.active) {
            rest(ti);
        }
    }

    /**
     * Stops the calling thread's clock while the agent works on its behalf (class-load hook).
     *
     * @return what resume() must be given; null if the clock did not run
     */
    @ReservedStackAccess
    public static ThreadInfo suspend() {
        ThreadInfo ti = current();
        if (ti == null || !(ti.active || ti.virtualActive)) {
            return null;
        }
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        try {
            ThreadInfo w = writer(ti);
            if (w != null && room(w, ti, 5)) {
                if (virtual) {
                    switchTo(w, ti);
                }
                event(w, ti, CONTROL_SUSPEND);
                switchBack(w);
                return ti;
            }
        } catch (Throwable t) {
            gap(); // as in append(): inactive until the next root
        }
        ti.guard = false;
        return null;
    }

    /** @param ti what suspend() has answered, perhaps in a session that is over */
    @ReservedStackAccess
    public static void resume(ThreadInfo ti) {
        if (ti != current()) {
            ti.guard = false;
            return;
        }
        try {
            boolean virtual = ti.virtual;
            ThreadInfo w = writer(ti);
            if (enabled && w != null && room(w, ti, 5)) {
                if (virtual) {
                    switchTo(w, ti);
                }
                event(w, ti, CONTROL_RESUME);
                if (virtual) {
                    ti.virtualActive = true;
                    switchBack(w);
                } else {
                    ti.active = true;
                }
            }
        } catch (Throwable t) {
            gap(); // as in append()
        }
        ti.guard = false;
    }

    // ---- error bars: roots timed while nothing else has probes ----
    //
    // The client closes the graph, waits until nobody is inside, has the children given their own code and looks at these
    // sums, again and again. Nothing of it is an event: the profile leaves the calls out, and counts how many they were.

    static volatile boolean timesBare;
    /** Goes up with each closing: what a thread has of an earlier one is void. */
    static volatile int timedRound;
    /** As many roots are timed; of others nothing is told. */
    private static final int TIMED_ROOTS = 32;
    private static final int TIMED_STRIPES = 8;
    /** A cache line: calls and ticks of one root, for threads of one stripe. */
    private static final int TIMED_WORDS = 8;
    private static final int[] timedIds = new int[TIMED_ROOTS];
    static long[] timedSums;

    static void begin() {
        timesBare = false;
        timedSums = null;
    }

    static long heapBytes() {
        long[] timed = timedSums;
        return timed == null ? 0 : timed.length * 8L;
    }

    /** From now on no root opens the graph; those in it stay until they leave. What roots take is summed. */
    public static void closeRoots() {
        if (timedSums == null) {
            timedSums = new long[TIMED_ROOTS * TIMED_STRIPES * TIMED_WORDS];
            java.util.Arrays.fill(timedIds, 0);
        }
        timedRound++;
        timesBare = enabled;
        open = false;
        U.fullFence();
    }

    /** {@code id, calls, ticks} of each root, outermost calls that have begun and ended since a closing, over all of them. */
    public static long[] bareTimes() {
        long[] sums = timedSums;
        long[] all = new long[sums == null ? 0 : TIMED_ROOTS * 3];
        for (int slot = 0; 3 * slot < all.length; slot++) {
            all[3 * slot] = timedIds[slot];
            for (int stripe = 0; stripe < TIMED_STRIPES; stripe++) {
                int at = (slot * TIMED_STRIPES + stripe) * TIMED_WORDS;
                all[3 * slot + 1] += sums[at];
                all[3 * slot + 2] += sums[at + 1];
            }
        }
        return all;
    }

    /** With the guard on: whoever closes the graph sees us, or we see that it is closed. */
    private static boolean mayEnter(ThreadInfo ti) {
        U.fullFence();
        // A root inside of one that was not recorded is not outermost.
        return open && (ti.timedNesting == 0 || ti.timedRound != timedRound);
    }

    /** Start of a root while the graph is closed. The clock is read last, as in {@link JFluid1#methodEntry}. */
    static void timedEntry(ThreadInfo known, int id) {
        if (isOfAnother(id)) {
            return;
        }
        ThreadInfo ti = known;
        try {
            if (isOurs(Thread.currentThread())) {
                return;
            }
            if (ti == null) {
                ti = register(Thread.currentThread());
            }
        } catch (Throwable t) {
            passOn(t); // no memory for a ThreadInfo: it is not timed
        }
        if (ti == null || ti.guard) {
            return;
        }
        int round = timedRound;
        if (ti.timedRound != round) {
            ti.timedRound = round;
            ti.timedNesting = 0;
        }
        if (ti.timedNesting++ == 0) {
            ti.timedRoot = id;
            ti.timedSince = ticks();
        }
    }

    static void timedExit(ThreadInfo ti) {
        long now = ticks();
        if (--ti.timedNesting > 0 || ti.timedRound != timedRound) {
            return;
        }
        long[] sums = timedSums;
        int slot = timedSlot(ti.timedRoot);
        if (sums == null || slot < 0) {
            return;
        }
        long stripe = slot * TIMED_STRIPES + (ti.tid & (TIMED_STRIPES - 1));
        long at = LONGS_AT + stripe * TIMED_WORDS * 8;
        U.getAndAddLong(sums, at, 1);
        U.getAndAddLong(sums, at + 8, now - ti.timedSince);
    }

    private static int timedSlot(int id) {
        for (int slot = 0; slot < TIMED_ROOTS; slot++) {
            if (timedIds[slot] == id || timedIds[slot] == 0 && U.compareAndSetInt(timedIds, INTS_AT + slot * 4L, 0, id)
                    || timedIds[slot] == id) {
                return slot;
            }
        }
        return -1;
    }
}
