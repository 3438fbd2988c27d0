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
 * The threads of the session: a record of each, the table that finds it, and what there is to know of threads that differs
 * between JDKs.
 */
public final class JFluid1Threads {
    private JFluid1Threads() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /**
     * Buckets of the table of threads. Ids are dense, so up to this many threads at once a look-up is one
     * step; a million virtual threads make it 16.
     */
    private static final int TABLE_SIZE = 1 << 16;
    private static final int MAX_THREADS = (1 << THREAD_NUMBER_BITS) - 1;
    static final long TID = U.objectFieldOffset(Thread.class, "tid");

    /** Threads by id; chains are prepended by their own threads and unlinked by the agent only. */
    static ThreadInfo[] table = new ThreadInfo[1];
    /** Between sessions. Made beforehand: a session ends without memory, too. */
    private static final ThreadInfo[] NOBODY = table;
    static boolean virtualSeen;
    /** A ThreadInfo, two cache lines wider than its fields on either side, and its weak reference. */
    private static final long THREAD_BYTES = 584;
    private static long threadsKnown;

    /**
     * What we know of one thread. A platform thread is its own writer: it owns a chunk. A virtual
     * thread writes through the carrier it is mounted on. Contended: `next` is stored at every event
     * and must not share a cache line with another thread's.
     */
    @Contended
    public static final class ThreadInfo {
        /** Inside the call graph and not inside ourselves. False for virtual threads. */
        boolean active;
        /** The same for a virtual thread. */
        boolean virtualActive;
        /** A slow path is running: roots entered by it do not count. */
        boolean guard;
        int nesting;
        /** Calls of roots from outside, so far. */
        long rootCalls;
        /** Activations of roots in a call that is only counted, see {@link JFluid1Roots#oneOf}, and calls until the next that is timed. */
        int untimed;
        int untilTimed;
        int rootChance;
        /** Where it is in its tree, and the record above its roots, see {@link JFluid1Trees}; 0 for none. */
        long record;
        long treeTop;
        /** Room for more records. */
        long nextRecord;
        long recordLimit;
        /** Where the session's blocks are, the first of them, and the number of the thread's latest, from 1; null and 0 before it has one. */
        JFluid1Trees.Area area;
        long blocks;
        int latestBlock;
        /** What the present call of a root goes by, see {@link JFluid1Modes}, and what it has counted. */
        byte[] modes = JFluid1Modes.NONE;
        int[] counts = JFluid1Modes.NO_COUNTS;
        int firstCounted;
        /** Calls of methods that are switched, and were timed when they began. */
        int switchedOpen;
        /** This thread was started inside the graph, and belongs to it as long as it lives. */
        boolean started;
        /** What it was started under, until its first event: BEGIN must come before that. */
        long token;
        /** Inside the graph for a task that a pool's worker has taken up, until it asks for the next. */
        boolean working;
        long next;
        long limit;
        long base;
        /** Bytecodes executed inside the graph, where those are counted; or bytes allocated there. */
        long executed;
        /** Allocations until the next that is recorded, and the state of what chooses it. */
        long untilSample;
        int chance;
        /** What the JVM said that the thread had allocated when it entered the graph; -1 if it did not. */
        long allocatedBefore = -1;
        /** How often it has been told what it has allocated. */
        int allocationsTold;
        /** Where its next event would have gone when it called the latest clone(). */
        long cloningAt;
        /** Where the thread is in its own tree; null unless a profiler of the user's has one. */
        Context context;
        Context contexts;
        /** Bytecodes until the thread reports. */
        long due;
        int chunk = -1;
        int sequence;
        /** Writer: chunks since it last waited for one. */
        int taken;
        /** Writer: the thread its latest events belong to. */
        int lastThread;
        /** Its chunk was left IDLE, and may have gone to somebody else since. */
        boolean resting;
        /** Where regions are timed: the chunk is its own, and stays so. */
        boolean keeps;
        /** Executions of regions before it keeps its chunk. */
        int executions;
        /** Virtual thread: the writer that has its latest segment. */
        int lastWriter;
        int segment;
        /** A monitor that it wants and has found taken, and when; null once it has it. */
        Object wanted;
        long lockSince;
        /** The latest call that may want a monitor: by a hash of its name and type, when, and where events were. */
        int called;
        long calledTicks;
        long calledAt;
        /** Where the latest call comes from, if that is told, and where events were then. */
        int site;
        long siteAt;
        /** The identity hash of the latest StackOverflowError that has left a method, and how many methods it has left. */
        int overflow;
        int overflowPassed;
        /** Methods that wait, one in the other. */
        int waits;
        /** What the outermost of them waits for. */
        int waitId;
        /** Of a thread that samples itself. */
        JFluid1Samples.Stack stack;

        public final int number;
        public final long tid;
        public final String name;
        public final boolean virtual;
        final java.lang.ref.WeakReference<Thread> thread;
        ThreadInfo chain;
        /** Next in the list of threads the agent has not been told of. */
        public ThreadInfo untold;
        /** Next in the list of threads that the sampler has not been told of. */
        ThreadInfo comer;

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
        NOBODY[0] = null; // a thread that came late may have put itself there
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
     * The same where a method ends. Not inlined: C2 looks a thread up once, and would keep it in the frame from the entry of the
     * method to its exit, which makes it 16 bytes larger. It calls nothing, so C2 gives it no check of the stack: where the
     * method has begun it can end.
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

    /** The record of the platform thread below, null if there is none yet. */
    static ThreadInfo knownCarrier() {
        return find(U.getLong(Carrier.thread(), TID));
    }

