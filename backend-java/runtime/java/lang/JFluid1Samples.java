package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * The probes of mode `sample`, with the rules of {@link JFluid1}, beside which they live.
 *
 * As in Komorium: a thread keeps its stack of methods as an array, counts down by what it executes, and looks at itself whenever the
 * count is over. A sample says what has changed since the thread's last: UNWIND, ENTER for what is new, SAMPLE.
 */
public final class JFluid1Samples {
    private JFluid1Samples() {}

    private static final int FIRST_FRAMES = 64;
    private static final int SEED = 0x2545f491;
    /** Words that are written at once, with those of a new chunk. */
    private static final int WORDS = 8;
    private static final Unsafe U = Unsafe.getUnsafe();

    /** One thread's stack, and how far it is from its next sample. */
    public static final class Stack {
        final JFluid1Threads.ThreadInfo thread;
        /** Ids, outermost first; negative once a sample has told of them, and until something else is there. */
        int[] frames = new int[FIRST_FRAMES];
        /**
         * By depth, where the frame there was called from: written by its caller, before. Null unless that is told. As long
         * as `frames`.
         */
        int[] sites = tellsSites ? new int[FIRST_FRAMES] : null;
        int depth;
        /** Frames that the last sample showed, -1 if the client need not know them all. */
        int sampled;
        /** Bytecodes until the next sample. */
        int left;
        /** What it was after the last. */
        int granularity;
        private int random = SEED;
        /** By depth, of the frames that were told of: where a profiler of the user's has them. Null if there is none. */
        JFluid1Contexts.Context[] contexts;

        Stack(JFluid1Threads.ThreadInfo thread) {
            this.thread = thread;
            next(every);
        }

        /** Marsaglia's xorshift: the same numbers in every thread of every run. */
        void next(int every) {
            int r = 0;
            if (spread > 0) {
                int x = random;
                x ^= x << 13;
                x ^= x >>> 17;
                x ^= x << 5;
                random = x;
                r = (x >>> 1) % spread;
            }
            left = granularity = (int) Math.min(Integer.MAX_VALUE, (long) every + r);
        }
    }

    // ---- the session, written by the agent's thread ----

    /** Bytecodes. */
    private static int every = Integer.MAX_VALUE;
    private static int spread;
    /** Until the next session begins. */
    static boolean tellsSites;

    /** Frames say where they were called from, as long as the session lasts. */
    static void tellSites() {
        tellsSites = true;
    }

    /** @param random upper bound of what is added each time, itself excluded; 0 for nothing */
    public static void everyBytecodes(int bytecodes, int random) {
        every = bytecodes;
        spread = random;
        prepare();
    }

    /** Of a thread that has been inside; stacks deeper than FIRST_FRAMES take more. */
    static long bytesOfThread() {
        return every == Integer.MAX_VALUE ? 0 : 328 + (tellsSites ? 16 + 4 * FIRST_FRAMES : 0);
    }

    /** As in JFluid1Session.begin: what is first used on an application's thread is initialised before. */
    private static void prepare() {
        U.ensureClassInitialized(Stack.class);
        new Stack(null).next(1);
    }

    /** The session is over. */
    public static void end() {
        every = Integer.MAX_VALUE;
        tellsSites = false;
    }

    // ---- hot path ----

    /**
     * Start of every instrumented method that calls others.
     *
     * @return the thread's stack; null if the thread is outside the graph
     */
    public static Stack methodEntry(int id) {
        JFluid1Threads.ThreadInfo ti = JFluid1Threads.current();
        if (ti == null || !(ti.active || ti.virtualActive)) {
            return null;
        }
        if (!JFluid1Session.isReady(id) && !firstInvocation(ti, id)) {
            return null;
        }
        Stack s = ti.stack;
        int depth = s.depth;
        int[] frames = s.frames;
        if (depth == frames.length) {
            frames = deeper(s);
            if (frames == null) {
                return null;
            }
        }
        frames[depth] = id;
        s.depth = depth + 1;
        return s;
    }

