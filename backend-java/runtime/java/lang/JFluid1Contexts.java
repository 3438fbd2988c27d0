package java.lang;

import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

/** What a profiler of the user's works with (--profiler): each thread's tree of calling contexts, and when it is handed over. */
public final class JFluid1Contexts {
    private JFluid1Contexts() {}

    /** Bytecodes until a thread reports that could not do so for want of stack. */
    private static final long REPORT_AGAIN = 1 << 20;
    /** Null but for a session with a profiler of the user's. */
    static volatile Reporter reporter;

    /** A calling context of one thread, for a profiler of the user's (jfluid.api.CallingContext). */
    public static final class Context {
        public final int id;
        /** Null for the thread's tree as a whole. */
        public final Context caller;
        public long calls;
        public long executed;
        /** Latest first. */
        public Context callees;
        public Context next;

        Context(int id, Context caller) {
            this.id = id;
            this.caller = caller;
        }

        /** That of a call from here. */
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

        /** The nearest of this method, itself or further out; null if there is none. */
        Context nearest(int id) {
            Context c = this;
            while (c.caller != null && c.id != id) {
                c = c.caller;
            }
            return c.caller == null ? null : c;
        }
    }

    /** A profiler of the user's. Both return after how many bytecodes the thread reports next. */
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
            ti.context = null; // the profiler has no more of this thread
            gap();
        }
    }

    /** What a frame that ended without an exit leaves open ends with the nearest exit outside of it. */
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
     * Hands the thread to the profiler, outside of the graph meanwhile. What that does may take as long as it likes: the
     * session may be over when it returns, and another one on.
     */
    static void report(ThreadInfo ti, Context current) {
        Reporter to = reporter;
        if (to == null) {
            ti.context = ti.contexts = null; // it has failed, and nobody reads the tree
            return;
        }
        ThreadInfo[] session = table;
        boolean active = ti.active;
        boolean virtualActive = ti.virtualActive;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        ti.due = REPORT_AGAIN; // unless it says otherwise
        try {
            ti.due = to.report(ti.contexts, current);
        } catch (Throwable t) {
            passOn(t); // there was no room on the stack to catch it nearer
        } finally {
            ti.guard = false;
            if (table == session && enabled) {
                ti.active = active;
                ti.virtualActive = virtualActive;
            }
        }
    }

    /** A thread's first call of a root. With the guard on. */
    static void register(Reporter to, ThreadInfo ti) {
        ti.contexts = new Context(0, null);
        ti.due = to.register(Thread.currentThread(), ti.contexts);
        ti.context = ti.contexts;
    }

    public static void reportTo(Reporter to) {
        reporter = to;
    }

    /** Of no effect if another one's turn has come. */
    public static void stopReporting(Reporter to) {
        if (reporter == to) {
            reporter = null;
        }
    }

    static Reporter reporter() {
        return reporter;
    }
}