    /** @return null, and a gap, when the thread numbers of this session are used up: none is used twice */
    static ThreadInfo register(Thread t) {
        long tid = U.getLong(t, TID);
        boolean virtual = Carrier.isVirtual(t);
        virtualSeen |= virtual;
        // Two looks: those who come late must not count on until the counter is negative.
        boolean exhausted = counters[COUNTER_THREADS] >= MAX_THREADS;
        int number = exhausted ? 0 : U.getAndAddInt(counters, INTS_AT + COUNTER_THREADS * 4L, 1) + 1;
        if (exhausted || number > MAX_THREADS) {
            gap();
            return null;
        }
        ThreadInfo ti = new ThreadInfo(t, tid, number, virtual);
        ti.base = start;
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

    // ---- virtual threads: they write through their carrier ----

    /** Finds the platform thread below. Unlike the rest this differs between JDKs. */
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
                return null; // -VMContinuations: virtual threads have a platform thread each
            }
        }

        /**
         * Keeps a virtual thread on its carrier, until {@link #unpin}. From JDK 24 on it may else leave that where it has to wait for a
         * monitor (JEP 491), and go on elsewhere: who has looked up the carrier would write into its chunk beside it.
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

        /** What the JVM makes of a handle that is called often is made here: in a probe there may be no memory for it. */
        static void warmUp() {
            thread();
            isVirtual(Thread.currentThread());
            if (PIN == null || UNPIN == null) {
                return;
            }
            try {
                PIN.invokeExact(); // of no effect on a platform thread
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

        /** Not inlined: a caller's frame may move to another carrier, and C2 thinks the carrier is fixed. */
        @DontInline
        static Thread thread() {
            if (CURRENT != null) {
                try {
                    return (Thread) CURRENT.invokeExact();
                } catch (Throwable t) {
                    passOn(t); // else: the thread itself is right on every platform thread
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
     * The calling thread is about to wait in the load hook, and looks into the buffer there. The stack of a virtual one cannot be
     * looked at, and outside of roots it has no record that would say so: it is counted.
     *
     * @return whether it is to call {@link #leaveHook}
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
     * Whether a living thread of a session is in a slow path, or a virtual one in the load hook. Platform threads are looked at by
     * their stacks, too.
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

    /** Whether virtual threads have written: their stacks cannot be looked at. */
    public static boolean sawVirtualThreads() {
        return virtualSeen;
    }

    public static ThreadInfo takeThreads() {
        return (ThreadInfo) U.getAndSetReference(mailbox, OBJECTS_AT + OBJECT_BYTES, null);
    }

    /** Id of a thread, whatever a subclass makes of getId(). */
    public static long idOf(Thread t) {
        return U.getLong(t, TID);
    }

    /**
     * Platform threads and their stacks; a stack is null if its thread has ended. Unlike
     * Thread.getAllStackTraces() this calls no method of a thread, nor puts one into a map: subclasses
     * may override hashCode().
     *
     * @param of whose; null for all
     * @return {Thread[], StackTraceElement[][]}, or null on a JDK that does this otherwise
     */
    public static Object[] stacks(Thread[] of) {
        return Threads.stacks(of);
    }

    public static boolean isVirtual(Thread t) {
        return Carrier.isVirtual(t);
    }

    /** Private natives of Thread. */
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

        /** The native one, for virtual threads: Thread.yield() of JDK 21 and later may unmount them. */
        private static java.lang.invoke.MethodHandle yield0() {
            java.lang.invoke.MethodHandle found = find("yield0", void.class);
            return found != null ? found : find("yield", void.class);
        }

        static void giveWay() {
            if (!Carrier.isVirtual(Thread.currentThread())) {
                Thread.yield();
            } else {
                yieldCarrier();
            }
        }

        /**
         * Links the handle. Once only: where no processor is idle, each call takes as long as all others run in turn. What the JDK loads
         * to spin code for the handle of a static method without arguments, {@link Carrier#warmUp} has it load.
         */
        static void warmUp() {
            yieldCarrier();
        }

        private static void yieldCarrier() {
            if (YIELD != null) {
                try {
                    YIELD.invokeExact();
                } catch (Throwable t) {
                    passOn(t); // else: not to give way is no failure
                }
            }
        }

        static Object[] stacks(Thread[] of) {
            if (ALL == null || DUMP == null) {
                return null;
            }
            try {
                Thread[] these = of == null ? (Thread[]) ALL.invokeExact() : of;
                // The JVM does not take none.
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

    /** Drops records of threads that have ended. Agent's thread only. */
    static void purge() {
        ThreadInfo[] in = table;
        long known = 0;
        for (int i = 0; i < in.length; i++) {
            long at = OBJECTS_AT + i * OBJECT_BYTES;
            ThreadInfo head = (ThreadInfo) U.getReferenceVolatile(in, at);
            // A thread may be prepending itself right now: whoever comes second tries again.
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
        return table.length * OBJECT_BYTES + threadsKnown * (THREAD_BYTES + JFluid1Samples.bytesOfThread());
    }

    private static boolean isOver(ThreadInfo ti) {
        Thread t = ti.thread.get();
        // A started thread is known before it lives; with its token unspent it may not have begun to.
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
            // A carrier's chunk is BUSY as long as it lives, and that of a root call that failed.
            int c = ti.chunk;
            ti.chunk = -1;
            if (!ti.resting && isMine(ti, c)) {
                U.compareAndSetInt(null, states + c * 4L, CHUNK_BUSY, CHUNK_FULL);
            }
        }
        return over;
    }
}