    /** End of such a method, and of what it has called that could not say so, as a constructor whose super() has thrown. */
    public static void methodExit(Stack s, int id) {
        if (s == null) {
            return;
        }
        int top = s.depth - 1;
        if (top >= 0 && (s.frames[top] == id || s.frames[top] == -id)) {
            s.depth = top;
        } else {
            methodResume(s, id);
            top = s.depth - 1;
            if (top >= 0 && (s.frames[top] == id || s.frames[top] == -id)) {
                s.depth = top;
            }
        }
    }

    /** Start of a handler: what was called above it is over, also what could not say so. */
    public static void methodResume(Stack s, int id) {
        if (s == null) {
            return;
        }
        int[] frames = s.frames;
        for (int i = s.depth - 1; i >= 0; i--) {
            if (frames[i] == id || frames[i] == -id) {
                s.depth = i + 1;
                return;
            }
        }
    }

    /** Start of a block of so many bytecodes from where no sample is taken. */
    public static void count(Stack s, int bytecodes) {
        if (s != null) {
            s.left -= bytecodes;
        }
    }

    /** Before a call: what is called will lie above what is on the stack. */
    public static void site(Stack s, int site) {
        if (s != null) {
            int[] sites = s.sites;
            int depth = s.depth;
            if (sites != null && depth < sites.length) {
                sites[depth] = site;
            }
        }
    }

    /** The same where one is, if it is due. */
    public static void check(Stack s, int bytecodes) {
        if (s != null && (s.left -= bytecodes) <= 0) {
            due(s);
        }
    }

    /**
     * Start of a method that calls nothing and has no loop: it is not on the stack, but where it is seen (5.1).
     *
     * @return as {@link #methodEntry}
     */
    public static Stack leafEntry(int id) {
        JFluid1Threads.ThreadInfo ti = JFluid1Threads.current();
        if (ti == null || !(ti.active || ti.virtualActive)) {
            return null;
        }
        return JFluid1Session.isReady(id) || firstInvocation(ti, id) ? ti.stack : null;
    }

    public static void leafCheck(Stack s, int bytecodes, int id) {
        if (s != null && (s.left -= bytecodes) <= 0) {
            dueInLeaf(s, id);
        }
    }

    /** The same where the method runs no initialiser of a class either: there is nothing to reveal. */
    public static Stack quietEntry() {
        JFluid1Threads.ThreadInfo ti = JFluid1Threads.current();
        return ti != null && (ti.active || ti.virtualActive) ? ti.stack : null;
    }

    public static void quiet(int bytecodes, int id) {
        leafCheck(quietEntry(), bytecodes, id);
    }

    /** A leaf of one block, as a whole. */
    public static void leaf(int bytecodes, int id) {
        leafCheck(leafEntry(id), bytecodes, id);
    }

