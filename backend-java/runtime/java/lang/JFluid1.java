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
 * The probes that instrumented methods call. No other jfluid code runs on application threads for every call.
 * Figure 3 of the JFluid report.
 *
 * This class is in java.lang because every class loader delegates {@code java.*} to the bootstrap loader: an OSGi bundle finds it, and a
 * class of a named module needs no extra read edge. The number in the class name is the version of the class. The runtime classes stay in
 * the JVM after detach, and a later jfluid must not find other contents under the same name.
 *
 * This class has all probes except those of mode `sample`, and only the probes. Instrumented classes refer to no other jfluid class, so
 * each of their loaders resolves only this class, once. The other runtime classes have one concern each; all are initialised together, see
 * {@link JFluid1Session}.
 *
 * Rules: the hot path allocates nothing, takes no lock and calls only intrinsics. The slow paths first clear {@link
 * JFluid1Threads.ThreadInfo#active}, so that the probes of instrumented JDK code return at once. A slow path changes a chunk in several
 * steps and may use the thread's reserved stack, which delays a StackOverflowError until the slow path has finished. No probe lets an
 * exception escape; a failure switches recording off for the current root call.
 */
public final class JFluid1 {
    private JFluid1() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** Settings that the agent makes before the other runtime classes are initialised. */
    public static final class Setup {
        private Setup() {}

        public static boolean fastClock;
        /** Whether the kernel's clock source is the processor's time stamp counter. */
        public static boolean trustsTsc;
        /** Identity of the runtime's class files. It differs from build to build. */
        public static String runtimeId;
        /** Build identity of the agent that set {@link #agent}. */
        public static String agentBuild = "";
        /**
         * The sleeping agent. A launch line that begins with detach= ends the running session and returns its result. Any other launch line
         * starts a session and returns null or an error.
         */
        public static java.util.function.Function<String, String> agent;
        /** The agent's java.lang.instrument.Instrumentation. Declared as Object, since java.base does not read java.instrument. */
        public static Object instrumentation;
        /** The thread of the current session, of any agent build; null without a session. */
        public static volatile Thread session;
    }

    /** Number of executed bytecodes after which a loop adds its counter to the thread's counter, roughly a thousand times a second. */
    private static final int LONG_ACTIVATION = 1 << 20;

    /**
     * Called at the start of every instrumented method except roots. Figure 3 of the report, plus scheme B's
     * first-call check.
     *
     * Cost inside a root call: one table look-up by thread id, one byte of `state`, one clock read, one 8-byte store. Cost outside a root
     * call: the look-up. methodEntry reads the clock last and methodExit reads it first, so that the time between both stamps contains
     * little probe time (inner time, section 5.3).
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
        long word = KIND_ENTER | (long) id << TICK_BITS; // a local variable, see JFluid1Stack
        long delta = ticks() - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            appendEntry(ti, word);
            return;
        }
        U.putLongRelease(null, at, word | delta);
        ti.next = at + EVENT_BYTES;
    }

    /** Called at the end of every instrumented method except roots. */
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
     * Called at the end of a method that returns a value. The probe takes and returns the value: C1 does not inline the probe. If the value
     * were not passed through the probe, C1 would spill it to the method's frame in each call.
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

    /** Called where an exception ends an instrumented method. */
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
                // The probe of a caller has more stack.
            }
        }
        return thrown;
    }

    /**
     * Called at the start of an exception handler of an instrumented method or root. All callees of the method have ended by then,
     * including callees without an exit event: no handler can cover a constructor's call of super(), and a probe that overflows the stack
     * writes no event.
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

    // ---- probes of methods that scheme adaptive switches on and off, see JFluid1Modes ----
    //
    // switchedEntry and switchedExit are never inlined. An inlined probe puts the call that reads the clock into the code of the method and
    // of callers that inline the method. C2 then spills values that are live after that call to the frame; for a value computed by a loop
    // it may spill in each iteration (decision 125). A return value is passed through switchedExit. If the stack has room for the entry
    // probe, it has room for the exit probe: in every mode, both probes have the same call depth and the same number of local variables.

    @DontInline
    public static void switchedEntry(int id) {
        switchedBegin(id);
    }

    private static void switchedBegin(int id) {
        ThreadInfo ti = current();
        boolean inside =
                ti != null && (ti.active || ti.virtualActive); // a local variable, and `mode` is long: JFluid1Stack
        if (!inside) {
            return;
        }
        long mode = JFluid1Modes.of(ti, id);
        if (mode == JFluid1Modes.TIME) {
            methodEntry(id); // throws on a full stack: the call is then not counted in switchedOpen
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
        // A copy of JFluid1Modes.tellsEnd: a call of tellsEnd would use one frame more than the entry.
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

    /** Called at the start of a root. The outermost root call of a thread starts recording of the thread. */
    public static void rootEntry(int id) {
        ThreadInfo ti = current();
        boolean inside = ti != null && (ti.active || ti.virtualActive); // a local variable, see JFluid1Stack
        if (inside) {
            int nesting = ti.nesting + 1; // a local variable, see JFluid1Stack
            methodEntry(id); // throws on a full stack: the call has then ended, and nesting is unchanged
            ti.nesting = nesting;
            return;
        }
        if (open && (ti == null || !isUntimed(ti, id))) {
            enterGraph(ti, id);
        }
    }

    /** Called at the end of a root. The end of the outermost root call of a thread stops recording of the thread. */
    public static void rootExit(int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        int left = ti.nesting - 1;
        if (ti.active) {
            ti.nesting = left; // set before methodExit, which throws on a full stack
            if (left <= 0 && ti.by != 0) {
                JFluid1Values.leave(ti, id);
            } else {
                methodExit(id);
            }
            if (left <= 0) {
                leaveRootIfActive(ti);
            }
        } else if (ti.virtualActive) {
            ti.nesting = left;
            if (left <= 0 && ti.by != 0) {
                JFluid1Values.leaveVirtual(ti, id);
            } else {
                virtualEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
            }
            if (left <= 0) {
                leaveVirtualRoot(ti);
            }
        } else if (ti.untimed > 0) {
            ti.untimed--;
        } else {
            leaveInactive(ti);
        }
    }

    /** Called where an exception ends a root, see {@link #methodThrown}. */
    public static Throwable rootThrown(Throwable thrown, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return thrown;
        }
        if (ti.active || ti.virtualActive) {
            int left = ti.nesting - 1;
            ti.nesting = left; // set before methodThrown, which throws on a full stack
            if (left > 0) {
                methodThrown(thrown, id);
            } else {
                leaveThrown(ti, thrown, id);
            }
        } else if (ti.untimed > 0) {
            ti.untimed--;
        } else {
            leaveInactive(ti);
        }
        return thrown;
    }

    // ---- values of root calls (--show, --by) ----
    //
    // The probes precede rootEntry and rootExit. They only store a reference or a number in the thread's record, see JFluid1Values.

    /** @param start number of the start of a path, and whether the value is a result */
    public static void rootValue(Object value, int start) {
        JFluid1Values.store(value, start);
    }

    /** @param start like above, and the type of the value */
    public static void rootValue(long value, int start) {
        JFluid1Values.store(value, start);
    }

    public static void rootValue(double value, int start) {
        JFluid1Values.store(Double.doubleToRawLongBits(value), start);
    }

    // ---- probes without a clock (--mode count, bytecodes, alloc) ----
    //
    // Instead of a time, an event has the number of bytecodes that its thread has executed inside root calls. The method counts its
    // bytecodes in a local variable and passes the count to the probe at its end (JP, section 4). A method without a counter passes 0. So a
    // reader of events need not know the mode: a self "time" is then the number of bytecodes executed between two events.

    /**
     * Called at the start of every instrumented method except roots. Cost where the thread keeps a tree: one table look-up by thread id,
     * one byte of `state`, one addition to a record. All other cases are in other methods, because C2 inlines at most 8,000 bytes of
     * bytecode into a method (DesiredMethodLimit).
     */
    public static void countEntry(int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        long record = ti.record; // record and known are local variables, see JFluid1Stack
        byte known = ti.active ? state[id] : NEW;
        if (known >= READY && record != 0) {
            JFluid1Trees.enter(ti, record, id);
        } else {
            entryAsEvent(ti, id);
        }
    }

    /**
     * Records the entry and the end of a call in one step, for a method that calls no method and makes the JVM call no method (leaf.ts).
     * Its cost is that of {@link #countEntry}.
     *
     * @param executed bytecodes executed by the call
     */
    public static void countLeaf(int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        long record = ti.record; // record and known are local variables, see JFluid1Stack
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
        byte known = state[id]; // a local variable, see JFluid1Stack
        if (known < READY && !firstInvocation(ti, id)) {
            return;
        }
        if (ti.record != 0) {
            JFluid1Trees.enter(ti, ti.record, id);
            return;
        }
        long word = KIND_ENTER | (long) id << TICK_BITS; // a local variable, see JFluid1Stack
        countedEntry(ti, word);
        if (ti.context != null) {
            enterContext(ti, id);
        }
    }

    /**
     * Called at the end of every instrumented method except roots, also where an exception ends it.
     *
     * @param executed bytecodes of this activation since it last reported its count, without its callees
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

    /** Called at the end of a method that returns a value, see {@link #methodExit(int, int)}. */
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

    /** Called where an exception ends an instrumented method, see {@link #methodThrown}. */
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
                // The probe of a caller has more stack.
            }
        }
        return thrown;
    }

    /** Called at the start of an exception handler, see {@link #methodResume}. */
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
     * Called at the start of a loop's body. A long activation reports its count from here, so that its counter does not overflow.
     *
     * @return the new value of the counter
     */
    public static int countLoop(int executed) {
        return executed < LONG_ACTIVATION ? executed : countCall(executed);
    }

    /**
     * Called before a constructor calls super() or this(). No handler of the constructor may cover that call, so an exception from it ends
     * the constructor without a probe.
     *
     * @return 0, the new value of the counter
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

    /** Called at the start of a root, see {@link #rootEntry}. */
    public static void countRootEntry(int id) {
        ThreadInfo ti = current();
        boolean inside = ti != null && (ti.active || ti.virtualActive); // a local variable, see JFluid1Stack
        if (inside) {
            int nesting = ti.nesting + 1; // a local variable, see JFluid1Stack
            countEntry(id); // throws on a full stack, see rootEntry
            ti.nesting = nesting;
            return;
        }
        if (open) {
            enterGraph(ti, id);
        }
    }

    /** Called at the end of a root, see {@link #rootExit}. */
    public static void countRootExit(int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        int left = ti.nesting - 1;
        if (ti.active) {
            ti.nesting = left; // set before countExit, which throws on a full stack
            if (left <= 0 && gauge != null) {
                tellAllocated(ti); // before the EXIT: the client adds the bytes to the root that is still open
            }
            countExit(executed, id);
            if (left <= 0 && ti.active) {
                if (ti.record != 0) {
                    tellEnd(ti, id);
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

    /** Called where an exception ends a root, see {@link #methodThrown}. */
    public static Throwable countRootThrown(Throwable thrown, int executed, int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return thrown;
        }
        if (ti.active) {
            ti.nesting--; // decremented before countThrown, which throws on a full stack
            if (ti.nesting <= 0 && gauge != null) {
                tellAllocated(ti);
            } else if (ti.nesting <= 0) {
                JFluid1Thrown.tell(ti, thrown);
            }
            countThrown(thrown, executed, id);
            if (ti.nesting <= 0 && ti.active) {
                if (ti.record != 0) {
                    tellEnd(ti, id);
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
    // A region is a method or some lines of a method. A local variable of the activation holds the time at which control entered the
    // region, or 0 while control is outside. So the region needs no thread record, and a virtual thread may leave the region on another
    // carrier. An execution of a region is written as one word at its end: an EXIT with the region's number and the duration in place of
    // the time. A duration of 2^40 ticks or more is written between two EPOCH words that have the high bits of the duration. A virtual
    // thread writes to the chunk of its carrier; the thread of an execution is not recorded.

    /**
     * Called where control may enter a region; starts the region's time if control was outside the region. Cost: one clock read, at the end
     * of the probe.
     *
     * @param since last value returned by {@link #regionEnter} or {@link #regionLeave} in this activation; initially 0
     * @param session number of the session that inserted the probe
     */
    public static long regionEnter(long since, int session) {
        return since != 0 ? since : session == regionSession && open ? ticks() : 0;
    }

    /** Called where control may leave a region; writes the duration if control was inside the region. */
    public static long regionLeave(long since, int id) {
        if (since != 0) {
            regionExit(since, id);
        }
        return 0;
    }

    /**
     * Called at the end of a method whose end is also the end of a region. Cost: one clock read, at the start of the probe, one table
     * look-up by thread id, one 8-byte store; for a virtual thread also a look-up of its carrier.
     */
    public static void regionExit(long since, int id) {
        if (since == 0) {
            return; // control entered the region before or after the session
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
    // Methods have the count… probes and pass 0 to them; the clock of a thread is the number of bytes that its allocation sites have
    // allocated. An allocation is recorded as a call of a pseudo method, one per allocated class: ENTER before the bytes are added to the
    // clock, EXIT after. These probes follow the allocating instruction, so an instruction that throws records no allocation. No probe
    // stores or passes on the object, so the object escapes only through a probe that is not inlined.

    /** Called after a `new` of class `c`, which has been initialised. The constructor of the instance has not run yet. */
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

    /** Called after newarray. */
    public static void allocatedPrimitives(int length, int type) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            arrayOf(ti, PRIMITIVE_ARRAYS[type], length, null);
        }
    }

    /** Called after newarray if the session tracks survivors. */
    public static void allocatedPrimitiveArray(Object array) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            arrayOf(ti, array.getClass(), lengthOf(array), array);
        }
    }

    /**
     * Called after the constructor call of a `new` expression if the session tracks survivors. Instances are sampled at random,
     * independently of the sampling in {@link #allocated}.
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

    /** Called after anewarray. */
    public static void allocatedArray(Object[] array) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            arrayOf(ti, array.getClass(), array.length, array);
        }
    }

    /** Called after multianewarray. `dimensions` is the number of dimensions that the instruction has filled. */
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

    /** Called after a call that returns a new object from code without probes: clone(), reflection, a lambda with captures. */
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

    /** Called after Array.newInstance(Class, int[]). */
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

    /** Called after valueOf() of a box class. A cached box is not an allocation. */
    public static void allocatedBox(Object box) {
        if (!Values.isCached(box)) {
            allocatedObject(box);
        }
    }

    /** Called after a string concatenation, which allocates a string and its array. */
    public static void allocatedString(Object string) {
        Object value = string == null ? null : U.getReference(string, Values.STRING);
        if (value != null && lengthOf(value) > 0) {
            allocatedObject(string);
            allocatedObject(value);
        }
    }

    /** Called after a concatenation if JDK code has probes: JDK code allocates the array, and up to JDK 23 also the string. */
    public static void allocatedConcatenation(Object string) {
        if (spinsConcatenations) {
            allocatedObject(string);
        }
    }

    /** Called before a call of Object.clone() or of an override of it. */
    public static void cloning() {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            ti.cloningAt = placeOf(ti);
        }
    }

    /** Called after a call of clone(). An override with probes has written events in between, and has recorded its allocation itself. */
    public static void allocatedClone(Object made) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive) && ti.cloningAt == placeOf(ti)) {
            allocatedObject(made);
        }
    }

    /**
     * Called where the JDK is about to call a method that no call site names: at the start of Method.invoke and Constructor.newInstance,
     * and where a direct method handle resolves its member (DirectMethodHandle.internalMemberName and similar methods). Also called where
     * the JDK defines a hidden class (Lookup.ClassDefiner.defineClass), the only place where its class file is visible.
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

    /** Always null. Not final and never assigned, so that no compiler treats its value as a constant. */
    private static Object notKnown;

    /**
     * Returns its argument: the result of DirectMethodHandle.internalMemberName and similar methods, which C1 then cannot treat as a
     * constant. C1 inlines the method of a constant member without recording a dependency (c1_GraphBuilder.cpp, try_method_handle_inline),
     * so the compiled code stays valid after a redefinition of that method and has no probes. C2 prunes the branch that is never taken, so
     * it inlines as if this method did not exist; C2 does record the dependency.
     *
     * ForceInline, because C2 knows the member only if this method is inlined.
     */
    @ForceInline
    public static Object handleMember(Object member) {
        Object other = notKnown;
        return other == null ? member : other;
    }

    // ---- tasks that other threads run (--follow-threads) ----
    //
    // These probes are in JDK methods that submit or run tasks, and only while a session follows threads. A thread that submits a task
    // inside a root call writes SUBMIT with a new token. If a thread outside root calls starts the task, that thread writes BEGIN and is
    // inside the root call from then on. A task is identified by its object identity, because its class may be hidden, and a hidden class
    // cannot have probes.

    /** Called at the start of a method that submits `task` to other threads. */
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

    /** Like {@link #submitted}, but ignores the scheduler of virtual threads, whose entries are not tasks of the application. */
    public static void submittedTo(Object pool, Object task) {
        if (!Points.isScheduler(pool)) {
            submitted(task);
        }
    }

    /** Like {@link #submitted}, for a task with a delay. Ignores a cancelled task, which is queued only to be removed. */
    public static void delayed(Object task) {
        if (Points.STATUS < 0 || task == null || U.getIntVolatile(task, Points.STATUS) >= 0) {
            submitted(task);
        }
    }

    /** Called at the start of a method that rejects or removes `task`. */
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

    /** Called at the start of a method that only runs `task`. Must be paired with taskExit(). */
    public static void taskEntry(Object task) {
        HandedOver tasks = handedOver;
        if (tasks == null) {
            return;
        }
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            // The thread is inside a root call already: the task is an ordinary callee.
            ti.nesting++;
            if (!tasks.isEmpty()) {
                drop(ti, tasks, task, false);
            }
        } else if (!tasks.isEmpty()) {
            takeUp(ti, tasks, task, false);
        }
    }

    /** Called at the end of a method that only runs a task. Stops recording of the thread if taskEntry() started it. */
    public static void taskExit() {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive) && --ti.nesting <= 0) {
            leaveGraph(ti);
        }
    }

    /** Called where a ThreadPoolExecutor worker is about to run `task`. An earlier probe may have reported the same start. */
    public static void workerTakes(Object task) {
        HandedOver tasks = handedOver;
        if (tasks == null || task == null || tasks.isEmpty()) {
            return;
        }
        ThreadInfo ti = current();
        if (ti == null || !(ti.active || ti.virtualActive)) {
            takeUp(ti, tasks, task, true);
        } else if (!ti.working) {
            drop(ti, tasks, task, false); // the whole loop of the worker is inside a root call
        }
    }

    /** Called where a worker begins its loop. The worker belongs to its pool, not to the task that started its thread. */
    public static void workerStarts(Object worker) {
        ThreadInfo ti = current();
        if (ti != null && ti.started && ti.active && ti.nesting <= 1) {
            letGo(ti); // an application's thread factory may run the worker inside a task
            leaveGraph(ti);
        }
        if (Points.FIRST_TASK >= 0) {
            workerTakes(U.getReference(worker, Points.FIRST_TASK));
        }
    }

    /** Called where a worker asks for its next task or ends. Its previous task has ended. */
    public static void workerIsIdle() {
        ThreadInfo ti = current();
        if (ti != null && ti.working) {
            ti.working = false;
            if (ti.active || ti.virtualActive) {
                leaveGraph(ti);
            }
        }
    }

    /** Called at the start of a method that starts a thread. The new thread is inside the root call from its first event on. */
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
            gap(); // the new thread is not followed; recording of this thread continues if possible
            ti.guard = false;
            passOn(e);
        }
        goOn(ti, virtual, on);
    }

    /** Called where a platform thread ends. */
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
    // A wait is recorded as a call of a pseudo method; its id is the kind of wait (src/events/wait-ids.ts). Waits, parks and sleeps write
    // an event at their begin and at their end. Entering a free monitor writes no event: the header of the object shows beforehand that the
    // monitor is free. For a contended monitor both events are written after the thread has entered the monitor, and only if the wait
    // exceeds a minimum.

    /**
     * Called before a monitorenter. Cost for a free monitor: one load of the object's header.
     *
     * The lock and the time are kept for lockTaken() in the thread record, not on the operand stack: JDK 25 may unmount a virtual thread
     * during a monitorenter, and does not restore the operand stack of an interpreted frame.
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

    /**
     * Called after the monitorenter. The frame of lockTaken() is no larger than the frame of lockWanted(), so on a full stack lockWanted()
     * throws first.
     */
    public static void lockTaken() {
        ThreadInfo ti = current();
        if (ti != null && ti.wanted != null) {
            JFluid1Waits.lockTaken(ti);
        }
    }

    /**
     * Called before a call. A synchronized callee waits for its monitor before its first instruction; {@link #monitorHeld} then records
     * that wait with the time stored here. Cost: {@link #methodEntry} without the event.
     *
     * @param target hash of the callee's name and descriptor
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
     * Called at the start of a synchronized method, before its entry probe. The header of a monitor that a thread has waited for is marked
     * (inflated) as long as the monitor is held.
     */
    public static void monitorHeld(Object lock, int target) {
        if ((U.getLong(lock, 0L) & MONITOR_BITS) == INFLATED) {
            monitorTaken(lock, target);
        }
    }

    /**
     * Called at the start of a JDK method that only waits.
     *
     * @param on object waited for, or null
     */
    public static void waitBegins(Object on, int kind) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive) && ti.waits++ == 0) {
            tellWait(ti, KIND_ENTER, on, kind);
        }
    }

    /** Called at the end of a JDK method that only waits, also where an exception ends it. */
    public static void waitEnds() {
        ThreadInfo ti = current();
        if (ti != null && ti.waits > 0 && --ti.waits == 0 && (ti.active || ti.virtualActive)) {
            tellWait(ti, KIND_EXIT, null, 0);
        }
    }

    /** Called before a call of a native method that waits. */
    public static void callWaits(Object on, int kind) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive) && ti.waits == 0) {
            tellWait(ti, KIND_ENTER, on, kind);
        }
    }

    /** Called after a native method that waits has returned. If the method throws, the next event of a caller ends the wait. */
    public static void callWaited() {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive) && ti.waits == 0) {
            tellWait(ti, KIND_EXIT, null, 0);
        }
    }

    // ---- call sites (--call-sites) ----
    //
    // A caller stores its call site in its thread record. The callee writes that site to the ring if no event was written in between, since
    // the call then came from that site. A callback from JDK code without probes gets the call site at which the JDK was called.

    /** Called before a call. Cost: one look-up and two stores. */
    public static void callSite(int site) {
        ThreadInfo ti = current();
        if (ti != null) {
            ti.site = site;
            ti.siteAt = ti.next;
        }
    }

    /** Called at the start of every instrumented method, after monitorHeld() and before the entry probe. */
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
     * Lets a second attach use the loaded agent. Loading the agent again would print a four-line warning on JDK 21+, and each load would
     * leave one more JVMTI environment.
     *
     * The attach command {@code agentProperties} makes HotSpot's Attach Listener thread copy the properties of {@code
     * jdk.internal.vm.VMSupport.getAgentProperties()}. An instance of this subclass replaces these properties. When the instance is copied,
     * it looks for a launch file that only the owner of the process can have written, and starts a session from it.
     */
    public static final class Wake extends java.util.Properties {
        private static final long serialVersionUID = 1L;

        /** Replaces the agent properties by a Wake, unless the properties are a Wake already. */
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

        /** Removes the token from a launch line: any later agentProperties command can read the properties. */
        private static String shown(String launch) {
            int token = launch.indexOf(";token=");
            return token < 0 ? launch : launch.substring(0, token);
        }

        /**
         * Returns the only line of the launch file, or null if the file is missing or not trusted. Checks owner and mode; follows no links.
         */
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
                java.nio.file.Files.deleteIfExists(file); // the client may have been killed
            } catch (java.io.IOException notOurs) {
                // The file belongs to root, in a sticky directory: the client that wrote the file removes it.
            }
            return line;
        }
    }
}
