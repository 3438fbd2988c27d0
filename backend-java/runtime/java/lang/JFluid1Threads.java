package java.lang;

import static java.lang.JFluid1Contexts.*;
import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Requests.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Contended;
import jdk.internal.vm.annotation.DontInline;

/**
 * The threads of the session: a record per thread, the table of records, and access to JDK internals of threads that differ
 * between releases.
 */
public final class JFluid1Threads {
    private JFluid1Threads() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /**
     * Number of buckets of the thread table. Thread ids are dense. So a look-up takes one step as long as at most this many threads are
     * alive, and 16 steps with a million virtual threads.
     */
    private static final int TABLE_SIZE = 1 << 16;
    private static final int MAX_THREADS = (1 << THREAD_NUMBER_BITS) - 1;
    static final long TID = U.objectFieldOffset(Thread.class, "tid");

    /** Records keyed by thread id. A thread prepends its own record to a chain; only the agent unlinks records. */
    static ThreadInfo[] table = new ThreadInfo[1];
    /** The table between sessions. Allocated beforehand, so that a session can end while the heap is full. */
    private static final ThreadInfo[] NOBODY = table;
    static boolean virtualSeen;
    /** Total size of a ThreadInfo, with two cache lines of padding on either side, and of its weak reference, bytes. */
    private static final long THREAD_BYTES = 600;
    private static long threadsKnown;

    /**
     * The record of one thread. A platform thread is its own writer and owns a chunk. A virtual thread writes to the chunk of the carrier
     * it is mounted on. Contended, because `next` is stored at every event and must not share a cache line with the record of
     * another thread.
     */
    @Contended
    public static final class ThreadInfo {
        /** Whether the platform thread is inside a root call and outside slow paths of the runtime. False for virtual threads. */
        boolean active;
        /** Whether the virtual thread is inside a root call and outside slow paths of the runtime. */
        boolean virtualActive;
        /** Whether a slow path is running. Root calls made by a slow path are ignored. */
        boolean guard;
        int nesting;
        /** Number of outermost root calls so far. */
        long rootCalls;
        /**
         * `untimed`: number of open root activations of a root call that is only counted, see {@link JFluid1Roots#oneOf}. `untilTimed`:
         * number of root calls until the next timed root call.
         */
        int untimed;
        int untilTimed;
        int rootChance;
        /**
         * Session ticks at the start of the outermost root call; Long.MAX_VALUE if no threshold was set then, see {@link
         * JFluid1Roots#slowFrom}.
         */
        long rootSince = Long.MAX_VALUE;
        /** The root call that the sampler has sampled last, see {@link JFluid1Inside#call}, and its number of samples. */
        int sampledCall;
        int samplesOfCall;
        /** Method id of the open call that stands for the value of --by, see {@link JFluid1Values}; 0 for none. */
        int by;
        /** Values of the thread's root calls; null without --show and --by. */
        JFluid1Values.Captured values;
        /** Address of the current node in the thread's tree, and of the node above its roots, see {@link JFluid1Trees}; 0 for none. */
        long record;
        long treeTop;
        /** Free space for more tree nodes: its start and its end. */
        long nextRecord;
        long recordLimit;
        /** The session's tree blocks, and the number (from 1) of the thread's latest block; null and 0 before its first block. */
        JFluid1Trees.Area area;
        long blocks;
        int latestBlock;
        /**
         * Modes of methods for the current root call, see {@link JFluid1Modes}, and the number of calls that the thread has counted per
         * method.
         */
        byte[] modes = JFluid1Modes.NONE;
        int[] counts = JFluid1Modes.NO_COUNTS;
        int firstCounted;
        /** Number of unfinished calls of switched methods that were timed when the calls began. */
        int switchedOpen;
        /** Whether the thread was started inside a root call. It then counts as inside that root call until it ends. */
        boolean started;
        /** Token of the thread's start, until its first event. BEGIN with this token precedes the first event. */
        long token;
        /** Whether a pool worker is inside a root call because of its current task. Cleared when the worker asks for its next task. */
        boolean working;
        long next;
        long limit;
        long base;
        /** Bytecodes executed, or bytes allocated, inside root calls; depends on the mode. */
        long executed;
        /** Number of allocations until the next recorded allocation, and the state of the random generator. */
        long untilSample;
        int chance;
        /** The JVM's allocated-bytes counter of the thread when it entered the root call; -1 if unknown. */
        long allocatedBefore = -1;
        /** Number of reports of allocated bytes. */
        int allocationsTold;
        /** Address of the next event at the time of the latest call of clone(). */
        long cloningAt;
        /** Current node of the tree kept for a user's profiler; null without such a profiler. */
        Context context;
        Context contexts;
        /** Bytecodes until the thread's next report to the profiler. */
        long due;
        int chunk = -1;
        int sequence;
        /** Number of chunks that a writer has taken since it last waited for a free chunk. */
        int taken;
        /** For a writer: number of the thread whose events it wrote last. */
        int lastThread;
        /** Whether the chunk was left IDLE. By now another thread may own that chunk. */
        boolean resting;
        /** Whether the thread keeps its chunk between executions of regions. */
        boolean keeps;
        /** Number of region executions so far. Counted only until the thread keeps its chunk. */
        int executions;
        /** For a virtual thread: number of the writer of its latest segment. */
        int lastWriter;
        int segment;
        /**
         * A contended monitor that the thread is entering, null once the thread has entered it; and the time at which the attempt began.
         */
        Object wanted;
        long lockSince;
        /** The latest call that may wait for a monitor: hash of name and descriptor, time, and address of the next event. */
        int called;
        long calledTicks;
        long calledAt;
        /** Call site of the latest call (--call-sites), and the address of the next event at that call. */
        int site;
        long siteAt;
        /** Identity hash of the latest StackOverflowError that ended a method, and the number of methods that this error has ended. */
        int overflow;
        int overflowPassed;
        /** Nesting depth of methods that wait. */
        int waits;
        /** Id of the outermost wait. */
        int waitId;
        /** Stack of a thread that samples itself. */
        JFluid1Samples.Stack stack;

