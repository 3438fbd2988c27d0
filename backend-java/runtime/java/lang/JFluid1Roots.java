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

/** The graph of a thread: how a root opens it, how it ends, and how its clock stands still meanwhile. */
public final class JFluid1Roots {
    private JFluid1Roots() {}

    /** Of so many calls of roots one is timed, at random; the others are only counted. Scheme adaptive only. */
    private static int oneOf = 1;
    /** Of threads that have ended. */
    private static long ended;

    static void begin() {
        oneOf = 1;
        ended = 0;
    }

    /** From the next call of each thread on. A thread that is inside a call that is only counted stays so until that ends. */
    public static void timeOneOf(int calls) {
        oneOf = calls;
    }

    /** Calls of roots from outside since the session began. Read while threads count. Agent's thread only. */
    public static long calls() {
        long sum = ended;
        for (ThreadInfo head : table) {
            for (ThreadInfo ti = head; ti != null; ti = ti.chain) {
                sum += ti.rootCalls;
            }
        }
        return sum;
    }

    /** The thread has ended. Agent's thread only. */
    static void forget(ThreadInfo ti) {
        ended += ti.rootCalls;
        ti.rootCalls = 0; // it may be looked at once more
    }

    /** Start of a root, from outside or inside a call that is only counted: whether this one is, too. Allocates nothing. */
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

    /** The first call of a thread that has just been registered: of threads with one call each, one of so many is timed, too. */
    private static boolean isUntimedFrom(ThreadInfo ti, int id) {
        int of = oneOf;
        ti.untilTimed = of == 1 ? 0 : callsBetween(ti, of) % of;
        return isUntimed(ti, id);
    }

    /** At random, 0 to twice the mean: what the program does periodically is met as often as anything else. */
    private static int callsBetween(ThreadInfo ti, int of) {
        int x = ti.rootChance == 0 ? ti.number * 0x9E3779B9 | 1 : ti.rootChance;
        x ^= x << 13; // Marsaglia's xorshift
        x ^= x >>> 17;
        x ^= x << 5;
        ti.rootChance = x;
        return (int) ((x & 0xFFFFFFFFL) * (2 * of - 1) >>> 32);
    }

    /** Start of a root, from outside. Without room for it the call fails here, and the thread is not inside. */
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
                return; // it would wait for itself, and is none of the application's
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
                        // What has no room in the trees is not told of, either.
                        if (!JFluid1Trees.on() || JFluid1Trees.enterRoot(ti, id)) {
                            event(ti, ti, KIND_ENTER | (long) id << TICK_BITS);
                            ti.active = enabled;
                        } else {
                            rest(ti); // others may need the chunk
                        }
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
}
