package java.lang;

import static java.lang.JFluid1Allocations.*;
import static java.lang.JFluid1Contexts.*;
import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Requests.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Stack.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ReservedStackAccess;

/** Begin and end of outermost root calls, and suspension of a thread's clock. */
public final class JFluid1Roots {
    private JFluid1Roots() {}

    /** One in this many root calls is timed, chosen at random; all other root calls are only counted. 1 except with scheme adaptive. */
    private static int oneOf = 1;
    /** Root calls of threads that have ended. */
    private static long ended;

    static void begin() {
        oneOf = 1;
        ended = 0;
    }

    /** Sets the fraction of timed root calls. Takes effect at the next root call of each thread. */
    public static void timeOneOf(int calls) {
        oneOf = calls;
    }

    /** Returns the number of outermost root calls of the session; threads may count concurrently. Called only by the agent's thread. */
    public static long calls() {
        long sum = ended;
        for (ThreadInfo head : table) {
            for (ThreadInfo ti = head; ti != null; ti = ti.chain) {
                sum += ti.rootCalls;
            }
        }
        return sum;
    }

    /** Adds the root calls of a thread that has ended. Called only by the agent's thread. */
    static void forget(ThreadInfo ti) {
        ended += ti.rootCalls;
        ti.rootCalls = 0; // the record may be visited again
    }

    /** Returns whether a root call is only counted. Called at the start of a root outside timed root calls. Allocates nothing. */
    static boolean isUntimed(ThreadInfo ti, int id) {
        if (ti.untimed > 0) {
            ti.untimed++;
            return true;
        }
        int of = oneOf;
        if (of == 1 || ti.guard || isOfAnother(id) || isOurs(Thread.currentThread())) {
            return false;
        }
        if (--ti.untilTimed < 0) {
            ti.untilTimed = callsBetween(ti, of);
            return false;
        }
        ti.rootCalls++;
        ti.untimed = 1;
        return true;
    }

    /** Returns whether the first root call of a new thread is only counted: among threads with one call each, the same fraction is timed. */
    private static boolean isUntimedFrom(ThreadInfo ti, int id) {
        int of = oneOf;
        ti.untilTimed = of == 1 ? 0 : callsBetween(ti, of) % of;
        return isUntimed(ti, id);
    }

    /** Returns a random distance from 0 to twice the mean, so that periodic behaviour of the program introduces no bias. */
    private static int callsBetween(ThreadInfo ti, int of) {
        int x = ti.rootChance == 0 ? ti.number * 0x9E3779B9 | 1 : ti.rootChance;
        x ^= x << 13; // Marsaglia's xorshift
        x ^= x >>> 17;
        x ^= x << 5;
        ti.rootChance = x;
        return (int) ((x & 0xFFFFFFFFL) * (2 * of - 1) >>> 32);
    }

    /** Begins an outermost root call. Throws if the stack has too little space; the thread then stays outside root calls. */
    @DontInline
    static void enterGraph(ThreadInfo known, int id) {
        needsRoom();
        openGraph(known, id);
    }

    @ReservedStackAccess
    private static void openGraph(ThreadInfo known, int id) {
        ThreadInfo ti = known;
        try {
            if (isOurs(Thread.currentThread())) {
                return; // a jfluid thread would wait for itself, and does not belong to the application
            }
            if (isOfAnother(id)) {
                return;
            }
            if (ti == null) {
                ti = register(Thread.currentThread());
                if (ti != null && isUntimedFrom(ti, id)) {
                    return;
                }
            }
            if (ti == null || ti.guard) {
                return;
            }
            ti.guard = true;
            ti.rootCalls++;
            JFluid1Modes.latch(ti);
            ti.waits = 0;
            ti.token = 0; // the first events were lost: later events are recorded without the origin
            Reporter to = reporter;
            if (to != null) {
                ThreadInfo[] session = table;
                if (ti.contexts == null) {
                    register(to, ti);
                }
                if (table != session) {
                    ti.guard = false; // the session of this root call has ended
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
                    enterVirtual(ti, id);
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
                        // Without space in the trees, the root call has no event either.
                        if (!JFluid1Trees.on() || JFluid1Trees.enterRoot(ti, id)) {
                            event(ti, ti, KIND_ENTER | (long) id << TICK_BITS);
                            ti.active = enabled;
                        } else {
                            rest(ti); // other threads may need the chunk
                        }
                    }
                }
            }
            ti.guard = false;
        } catch (Throwable t) {
            gap(); // for example after an OutOfMemoryError, which must not reach the application
            if (ti != null) {
                ti.guard = false;
                ti.active = ti.virtualActive = false;
            }
            passOn(t);
        }
    }

    /** Ends the outermost root call of the thread. */
    static void leaveGraph(ThreadInfo ti) {
        ti.nesting = 0;
        ti.working = ti.virtualActive = false;
        if (ti.active) {
            rest(ti);
        }
    }

    /**
     * Stops the calling thread's clock while the thread runs agent code (class-load hook).
     *
     * @return the argument for resume(); null if the clock was not running
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
            gap(); // the thread stays inactive until its next root call
        }
        ti.guard = false;
        return null;
    }

    /** @param ti result of suspend(), possibly of an earlier session */
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
            gap(); // see suspend()
        }
        ti.guard = false;
    }
}
