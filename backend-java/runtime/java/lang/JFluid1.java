package java.lang;

import static java.lang.JFluid1Allocations.*;
import static java.lang.JFluid1Contexts.*;
import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Nameless.*;
import static java.lang.JFluid1Regions.*;
import static java.lang.JFluid1Requests.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Roots.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Sites.*;
import static java.lang.JFluid1Stack.*;
import static java.lang.JFluid1Tasks.*;
import static java.lang.JFluid1Threads.*;
import static java.lang.JFluid1Waits.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * The probes: what instrumented methods call, and the only code of ours that runs on application
 * threads for every call. Figure 3 of the JFluid report.
 *
 * It lives in java.lang because every class loader delegates {@code java.*} to the bootstrap loader:
 * an OSGi bundle finds it, and a class of a named module needs no extra read edge. The number in the
 * name is its version: these classes stay in the JVM after detach, and a later jfluid must not meet
 * them under the same name with other contents.
 *
 * All probes but those of mode `sample` are here, and nothing else that could be elsewhere: the classes of the program
 * name one class of ours, and each of their loaders is asked for it once. What the probes need lies beside them, one
 * concern a class, and all are initialised together: see {@link JFluid1Session}.
 *
 * Rules. The hot path allocates nothing, takes no lock and calls nothing but intrinsics. The slow
 * paths clear {@link JFluid1Threads.ThreadInfo#active} first, so that JDK code which is instrumented itself returns
 * at once. They change the state of chunks in several steps and may use the thread's reserved stack, so
 * that a StackOverflowError waits until they are done. Nothing here lets an exception out; a failure switches recording off for this root call.
 */
public final class JFluid1 {
    private JFluid1() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** What the agent decides before the rest of the runtime is initialised. */
    public static final class Setup {
        private Setup() {}

        public static boolean fastClock;
        /** The kernel takes the time from the processor's time stamp counter. */
        public static boolean trustsTsc;
        /** Identity of the runtime's class files, to recognise another build's runtime. */
        public static String runtimeId;
        /** Identity of the agent that {@link #agent} belongs to. */
        public static String agentBuild = "";
        /**
         * The sleeping agent: given a launch line, starts a session and returns null or an error; given one that begins with
         * detach=, ends the session that runs and says how that went.
         */
        public static java.util.function.Function<String, String> agent;
        /** The agent's instrumentation, typed loosely: java.base does not read java.instrument. */
        public static Object instrumentation;
        /** The thread of the agent's session, whichever agent's; null while there is none. */
        public static volatile Thread session;
    }

    /** Bytecodes: a loop hands over what it has executed a thousand times a second or so. */
    private static final int LONG_ACTIVATION = 1 << 20;

    /**
     * Start of every instrumented method but roots. Figure 3 of the report, plus scheme B's
     * first-call check.
     *
     * Cost inside the subgraph: one table look-up by thread id, one byte of `state`, one clock read,
     * one 8-byte store. Outside it: the look-up. The clock is read last here and first in methodExit,
     * so little of our own time falls between the two stamps (inner time, section 5.3).
     */
    public static void methodEntry(int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        if (!ti.active) {
            if (ti.virtualActive) {
                virtualEntry(ti, id);
            }
            return;
        }
        if (state[id] < READY && !firstInvocation(ti, id)) {
            return;
        }
        long word = KIND_ENTER | (long) id << TICK_BITS; // a variable, see JFluid1Stack
        long delta = ticks() - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            appendEntry(ti, word);
            return;
        }
        U.putLongRelease(null, at, word | delta);
        ti.next = at + EVENT_BYTES;
    }

    /** End of every instrumented method but roots. */
    public static void methodExit(int id) {
        ThreadInfo ti = leaving();
        if (ti == null) {
            return;
        }
        if (!ti.active) {
            if (ti.virtualActive) {
                virtualEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
            }
            return;
        }
        long delta = ticks() - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            appendExit(ti, KIND_EXIT | (long) id << TICK_BITS);
            return;
        }
        U.putLongRelease(null, at, KIND_EXIT | (long) id << TICK_BITS | delta);
        ti.next = at + EVENT_BYTES;
    }

    /**
     * The same where a value is returned. It is handed through: C1 does not inline this, and would else keep the value in the frame
     * of the method, for each of its calls.
     */
    public static int methodExit(int value, int id) {
        ThreadInfo ti = leaving();
        if (ti == null) {
            return value;
        }
        if (!ti.active) {
            if (ti.virtualActive) {
                virtualEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
            }
            return value;
        }
        long delta = ticks() - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            appendExit(ti, KIND_EXIT | (long) id << TICK_BITS);
            return value;
        }
        U.putLongRelease(null, at, KIND_EXIT | (long) id << TICK_BITS | delta);
        ti.next = at + EVENT_BYTES;
        return value;
    }

    public static long methodExit(long value, int id) {
        ThreadInfo ti = leaving();
        if (ti == null) {
            return value;
        }
        if (!ti.active) {
            if (ti.virtualActive) {
                virtualEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
            }
            return value;
        }
        long delta = ticks() - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            appendExit(ti, KIND_EXIT | (long) id << TICK_BITS);
            return value;
        }
        U.putLongRelease(null, at, KIND_EXIT | (long) id << TICK_BITS | delta);
        ti.next = at + EVENT_BYTES;
        return value;
    }

    public static float methodExit(float value, int id) {
        ThreadInfo ti = leaving();
        if (ti == null) {
            return value;
        }
        if (!ti.active) {
            if (ti.virtualActive) {
                virtualEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
            }
            return value;
        }
        long delta = ticks() - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            appendExit(ti, KIND_EXIT | (long) id << TICK_BITS);
            return value;
        }
        U.putLongRelease(null, at, KIND_EXIT | (long) id << TICK_BITS | delta);
        ti.next = at + EVENT_BYTES;
        return value;
    }

    public static double methodExit(double value, int id) {
        ThreadInfo ti = leaving();
        if (ti == null) {
            return value;
        }
        if (!ti.active) {
            if (ti.virtualActive) {
                virtualEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
            }
            return value;
        }
        long delta = ticks() - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            appendExit(ti, KIND_EXIT | (long) id << TICK_BITS);
            return value;
        }
        U.putLongRelease(null, at, KIND_EXIT | (long) id << TICK_BITS | delta);
        ti.next = at + EVENT_BYTES;
        return value;
    }

    public static Object methodExit(Object value, int id) {
        ThreadInfo ti = leaving();
        if (ti == null) {
            return value;
        }
        if (!ti.active) {
            if (ti.virtualActive) {
                virtualEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
            }
            return value;
        }
        long delta = ticks() - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            appendExit(ti, KIND_EXIT | (long) id << TICK_BITS);
            return value;
        }
        U.putLongRelease(null, at, KIND_EXIT | (long) id << TICK_BITS | delta);
        ti.next = at + EVENT_BYTES;
        return value;
    }

    /** The same where the method ends by an exception. */
    public static Throwable methodThrown(Throwable thrown, int id) {
        ThreadInfo ti = leaving();
        if (ti == null) {
            return thrown;
        }
        if (ti.active) {
            long delta = ticks() - ti.base;
            long at = ti.next;
            if (at >= ti.limit || delta >>> TICK_BITS != 0) {
                appendExit(ti, KIND_EXIT | (long) id << TICK_BITS);
            } else {
                U.putLongRelease(null, at, KIND_EXIT | (long) id << TICK_BITS | delta);
                ti.next = at + EVENT_BYTES;
            }
        } else if (ti.virtualActive) {
            virtualEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
        } else {
            return thrown;
        }
        if (thrown.getClass() == StackOverflowError.class) {
            try {
                overflowPassed(ti, id, thrown);
            } catch (StackOverflowError full) {
                // A caller of the method has more room.
            }
        }
        return thrown;
    }

    /**
     * Start of a handler of an instrumented method or root: whatever was called above it is over, also what
     * could not say so. No handler can cover a constructor's call of super(), and a probe that finds no room
     * on the stack writes nothing.
     */
    public static void methodResume(int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        if (!ti.active) {
            if (ti.virtualActive) {
                virtualEvent(ti, KIND_CATCH | (long) id << TICK_BITS);
            }
            return;
        }
        long delta = ticks() - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            appendExit(ti, KIND_CATCH | (long) id << TICK_BITS);
            return;
        }
        U.putLongRelease(null, at, KIND_CATCH | (long) id << TICK_BITS | delta);
        ti.next = at + EVENT_BYTES;
    }

    // ---- the same of methods that are switched on and off (scheme adaptive), see JFluid1Modes ----
    //
    // Those at the start and at the end are calls: where a probe is inlined, the call that reads the clock is in the code of the method, and
    // of what that is inlined into. C2 keeps in the frame what is needed behind it, and where a loop has computed a value that is returned,
    // it may do so in each turn of the loop (decision 125). A value goes through the exit. An exit finds room on the stack where the entry
    // has found it: whatever the mode, the entry calls as deep, with as many local variables.

    @DontInline
    public static void switchedEntry(int id) {
        switchedBegin(id);
    }

    private static void switchedBegin(int id) {
        ThreadInfo ti = current();
        boolean inside = ti != null && (ti.active || ti.virtualActive); // as mode, which is a long, see JFluid1Stack
        if (!inside) {
            return;
        }
        long mode = JFluid1Modes.of(ti, id);
        if (mode == JFluid1Modes.TIME) {
            methodEntry(id); // on a full stack it throws: then this call is none
            ti.switchedOpen++;
        } else if (mode == JFluid1Modes.COUNT) {
            JFluid1Modes.count(ti, id);
        }
    }

    @DontInline
    public static void switchedExit(int id) {
        switchedEnd(id);
    }

    @DontInline
    public static int switchedExit(int value, int id) {
        switchedEnd(id);
        return value;
    }

    @DontInline
    public static long switchedExit(long value, int id) {
        switchedEnd(id);
        return value;
    }

    @DontInline
    public static float switchedExit(float value, int id) {
        switchedEnd(id);
        return value;
    }

    @DontInline
    public static double switchedExit(double value, int id) {
        switchedEnd(id);
        return value;
    }

    @DontInline
    public static Object switchedExit(Object value, int id) {
        switchedEnd(id);
        return value;
    }

    private static void switchedEnd(int id) {
        ThreadInfo ti = current();
        if (ti == null || !(ti.active || ti.virtualActive)) {
            return;
        }
        byte mode = JFluid1Modes.of(ti, id);
        // As JFluid1Modes.tellsEnd, which would be one frame more than the entry has.
        if (mode == JFluid1Modes.TIME || mode == JFluid1Modes.ENDING && ti.switchedOpen > 0) {
            ti.switchedOpen--;
            timedEnd(ti, id);
        }
    }

    private static void timedEnd(ThreadInfo ti, int id) {
        if (!ti.active) {
            virtualEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
            return;
        }
        long delta = ticks() - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            appendExit(ti, KIND_EXIT | (long) id << TICK_BITS);
            return;
        }
        U.putLongRelease(null, at, KIND_EXIT | (long) id << TICK_BITS | delta);
        ti.next = at + EVENT_BYTES;
    }

    public static Throwable switchedThrown(Throwable thrown, int id) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive) && JFluid1Modes.tellsEnd(ti, id)) {
            ti.switchedOpen--;
            methodThrown(thrown, id);
        }
        return thrown;
    }

    public static void switchedResume(int id) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive) && JFluid1Modes.tellsEnd(ti, id)) {
            methodResume(id);
        }
    }

    /** Start of a root: as methodEntry, but entered from outside it opens the graph for the thread. */
    public static void rootEntry(int id) {
        ThreadInfo ti = current();
        boolean inside = ti != null && (ti.active || ti.virtualActive); // as word in methodEntry
        if (inside) {
            int nesting = ti.nesting + 1; // the same
            methodEntry(id); // on a full stack it throws: then this activation is over, and has not been counted
            ti.nesting = nesting;
            return;
        }
        if (open && (ti == null || !isUntimed(ti, id))) {
            enterGraph(ti, id);
        }
    }

    /** End of a root: leaves the graph when it is the outermost activation on this thread. */
    public static void rootExit(int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        int left = ti.nesting - 1;
        if (ti.active) {
            ti.nesting = left; // first, as methodExit throws on a full stack
            methodExit(id);
            if (left <= 0 && ti.active) {
                rest(ti);
            }
        } else if (ti.virtualActive) {
            ti.nesting = left;
            virtualEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
            if (left <= 0) {
                ti.virtualActive = false;
            }
        } else if (ti.untimed > 0) {
            ti.untimed--;
        }
    }

    /** The same where the root ends by an exception, see {@link #methodThrown}. */
    public static Throwable rootThrown(Throwable thrown, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return thrown;
        }
        if (ti.active) {
            ti.nesting--; // as in rootExit
            methodThrown(thrown, id);
            if (ti.nesting <= 0 && ti.active) {
                rest(ti);
            }
        } else if (ti.virtualActive) {
            ti.nesting--;
            methodThrown(thrown, id);
            if (ti.nesting <= 0) {
                ti.virtualActive = false;
            }
        } else if (ti.untimed > 0) {
            ti.untimed--;
        }
        return thrown;
    }

    // ---- the same without a clock ----
    //
    // What an event tells instead of time is how much its thread has executed inside the graph: bytecodes, counted
    // by the method itself in a local variable and handed over when it ends (JP, section 4). A method that counts
    // nothing hands over 0. So readers need not know: a self "time" is what was executed between two events.

    /**
     * Start of every instrumented method but roots. Cost where the thread keeps a tree: one table look-up by thread id, one byte of `state`,
     * one addition to a record. All else is elsewhere: C2 inlines up to 8,000 bytes of bytecode into a method (DesiredMethodLimit).
     */
    public static void countEntry(int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        long record = ti.record; // both are variables, see JFluid1Stack
        byte known = ti.active ? state[id] : NEW;
        if (known >= READY && record != 0) {
            JFluid1Trees.enter(ti, record, id);
        } else {
            entryAsEvent(ti, id);
        }
    }

    /**
     * Records the whole call of a method that calls nothing, and for which the JVM runs nothing (leaf.ts). Cost where the thread keeps a tree: as
     * {@link #countEntry}.
     *
     * @param executed by the call
     */
    public static void countLeaf(int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        long record = ti.record; // both are variables, see JFluid1Stack
        byte known = ti.active ? state[id] : NEW;
        if (known >= READY && record != 0) {
            JFluid1Trees.leaf(ti, record, executed, id);
        } else {
            leafAsEvents(ti, executed, id);
        }
    }

    private static void leafAsEvents(ThreadInfo ti, int executed, int id) {
        entryAsEvent(ti, id);
        if (ti.active && ti.record != 0) {
            JFluid1Trees.leave(ti, ti.record, executed, id);
        } else {
            exitAsEvent(ti, executed, id);
        }
    }

    private static void entryAsEvent(ThreadInfo ti, int id) {
        if (!ti.active) {
            if (ti.virtualActive) {
                virtualEntry(ti, id);
                if (ti.context != null) {
                    enterContext(ti, id);
                }
            }
            return;
        }
        byte known = state[id]; // as word
        if (known < READY && !firstInvocation(ti, id)) {
            return;
        }
        if (ti.record != 0) {
            JFluid1Trees.enter(ti, ti.record, id);
            return;
        }
        long word = KIND_ENTER | (long) id << TICK_BITS; // a variable, see JFluid1Stack
        countedEntry(ti, word);
        if (ti.context != null) {
            enterContext(ti, id);
        }
    }

    /**
     * End of every instrumented method but roots, normal or by exception.
     *
     * @param executed by this activation since it last said so, without its callees
     */
    public static void countExit(int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        if (ti.active && ti.record != 0) {
            JFluid1Trees.leave(ti, ti.record, executed, id);
        } else {
            exitAsEvent(ti, executed, id);
        }
    }

    private static void exitAsEvent(ThreadInfo ti, int executed, int id) {
        if (!(ti.active || ti.virtualActive)) {
            return;
        }
        ti.executed += executed;
        if (ti.active) {
            countedEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
        } else {
            virtualEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
        }
        if (ti.context != null) {
            leaveContext(ti, executed, id);
        }
    }

    /** The same where a value is returned, see {@link #methodExit(int, int)}. */
    public static int countExit(int value, int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return value;
        }
        if (ti.active && ti.record != 0) {
            JFluid1Trees.leave(ti, ti.record, executed, id);
        } else {
            exitAsEvent(ti, executed, id);
        }
        return value;
    }

    public static long countExit(long value, int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return value;
        }
        if (ti.active && ti.record != 0) {
            JFluid1Trees.leave(ti, ti.record, executed, id);
        } else {
            exitAsEvent(ti, executed, id);
        }
        return value;
    }

    public static float countExit(float value, int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return value;
        }
        if (ti.active && ti.record != 0) {
            JFluid1Trees.leave(ti, ti.record, executed, id);
        } else {
            exitAsEvent(ti, executed, id);
        }
        return value;
    }

    public static double countExit(double value, int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return value;
        }
        if (ti.active && ti.record != 0) {
            JFluid1Trees.leave(ti, ti.record, executed, id);
        } else {
            exitAsEvent(ti, executed, id);
        }
        return value;
    }

    public static Object countExit(Object value, int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return value;
        }
        if (ti.active && ti.record != 0) {
            JFluid1Trees.leave(ti, ti.record, executed, id);
        } else {
            exitAsEvent(ti, executed, id);
        }
        return value;
    }

    /** The same where the method ends by an exception, see {@link #methodThrown}. */
    public static Throwable countThrown(Throwable thrown, int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null || !(ti.active || ti.virtualActive)) {
            return thrown;
        }
        if (ti.active && ti.record != 0) {
            JFluid1Trees.leave(ti, ti.record, executed, id);
        } else {
            exitAsEvent(ti, executed, id);
        }
        if (thrown.getClass() == StackOverflowError.class) {
            try {
                overflowPassed(ti, id, thrown);
            } catch (StackOverflowError full) {
                // A caller of the method has more room.
            }
        }
        return thrown;
    }

    /** Start of a handler, see {@link #methodResume}. */
    public static void countResume(int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        if (ti.active && ti.record != 0) {
            JFluid1Trees.resume(ti, ti.record, id);
            return;
        }
        if (ti.active) {
            countedEvent(ti, KIND_CATCH | (long) id << TICK_BITS);
        } else if (ti.virtualActive) {
            virtualEvent(ti, KIND_CATCH | (long) id << TICK_BITS);
        } else {
            return;
        }
        if (ti.context != null) {
            Context here = ti.context.nearest(id);
            ti.context = here == null ? ti.context : here;
        }
    }

    /**
     * Start of a loop's body: an activation that goes on for long hands over what it has executed, or its
     * variable would overflow.
     *
     * @return what it goes on with
     */
    public static int countLoop(int executed) {
        return executed < LONG_ACTIVATION ? executed : countCall(executed);
    }

    /**
     * Before a constructor calls super() or this(): if that throws, no handler of the constructor may see it.
     *
     * @return 0, what it goes on with
     */
    public static int countCall(int executed) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            ti.executed += executed;
            if (ti.active && ti.record != 0) {
                JFluid1Trees.executed(ti.record, executed);
            }
            Context here = ti.context;
            if (here != null) {
                here.executed += executed;
                ti.due -= executed;
                if (ti.due <= 0) {
                    report(ti, here);
                }
            }
        }
        return 0;
    }

    /** Start of a root, see {@link #rootEntry}. */
    public static void countRootEntry(int id) {
        ThreadInfo ti = current();
        boolean inside = ti != null && (ti.active || ti.virtualActive); // as word in methodEntry
        if (inside) {
            int nesting = ti.nesting + 1; // the same
            countEntry(id); // as in rootEntry
            ti.nesting = nesting;
            return;
        }
        if (open) {
            enterGraph(ti, id);
        }
    }

    /** End of a root, see {@link #rootExit}. */
    public static void countRootExit(int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        int left = ti.nesting - 1;
        if (ti.active) {
            ti.nesting = left; // as in rootExit
            countExit(executed, id);
            if (left <= 0 && ti.active) {
                if (ti.record != 0) {
                    tellEnd(ti, id);
                }
                if (gauge != null) {
                    tellAllocated(ti);
                }
                rest(ti);
            }
        } else if (ti.virtualActive) {
            ti.nesting = left;
            countExit(executed, id);
            if (left <= 0) {
                ti.virtualActive = false;
            }
        }
    }

    /** The same where the root ends by an exception, see {@link #methodThrown}. */
    public static Throwable countRootThrown(Throwable thrown, int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return thrown;
        }
        if (ti.active) {
            ti.nesting--; // as in rootExit
            countThrown(thrown, executed, id);
            if (ti.nesting <= 0 && ti.active) {
                if (ti.record != 0) {
                    tellEnd(ti, id);
                }
                if (gauge != null) {
                    tellAllocated(ti);
                }
                rest(ti);
            }
        } else if (ti.virtualActive) {
            ti.nesting--;
            countThrown(thrown, executed, id);
            if (ti.nesting <= 0) {
                ti.virtualActive = false;
            }
        }
        return thrown;
    }

    // ---- gross time of regions (report, section 5) ----
    //
    // A region is a method or some lines of one. A local variable of the activation holds when it was entered, 0 while
    // control is outside; so it needs no record of the thread, and a virtual thread may leave it on another carrier. An
    // execution that ends is one word: an EXIT with the region's number, and how long it was instead of when. One of
    // 2^40 ticks or more stands between two EPOCHs that say the rest. Threads write into the chunk of their carrier;
    // whose execution it was is not told.

    /**
     * Control is in a region: coming from outside, its time begins. Cost: a clock reading, the last thing that is done.
     *
     * @param since what {@link #regionEnter} or {@link #regionLeave} has returned last in this activation, at first 0
     * @param session the number of the session that has put the probe in
     */
    public static long regionEnter(long since, int session) {
        return since != 0 ? since : session == regionSession && open ? ticks() : 0;
    }

    /** Control is outside of a region: coming from inside, its time is told. */
    public static long regionLeave(long since, int id) {
        if (since != 0) {
            regionExit(since, id);
        }
        return 0;
    }

    /**
     * The same for one that ends with the method. Cost: a clock reading, the first thing that is done, one table
     * look-up by thread id, one 8-byte store; for a virtual thread, that of its carrier, too.
     */
    public static void regionExit(long since, int id) {
        if (since == 0) {
            return; // entered before the session, or after it
        }
        long took = ticks() - since;
        ThreadInfo ti = current();
        if (ti == null) {
            ti = knownCarrier();
        }
        if (ti == null || !ti.keeps || took >>> TICK_BITS != 0 || since - regionsSince < 0) {
            regionTold(ti, since, took, id);
            return;
        }
        long at = ti.next;
        if (at >= ti.limit) {
            regionTold(ti, since, took, id);
            return;
        }
        U.putLongRelease(null, at, KIND_EXIT | (long) id << TICK_BITS | took);
        ti.next = at + EVENT_BYTES;
    }

    // ---- allocations: bytes instead of time (--mode alloc) ----
    //
    // Methods have the probes count… and hand over 0; the thread's clock is what its allocation sites have allocated. An
    // allocation is told as a call of a pseudo method, which stands for the class: ENTER before and EXIT after its bytes.
    // The probes here follow the instruction that allocates, so whatever that throws has allocated nothing. None of them
    // hands the object on, and it escapes through them only where they are not inlined.

    /** Follows `new`: an instance of `c`, which has been initialised. Its constructor has not run. */
    public static void allocated(Class<?> c) {
        ThreadInfo ti = current();
        if (ti == null || !(ti.active || ti.virtualActive) || sampleEvery > 1 && isPassedOver(ti)) {
            return;
        }
        Allocated a = known(c);
        if (a == null) {
            a = learn(ti, c, null);
        }
        if (a != null) {
            allocation(ti, a, a.bytes);
        }
    }

    /** Follows newarray. */
    public static void allocatedPrimitives(int length, int type) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            arrayOf(ti, PRIMITIVE_ARRAYS[type], length, null);
        }
    }

    /** Follows newarray where survivors are of interest. */
    public static void allocatedPrimitiveArray(Object array) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            arrayOf(ti, array.getClass(), lengthOf(array), array);
        }
    }

    /**
     * Follows a constructor that `new` was for, where survivors are of interest: the instance has become one. By chance, as
     * with the allocation itself, and not the same ones.
     */
    public static void constructed(Object made) {
        ThreadInfo ti = current();
        if (ti == null || !(ti.active || ti.virtualActive) || sampleEvery > 1 && isPassedOver(ti)) {
            return;
        }
        Class<?> c = made.getClass();
        Allocated a = known(c);
        if (a == null) {
            a = learn(ti, c, made);
        }
        if (a != null) {
            JFluid1Survivors.follow(ti, a.id, made, a.bytes);
        }
    }

    /** Follows anewarray. */
    public static void allocatedArray(Object[] array) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            arrayOf(ti, array.getClass(), array.length, array);
        }
    }

    /** Follows multianewarray: as many dimensions as it has filled. */
    public static void allocatedArrays(Object array, int dimensions) {
        ThreadInfo ti = current();
        if (ti == null || !(ti.active || ti.virtualActive)) {
            return;
        }
        if (JFluid1Survivors.follows()) {
            eachOf(ti, array, dimensions);
            return;
        }
        Object outer = array;
        long arrays = 1;
        for (int left = dimensions;; left--) {
            int length = lengthOf(outer);
            for (long i = 0; i < arrays; i++) {
                arrayOf(ti, outer.getClass(), length, null);
            }
            arrays *= length;
            if (left == 1 || arrays == 0) {
                return;
            }
            outer = ((Object[]) outer)[0];
        }
    }

    /** Follows a call that has made what it returns, in code without probes: clone(), reflection, a lambda with captures. */
    public static void allocatedObject(Object made) {
        ThreadInfo ti = current();
        if (ti == null || made == null || !(ti.active || ti.virtualActive)) {
            return;
        }
        Class<?> c = made.getClass();
        int length = lengthOf(made);
        if (length >= 0) {
            arrayOf(ti, c, length, made);
        } else if (sampleEvery == 1 || !isPassedOver(ti)) {
            Allocated a = known(c);
            if (a == null) {
                a = learn(ti, c, made);
            }
            if (a != null) {
                allocation(ti, a, a.bytes);
                JFluid1Survivors.follow(ti, a.id, made, a.bytes);
            }
        }
    }

    /** Follows Array.newInstance(Class, int[]). */
    public static void allocatedArraysOf(Object array) {
        int dimensions = 0;
        for (Object a = array; a != null; a = ((Object[]) a)[0]) {
            dimensions++;
            if (lengthOf(a) == 0 || !(a instanceof Object[])) {
                break;
            }
        }
        if (dimensions > 0) {
            allocatedArrays(array, dimensions);
        }
    }

    /** Follows a valueOf(), which has allocated nothing if its box is a cached one. */
    public static void allocatedBox(Object box) {
        if (!Values.isCached(box)) {
            allocatedObject(box);
        }
    }

    /** Follows a concatenation: a string and the array in it. */
    public static void allocatedString(Object string) {
        Object value = string == null ? null : U.getReference(string, Values.STRING);
        if (value != null && lengthOf(value) > 0) {
            allocatedObject(string);
            allocatedObject(value);
        }
    }

    /** The same where the JDK has probes: its code makes the array, and up to JDK 23 the string. */
    public static void allocatedConcatenation(Object string) {
        if (spinsConcatenations) {
            allocatedObject(string);
        }
    }

    /** Before a call that may be of Object.clone(), or of an override. */
    public static void cloning() {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            ti.cloningAt = placeOf(ti);
        }
    }

    /** Follows it: an override with probes has had events, and has told what it has made. */
    public static void allocatedClone(Object made) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive) && ti.cloningAt == placeOf(ti)) {
            allocatedObject(made);
        }
    }

    /**
     * Called where the JDK is about to call a method that no call site names, while that is watched: at the
     * start of Method.invoke and Constructor.newInstance, and where a direct method handle, however it is
     * wrapped, looks up what it stands for (DirectMethodHandle.internalMemberName and its like). Also where
     * it defines a hidden class (Lookup.ClassDefiner.defineClass): its code can be seen nowhere else.
     *
     * @param caller a Method, a Constructor, a DirectMethodHandle or a ClassDefiner
     */
    public static void reflectiveCall(Object caller) {
        ThreadInfo ti = current();
        if (ti == null || !(ti.active || ti.virtualActive)) {
            return;
        }
        if (!(caller instanceof java.lang.invoke.MethodHandle) || isHandleOfInterest(caller)) {
            namelessCall(ti, caller);
        }
    }

    /** Always null. Neither final nor ever assigned, so that no compiler may take what it holds for known. */
    private static Object notKnown;

    /**
     * What DirectMethodHandle.internalMemberName and its like return passes through here: the same member, which C1 then
     * cannot take for a constant. C1 inlines what a constant member names without a record of that
     * (c1_GraphBuilder.cpp, try_method_handle_inline), and the code that it makes outlives a redefinition of the method: it
     * runs the code without probes. C2 prunes the branch that is never taken, and inlines as before; it does record.
     *
     * Inlined by force: where it is not, C2 does not know the member either.
     */
    @ForceInline
    public static Object handleMember(Object member) {
        Object other = notKnown;
        return other == null ? member : other;
    }

    // ---- work that changes hands (--follow-threads) ----
    //
    // These probes are in methods of the JDK where work is handed over and where it is taken up, and only
    // while a session follows threads. A thread inside the graph that hands over an object writes SUBMIT with
    // a new token; a thread outside that takes the object up writes BEGIN and is inside from there on. An
    // object is known by its identity: what runs may be a hidden class, which cannot have probes.

    /** Start of a method that puts `task` where other threads find it. */
    public static void submitted(Object task) {
        HandedOver tasks = handedOver;
        if (tasks == null || task == null) {
            return;
        }
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            submit(ti, tasks, task);
        } else if (!tasks.isEmpty() && (ti == null || !ti.guard)) {
            tasks.putForeign(task);
        }
    }

    /** The same where the scheduler of virtual threads puts its own work, which is nobody's task. */
    public static void submittedTo(Object pool, Object task) {
        if (!Points.isScheduler(pool)) {
            submitted(task);
        }
    }

    /** The same where a task is queued until its time comes. One that has been cancelled is queued to be forgotten. */
    public static void delayed(Object task) {
        if (Points.STATUS < 0 || task == null || U.getIntVolatile(task, Points.STATUS) >= 0) {
            submitted(task);
        }
    }

    /** Start of a method that refuses `task`, or takes it back. */
    public static void withdrawn(Object task) {
        HandedOver tasks = handedOver;
        if (tasks == null || task == null || tasks.isEmpty()) {
            return;
        }
        ThreadInfo ti = current();
        if (ti == null || !ti.guard) {
            drop(ti, tasks, task, true);
        }
    }

    /** Start of a method that does nothing but run `task`. Must be paired with taskExit(). */
    public static void taskEntry(Object task) {
        HandedOver tasks = handedOver;
        if (tasks == null) {
            return;
        }
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            // Run by a thread that is inside: it stands where it is called.
            ti.nesting++;
            if (!tasks.isEmpty()) {
                drop(ti, tasks, task, false);
            }
        } else if (!tasks.isEmpty()) {
            takeUp(ti, tasks, task, false);
        }
    }

    /** End of such a method: leaves the graph if its start has entered it. */
    public static void taskExit() {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive) && --ti.nesting <= 0) {
            leaveGraph(ti);
        }
    }

    /** The worker of a ThreadPoolExecutor is about to run `task`; it may have told us already. */
    public static void workerTakes(Object task) {
        HandedOver tasks = handedOver;
        if (tasks == null || task == null || tasks.isEmpty()) {
            return;
        }
        ThreadInfo ti = current();
        if (ti == null || !(ti.active || ti.virtualActive)) {
            takeUp(ti, tasks, task, true);
        } else if (!ti.working) {
            drop(ti, tasks, task, false); // the worker's whole loop is inside a root
        }
    }

    /** A worker begins its loop: on behalf of its pool, whoever has started its thread. */
    public static void workerStarts(Object worker) {
        ThreadInfo ti = current();
        if (ti != null && ti.started && ti.active && ti.nesting <= 1) {
            letGo(ti); // a factory of the application may run the worker inside a task of its own
            leaveGraph(ti);
        }
        if (Points.FIRST_TASK >= 0) {
            workerTakes(U.getReference(worker, Points.FIRST_TASK));
        }
    }

    /** A worker asks for its next task, or ends: what it did for the last one is done. */
    public static void workerIsIdle() {
        ThreadInfo ti = current();
        if (ti != null && ti.working) {
            ti.working = false;
            if (ti.active || ti.virtualActive) {
                leaveGraph(ti);
            }
        }
    }

    /** Start of a method that starts a thread: it is inside the graph from its first event on. */
    @ReservedStackAccess
    public static void threadStarts(Object thread) {
        ThreadInfo ti = current();
        if (handedOver == null || ti == null || !(ti.active || ti.virtualActive)) {
            return;
        }
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = true;
        try {
            Thread t = (Thread) thread;
            if (Points.isFollowed(t) && !t.isAlive() && find(U.getLong(t, TID)) == null) {
                ThreadInfo w = virtual ? carrier() : ti;
                on = w != null && room(w, ti, 5);
                ThreadInfo child = on ? register(t) : null;
                if (child != null) {
                    long token = HandedOver.nextToken();
                    tell(w, ti, CONTROL_SUBMIT | token);
                    child.token = token;
                    child.started = true;
                    child.nesting = 1;
                    if (child.virtual) {
                        child.virtualActive = true;
                    } else {
                        child.active = true;
                    }
                }
            }
        } catch (Throwable e) {
            gap(); // the new thread is not followed; this one is, if it can
            ti.guard = false;
            passOn(e);
        }
        goOn(ti, virtual, on);
    }

    /** A platform thread ends. */
    public static void threadEnds() {
        ThreadInfo ti = current();
        if (ti != null && ti.started && ti.active) {
            if (ti.token != 0) {
                letGo(ti);
            }
            leaveGraph(ti);
        }
    }

    // ---- waiting (--mode locks) ----
    //
    // Waiting is a call of a pseudo method, whose id says what for (src/events/wait-ids.ts). Waits, parks and sleeps
    // are told as they begin and as they end. A monitor that is free is taken without a word: its header says so, before. Of
    // one that is not, both events are written once it has been taken, if that took long enough to tell.

    /**
     * Before a monitorenter. Cost where the monitor is free: a look at the object's header.
     *
     * What lockTaken() must know is kept here and not on the stack of the method: JDK 25 takes a virtual thread off its
     * carrier in the middle of a monitorenter, and does not give back what an interpreted frame has on its stack then.
     */
    public static void lockWanted(Object lock) {
        if (lock == null || (U.getLong(lock, 0L) & LOCK_BITS) == UNLOCKED) {
            return;
        }
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            ti.wanted = lock;
            ti.lockSince = ticks();
        }
    }

    /** Behind it. In a frame no larger than that before: on a full stack, it is the other that throws. */
    public static void lockTaken() {
        ThreadInfo ti = current();
        if (ti != null && ti.wanted != null) {
            JFluid1Waits.lockTaken(ti);
        }
    }

    /**
     * Before a call. If what is called is synchronized, it has to wait before its first instruction, and tells of
     * that by {@link #monitorHeld}. Cost: {@link #methodEntry} without the event.
     *
     * @param target a hash of name and type of what is called
     */
    public static void calling(int target) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            ti.called = target;
            ti.calledAt = ti.next;
            ti.calledTicks = ticks();
        }
    }

    /**
     * Start of a synchronized method, before its entry. A monitor that somebody has waited for has a mark in its
     * object's header, as long as it is held.
     */
    public static void monitorHeld(Object lock, int target) {
        if ((U.getLong(lock, 0L) & MONITOR_BITS) == INFLATED) {
            monitorTaken(lock, target);
        }
    }

    /**
     * Start of a method of the JDK that does nothing but wait.
     *
     * @param on what for, if there is an object
     */
    public static void waitBegins(Object on, int kind) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive) && ti.waits++ == 0) {
            tellWait(ti, KIND_ENTER, on, kind);
        }
    }

    /** Its end, normal or by an exception. */
    public static void waitEnds() {
        ThreadInfo ti = current();
        if (ti != null && ti.waits > 0 && --ti.waits == 0 && (ti.active || ti.virtualActive)) {
            tellWait(ti, KIND_EXIT, null, 0);
        }
    }

    /** Before a call of a native method that waits. */
    public static void callWaits(Object on, int kind) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive) && ti.waits == 0) {
            tellWait(ti, KIND_ENTER, on, kind);
        }
    }

    /** Behind it; not if it throws: then the next event of the caller, or of its callers, ends the wait. */
    public static void callWaited() {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive) && ti.waits == 0) {
            tellWait(ti, KIND_EXIT, null, 0);
        }
    }

    // ---- call sites (--call-sites) ----
    //
    // A caller says where it calls, in a field of its thread; the callee writes that to the ring, if no event has come in
    // between: then it is its own call. JDK code that is not instrumented calls back from where it was called itself.

    /** Before a call. Cost: a look-up and two stores. */
    public static void callSite(int site) {
        ThreadInfo ti = current();
        if (ti != null) {
            ti.site = site;
            ti.siteAt = ti.next;
        }
    }

    /** Start of every instrumented method, before its entry, and after it has told of its monitor. */
    public static void siteEntry() {
        ThreadInfo ti = current();
        if (ti == null || ti.siteAt != ti.next || ti.site == 0) {
            return;
        }
        if (!ti.active) {
            if (ti.virtualActive) {
                tellSite(ti, true);
            }
            return;
        }
        long at = ti.next;
        if (at >= ti.limit) {
            tellSite(ti, false);
            return;
        }
        U.putLongRelease(null, at, CONTROL_SITE | ti.site);
        ti.next = at + EVENT_BYTES;
    }

    // ---- waking a sleeping agent ----

    /**
     * How a second attach finds the agent without loading it again (which prints a four-line warning on
     * JDK 21+ and leaves one more JVMTI environment behind each time).
     *
     * The attach command {@code agentProperties} makes HotSpot's Attach Listener thread copy the
     * properties of {@code jdk.internal.vm.VMSupport.getAgentProperties()}. We put this subclass there:
     * when it is copied, it looks for a launch file that only the owner of the process can have written,
     * and starts a session from it.
     */
    public static final class Wake extends java.util.Properties {
        private static final long serialVersionUID = 1L;

        /** Puts a Wake in place of the agent properties, once. */
        public static boolean install() {
            try {
                java.util.Properties old = jdk.internal.vm.VMSupport.getAgentProperties();
                if (old instanceof Wake) {
                    return true;
                }
                java.lang.reflect.Field field = jdk.internal.vm.VMSupport.class.getDeclaredField("agentProps");
                field.setAccessible(true);
                Wake wake = new Wake();
                wake.putAll(old);
                field.set(null, wake);
                return true;
            } catch (ReflectiveOperationException | RuntimeException unknownJdk) {
                return false;
            }
        }

        @Override
        public java.util.Set<String> stringPropertyNames() {
            setProperty("jfluid.build", Setup.agentBuild);
            remove("jfluid.started");
            remove("jfluid.error");
            remove("jfluid.detached");
            try {
                String launch = launchLine();
                java.util.function.Function<String, String> agent = Setup.agent;
                if (launch != null && agent != null) {
                    String answer = agent.apply(launch);
                    if (launch.startsWith("detach=")) {
                        setProperty("jfluid.detached", answer);
                    } else {
                        setProperty(answer == null ? "jfluid.started" : "jfluid.error",
                                answer == null ? shown(launch) : answer);
                    }
                }
            } catch (Throwable t) {
                setProperty("jfluid.error", String.valueOf(t));
            }
            return super.stringPropertyNames();
        }

        /** Without what only the agent is told: properties stay until they are asked for again. */
        private static String shown(String launch) {
            int token = launch.indexOf(";token=");
            return token < 0 ? launch : launch.substring(0, token);
        }

        /** The launch file's only line, if it is ours: owner and mode are checked, links not followed. */
        private static String launchLine() throws java.io.IOException {
            java.nio.file.Path file = java.nio.file.Path.of("/tmp/.jfluid_pid" + ProcessHandle.current().pid());
            java.nio.file.LinkOption here = java.nio.file.LinkOption.NOFOLLOW_LINKS;
            if (!java.nio.file.Files.isRegularFile(file, here)) {
                return null;
            }
            Object self = java.nio.file.Files.getAttribute(java.nio.file.Path.of("/proc/self"), "unix:uid");
            Object owner = java.nio.file.Files.getAttribute(file, "unix:uid", here);
            int mode = (Integer) java.nio.file.Files.getAttribute(file, "unix:mode", here);
            boolean trusted = (owner.equals(self) || owner.equals(0)) && (mode & 022) == 0;
            if (!trusted) {
                return null;
            }
            String line = java.nio.file.Files.readString(file).strip();
            try {
                java.nio.file.Files.deleteIfExists(file); // its writer may have been killed meanwhile
            } catch (java.io.IOException notOurs) {
                // Root's, in a sticky directory: its writer removes it.
            }
            return line;
        }
    }
}