    /** Start of a root, see JFluid1.rootEntry. */
    public static Stack rootEntry(int id) {
        JFluid1Threads.ThreadInfo ti = JFluid1Threads.current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            Stack s = methodEntry(id);
            if (s != null) {
                ti.nesting++;
            }
            return s;
        }
        return JFluid1Session.isOpen() ? enter(ti, id) : null;
    }

    public static void rootExit(Stack s, int id) {
        if (s == null) {
            return;
        }
        methodExit(s, id);
        leave(s.thread);
    }

    // ---- slow paths ----

    /** The outermost root ends; or an inner one. */
    private static void leave(JFluid1Threads.ThreadInfo ti) {
        int left = ti.nesting - 1;
        ti.nesting = left;
        if (left > 0) {
            return;
        }
        if (ti.active && !ti.resting) {
            JFluid1Ring.rest(ti);
        }
        ti.active = ti.virtualActive = false;
    }

    @ReservedStackAccess
    private static Stack enter(JFluid1Threads.ThreadInfo known, int id) {
        JFluid1Threads.ThreadInfo ti = known;
        try {
            if (JFluid1Session.isOurs(Thread.currentThread())) {
                return null;
            }
            if (JFluid1Session.isOfAnother(id)) {
                return null;
            }
            if (ti == null) {
                ti = JFluid1Threads.register(Thread.currentThread());
            }
            if (ti == null || ti.guard) {
                return null;
            }
            ti.guard = true;
            Stack s = ti.stack;
            if (s == null) {
                s = ti.stack = new Stack(ti);
            }
            boolean on = JFluid1Session.isReady(id) || awaitReady(ti, id);
            if (on && s.contexts == null) {
                on = startReporting(ti, s);
            }
            if (on) {
                if (s.left > s.granularity) {
                    s.next(every); // it was put off while nothing was recorded
                }
                s.frames[0] = id;
                s.depth = 1;
                ti.nesting = 1;
                JFluid1Session.activate(ti);
            }
            ti.guard = false;
            return on ? s : null;
        } catch (Throwable t) {
            JFluid1Session.gap();
            if (ti != null) {
                ti.guard = false;
                ti.active = ti.virtualActive = false;
            }
            JFluid1Session.passOn(t);
            return null;
        }
    }

    /** @return false if the session is over */
    private static boolean startReporting(JFluid1Threads.ThreadInfo ti, Stack s) {
        JFluid1Contexts.Reporter to = JFluid1Contexts.reporter();
        if (to == null) {
            return true;
        }
        Object session = JFluid1Session.session();
        JFluid1Contexts.register(to, ti); // may take its time
        s.contexts = new JFluid1Contexts.Context[s.frames.length + 1];
        s.contexts[0] = ti.contexts;
        s.left = s.granularity = (int) ti.due;
        return JFluid1Session.session() == session;
    }

    /** The frames from `from` on have just been told of. */
    private static void follow(Stack s, int from) {
        JFluid1Contexts.Context[] contexts = s.contexts;
        if (contexts.length <= s.depth) {
            JFluid1Contexts.Context[] more = new JFluid1Contexts.Context[s.frames.length + 1];
            System.arraycopy(contexts, 0, more, 0, contexts.length);
            s.contexts = contexts = more;
        }
        for (int i = from; i < s.depth; i++) {
            JFluid1Contexts.Context callee = contexts[i].callee(-s.frames[i]);
            callee.calls++;
            contexts[i + 1] = callee;
        }
    }

    private static boolean awaitReady(JFluid1Threads.ThreadInfo ti, int id) {
        JFluid1Threads.ThreadInfo w = JFluid1Ring.writer(ti);
        if (w == null || !JFluid1Requests.awaitReady(w, ti, id)) {
            return false;
        }
        JFluid1Ring.switchBack(w);
        return true;
    }

    @ReservedStackAccess
    private static boolean firstInvocation(JFluid1Threads.ThreadInfo ti, int id) {
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = false;
        try {
            on = awaitReady(ti, id);
        } catch (Throwable t) {
            on = false;
            JFluid1Session.gap();
            ti.guard = false;
            JFluid1Session.passOn(t);
        }
        if (on) {
            JFluid1Session.activate(ti);
        }
        ti.guard = false;
        return on;
    }

    /** @return null, and a gap, when there is no memory for it: the thread is outside until its next root */
    private static int[] deeper(Stack s) {
        JFluid1Threads.ThreadInfo ti = s.thread;
        boolean virtual = ti.virtualActive;
        ti.active = ti.virtualActive = false;
        try {
            int[] more = new int[s.frames.length * 2];
            System.arraycopy(s.frames, 0, more, 0, s.frames.length);
            int[] sites = s.sites;
            if (sites != null) {
                sites = new int[more.length];
                System.arraycopy(s.sites, 0, sites, 0, s.sites.length);
            }
            s.frames = more;
            s.sites = sites;
            ti.active = !virtual;
            ti.virtualActive = virtual;
            return more;
        } catch (OutOfMemoryError full) {
            JFluid1Session.gap();
            return null;
        }
    }

    private static void dueInLeaf(Stack s, int id) {
        int depth = s.depth;
        int[] frames = depth == s.frames.length ? deeper(s) : s.frames;
        if (frames == null) {
            return;
        }
        frames[depth] = id;
        s.depth = depth + 1;
        due(s);
        s.depth = depth;
    }

    @ReservedStackAccess
    private static void due(Stack s) {
        JFluid1Threads.ThreadInfo ti = s.thread;
        if (!(ti.active || ti.virtualActive)) {
            s.left = Integer.MAX_VALUE; // the session is over, or this root call is no longer recorded
            return;
        }
        long executed = (long) s.granularity - s.left;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = false;
        Object session = JFluid1Session.session();
        s.next(every);
        try {
            JFluid1Threads.ThreadInfo w = JFluid1Ring.writer(ti);
            on = w != null && write(w, ti, s, executed);
            if (on) {
                JFluid1Ring.switchBack(w);
            }
            if (on && s.contexts != null) {
                report(ti, s, executed);
            }
        } catch (Throwable t) {
            on = false;
            JFluid1Session.gap();
            ti.guard = false;
            JFluid1Session.passOn(t);
        }
        if (on && JFluid1Session.session() == session) {
            JFluid1Session.activate(ti);
        }
        ti.guard = false;
    }

    /** Hands the sample to the profiler, which says when the thread's next is due. */
    private static void report(JFluid1Threads.ThreadInfo ti, Stack s, long executed) {
        JFluid1Contexts.Reporter to = JFluid1Contexts.reporter();
        if (to == null) {
            s.contexts = null; // it has failed, and nobody reads the tree
            return;
        }
        JFluid1Contexts.Context current = s.contexts[s.depth];
        current.executed += executed;
        s.left = s.granularity = to.report(ti.contexts, current);
    }

    /**
     * What has changed since the thread's last sample. The innermost frame that has been told of is where that ends: all below
     * it is as it was (6.2).
     *
     * @return false if the session is over
     */
    private static boolean write(JFluid1Threads.ThreadInfo w, JFluid1Threads.ThreadInfo ti, Stack s, long weight) {
        int depth = s.depth;
        int[] frames = s.frames;
        int known = s.sampled < 0 ? 0 : depth;
        while (known > 0 && frames[known - 1] > 0) {
            known--;
        }
        long gone = s.sampled < 0 ? JFluid1Ring.MOST_FRAMES : s.sampled - known;
        s.sampled = -1;
        if (!JFluid1Ring.room(w, ti, WORDS)) {
            return false;
        }
        JFluid1Ring.switchTo(w, ti);
        if (gone > 0) {
            JFluid1Ring.put(w, JFluid1Layout.CONTROL_UNWIND | gone);
        }
        for (int i = known; i < depth; i++) {
            if (!JFluid1Ring.room(w, ti, WORDS)) {
                return false;
            }
            int id = frames[i];
            if (s.sites != null) {
                JFluid1Ring.put(w, JFluid1Layout.CONTROL_SITE | s.sites[i]);
            }
            JFluid1Ring.put(w, JFluid1Ring.enter(id < 0 ? -id : id));
            frames[i] = id < 0 ? id : -id;
        }
        if (!JFluid1Ring.room(w, ti, WORDS)) {
            return false;
        }
        JFluid1Ring.put(w, JFluid1Layout.CONTROL_SAMPLE | Math.min(weight, JFluid1Ring.MOST_TICKS));
        s.sampled = depth;
        if (s.contexts != null) {
            follow(s, known);
        }
        return JFluid1Session.isEnabled();
    }
}