        public final int number;
        public final long tid;
        public final String name;
        public final boolean virtual;
        final java.lang.ref.WeakReference<Thread> thread;
        ThreadInfo chain;
        /** Next in the list of threads not yet reported to the agent. */
        public ThreadInfo untold;
        /** Next in the list of threads not yet reported to the sampler. */
        ThreadInfo nextNew;

        ThreadInfo(Thread t, long tid, int number, boolean virtual) {
            this.thread = new java.lang.ref.WeakReference<>(t);
            this.tid = tid;
            this.number = number;
            this.name = t.getName();
            this.virtual = virtual;
            this.lastThread = this.lastWriter = number;
        }
    }

    static void begin() {
        table = new ThreadInfo[TABLE_SIZE];
    }

    static void end() {
        table = NOBODY;
        NOBODY[0] = null; // a thread may have added itself after the end of the session
    }

    static ThreadInfo current() {
        long tid = U.getLong(Thread.currentThread(), TID);
        ThreadInfo[] t = table;
        ThreadInfo ti = t[(int) tid & (t.length - 1)];
        while (ti != null && ti.tid != tid) {
            ti = ti.chain;
        }
        return ti;
    }

    /**
     * Returns the record of the current thread at the end of a method. Not inlined: C2 would look up the record once, at the entry, and
     * keep it in the frame until the exit, which makes the frame 16 bytes larger. With the clock of {@link java.lang.invoke.JFluid1Tsc},
     * an exact call would then cost 8 % less, but a recursion of a method with eight variables would reach 0.86 of its depth without
     * probes; docs/target.md promises 0.9. This method calls no other method, so C2 emits no stack check for it. So if the stack had space
     * for the entry probe, it has space for this call.
     */
    @DontInline
    static ThreadInfo leaving() {
        long tid = U.getLong(Thread.currentThread(), TID);
        ThreadInfo[] t = table;
        ThreadInfo ti = t[(int) tid & (t.length - 1)];
        while (ti != null && ti.tid != tid) {
            ti = ti.chain;
        }
        return ti;
    }

    /** Returns the record of the current carrier thread, or null if it has none yet. */
    static ThreadInfo knownCarrier() {
        return find(U.getLong(Carrier.thread(), TID));
    }

