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

    /**
     * One of this many root calls is timed, chosen at random; all other root calls are only counted. The number is 1 except in scheme
     * adaptive.
     */
    private static int oneOf = 1;
    /** Details are written for outermost root calls that take at least this number of ticks. Long.MAX_VALUE: for none. */
    private static long slowFrom = Long.MAX_VALUE;
    /** Whether details are written for all root calls that an exception ends. */
    private static boolean tellsThrown;
    /** Duration above each threshold of the client. */
    private static final long ALWAYS_SLOW = 1L << 60;
    /** Number of root calls of threads that have ended. */
    private static long ended;

    static void begin() {
        oneOf = 1;
        slowFrom = Long.MAX_VALUE;
        ended = 0;
    }

    /** Sets the fraction of timed root calls. Takes effect at the next root call of each thread. */
    public static void timeOneOf(int calls) {
        oneOf = calls;
    }

    /** Sets the threshold from which the details of a root call are written. Applies to root calls that begin later. */
    static void slowFrom(long ticks) {
        slowFrom(ticks, false);
    }

    /** @param thrown whether the details of all root calls that an exception ends are written, too */
    public static void slowFrom(long ticks, boolean thrown) {
        tellsThrown = thrown;
        JFluid1Caller.warmUp();
        slowFrom = ticks;
    }

    /** Called where an exception ends the outermost root call. The EXIT has the time at which the exception came. */
    @DontInline
    static void leaveThrown(ThreadInfo ti, Throwable thrown, int id) {
        long now = ticks();
        if (tellsThrown && ti.rootSince != Long.MAX_VALUE) {
            ti.rootSince = now - ALWAYS_SLOW;
        }
        JFluid1Values.keepThrown(ti, thrown);
        JFluid1Thrown.tell(ti, thrown);
        JFluid1Values.leaveAt(ti, id, now);
        if (thrown.getClass() == StackOverflowError.class) {
            try {
                overflowPassed(ti, id, thrown);
            } catch (StackOverflowError full) {
                // The error is not reported.
            }
        }
        if (ti.virtual) {
            leaveVirtualRoot(ti);
        } else {
            leaveRootIfActive(ti);
        }
    }

    /** Called after the EXIT of an outermost root call of a platform thread, which may have had no room. */
    static void leaveRootIfActive(ThreadInfo ti) {
        if (ti.active) {
            leaveRoot(ti);
        } else {
            leaveInactive(ti);
        }
    }

    /** Called at the end of a root call that is not recorded: a thread whose recording has failed keeps no value of the root call. */
    static void leaveInactive(ThreadInfo ti) {
        if (ti.guard || ti.values == null) {
            return; // a getter has called the root
        }
        try {
            JFluid1Values.drop(ti.values);
        } catch (StackOverflowError full) {
            // The next root call of the thread drops the values.
        }
    }

    /** Returns whether the thread is in an outermost root call that is slow already. Called by the sampler. */
    public static boolean isSlowNow(ThreadInfo ti) {
        return ti.untimed == 0 && isSlow(ti);
    }

    private static void leaveRoot(ThreadInfo ti) {
        if (isSlow(ti)) {
            tellDetails(ti);
        }
        if (ti.values != null) {
            JFluid1Values.drop(ti.values);
        }
        if (ti.active) {
            rest(ti);
        }
    }

    /** Called after the EXIT of an outermost root call of a virtual thread. */
    static void leaveVirtualRoot(ThreadInfo ti) {
        if (ti.virtualActive && isSlow(ti)) {
            tellDetails(ti);
        }
        if (ti.values != null) {
            JFluid1Values.drop(ti.values);
        }
        ti.virtualActive = false;
    }

    /** Returns whether the outermost root call that ends now is slow. */
    static boolean isSlow(ThreadInfo ti) {
        long from = slowFrom;
        // The difference is negative if the call began without a threshold.
        return from != Long.MAX_VALUE && ticks() - ti.rootSince >= from;
    }

    /** Writes the details of the outermost root call that has just ended. Writes nothing if the stack or the ring has too little space. */
    @DontInline
    static void tellDetails(ThreadInfo ti) {
        try {
            needsRoom();
        } catch (StackOverflowError full) {
            return;
        }
        boolean tellsValues = ti.values != null && JFluid1Values.mayTell();
        if (!tellsValues || JFluid1Values.captureEnd(ti)) {
            String caller = JFluid1Caller.read(ti);
            if (ti.active || ti.virtualActive) {
                writeDetails(ti, tellsValues, caller);
            }
        }
    }

    @ReservedStackAccess
    private static void writeDetails(ThreadInfo ti, boolean tellsValues, String caller) {
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        try {
            String traceId = JFluid1TraceIds.ofSlowCall();
            ThreadInfo w = virtual ? carrier() : ti;
            int words = (tellsValues ? JFluid1Values.wordsOfShown(ti) : 0) + JFluid1Values.wordsOf(traceId)
                    + JFluid1Values.wordsOf(caller);
            if (w == null || !roomAtOnce(w, 5 + words)) {
                JFluid1Values.lose(tellsValues);
            } else {
                if (virtual) {
                    switchTo(w, ti);
                }
                put(w, CONTROL_VALUE | (long) SLOT_DETAILS << VALUE_SLOT_SHIFT);
                if (tellsValues) {
                    JFluid1Values.tellShown(w, ti.values);
                }
                if (traceId != null) {
                    JFluid1Values.tellText(w, SLOT_TRACE_ID, JFluid1Values.WORD_TEXT, traceId);
                }
                if (caller != null) {
                    JFluid1Values.tellText(w, SLOT_CALLER, JFluid1Values.WORD_TEXT, caller);
                }
                switchBack(w);
            }
        } catch (Throwable t) {
            gap(); // the details of this call are lost
        }
        goOn(ti, virtual, true);
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
        JFluid1Values.forget(ti);
        ended += ti.rootCalls;
        ti.rootCalls = 0; // a later visit must add nothing
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
        ti.by = 0;
        ti.rootSince = Long.MAX_VALUE;
        if (ti.values != null) {
            ti.values.forgetStarts();
        }
        return true;
    }

    /**
     * Returns whether the first root call of a new thread is only counted. So the timed fraction is the same if each thread makes only one
     * root call.
     */
    private static boolean isUntimedFrom(ThreadInfo ti, int id) {
        drawFirst(ti);
        return isUntimed(ti, id);
    }

    private static void drawFirst(ThreadInfo ti) {
        int of = oneOf;
        ti.untilTimed = of == 1 ? 0 : callsBetween(ti, of) % of;
    }

    /** Registers the current thread before its first root call. */
    static ThreadInfo registerOutside() {
        ThreadInfo ti = register(Thread.currentThread());
        if (ti != null) {
            drawFirst(ti);
        }
        return ti;
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
        try {
            needsRoom();
        } catch (StackOverflowError full) {
            if (known != null && known.values != null) {
                known.values.forgetStarts();
            }
            throw full;
        }
        if (JFluid1Values.wanted == null || JFluid1Values.capture(known, id)) {
            openGraph(known, id);
        }
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
            ti.by = 0;
            int value = JFluid1Values.byOf(ti);
            int nameWords = JFluid1Values.wordsOfName(ti);
            ti.rootSince = slowFrom == Long.MAX_VALUE ? Long.MAX_VALUE : ticks();
            ti.token = 0; // the first events were lost: the start token is not written with a later event
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
                if (w != null && room(w, ti, 5 + nameWords)) {
                    switchTo(w, ti);
                    if (nameWords > 0) {
                        JFluid1Values.tellName(w, ti);
                    }
                    put(w, CONTROL_ROOT);
                    ti.virtualActive = true;
                    ti.guard = false;
                    if (value == 0 || state[id] < READY) {
                        enterVirtual(ti, id);
                    } else {
                        ti.by = value;
                        JFluid1Values.appendTwo(ti, enter(id), enter(value));
                    }
                }
            } else {
                own(ti);
                if (room(ti, ti, 6 + nameWords)) {
                    switchTo(ti, ti);
                    if (nameWords > 0) {
                        JFluid1Values.tellName(ti, ti);
                    }
                    put(ti, CONTROL_ROOT);
                    ti.nesting = 1;
                    if (state[id] >= READY || awaitReady(ti, ti, id)) {
                        Gauge by = gauge;
                        ti.allocatedBefore = by == null ? -1 : by.allocated();
                        // Without space in the trees, the root call has no event either.
                        if (!JFluid1Trees.on() || JFluid1Trees.enterRoot(ti, id)) {
                            if (value == 0) {
                                event(ti, ti, enter(id));
                            } else {
                                ti.by = value;
                                twoEvents(ti, ti, enter(id), enter(value));
                            }
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
