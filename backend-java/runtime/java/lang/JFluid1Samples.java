package java.lang;

import java.lang.ref.WeakReference;
import java.util.Iterator;
import java.util.stream.Stream;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * The probes of mode `sample`, with the rules of {@link JFluid1}, beside which they live.
 *
 * Two kinds, and a session has one. By bytecodes (Komorium): a thread keeps its stack of methods as an array, counts down by
 * what it executes, and looks at itself whenever the count is over. By time (Whaley; Hofer and others): a timer says that a
 * sample is due, and each running thread answers at its next probe, which walks its stack.
 *
 * Either way a sample says what has changed since the thread's last: UNWIND, ENTER for what is new, SAMPLE.
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
        /** By time: the latest that it has answered. */
        int answered;
        Walk walk;
        /** By depth, of the frames that were told of: where a profiler of the user's has them. Null if there is none. */
        JFluid1Contexts.Context[] contexts;

        Stack(JFluid1Threads.ThreadInfo thread) {
            this.thread = thread;
            next(every);
        }

        /** The frames of a walk, those that are as they were marked as told. */
        void take(Walk walk) {
            int count = walk.count;
            if (frames.length < count) {
                frames = new int[walk.ids.length];
                if (sites != null) {
                    sites = new int[frames.length];
                }
                sampled = -1;
            }
            int same = 0;
            while (same < sampled && same < count && frames[same] == -walk.ids[count - 1 - same]
                    && (sites == null || sites[same] == walk.sites[count - 1 - same])) {
                same++;
            }
            for (int i = same; i < count; i++) {
                frames[i] = walk.ids[count - 1 - i];
                if (sites != null) {
                    sites[i] = walk.sites[count - 1 - i];
                }
            }
            depth = count;
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
    static long bytesOfMethods() {
        return known == NO_FRAMES ? 0 : (framesKnown - framesBefore) * FRAME_BYTES;
    }

    static long bytesOfThread() {
        int sites = tellsSites ? 16 + 4 * FIRST_FRAMES : 0;
        return known != NO_FRAMES           ? 656 + 2 * (16 + 4 * REMEMBERED) + 2 * sites
                : every < Integer.MAX_VALUE ? 328 + sites
                                            : 0;
    }

    /** As in JFluid1Session.begin: what is first used on an application's thread is initialised before. */
    private static void prepare() {
        U.ensureClassInitialized(Stack.class);
        new Stack(null).next(1);
    }

    /** A method that a thread can be found in by its stack. */
    private static final class Frame {
        final String owner;
        /** Null for the bootstrap loader. Classes of one name are told apart by it. */
        final WeakReference<ClassLoader> loader;
        final String name;
        final String descriptor;
        final int id;
        final boolean root;
        /** Where its calls are, in its present code, in order; and their numbers. */
        final int[] bcis;
        final int[] sites;
        /** Another of the same bucket. */
        final Frame chain;

        Frame(String owner, WeakReference<ClassLoader> loader, String name, String descriptor, int id, boolean root,
                int[] bcis, int[] sites, Frame chain) {
            this.owner = owner;
            this.loader = loader;
            this.name = name;
            this.descriptor = descriptor;
            this.id = id;
            this.root = root;
            this.bcis = bcis;
            this.sites = sites;
            this.chain = chain;
        }

        boolean isOf(Class<?> c) {
            ClassLoader by = c.getClassLoader0();
            return loader == null ? by == null : by != null && loader.refersTo(by);
        }

        /** The number of the call at this bci; 0 if it has none. */
        int site(int bci) {
            int from = 0;
            int to = bcis.length;
            while (from < to) {
                int middle = (from + to) >>> 1;
                if (bcis[middle] < bci) {
                    from = middle + 1;
                } else {
                    to = middle;
                }
            }
            return from < bcis.length && bcis[from] == bci ? sites[from] : 0;
        }
    }

    /** What the timer and the threads share. A constant object, so that the flag's address is one. */
    private static final class Timer {
        /** Not 0: a sample is due. */
        int due;
        int generation;
        /** Session ticks. */
        long since;
        /** Threads that may still answer: no more than there are processors run. */
        int answers;
        /** Looks of threads that have answered, or are outside of the graph. */
        int passes;
        /** Threads inside a root, about. */
        int inside;
        /** System.nanoTime() at which it was made due, and how much later nobody is waited for any more. */
        long sinceNanos;
        long patienceNanos;
        Thread thread;
    }

    private static final Timer TIMER = new Timer();
    private static final long DUE = U.objectFieldOffset(Timer.class, "due");
    private static final long ANSWERS = U.objectFieldOffset(Timer.class, "answers");
    private static final long INSIDE = U.objectFieldOffset(Timer.class, "inside");
    /** Of so many looks that give no sample one reads the clock. A power of two. */
    private static final int PASSES = 64;
    /** This part of the interval others that run may take to answer: those that have answered pay for the flag meanwhile. */
    private static final int PATIENCE_PART = 50;
    private static final int BUCKETS = 1 << 12;
    /** Methods of frames that a thread remembers, a power of two; and for how many looks of the agent, which come twice a second. */
    private static final int REMEMBERED = 1 << 9;
    private static final int REMEMBERED_LOOKS = 20;
    private static final Frame[] NO_FRAMES = new Frame[1];
    /** By class name and method name. Replaced by each session, prepended to by the agent's thread. */
    private static volatile Frame[] known = NO_FRAMES;
    /** How often methods have become known, and before this session. */
    private static volatile int framesKnown;
    private static int framesBefore;
    /** A Frame with a descriptor of its own; its other names are mostly shared. */
    private static final long FRAME_BYTES = 120;
    private static StackWalker walker;

    public static void byTime(long nanos) {
        TIMER.inside = 0;
        TIMER.patienceNanos = nanos / PATIENCE_PART;
        every = Integer.MAX_VALUE;
        spread = 0;
        known = new Frame[BUCKETS];
        framesBefore = framesKnown;
        if (walker == null) {
            walker = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
        }
        prepare();
        // All that a sample needs is initialised here.
        Walk first = new Walk();
        first.roots = 1;
        walker.walk(first);
    }

    /** The session is over. */
    public static void end() {
        TIMER.due = 0;
        TIMER.thread = null;
        every = Integer.MAX_VALUE;
        known = NO_FRAMES;
        NO_FRAMES[0] = null;
        tellsSites = false;
    }

    /**
     * @param owner  as Class.getName()
     * @param loader null for the bootstrap loader
     * @param bcis   where its calls are, in order, and `sites` their numbers: none unless these are told
     */
    public static void knowFrame(String owner, WeakReference<ClassLoader> loader, String name, String descriptor,
            int id, boolean root, int[] bcis, int[] sites) {
        Frame[] in = known;
        int bucket = (owner.hashCode() * 31 + name.hashCode()) & (in.length - 1);
        U.putReferenceRelease(in, JFluid1Memory.OBJECTS_AT + bucket * JFluid1Memory.OBJECT_BYTES,
                new Frame(owner, loader, name, descriptor, id, root, bcis, sites, in[bucket]));
        framesKnown++;
    }

    /** Called by the timer. */
    public static void makeDue(int processors) {
        TIMER.thread = Thread.currentThread();
        TIMER.since = JFluid1Session.ticks();
        TIMER.sinceNanos = System.nanoTime();
        TIMER.passes = 0;
        TIMER.generation++;
        U.putIntVolatile(TIMER, ANSWERS, Math.max(1, Math.min(processors, TIMER.inside)));
        U.putIntVolatile(TIMER, DUE, 1);
    }

    // ---- by bytecodes: hot path ----

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

    // ---- by time: hot path ----
    //
    // Where a method begins, the time until then was its caller's; where it ends or loops, its own.

    public static void dueEntry(int id) {
        if (TIMER.due != 0 || !JFluid1Session.isReady(id)) {
            entered(id);
        }
    }

    /** Not when something is thrown: the next probe is not far. */
    public static void dueExit(int id) {
        if (TIMER.due != 0) {
            found(0);
        }
    }

    /** In a loop without calls the compiler would look once, before it. */
    public static void dueLoop(int id) {
        if (U.getIntOpaque(TIMER, DUE) != 0) {
            found(0);
        }
    }

    public static void dueRootEntry(int id) {
        JFluid1Threads.ThreadInfo ti = JFluid1Threads.current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            dueEntry(id);
            ti.nesting++;
        } else if (JFluid1Session.isOpen()) {
            enter(ti, id);
        }
    }

    public static void dueRootExit(int id) {
        JFluid1Threads.ThreadInfo ti = JFluid1Threads.current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            dueExit(id);
            leave(ti);
        }
    }

    // ---- by time: a sample ----

    private static void entered(int id) {
        JFluid1Threads.ThreadInfo ti = JFluid1Threads.current();
        boolean inside = ti != null && (ti.active || ti.virtualActive);
        if (inside && !JFluid1Session.isReady(id) && !firstInvocation(ti, id)) {
            return;
        }
        if (TIMER.due != 0) {
            found(id);
        }
    }

    /** @param inner a method that only begins, and does not count; 0 for none */
    private static void found(int inner) {
        JFluid1Threads.ThreadInfo ti = JFluid1Threads.current();
        if (ti == null || !(ti.active || ti.virtualActive) || ti.stack.answered == TIMER.generation) {
            if ((++TIMER.passes & PASSES - 1) == 0 && System.nanoTime() - TIMER.sinceNanos > TIMER.patienceNanos) {
                TIMER.due = 0;
            }
            return;
        }
        ti.stack.answered = TIMER.generation;
        if (U.getAndAddInt(TIMER, ANSWERS, -1) <= 1) {
            TIMER.due = 0;
        }
        lookAround(ti, inner, TIMER.since);
    }

    @ReservedStackAccess
    private static void lookAround(JFluid1Threads.ThreadInfo ti, int inner, long since) {
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = false;
        try {
            Stack s = ti.stack;
            long latency = JFluid1Session.ticks() - since;
            Walk walk = s.walk;
            if (walk == null) {
                walk = s.walk = new Walk();
            }
            walk.inner = inner;
            walk.roots = ti.nesting;
            walk.count = 0;
            walker.walk(walk);
            JFluid1Threads.ThreadInfo w = JFluid1Ring.writer(ti);
            if (w != null) {
                s.take(walk);
                on = s.depth == 0 || write(w, ti, s, Math.max(0, latency));
                JFluid1Ring.switchBack(w);
            }
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
    }

    /**
     * The object by which the JVM knows the method of a frame: of one method always the same, redefined or not
     * (HotSpot's ResolvedMethodTable). Null where a JDK keeps it elsewhere; then frames are told by their names each time.
     */
    private static final class Members {
        private static final long FRAME = Math.max(offset("java.lang.StackFrameInfo", "memberName"),
                offset("java.lang.ClassFrameInfo", "classOrMemberName"));
        private static final long RESOLVED = offset("java.lang.invoke.MemberName", "method");
        private static final Class<?> MEMBER = type("java.lang.invoke.MemberName");

        static Object of(StackWalker.StackFrame frame) {
            if (FRAME < 0 || RESOLVED < 0) {
                return null;
            }
            Object member = U.getReference(frame, FRAME);
            return member != null && member.getClass() == MEMBER ? U.getReference(member, RESOLVED) : member;
        }

        private static long offset(String owner, String field) {
            try {
                return U.objectFieldOffset(Class.forName(owner, false, null), field);
            } catch (ClassNotFoundException | InternalError otherJdk) {
                return -1;
            }
        }

        private static Class<?> type(String name) {
            try {
                return Class.forName(name, false, null);
            } catch (ClassNotFoundException otherJdk) {
                return null;
            }
        }
    }

    /**
     * What frames of the JVM's methods stand for, as found lately: names are dear to come by. Keeps the methods' classes from
     * being unloaded.
     */
    private static final class Memory {
        final Object[] methods = new Object[REMEMBERED];
        final Frame[] meanings = new Frame[REMEMBERED];
    }

    /** The agent's thread, at each of its looks: what a thread remembers that has taken no sample since, or for long, is forgotten. */
    static void forget(JFluid1Threads.ThreadInfo ti) {
        Walk walk = ti.stack == null ? null : ti.stack.walk;
        if (walk == null) {
            return;
        }
        if (walk.walks == walk.seenWalks || ++walk.looks >= REMEMBERED_LOOKS) {
            walk.memory = null;
            walk.looks = 0;
        }
        walk.seenWalks = walk.walks;
    }

    /** The present thread's instrumented methods, innermost first, up to the root by which it came in. */
    private static final class Walk implements java.util.function.Function<Stream<StackWalker.StackFrame>, Object> {
        int[] ids = new int[FIRST_FRAMES];
        int[] sites = new int[FIRST_FRAMES];
        int count;
        int inner;
        int roots;
        /** Null before the first walk, and when it has been forgotten. */
        private Memory memory;
        private int walks;
        private int seenKnown;
        /** What the agent has seen of it. */
        private int seenWalks;
        private int looks;

        @Override
        public Object apply(Stream<StackWalker.StackFrame> stack) {
            Iterator<StackWalker.StackFrame> frames = stack.iterator();
            walks++;
            Memory memory = this.memory;
            if (memory == null || seenKnown != framesKnown) { // methods have other code
                seenKnown = framesKnown;
                this.memory = memory = new Memory();
            }
            Object[] methods = memory.methods;
            Frame[] meanings = memory.meanings;
            while (roots > 0 && frames.hasNext()) {
                StackWalker.StackFrame frame = frames.next();
                Object method = Members.of(frame);
                int at = method == null ? 0 : System.identityHashCode(method) & REMEMBERED - 1;
                Frame found;
                if (method != null && methods[at] == method) {
                    found = meanings[at];
                } else {
                    found = find(known, frame.getDeclaringClass(), frame);
                    methods[at] = method;
                    meanings[at] = found;
                }
                if (found == null) {
                    continue;
                }
                if (count > 0 && found.bcis.length > 0) {
                    sites[count - 1] = found.site(frame.getByteCodeIndex());
                }
                boolean begins = found.id == inner;
                inner = 0;
                if (begins) {
                    continue;
                }
                if (found.root) {
                    roots--;
                }
                add(found.id);
            }
            return null;
        }

        private void add(int id) {
            if (count == ids.length) {
                int[] more = new int[count * 2];
                System.arraycopy(ids, 0, more, 0, count);
                ids = more;
                more = new int[count * 2];
                System.arraycopy(sites, 0, more, 0, count);
                sites = more;
            }
            sites[count] = 0;
            ids[count++] = id;
        }

        private static Frame find(Frame[] in, Class<?> declaring, StackWalker.StackFrame frame) {
            String owner = declaring.getName();
            String name = frame.getMethodName();
            Frame f = in[(owner.hashCode() * 31 + name.hashCode()) & (in.length - 1)];
            while (f != null
                    && !(f.name.equals(name) && f.owner.equals(owner) && f.isOf(declaring)
                            && f.descriptor.equals(frame.getDescriptor()))) {
                f = f.chain;
            }
            return f;
        }
    }

    // ---- slow paths ----

    /** The outermost root ends; or an inner one. */
    private static void leave(JFluid1Threads.ThreadInfo ti) {
        int left = ti.nesting - 1;
        ti.nesting = left;
        if (left > 0) {
            return;
        }
        countInside(-1);
        if (ti.active && !ti.resting) {
            JFluid1Ring.rest(ti);
        }
        ti.active = ti.virtualActive = false;
    }

    private static void countInside(int more) {
        if (every == Integer.MAX_VALUE) { // by time
            U.getAndAddInt(TIMER, INSIDE, more);
        }
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
                countInside(1);
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