    /** @return null if all thread numbers of this session have been used, which is also counted as a gap. No number is used twice. */
    static ThreadInfo register(Thread t) {
        long tid = U.getLong(t, TID);
        boolean virtual = Carrier.isVirtual(t);
        virtualSeen |= virtual;
        // Checked before and after the increment: further threads must not increment the counter until it is negative.
        boolean exhausted = counters[COUNTER_THREADS] >= MAX_THREADS;
        int number = exhausted ? 0 : U.getAndAddInt(counters, INTS_AT + COUNTER_THREADS * 4L, 1) + 1;
        if (exhausted || number > MAX_THREADS) {
            gap();
            return null;
        }
        ThreadInfo ti = new ThreadInfo(t, tid, number, virtual);
        ti.base = start;
        ti.values = JFluid1Values.ofNewThread();
        ThreadInfo[] into = table;
        long at = OBJECTS_AT + (tid & (into.length - 1)) * OBJECT_BYTES;
        do {
            ti.chain = (ThreadInfo) U.getReferenceVolatile(into, at);
        } while (!U.compareAndSetReference(into, at, ti.chain, ti));
        long told = OBJECTS_AT + OBJECT_BYTES;
        do {
            ti.untold = (ThreadInfo) U.getReferenceVolatile(mailbox, told);
        } while (!U.compareAndSetReference(mailbox, told, ti.untold, ti));
        JFluid1Inside.comes(ti);
        return ti;
    }

    // ---- virtual threads write to the chunk of their carrier ----

    /** Finds the carrier of a virtual thread. This code depends on the JDK release. */
    static final class Carrier {
        private static final java.lang.invoke.MethodHandle CURRENT = find("currentCarrierThread", true);
        private static final java.lang.invoke.MethodHandle VIRTUAL = find("isVirtual", false);
        private static final java.lang.invoke.MethodHandle PIN = ofContinuation("pin");
        private static final java.lang.invoke.MethodHandle UNPIN = ofContinuation("unpin");

        private static java.lang.invoke.MethodHandle find(String name, boolean isStatic) {
            try {
                java.lang.invoke.MethodHandles.Lookup lookup = java.lang.invoke.MethodHandles.lookup();
                return isStatic
                        ? lookup.findStatic(Thread.class, name, java.lang.invoke.MethodType.methodType(Thread.class))
                        : lookup.findVirtual(Thread.class, name, java.lang.invoke.MethodType.methodType(boolean.class));
            } catch (ReflectiveOperationException before21) {
                return null;
            }
        }

        private static java.lang.invoke.MethodHandle ofContinuation(String name) {
            try {
                return java.lang.invoke.MethodHandles.lookup().findStatic(Class.forName("jdk.internal.vm.Continuation"),
                        name, java.lang.invoke.MethodType.methodType(void.class));
            } catch (ReflectiveOperationException before21) {
                return null;
            } catch (LinkageError noContinuations) {
                return null; // with -XX:-VMContinuations, each virtual thread runs on a platform thread of its own
            }
        }

        /**
         * Pins a virtual thread to its carrier until {@link #unpin}. From JDK 24 on a virtual thread may otherwise unmount while it waits
         * for a monitor (JEP 491) and continue on another carrier: it would then write to the chunk of its former carrier, concurrently
         * with that carrier.
         *
         * @return whether to unpin
         */
        static boolean pin() {
            if (PIN == null || UNPIN == null || !isVirtual(Thread.currentThread())) {
                return false;
            }
            try {
                PIN.invokeExact();
                return true;
            } catch (Throwable t) {
                passOn(t);
                return false;
            }
        }

        /** Makes the JVM generate the code of the method handles now: a probe may run while memory is short. */
        static void warmUp() {
            thread();
            isVirtual(Thread.currentThread());
            if (PIN == null || UNPIN == null) {
                return;
            }
            try {
                PIN.invokeExact(); // has no effect on a platform thread
                UNPIN.invokeExact();
            } catch (Throwable t) {
                passOn(t);
            }
        }

        static void unpin() {
            try {
                UNPIN.invokeExact();
            } catch (Throwable t) {
                passOn(t);
            }
        }

