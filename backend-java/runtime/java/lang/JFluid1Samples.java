package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * The probes of mode `sample`. The rules of {@link JFluid1} apply.
 *
 * As in Komorium, a thread keeps its stack of methods as an array, decrements a counter by the bytecodes it executes, and takes a sample
 * when the counter reaches zero. A sample consists of the changes since the thread's previous sample: UNWIND, ENTER for each new frame,
 * SAMPLE.
 */
public final class JFluid1Samples {
    private JFluid1Samples() {}

    private static final int FIRST_FRAMES = 64;
    private static final int SEED = 0x2545f491;
    /** Maximum number of words written in one step, including the words that begin a new chunk. */
    private static final int WORDS = 8;
    private static final Unsafe U = Unsafe.getUnsafe();

    /** The stack of one thread, and its distance to the next sample. */
    public static final class Stack {
        final JFluid1Threads.ThreadInfo thread;
        /** Method ids, outermost first. An id is negative once a sample has reported its frame. */
        int[] frames = new int[FIRST_FRAMES];
        /**
         * Call site of each frame, written by the caller before the call. Null unless the session records call sites. Same length as
         * `frames`.
         */
        int[] sites = tellsSites ? new int[FIRST_FRAMES] : null;
        int depth;
        /** Number of frames in the previous sample; -1 if the next sample must report all frames. */
        int sampled;
        /** Bytecodes until the next sample. */
        int left;
        /** Value of `left` after the previous sample. */
        int granularity;
        private int random = SEED;
        /** Tree node of each reported frame, for a user's profiler. Null without such a profiler. */
        JFluid1Contexts.Context[] contexts;

        Stack(JFluid1Threads.ThreadInfo thread) {
            this.thread = thread;
            next(every);
        }

        /**
         * Sets the distance to the next sample, with random numbers of Marsaglia's xorshift that are the same in every thread of every run.
         */
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

    // ---- settings of the session, written by the agent's thread ----

    /** Bytecodes between samples. */
    private static int every = Integer.MAX_VALUE;
    private static int spread;
    /** Whether the call site of each frame is recorded. Reset when the next session begins. */
    static boolean tellsSites;

    /** Makes the session record the call site of each frame. */
    static void tellSites() {
        tellsSites = true;
    }

    /** @param random exclusive upper bound of the random number added to each distance; 0 for none */
    public static void everyBytecodes(int bytecodes, int random) {
        every = bytecodes;
        spread = random;
        prepare();
    }

    /** Returns the heap bytes per thread that has made a root call; stacks deeper than FIRST_FRAMES need more. */
    static long bytesOfThread() {
        return every == Integer.MAX_VALUE ? 0 : 328 + (tellsSites ? 16 + 4 * FIRST_FRAMES : 0);
    }

    /** Initialises classes before an application thread uses them, as JFluid1Session.begin does. */
    private static void prepare() {
        U.ensureClassInitialized(Stack.class);
        new Stack(null).next(1);
    }

    /** Ends sampling of this session. */
    public static void end() {
        every = Integer.MAX_VALUE;
        tellsSites = false;
    }

    // ---- hot path ----

    /**
     * Called at the start of every instrumented method that calls methods.
     *
     * @return the thread's stack; null if the thread is outside root calls
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

    /**
     * Called at the end of a method that calls methods. Also removes frames of callees without an exit probe, for example constructors
     * ended by an exception from super().
     */
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

    /** Called at the start of an exception handler. Removes the frames of all callees. */
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

    /** Called at the start of a basic block of `bytecodes` bytecodes at which no sample is taken. */
    public static void count(Stack s, int bytecodes) {
        if (s != null) {
            s.left -= bytecodes;
        }
    }

    /** Called before a call. Stores the call site for the next frame. */
    public static void site(Stack s, int site) {
        if (s != null) {
            int[] sites = s.sites;
            int depth = s.depth;
            if (sites != null && depth < sites.length) {
                sites[depth] = site;
            }
        }
    }

    /** Called at the start of a basic block. Takes a sample here if a sample is due. */
    public static void check(Stack s, int bytecodes) {
        if (s != null && (s.left -= bytecodes) <= 0) {
            due(s);
        }
    }

    /**
     * Called at the start of a method that calls no method and has no loop. Such a method is pushed on the stack only while a sample is
     * taken in it (section 5.1).
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

    /** Like {@link #leafEntry}, for a method that cannot run a class initialiser. No first-call check is needed: it has no callees. */
    public static Stack quietEntry() {
        JFluid1Threads.ThreadInfo ti = JFluid1Threads.current();
        return ti != null && (ti.active || ti.virtualActive) ? ti.stack : null;
    }

    public static void quiet(int bytecodes, int id) {
        leafCheck(quietEntry(), bytecodes, id);
    }

    /** Called in a leaf method that consists of one basic block. */
    public static void leaf(int bytecodes, int id) {
        leafCheck(leafEntry(id), bytecodes, id);
    }

    /** Called at the start of a root, see JFluid1.rootEntry. */
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

    /** Called at the end of a root. The end of the outermost root call stops sampling of the thread. */
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
                    s.next(every); // the distance was infinite while the thread was not recorded
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

    /** @return false if the session has ended */
    private static boolean startReporting(JFluid1Threads.ThreadInfo ti, Stack s) {
        JFluid1Contexts.Reporter to = JFluid1Contexts.reporter();
        if (to == null) {
            return true;
        }
        Object session = JFluid1Session.session();
        JFluid1Contexts.register(to, ti); // calls user code, which may be slow
        s.contexts = new JFluid1Contexts.Context[s.frames.length + 1];
        s.contexts[0] = ti.contexts;
        s.left = s.granularity = (int) ti.due;
        return JFluid1Session.session() == session;
    }

    /** Updates the tree nodes of the frames from `from` on, which have just been reported. */
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

    /** @return null if memory is short: this counts as a gap, and the thread is outside root calls until its next root call */
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
            s.left = Integer.MAX_VALUE; // the session has ended, or the rest of this root call is not recorded
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

    /** Passes the sample to the user's profiler, which returns the distance to the thread's next sample. */
    private static void report(JFluid1Threads.ThreadInfo ti, Stack s, long executed) {
        JFluid1Contexts.Reporter to = JFluid1Contexts.reporter();
        if (to == null) {
            s.contexts = null; // the profiler has failed, so the tree is not needed
            return;
        }
        JFluid1Contexts.Context current = s.contexts[s.depth];
        current.executed += executed;
        s.left = s.granularity = to.report(ti.contexts, current);
    }

    /**
     * Writes the changes since the thread's previous sample. The search ends at the innermost reported frame, since all frames below it are
     * unchanged (section 6.2).
     *
     * @return false if the session has ended
     */
    private static boolean write(JFluid1Threads.ThreadInfo w, JFluid1Threads.ThreadInfo ti, Stack s, long weight) {
        int depth = s.depth;
        int[] frames = s.frames;
        int known = s.sampled < 0 ? 0 : depth;
        while (known > 0 && frames[known - 1] > 0) {
            known--;
        }
        long gone = s.sampled < 0 ? JFluid1Ring.ALL_FRAMES : s.sampled - known;
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
