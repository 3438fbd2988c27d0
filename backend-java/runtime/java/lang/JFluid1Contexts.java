package java.lang;

import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

/** Calling context trees of threads for a user's profiler (--profiler), and the reports to that profiler. */
public final class JFluid1Contexts {
    private JFluid1Contexts() {}

    /** Number of bytecodes that a thread executes before it repeats a report that failed because the stack was full. */
    private static final long REPORT_AGAIN = 1 << 20;
    /** Null unless the session has a user's profiler. */
    static volatile Reporter reporter;

    /** A calling context of one thread, for a user's profiler (jfluid.api.CallingContext). */
    public static final class Context {
        public final int id;
        /** Null for the root node of the thread's tree. */
        public final Context caller;
        public long calls;
        public long executed;
        /** Callees, newest first. */
        public Context callees;
        public Context next;

        Context(int id, Context caller) {
            this.id = id;
            this.caller = caller;
        }

        /** Returns the context of a callee. Adds the context if it does not exist. */
        Context callee(int id) {
            for (Context c = callees; c != null; c = c.next) {
                if (c.id == id) {
                    return c;
                }
            }
            Context c = new Context(id, this);
            c.next = callees;
            callees = c;
            return c;
        }

        /** Returns the innermost context of the method among this context and its callers; null if there is none. */
        Context nearest(int id) {
            Context c = this;
            while (c.caller != null && c.id != id) {
                c = c.caller;
            }
            return c.caller == null ? null : c;
        }
    }

    /** A user's profiler. Both methods return the number of bytecodes until the thread's next report. */
    public abstract static class Reporter {
        public abstract int register(Thread thread, Context root);

        public abstract int report(Context root, Context current);
    }

    static void enterContext(ThreadInfo ti, int id) {
        try {
            Context callee = ti.context.callee(id);
            callee.calls++;
            ti.context = callee;
        } catch (OutOfMemoryError full) {
            ti.context = null; // the profiler gets no more reports of this thread
            gap();
        }
    }

    /** Leaves the context of a method. Also closes contexts of callees without an exit event. */
    static void leaveContext(ThreadInfo ti, int executed, int id) {
        Context here = ti.context.nearest(id);
        if (here == null) {
            return;
        }
        here.executed += executed;
        ti.context = here.caller;
        ti.due -= executed;
        if (ti.due <= 0) {
            report(ti, here);
        }
    }

    /**
     * Calls the profiler for the thread, which is outside root calls during that call. User code may be arbitrarily slow: when it returns,
     * the session may have ended and another session may have begun.
     */
    static void report(ThreadInfo ti, Context current) {
        Reporter to = reporter;
        if (to == null) {
            ti.context = ti.contexts = null; // the profiler has failed, so the tree is not needed
            return;
        }
        ThreadInfo[] session = table;
        boolean active = ti.active;
        boolean virtualActive = ti.virtualActive;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        ti.due = REPORT_AGAIN; // used if the profiler returns no number
        try {
            ti.due = to.report(ti.contexts, current);
        } catch (Throwable t) {
            passOn(t); // the stack was too full for the inner handler
        } finally {
            ti.guard = false;
            if (table == session && enabled) {
                ti.active = active;
                ti.virtualActive = virtualActive;
            }
        }
    }

    /** Registers a thread at its first root call. Precondition: the thread's guard is set. */
    static void register(Reporter to, ThreadInfo ti) {
        ti.contexts = new Context(0, null);
        ti.due = to.register(Thread.currentThread(), ti.contexts);
        ti.context = ti.contexts;
    }

    public static void reportTo(Reporter to) {
        reporter = to;
    }

    /** Stops reports to a profiler. No effect if another profiler has replaced `to`. */
    public static void stopReporting(Reporter to) {
        if (reporter == to) {
            reporter = null;
        }
    }

    static Reporter reporter() {
        return reporter;
    }
}