        /**
         * Not inlined: C2 assumes that the carrier does not change within a frame, but the frame of a caller may move to another carrier.
         */
        @DontInline
        static Thread thread() {
            if (CURRENT != null) {
                try {
                    return (Thread) CURRENT.invokeExact();
                } catch (Throwable t) {
                    passOn(t); // after other errors, Thread.currentThread() is used, which is correct for a platform thread
                }
            }
            return Thread.currentThread();
        }

        static boolean isVirtual(Thread t) {
            if (VIRTUAL != null) {
                try {
                    return (boolean) VIRTUAL.invokeExact(t);
                } catch (Throwable e) {
                    passOn(e);
                    return false;
                }
            }
            return false;
        }
    }

    static ThreadInfo carrier() {
        if (!enabled) {
            return null;
        }
        Thread t = Carrier.thread();
        long tid = U.getLong(t, TID);
        ThreadInfo[] in = table;
        ThreadInfo w = in[(int) tid & (in.length - 1)];
        while (w != null && w.tid != tid) {
            w = w.chain;
        }
        if (w == null) {
            w = register(t);
        }
        if (w != null && !w.active) {
            own(w);
        }
        return w;
    }

    static void goOn(ThreadInfo ti, boolean virtual, boolean on) {
        if (on && enabled) {
            if (virtual) {
                ti.virtualActive = true;
            } else {
                ti.active = true;
            }
        } else {
            ti.by = 0;
        }
        ti.guard = false;
    }

    static ThreadInfo find(long tid) {
        ThreadInfo[] in = table;
        ThreadInfo ti = in[(int) tid & (in.length - 1)];
        while (ti != null && ti.tid != tid) {
            ti = ti.chain;
        }
        return ti;
    }

    /**
     * Called before the calling thread waits in the load hook, where it reads the buffer. A virtual thread in the hook is counted, because
     * its stack cannot be dumped, and outside root calls it has no record.
     *
     * @return whether the thread must call {@link #leaveHook}
     */
    public static boolean enterHook() {
        boolean counts = Carrier.isVirtual(Thread.currentThread());
        if (counts) {
            U.getAndAddInt(counters, INTS_AT + COUNTER_HOOKED * 4L, 1);
        }
        return counts;
    }

    public static void leaveHook() {
        U.getAndAddInt(counters, INTS_AT + COUNTER_HOOKED * 4L, -1);
    }

    /**
     * Returns whether a live thread of a session is in a slow path, or a virtual thread is in the load hook. The caller also checks the
     * stacks of platform threads.
     */
    public static boolean anyoneInside(Object threads) {
        if (U.getIntVolatile(counters, INTS_AT + COUNTER_HOOKED * 4L) > 0) {
            return true;
        }
        for (ThreadInfo head : (ThreadInfo[]) threads) {
            for (ThreadInfo ti = head; ti != null; ti = ti.chain) {
                Thread t = ti.guard ? ti.thread.get() : null;
                if (t != null && t.isAlive()) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether virtual threads have written events. Their stacks cannot be dumped. */
    public static boolean sawVirtualThreads() {
        return virtualSeen;
    }

    public static ThreadInfo takeThreads() {
        return (ThreadInfo) U.getAndSetReference(mailbox, OBJECTS_AT + OBJECT_BYTES, null);
    }

    /** Returns the id of a thread. A subclass may override getId(), so the field is read. */
    public static long idOf(Thread t) {
        return U.getLong(t, TID);
    }

    /**
     * Returns platform threads and their stacks; the stack of a thread that has ended is null. Unlike Thread.getAllStackTraces() this calls
     * no method of a thread and puts no thread into a map, since subclasses may override hashCode().
     *
     * @param of the threads whose stacks are returned; null for all threads
     * @return {Thread[], StackTraceElement[][]}, or null on a JDK without the private natives
     */
    public static Object[] stacks(Thread[] of) {
        return Threads.stacks(of);
    }

    public static boolean isVirtual(Thread t) {
        return Carrier.isVirtual(t);
    }

    /** Private native methods of Thread. */
    static final class Threads {
        private static final java.lang.invoke.MethodHandle ALL = find("getThreads", Thread[].class);
        private static final java.lang.invoke.MethodHandle DUMP =
                find("dumpThreads", StackTraceElement[][].class, Thread[].class);
        private static final java.lang.invoke.MethodHandle YIELD = yield0();

        private static java.lang.invoke.MethodHandle find(String name, Class<?> result, Class<?>... parameters) {
            try {
                return java.lang.invoke.MethodHandles
                        .privateLookupIn(Thread.class, java.lang.invoke.MethodHandles.lookup())
                        .findStatic(Thread.class, name, java.lang.invoke.MethodType.methodType(result, parameters));
            } catch (ReflectiveOperationException otherJdk) {
                return null;
            }
        }

        /** Returns the native yield0(): on JDK 21 and later Thread.yield() may unmount a virtual thread. */
        private static java.lang.invoke.MethodHandle yield0() {
            java.lang.invoke.MethodHandle found = find("yield0", void.class);
            return found != null ? found : find("yield", void.class);
        }

        static void yieldProcessor() {
            if (!Carrier.isVirtual(Thread.currentThread())) {
                Thread.yield();
            } else {
                yieldCarrier();
            }
        }

        /**
         * Links the handle with one call. Further calls would be slow: without an idle processor each yield lasts until all other threads
         * have run. The classes that the JDK loads to generate code for this handle shape are loaded by {@link Carrier#warmUp}.
         */
        static void warmUp() {
            yieldCarrier();
        }

        private static void yieldCarrier() {
            if (YIELD != null) {
                try {
                    YIELD.invokeExact();
                } catch (Throwable t) {
                    passOn(t); // other errors are ignored: a failed yield has no consequence
                }
            }
        }

        static Object[] stacks(Thread[] of) {
            if (ALL == null || DUMP == null) {
                return null;
            }
            try {
                Thread[] these = of == null ? (Thread[]) ALL.invokeExact() : of;
                // dumpThreads throws for an empty array.
                StackTraceElement[][] traces = these.length == 0 ? new StackTraceElement[0][]
                                                                 : (StackTraceElement[][]) DUMP.invokeExact(these);
                return new Object[] {these, traces};
            } catch (Error e) {
                throw e;
            } catch (Throwable t) {
                return null;
            }
        }
    }

    /** Drops records of threads that have ended. Called only by the agent's thread. */
    static void purge() {
        ThreadInfo[] in = table;
        long known = 0;
        for (int i = 0; i < in.length; i++) {
            long at = OBJECTS_AT + i * OBJECT_BYTES;
            ThreadInfo head = (ThreadInfo) U.getReferenceVolatile(in, at);
            // A thread may prepend its record concurrently; the compare-and-set that fails is retried.
            while (head != null && isOver(head)) {
                U.compareAndSetReference(in, at, head, head.chain);
                head = (ThreadInfo) U.getReferenceVolatile(in, at);
            }
            if (head == null) {
                continue;
            }
            known++;
            ThreadInfo before = head;
            for (ThreadInfo ti = before.chain; ti != null; ti = ti.chain) {
                if (isOver(ti)) {
                    before.chain = ti.chain;
                } else {
                    before = ti;
                    known++;
                }
            }
        }
        threadsKnown = known;
    }

    static long heapBytes() {
        return table.length * OBJECT_BYTES
                + threadsKnown * (THREAD_BYTES + JFluid1Samples.bytesOfThread() + JFluid1Values.bytesOfThread());
    }

    private static boolean isOver(ThreadInfo ti) {
        Thread t = ti.thread.get();
        // A started thread has a record before it runs. While the token of the start is unused, the thread may not have begun to run.
        boolean idle = ti.started ? ti.token == 0 : !ti.virtualActive && !ti.active;
        boolean over = t == null || !t.isAlive() && idle;
        if (over) {
            JFluid1Modes.forget(ti);
            JFluid1Roots.forget(ti);
            JFluid1Trees.forget(ti);
        }
        if (over && ti.keeps) {
            ti.keeps = false;
            U.getAndAddInt(counters, INTS_AT + COUNTER_KEEPERS * 4L, -1);
        }
        if (over && ti.chunk >= 0) {
            // A chunk stays BUSY until its thread ends if the thread is a carrier or if a root call of the thread failed.
            int c = ti.chunk;
            ti.chunk = -1;
            if (!ti.resting && isMine(ti, c)) {
                U.compareAndSetInt(null, states + c * 4L, CHUNK_BUSY, CHUNK_FULL);
            }
        }
        return over;
    }
}
