package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.Contended;
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
 * Rules. The hot path allocates nothing, takes no lock and calls nothing but intrinsics. The slow
 * paths clear {@link ThreadInfo#active} first, so that JDK code which is instrumented itself returns
 * at once. They change the state of chunks in several steps and may use the thread's reserved stack, so
 * that a StackOverflowError waits until they are done. Nothing here lets an exception out; a failure switches recording off for this root call.
 *
 * The layouts are drawn in src/events/ring-layout.ts and src/events/event-layout.ts.
 */
public final class JFluid1 {
    private JFluid1() {}

    /** What the agent decides before this class is initialised. */
    public static final class Setup {
        private Setup() {}

        public static boolean fastClock;
        /** Identity of the runtime's class files, to recognise another build's runtime. */
        public static String runtimeId;
        /** Identity of the agent that {@link #agent} belongs to. */
        public static String agentBuild = "";
        /** The sleeping agent: given a launch line, starts a session and returns null or an error. */
        public static java.util.function.Function<String, String> agent;
        /** The agent's instrumentation, typed loosely: java.base does not read java.instrument. */
        public static Object instrumentation;
    }

    // ring-layout.ts
    public static final int RING_HEARTBEAT = 16;
    public static final int RING_ENDED = 20;
    private static final int RING_STARVING = 24;
    public static final int RING_READER_PROCESS = 28;
    public static final int RING_READER_THREAD = 32;
    public static final int RING_READER_SINCE = 36;
    private static final int RING_GAPS = 40;
    private static final int RING_STATES = 4096;
    private static final int ENDED_SILENT = 1;
    public static final int ENDED_STARVED = 2;
    private static final int CHUNK_FREE = 0;
    private static final int CHUNK_BUSY = 1;
    private static final int CHUNK_IDLE = 2;
    private static final int CHUNK_FULL = 3;
    private static final int CHUNK_WRITER = 0;
    private static final int CHUNK_SEQUENCE = 4;
    private static final int CHUNK_EPOCH = 8;
    private static final int CHUNK_EVENTS = 16;

    // event-layout.ts
    private static final int TICK_BITS = 40;
    private static final int EVENT_BYTES = 8;
    private static final int THREAD_NUMBER_BITS = 24;
    private static final long KIND_CATCH = 0L << 62;
    private static final long KIND_ENTER = 1L << 62;
    private static final long KIND_EXIT = 2L << 62;
    private static final long KIND_CONTROL = 3L << 62;
    private static final long CONTROL_EPOCH = KIND_CONTROL | 1L << TICK_BITS;
    private static final long CONTROL_THREAD = KIND_CONTROL | 2L << TICK_BITS;
    private static final long CONTROL_ADJUST = KIND_CONTROL | 3L << TICK_BITS;
    private static final long CONTROL_SUSPEND = KIND_CONTROL | 4L << TICK_BITS;
    private static final long CONTROL_RESUME = KIND_CONTROL | 5L << TICK_BITS;
    private static final long CONTROL_ROOT = KIND_CONTROL | 6L << TICK_BITS;
    private static final long CONTROL_SUBMIT = KIND_CONTROL | 7L << TICK_BITS;
    private static final long CONTROL_BEGIN = KIND_CONTROL | 8L << TICK_BITS;
    private static final long CONTROL_DROP = KIND_CONTROL | 9L << TICK_BITS;
    static final long CONTROL_UNWIND = KIND_CONTROL | 10L << TICK_BITS;
    static final long CONTROL_SAMPLE = KIND_CONTROL | 11L << TICK_BITS;
    private static final long CONTROL_NAME = KIND_CONTROL | 12L << TICK_BITS;
    private static final long CONTROL_ALLOCATED = KIND_CONTROL | 13L << TICK_BITS;
    static final long CONTROL_TRACK = KIND_CONTROL | 15L << TICK_BITS;
    private static final int NAME_CLASS_SHIFT = 25;
    private static final int NAME_AT_SHIFT = 16;
    private static final int LONGEST_NAME = 511;
    private static final int FIRST_METHOD_BESIDE_CLASSES = 32768;
    static final long CONTROL_SITE = KIND_CONTROL | 14L << TICK_BITS;
    private static final long TICK_MASK = (1L << TICK_BITS) - 1;

    // wait-ids.ts
    private static final int WAIT_SLEEPING = 1;
    private static final int WAIT_PARKED = 2;
    private static final int WAIT_OTHER = 3;
    private static final int FIRST_WAIT_CLASS = 4;
    private static final int BLOCKED_OTHER = 128;
    private static final int FIRST_BLOCKED_CLASS = 129;
    private static final int FIRST_METHOD_BESIDE_WAITS = 256;
    public static final int KIND_BLOCKED = 0;
    public static final int KIND_WAITING = 1;
    public static final int KIND_PARKED = 2;
    public static final int KIND_SLEEPING = 3;

    /** States of a method: READY and above need no question at entry. */
    public static final byte NEW = 0;
    public static final byte PENDING = 1;
    public static final byte READY = 2;
    private static final byte LATE = 3;

    /** No thread of the target waits longer than this for a client that shows no sign of life. */
    public static final long PATIENCE_NANOS = 250_000_000L;
    /** Unless it wants a processor and gets none: then no longer than this. */
    public static final long STARVING_NANOS = 2_000_000_000L;
    /** So long before patience is over the agent is asked to look whether it does; then again and again. */
    private static final long DOUBT_NANOS = 150_000_000L;
    private static final long DOUBT_AGAIN_NANOS = 20_000_000L;
    /**
     * As much of it passes, at most, between two looks of the waiting thread. Where even that thread gets no
     * processor for longer, the client may be alive and have got none either: schedulers share processors
     * between sessions first, and one of few threads may wait several times as long as those of another.
     */
    private static final long LOOK_NANOS = 4_500_000L;
    /** Nor longer than this for one that lives and works on it, whatever it is doing. */
    public static final long LONGEST_NANOS = 1_000_000_000L;
    /** Pauses between looks: a sixteenth of the wait so far, within these two. */
    private static final long PAUSE_NANOS = 50_000L;
    private static final long LONGEST_PAUSE_NANOS = 4_000_000L;
    /** No shorter than this for each thread that waits, within the second. */
    private static final long PAUSE_AMONG_NANOS = 32_000L;
    private static final long LONGEST_PAUSE_AMONG_NANOS = 32_000_000L;
    /** The same while the ring is full; see chunkPause(). */
    private static final long PAUSE_A_WAITER_NANOS = 200_000L;
    private static final long UNLUCKY_NANOS = 100_000_000L;
    /** A pause that ends no later than this counts as a whole, if it was longer than a look may be. */
    private static final long LATE_NANOS = 500_000L;

    /**
     * Buckets of the table of threads. Ids are dense, so up to this many threads at once a look-up is one
     * step; a million virtual threads make it 16.
     */
    private static final int TABLE_SIZE = 1 << 16;
    /** A monitor that was taken in less was not waited for, as far as can be told. */
    private static final long SHORTEST_WAIT_NANOS = 1_000;
    /** Bytecodes: a loop hands over what it has executed a thousand times a second or so. */
    private static final int LONG_ACTIVATION = 1 << 20;
    /** Bytecodes until a thread reports that could not do so for want of stack. */
    private static final long REPORT_AGAIN = 1 << 20;
    /**
     * The JDK spins code of its own for a method handle that is called the 127th time, and loads classes for it: not where
     * a thread waits for us in the middle of loading one of these.
     */
    private static final int HANDLE_CALLS = 150;
    private static final int MAX_THREADS = (1 << THREAD_NUMBER_BITS) - 1;
    private static final Unsafe U = Unsafe.getUnsafe();
    public static final boolean FAST_CLOCK = Setup.fastClock;
    private static final long BYTES_AT = base("ARRAY_BYTE_BASE_OFFSET");
    private static final long INTS_AT = base("ARRAY_INT_BASE_OFFSET");
    private static final long LONGS_AT = base("ARRAY_LONG_BASE_OFFSET");
    static final long OBJECTS_AT = base("ARRAY_OBJECT_BASE_OFFSET");
    static final long OBJECT_BYTES = base("ARRAY_OBJECT_INDEX_SCALE");
    private static final long LOADER_NAME = U.objectFieldOffset(ClassLoader.class, "name");
    private static final long TID = U.objectFieldOffset(Thread.class, "tid");

    /** These constants are int up to JDK 24 and long from 25 on: one class file must do for both. */
    private static long base(String constant) {
        try {
            return ((Number) Unsafe.class.getField(constant).get(null)).longValue();
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    // ---- the session, written by the agent's thread ----

    /** Threads by id; chains are prepended by their own threads and unlinked by the agent only. */
    private static ThreadInfo[] table = new ThreadInfo[1];
    /** Between sessions. Made beforehand: a session ends without memory, too. */
    private static final ThreadInfo[] NOBODY = table;
    private static final Reflected[] NOTHING = new Reflected[1];
    private static final java.lang.ref.WeakReference<?>[] NO_MEMBERS = new java.lang.ref.WeakReference<?>[1];
    private static byte[] state = new byte[1024];
    private static volatile boolean enabled;
    /** Whether roots open the graph: all is in that they lead to. Never without {@link #enabled}. */
    private static volatile boolean open;
    private static volatile boolean swapping;
    /** The redefinition that runs may wait for those who wait for it. */
    private static volatile boolean jammed;
    private static long start;
    /** The clock of each thread is what it has executed (probes count…), not time. */
    private static boolean counting;
    /** Null but for a session with a profiler of the user's. */
    private static volatile Reporter reporter;
    private static long ring;
    private static long states;
    private static long chunks;
    private static int chunkBytes;
    private static int chunkCount;
    private static int claimHint;
    private static boolean virtualSeen;
    private static Runnable waker;
    private static volatile long excusedUntil;
    private static volatile boolean doubted;
    /** When the agent has last answered a doubt. */
    private static long answeredAt;
    private static boolean starved;
    /** The thread that began the session. */
    private static Thread agent;
    /** The thread of the redefinition that runs. */
    private static volatile Thread swapper;

    private static final int COUNTER_THREADS = 0;
    private static final int COUNTER_GAPS = 1;
    /** Threads that wait for the client, whatever for. */
    private static final int COUNTER_WAITING = 2;
    /** Those of them that wait for a chunk. */
    private static final int COUNTER_STARVING = 3;
    /** Threads that keep their chunk between two executions of a region. */
    private static final int COUNTER_KEEPERS = 4;
    private static final int[] counters = new int[5];
    /** [0] requests for the agent, newest first. [1] threads it has not been told of. */
    private static final Object[] mailbox = new Object[2];
    private static Reflected[] reflected = NOTHING;
    /** Tasks that wait to be run; null unless threads are followed. */
    private static HandedOver handedOver;
    /** What handles have called lately, by identity hash, so that few of their calls look further. */
    private static java.lang.ref.WeakReference<?>[] knownMembers = NO_MEMBERS;
    private static boolean followsJdk;
    /** What threads wait for, by class: a hash table. Null unless waits are told apart. */
    private static Waited[] waited;
    /** [0] classes waited for, [1] classes blocked on. */
    private static final int[] waitedCount = new int[2];
    /** Ticks that a thread must have waited for a monitor: the JVM takes one that is free in less. */
    private static long shortestWait;
    /** A ThreadInfo, two cache lines wider than its fields on either side, and its weak reference. */
    private static final long THREAD_BYTES = 496;
    /** A Reflected, perhaps with its selector. */
    private static final long MEMBER_BYTES = 64;
    private static long threadsKnown;
    private static long membersKnown;

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
        /** The class-load hook has stopped this thread's clock. */
        boolean suspended;
        int nesting;
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
        /** Calls of roots that this thread is in while the graph is closed and roots are timed bare. */
        int timedNesting;
        int timedRound;
        int timedRoot;
        long timedSince;
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

        ThreadInfo(Thread t, long tid, int number, boolean virtual) {
            this.thread = new java.lang.ref.WeakReference<>(t);
            this.tid = tid;
            this.number = number;
            this.name = t.getName();
            this.virtual = virtual;
            this.lastThread = this.lastWriter = number;
        }
    }

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

    /** Something an application thread asks of the agent. */
    public static final class Request {
        public static final int FIRST_INVOCATION = 0;
        public static final int REFLECTION = 1;
        public static final int CLASS_LOADING = 2;
        public static final int HIDDEN_CLASS = 3;
        public static final int CHANGED_CLASS = 4;
        /** Nobody waits for an answer: {@code value} is the id of waiting for what `subject`, a Waited, names. */
        public static final int WAITED_CLASS = 5;

        public final int kind;
        public final int value;
        public final Object subject;
        public final Object extra;
        public Request next;
        public volatile boolean done;
        /** The thread has gone on without an answer. */
        public volatile boolean abandoned;
        public volatile byte[] answer;

        public Request(int kind, int value, Object subject, Object extra) {
            this.kind = kind;
            this.value = value;
            this.subject = subject;
            this.extra = extra;
        }
    }

    /** A method that reflection or a method handle has called inside the graph; its class may unload. */
    private static final class Reflected extends java.lang.ref.WeakReference<Class<?>> {
        final int slot;
        final boolean constructor;
        /** Name and descriptor, where a handle called; `slot` is then their hash. */
        final String selector;
        Reflected chain;

        Reflected(Class<?> owner, int slot, boolean constructor, String selector, Reflected chain) {
            super(owner);
            this.slot = slot;
            this.constructor = constructor;
            this.selector = selector;
            this.chain = chain;
        }

        boolean is(Class<?> owner, int slot, boolean constructor, String selector) {
            return this.slot == slot
                    && get() == owner
                    && this.constructor == constructor
                    && (selector == null ? this.selector == null : selector.equals(this.selector));
        }
    }

    // ---- hot path ----

    /** One reading of the session's clock. A HotSpot intrinsic, or System.nanoTime() without JFR. */
    public static long ticks() {
        return FAST_CLOCK ? jdk.jfr.internal.JVM.counterTime() : System.nanoTime();
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
        long delta = ticks() - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            append(ti, KIND_ENTER | (long) id << TICK_BITS);
            return;
        }
        U.putLongRelease(null, at, KIND_ENTER | (long) id << TICK_BITS | delta);
        ti.next = at + EVENT_BYTES;
    }

    /** End of every instrumented method but roots, normal or by exception. */
    public static void methodExit(int id) {
        ThreadInfo ti = current();
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
            append(ti, KIND_EXIT | (long) id << TICK_BITS);
            return;
        }
        U.putLongRelease(null, at, KIND_EXIT | (long) id << TICK_BITS | delta);
        ti.next = at + EVENT_BYTES;
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
            append(ti, KIND_CATCH | (long) id << TICK_BITS);
            return;
        }
        U.putLongRelease(null, at, KIND_CATCH | (long) id << TICK_BITS | delta);
        ti.next = at + EVENT_BYTES;
    }

    /** Start of a root: as methodEntry, but entered from outside it opens the graph for the thread. */
    public static void rootEntry(int id) {
        ThreadInfo ti = current();
        if (ti != null && (ti.active || ti.virtualActive)) {
            methodEntry(id); // on a full stack it throws: then this activation is over, and has not been counted
            ti.nesting++;
            return;
        }
        if (open) {
            enterGraph(ti, id);
        } else if (timesBare) {
            timedEntry(ti, id);
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
        } else if (ti.timedNesting > 0 && !ti.guard) {
            timedExit(ti);
        }
    }

    /** Outside the graph, until the next root: the agent may take the chunk. */
    static void rest(ThreadInfo ti) {
        ti.active = false;
        int chunk = ti.chunk;
        if (chunk >= 0) {
            ti.resting = true;
            U.putIntRelease(null, states + chunk * 4L, CHUNK_IDLE);
        }
    }

    // ---- the same without a clock ----
    //
    // What an event tells instead of time is how much its thread has executed inside the graph: bytecodes, counted
    // by the method itself in a local variable and handed over when it ends (JP, section 4). A method that counts
    // nothing hands over 0. So readers need not know: a self "time" is what was executed between two events.

    /** Start of every instrumented method but roots. Cost: {@link #methodEntry} without the clock. */
    public static void countEntry(int id) {
        ThreadInfo ti = current();
        if (ti == null) {
            return;
        }
        if (!ti.active) {
            if (ti.virtualActive) {
                virtualEntry(ti, id);
                if (ti.context != null) {
                    enterContext(ti, id);
                }
            }
            return;
        }
        if (state[id] < READY && !firstInvocation(ti, id)) {
            return;
        }
        countedEvent(ti, KIND_ENTER | (long) id << TICK_BITS);
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
        if (!ti.active) {
            if (ti.virtualActive) {
                ti.executed += executed;
                virtualEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
                if (ti.context != null) {
                    leaveContext(ti, executed, id);
                }
            }
            return;
        }
        ti.executed += executed;
        countedEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
        if (ti.context != null) {
            leaveContext(ti, executed, id);
        }
    }

    /** Start of a handler, see {@link #methodResume}. */
    public static void countResume(int id) {
        ThreadInfo ti = current();
        if (ti == null) {
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

    private static void enterContext(ThreadInfo ti, int id) {
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
    private static void leaveContext(ThreadInfo ti, int executed, int id) {
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
    private static void report(ThreadInfo ti, Context current) {
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

    private static void countedEvent(ThreadInfo ti, long word) {
        long delta = ti.executed - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            append(ti, word);
            return;
        }
        U.putLongRelease(null, at, word | delta);
        ti.next = at + EVENT_BYTES;
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
        if (ti != null && (ti.active || ti.virtualActive)) {
            countEntry(id); // as in rootEntry
            ti.nesting++;
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

    // ---- what the probes of mode `sample` need (JFluid1Samples) ----

    static final long MOST_TICKS = TICK_MASK;
    /** UNWIND: all there are. */
    static final long MOST_FRAMES = TICK_MASK;

    /** So is a method of an earlier session: old code may go on long after its session, and ask of ids that this one has not. */
    static boolean isReady(int id) {
        byte[] states = state;
        return id >= states.length || states[id] >= READY;
    }

    static boolean isOpen() {
        return open;
    }

    static Reporter reporter() {
        return reporter;
    }

    /** What differs from session to session. */
    static Object session() {
        return table;
    }

    /** ENTER, without a time. */
    static long enter(int id) {
        return KIND_ENTER | (long) id << TICK_BITS;
    }

    /** Whether it is a thread of the session's own. */
    static boolean isOurs(Thread t) {
        return t == agent || t == swapper || JFluid1Samples.isTimer(t);
    }

    /** The thread is inside the graph, or inside again, unless the session is over. */
    static void activate(ThreadInfo ti) {
        if (ti.virtual) {
            ti.virtualActive = enabled;
        } else {
            ti.active = enabled;
        }
    }

    /** Who writes for a thread: itself, which then owns its chunk, or its carrier. Null if the session is over. */
    static ThreadInfo writer(ThreadInfo ti) {
        if (ti.virtual) {
            return carrier();
        }
        own(ti);
        return ti;
    }

    // ---- gross time of regions (report, section 5) ----
    //
    // A region is a method or some lines of one. A local variable of the activation holds when it was entered, 0 while
    // control is outside; so it needs no record of the thread, and a virtual thread may leave it on another carrier. An
    // execution that ends is one word: an EXIT with the region's number, and how long it was instead of when. One of
    // 2^40 ticks or more stands between two EPOCHs that say the rest. Threads write into the chunk of their carrier;
    // whose execution it was is not told.

    /** Executions after which a thread keeps its chunk, if not too many do. */
    private static final int KEEPS_AFTER = 32;
    /** Which session times regions, by its number among those of this JVM; 0 if the present one does not. */
    private static int regionSession;
    private static int regionSessions;
    private static long regionsSince;

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

    /** The record of the platform thread below, null if there is none yet. */
    private static ThreadInfo knownCarrier() {
        return find(U.getLong(Carrier.thread(), TID));
    }

    /** Where the hot path could not tell: no chunk, a full one, or a very long execution. */
    @ReservedStackAccess
    private static void regionTold(ThreadInfo known, long since, long took, int id) {
        if (regionSession == 0 || !open || since - regionsSince < 0) {
            return; // of an earlier session
        }
        ThreadInfo w = known;
        try {
            Thread t = Carrier.thread();
            if (t == agent || t == swapper) {
                return; // as in enterGraph
            }
            virtualSeen |= t != Thread.currentThread();
            if (w == null) {
                w = register(t);
            }
            if (w == null || w.guard) {
                return;
            }
            w.guard = true;
            boolean kept = w.keeps;
            w.keeps = false;
            if (!kept) {
                own(w);
            }
            boolean told = room(w, w, 4);
            if (told) {
                long ticks = Math.max(0, took); // clocks of processors may differ a little
                long epoch = ticks >>> TICK_BITS;
                if (epoch != 0) {
                    put(w, CONTROL_EPOCH | epoch);
                }
                put(w, KIND_EXIT | (long) id << TICK_BITS | ticks & TICK_MASK);
                if (epoch != 0) {
                    put(w, CONTROL_EPOCH);
                }
            }
            keepOrRest(w, kept, told);
            w.guard = false;
        } catch (Throwable t) {
            gap();
            if (w != null) {
                w.guard = false;
            }
            passOn(t);
        }
    }

    /**
     * A thread that comes often keeps its chunk, which saves it two atomic operations each time. Half of the chunks are
     * for those that come seldom, or are one too many: their chunks can be taken back.
     */
    private static void keepOrRest(ThreadInfo w, boolean kept, boolean told) {
        if (kept) {
            w.keeps = told && enabled;
            if (!w.keeps) {
                U.getAndAddInt(counters, INTS_AT + COUNTER_KEEPERS * 4L, -1);
            }
        } else if (told) {
            if (++w.executions > KEEPS_AFTER && counters[COUNTER_KEEPERS] < chunkCount / 2) {
                U.getAndAddInt(counters, INTS_AT + COUNTER_KEEPERS * 4L, 1);
                w.keeps = enabled;
            } else {
                rest(w);
            }
        }
    }

    /**
     * This session times regions. After begin(), and before the code that has the probes.
     *
     * @return its number, which the probes carry: what is left of an earlier session's code is not listened to
     */
    public static int timeRegions() {
        regionsSince = ticks();
        regionSession = ++regionSessions & 0x3fffff;
        return regionSession;
    }

    /**
     * Measures what an execution costs: t_I, which falls into its time, and the rest. As {@link #calibrate}, and before
     * {@link #open}.
     *
     * @return {inner, outer} in ticks an execution, scaled by 1000
     */
    public static long[] calibrateRegions(long budgetNanos) {
        int block = 200;
        long bytes = (block + 1L) * EVENT_BYTES;
        long scratch = U.allocateMemory(bytes);
        ThreadInfo ti = register(Thread.currentThread());
        double inner = Double.MAX_VALUE;
        double total = Double.MAX_VALUE;
        double bare = Double.MAX_VALUE;
        try {
            long until = System.nanoTime() + budgetNanos;
            open = true; // no probe is in yet
            for (int round = 0; round < 400 || System.nanoTime() < until; round++) {
                ti.next = scratch;
                ti.limit = scratch + bytes;
                ti.keeps = true;
                long t0 = ticks();
                Calibration.regions(block, regionSession);
                long t1 = ticks();
                ti.keeps = false;
                Calibration.bare(block);
                long t2 = ticks();
                Calibration.bare(block);
                long t3 = ticks();
                if (ti.next != scratch + block * EVENT_BYTES) {
                    continue; // as in calibrate
                }
                long sum = 0;
                for (long at = scratch; at < ti.next; at += EVENT_BYTES) {
                    sum += U.getLong(at) & TICK_MASK;
                }
                inner = Math.min(inner, (double) sum / block);
                total = Math.min(total, (double) (t1 - t0) / block);
                bare = Math.min(bare, (double) (t3 - t2) / block);
            }
        } finally {
            open = false;
            ti.keeps = false;
            ti.next = ti.limit = 0;
            U.freeMemory(scratch);
        }
        double outer = Math.max(0, total - bare - inner);
        return new long[] {Math.round(inner * 1000), Math.round(outer * 1000)};
    }

    // ---- allocations: bytes instead of time (--mode alloc) ----
    //
    // Methods have the probes count… and hand over 0; the thread's clock is what its allocation sites have allocated. An
    // allocation is told as a call of a pseudo method, which stands for the class: ENTER before and EXIT after its bytes.
    // The probes here follow the instruction that allocates, so whatever that throws has allocated nothing. None of them
    // hands the object on, and it escapes through them only where they are not inlined.

    /** What the JVM knows of sizes. Its methods must not throw, nor allocate but for the first call. */
    public abstract static class Gauge {
        /** Bytes of this object. */
        public abstract long sizeOf(Object o);

        /** Bytes that the present thread has allocated since it lives; -1 if that cannot be told. */
        public abstract long allocated();

        /** Collections so far; 0 if that cannot be told. */
        public abstract int collections();
    }

    /** A class of which something was allocated. It may be unloaded; its number is not given away again. */
    private static final class Allocated extends java.lang.ref.WeakReference<Class<?>> {
        /** 1 to {@link #FIRST_METHOD_BESIDE_CLASSES} - 1. */
        final int id;
        /** Of an instance; of an array, before its elements. */
        final long bytes;
        /** Of an array: by how much its length is shifted. -1 if it is none. */
        final int shift;
        /** Of a lambda: the name that it shares with the others of its class, and their number. Else null. */
        final String lambda;
        Allocated chain;

        Allocated(Class<?> c, int id, long bytes, int shift, String lambda) {
            super(c);
            this.lambda = lambda;
            this.id = id;
            this.bytes = bytes;
            this.shift = shift;
        }
    }

    /** A record with its reference, and a word of the table. */
    private static final long ALLOCATED_BYTES = 80;
    private static final int ALLOCATED_TABLE = 1 << 12;
    private static final Allocated[] NOTHING_ALLOCATED = new Allocated[1];
    /** Classes by identity hash. */
    private static Allocated[] allocated = NOTHING_ALLOCATED;
    private static long classesKnown;
    private static final int[] allocatedClasses = new int[1];
    /** Null but for a session that counts allocations. */
    private static volatile Gauge gauge;
    private static int sampleEvery = 1;
    /** Sizes are multiples of this and one more. */
    private static long alignmentMask = 7;
    /** By the operand of newarray; see {@link #allocations}. */
    private static final Class<?>[] PRIMITIVE_ARRAYS = {
        null, null, null, null, boolean[].class, char[].class, float[].class, double[].class, byte[].class,
        short[].class, int[].class, long[].class
    };
    private static final long[] ARRAY_BASES = {
        0, 0, 0, 0, base("ARRAY_BOOLEAN_BASE_OFFSET"), base("ARRAY_CHAR_BASE_OFFSET"), base("ARRAY_FLOAT_BASE_OFFSET"),
        base("ARRAY_DOUBLE_BASE_OFFSET"), BYTES_AT, base("ARRAY_SHORT_BASE_OFFSET"), INTS_AT, LONGS_AT
    };
    private static final int[] ARRAY_SHIFTS = {0, 0, 0, 0, 0, 1, 2, 3, 0, 1, 2, 3};

    /**
     * From now on allocations are counted. Between begin() and the code that has the probes.
     *
     * @param alignment sizes of objects are multiples of it
     * @param every     one of so many allocations is recorded, by chance
     * @param follow    whether recorded objects are looked after, which of them live
     */
    public static void allocations(Gauge by, int alignment, int every, boolean follow) {
        if (follow) {
            JFluid1Survivors.begin();
        }
        U.ensureClassInitialized(Allocated.class);
        U.ensureClassInitialized(Values.class);
        allocated = new Allocated[ALLOCATED_TABLE];
        allocatedClasses[0] = 0;
        classesKnown = 0;
        alignmentMask = alignment - 1;
        sampleEvery = every;
        gauge = by;
    }

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
        for (int left = dimensions; ; left--) {
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

    private static void eachOf(ThreadInfo ti, Object array, int dimensions) {
        arrayOf(ti, array.getClass(), lengthOf(array), array);
        if (dimensions > 1) {
            Object[] outer = (Object[]) array;
            for (int i = 0; i < outer.length; i++) {
                eachOf(ti, outer[i], dimensions - 1);
            }
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
        for (Object a = array; a != null; a = a instanceof Object[] inner && inner.length > 0 ? inner[0] : null) {
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

    /** @param made null if it is not looked after */
    private static void arrayOf(ThreadInfo ti, Class<?> c, int length, Object made) {
        if (sampleEvery > 1 && isPassedOver(ti)) {
            return;
        }
        Allocated a = known(c);
        if (a == null) {
            a = learn(ti, c, null);
        }
        if (a != null) {
            long bytes = a.bytes + ((long) length << a.shift) + alignmentMask & ~alignmentMask;
            allocation(ti, a, bytes);
            if (made != null) {
                JFluid1Survivors.follow(ti, a.id, made, bytes);
            }
        }
    }

    private static void allocation(ThreadInfo ti, Allocated a, long bytes) {
        long id = (long) a.id << TICK_BITS;
        if (ti.active) {
            countedEvent(ti, KIND_ENTER | id);
            ti.executed += bytes;
            if (ti.active) { // else the session is over
                countedEvent(ti, KIND_EXIT | id);
            }
        } else if (ti.virtualActive) {
            virtualEvent(ti, KIND_ENTER | id);
            ti.executed += bytes;
            if (ti.virtualActive) {
                virtualEvent(ti, KIND_EXIT | id);
            }
        }
    }

    /** -1 if it is no array. */
    private static int lengthOf(Object o) {
        if (o instanceof Object[] a) {
            return a.length;
        }
        if (o instanceof byte[] a) {
            return a.length;
        }
        return o.getClass().isArray() ? lengthOfOther(o) : -1;
    }

    private static int lengthOfOther(Object o) {
        if (o instanceof int[] a) {
            return a.length;
        }
        if (o instanceof char[] a) {
            return a.length;
        }
        if (o instanceof long[] a) {
            return a.length;
        }
        if (o instanceof double[] a) {
            return a.length;
        }
        if (o instanceof boolean[] a) {
            return a.length;
        }
        if (o instanceof float[] a) {
            return a.length;
        }
        return ((short[]) o).length;
    }

    /**
     * Whether this allocation is not the one to record. Distances are 1 to 2 N - 1 by chance, N on average, so that no
     * loop of the program's keeps step with them; each thread's begin with its number, so they are the same in every run.
     */
    private static boolean isPassedOver(ThreadInfo ti) {
        if (ti.untilSample > 0) {
            ti.untilSample--;
            return true;
        }
        int x = ti.chance == 0 ? ti.number * 0x9e3779b9 | 1 : ti.chance;
        if (ti.chance == 0) { // the first comes after a part of a distance
            x = nextChance(x);
            ti.chance = x;
            ti.untilSample = (x >>> 1) % sampleEvery;
            if (ti.untilSample > 0) {
                ti.untilSample--;
                return true;
            }
        }
        x = nextChance(x);
        ti.chance = x;
        ti.untilSample = (x >>> 1) % (2L * sampleEvery - 1);
        return false;
    }

    /** Marsaglia's xorshift: never 0. */
    private static int nextChance(int chance) {
        int x = chance ^ chance << 13;
        x ^= x >>> 17;
        return x ^ x << 5;
    }

    private static Allocated known(Class<?> c) {
        Allocated[] in = allocated;
        Allocated a = in[System.identityHashCode(c) & in.length - 1];
        while (a != null && a.get() != c) {
            a = a.chain;
        }
        return a;
    }

    /** A class is met for the first time: measures it, gives it a number, and writes its name into the ring. */
    @ReservedStackAccess
    private static Allocated learn(ThreadInfo ti, Class<?> c, Object instance) {
        boolean virtual = !ti.active;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        Allocated learnt = null;
        boolean on = enabled;
        try {
            Gauge by = gauge;
            if (on && by != null) {
                int before = allocatedClasses[0];
                learnt = enrol(by, c, instance);
                if (learnt != null && learnt.id > before) {
                    String name = nameOf(c);
                    ThreadInfo w = virtual ? carrier() : ti;
                    on = w != null && room(w, ti, name.length() + 4);
                    if (on) {
                        if (virtual) {
                            switchTo(w, ti);
                        }
                        for (int i = 0; i < name.length(); i++) {
                            put(w, CONTROL_NAME | (long) learnt.id << NAME_CLASS_SHIFT | i << NAME_AT_SHIFT | name.charAt(i));
                        }
                        switchBack(w);
                    }
                }
            }
        } catch (Throwable t) {
            gap(); // this one is not recorded; the next of its class is, perhaps
            on = enabled;
            ti.guard = false;
            passOn(t);
        }
        ti.guard = false;
        if (on && enabled) {
            if (virtual) {
                ti.virtualActive = true;
            } else {
                ti.active = true;
            }
        }
        return on ? learnt : null;
    }

    /** Writes one word, on a slow path. */
    static boolean tell(ThreadInfo ti, boolean virtual, long word) {
        ThreadInfo w = virtual ? carrier() : ti;
        if (w == null || !room(w, ti, 4)) {
            return false;
        }
        if (virtual) {
            switchTo(w, ti);
        }
        put(w, word);
        switchBack(w);
        return true;
    }

    static int collections() {
        Gauge by = gauge;
        return by == null ? 0 : by.collections();
    }

    private static Allocated enrol(Gauge by, Class<?> c, Object instance) throws InstantiationException {
        long bytes;
        int shift = -1;
        Class<?> of = c.getComponentType();
        if (of == null) {
            bytes = by.sizeOf(instance != null ? instance : U.allocateInstance(c));
        } else if (!of.isPrimitive()) {
            bytes = OBJECTS_AT;
            shift = OBJECT_BYTES == 8 ? 3 : 2;
        } else {
            int type = 4;
            while (PRIMITIVE_ARRAYS[type] != c) {
                type++;
            }
            bytes = ARRAY_BASES[type];
            shift = ARRAY_SHIFTS[type];
        }
        Allocated[] into = allocated;
        long at = OBJECTS_AT + (System.identityHashCode(c) & into.length - 1) * OBJECT_BYTES;
        Allocated made = null;
        while (true) {
            Allocated head = (Allocated) U.getReferenceVolatile(into, at);
            for (Allocated a = head; a != null; a = a.chain) {
                if (a.get() == c) {
                    return a;
                }
            }
            if (made == null) {
                String lambda = isLambda(c) ? nameOf(c) : null;
                int shared = lambda == null ? 0 : numberOf(lambda);
                int id = shared > 0 ? shared : U.getAndAddInt(allocatedClasses, INTS_AT, 1) + 1;
                if (id >= FIRST_METHOD_BESIDE_CLASSES) {
                    U.putInt(allocatedClasses, INTS_AT, FIRST_METHOD_BESIDE_CLASSES - 1);
                    gap(); // the numbers are used up
                    return null;
                }
                made = new Allocated(c, id, bytes, shift, lambda);
            }
            made.chain = head;
            if (U.compareAndSetReference(into, at, head, made)) {
                return made;
            }
        }
    }

    /** "java.lang.String\nbootstrap", "[I\nbootstrap"; what differs from run to run is left out of the names of lambdas. */
    private static String nameOf(Class<?> c) {
        String name = c.getName();
        if (isLambda(c)) {
            name = name.substring(0, name.indexOf("$$Lambda") + 8);
        }
        ClassLoader loader = (ClassLoader) U.getReference(c, Offsets.CLASS_LOADER);
        String by = loader == null ? "bootstrap" : nameOf(loader);
        String full = name.concat("\n").concat(by == null ? loader.getClass().getName() : by);
        return full.length() > LONGEST_NAME ? full.substring(0, LONGEST_NAME) : full;
    }

    private static boolean isLambda(Class<?> c) {
        return c.isHidden() && c.getName().contains("$$Lambda");
    }

    /** Of lambdas of this name, which the JVM makes anew when their method is redefined; 0 if there are none. */
    private static int numberOf(String lambda) {
        Allocated[] in = allocated;
        for (int i = 0; i < in.length; i++) {
            for (Allocated a = in[i]; a != null; a = a.chain) {
                if (lambda.equals(a.lambda)) {
                    return a.id;
                }
            }
        }
        return 0;
    }

    /** The outermost root ends: what the JVM has seen the thread allocate inside. */
    private static void tellAllocated(ThreadInfo ti) {
        Gauge by = gauge;
        long before = ti.allocatedBefore;
        if (by == null || before < 0) {
            return;
        }
        ti.active = false;
        ti.guard = true;
        ti.allocatedBefore = -1;
        try {
            long bytes = by.allocated() - before;
            if (room(ti, ti, 2)) {
                ti.allocationsTold++;
                put(ti, CONTROL_ALLOCATED | Math.min(Math.max(0, bytes), TICK_MASK));
                ti.active = enabled;
            }
        } catch (Throwable t) {
            gap();
            ti.guard = false;
            passOn(t);
        }
        ti.guard = false;
    }

    /** Drops records of classes that are gone. Agent's thread only. */
    private static void purgeAllocated() {
        Allocated[] in = allocated;
        long known = 0;
        for (int i = 0; i < in.length; i++) {
            long at = OBJECTS_AT + i * OBJECT_BYTES;
            Allocated head = (Allocated) U.getReferenceVolatile(in, at);
            while (head != null && head.refersTo(null)) {
                U.compareAndSetReference(in, at, head, head.chain);
                head = (Allocated) U.getReferenceVolatile(in, at);
            }
            for (Allocated before = head; before != null; before = before.chain) {
                known++;
                while (before.chain != null && before.chain.refersTo(null)) {
                    before.chain = before.chain.chain;
                }
            }
        }
        classesKnown = known;
    }

    /**
     * Threads that are inside the graph now: {id, number, how often ALLOCATED was told, what they had allocated when they
     * came}, one after the other.
     */
    public static long[] allocatedBefore() {
        int count = 0;
        long[] found = new long[16];
        for (ThreadInfo head : table) {
            for (ThreadInfo ti = head; ti != null; ti = ti.chain) {
                if (ti.active && ti.allocatedBefore >= 0) {
                    if (count + 4 > found.length) {
                        found = java.util.Arrays.copyOf(found, count * 2);
                    }
                    found[count++] = ti.tid;
                    found[count++] = ti.number;
                    found[count++] = ti.allocationsTold;
                    found[count++] = ti.allocatedBefore;
                }
            }
        }
        return java.util.Arrays.copyOf(found, count);
    }

    /** Fields of boxes and strings, read as such: their methods may be instrumented. */
    private static final class Values {
        static final long STRING = U.objectFieldOffset(String.class, "value");
        private static final long INTEGER = U.objectFieldOffset(Integer.class, "value");
        private static final long LONG = U.objectFieldOffset(Long.class, "value");
        private static final long SHORT = U.objectFieldOffset(Short.class, "value");
        private static final long CHARACTER = U.objectFieldOffset(Character.class, "value");
        private static final int HIGHEST_INTEGER = highestInteger();

        /** -XX:AutoBoxCacheMax may have moved it. */
        private static int highestInteger() {
            int high = 127;
            while (high < Integer.MAX_VALUE && Integer.valueOf(high + 1) == Integer.valueOf(high + 1)) {
                high++;
            }
            return high;
        }

        static boolean isCached(Object box) {
            if (box instanceof Integer) {
                int value = U.getInt(box, INTEGER);
                return value >= -128 && value <= HIGHEST_INTEGER;
            }
            if (box instanceof Long) {
                long value = U.getLong(box, LONG);
                return value >= -128 && value <= 127;
            }
            if (box instanceof Short) {
                short value = U.getShort(box, SHORT);
                return value >= -128 && value <= 127;
            }
            if (box instanceof Character) {
                return U.getChar(box, CHARACTER) <= 127;
            }
            return box instanceof Byte || box instanceof Boolean;
        }
    }

    // ---- slow paths: rare, guarded, bounded ----

    /** What the thread's events say: session ticks from {@link #start}, or what it has executed. */
    private static long clock(ThreadInfo ti) {
        return counting ? ti.executed : ticks();
    }

    @ReservedStackAccess
    private static void enterGraph(ThreadInfo known, int id) {
        ThreadInfo ti = known;
        try {
            if (Thread.currentThread() == agent || Thread.currentThread() == swapper) {
                return; // it would wait for itself, and is none of the application's
            }
            if (ti == null) {
                ti = register(Thread.currentThread());
            }
            if (ti == null || ti.guard) {
                return;
            }
            ti.guard = true;
            if (timesBare && !mayEnter(ti)) {
                ti.guard = false;
                timedEntry(ti, id);
                return;
            }
            ti.waits = 0;
            ti.token = 0; // its first events were lost: what is left stands for itself
            Reporter to = reporter;
            if (to != null) {
                ThreadInfo[] session = table;
                if (ti.contexts == null) {
                    register(to, ti);
                }
                if (table != session) {
                    ti.guard = false; // it took its time, and that session is over
                    return;
                }
                ti.context = ti.contexts;
                enterContext(ti, id);
            }
            if (ti.virtual) {
                ti.nesting = 1;
                ThreadInfo w = carrier();
                if (w != null && room(w, ti, 5)) {
                    switchTo(w, ti);
                    put(w, CONTROL_ROOT);
                    ti.virtualActive = true;
                    ti.guard = false;
                    virtualEntry(ti, id);
                }
            } else {
                own(ti);
                if (room(ti, ti, 5)) {
                    switchTo(ti, ti);
                    put(ti, CONTROL_ROOT);
                    ti.nesting = 1;
                    if (state[id] >= READY || awaitReady(ti, ti, id)) {
                        Gauge by = gauge;
                        ti.allocatedBefore = by == null ? -1 : by.allocated();
                        event(ti, ti, KIND_ENTER | (long) id << TICK_BITS);
                        ti.active = enabled;
                    }
                }
            }
            ti.guard = false;
        } catch (Throwable t) {
            gap(); // no memory for a ThreadInfo, perhaps: the application must not hear of it
            if (ti != null) {
                ti.guard = false;
                ti.active = ti.virtualActive = false;
            }
            passOn(t);
        }
    }

    /** A failure of ours ends here, but a Thread.stop() (up to JDK 19) was meant for the application. */
    @SuppressWarnings("removal")
    static void passOn(Throwable t) {
        if (t instanceof ThreadDeath stop) {
            throw stop;
        }
    }

    /** Appends an event where the hot path could not: chunk full, or the clock's epoch changed. */
    @ReservedStackAccess
    private static void append(ThreadInfo ti, long word) {
        ti.active = false;
        ti.guard = true;
        try {
            if (room(ti, ti, 3)) {
                event(ti, ti, word);
                ti.active = enabled;
            }
        } catch (Throwable t) {
            gap(); // the thread stays inactive until it enters a root again; the client heals the stack
            ti.guard = false;
            passOn(t);
        }
        ti.guard = false;
    }

    /** First call of a method whose callees may not be instrumented yet (scheme B, step 3). */
    @ReservedStackAccess
    private static boolean firstInvocation(ThreadInfo ti, int id) {
        ti.active = false;
        ti.guard = true;
        boolean on = false;
        try {
            on = awaitReady(ti, ti, id);
            ti.active = on;
        } catch (Throwable t) {
            on = false;
            gap();
            ti.guard = false;
            passOn(t);
        }
        ti.guard = false;
        return on;
    }

    /**
     * Waits until the callees of a method are instrumented: the thread that finds it NEW asks, others
     * find it PENDING and wait as well, or they would enter callees that are not swapped yet. The time
     * is written as ADJUST and charged to nobody.
     *
     * @param w  the writer of the calling thread: itself, or its carrier
     * @param ti the calling thread
     * @return false if the session is over
     */
    static boolean awaitReady(ThreadInfo w, ThreadInfo ti, int id) {
        long t0 = ticks();
        long at = BYTES_AT + id;
        if (U.getByteVolatile(state, at) == NEW) {
            // Made before the state says so: with no memory for it, another thread must be free to ask.
            Request request = new Request(Request.FIRST_INVOCATION, id, null, null);
            if (U.compareAndSetByte(state, at, NEW, PENDING)) {
                post(request);
            }
        }
        Patience patience = new Patience(LONGEST_NANOS, false);
        waiting(1);
        try {
            while (enabled && U.getByteVolatile(state, at) < READY) {
                if (patience.isOver()) {
                    state[id] = LATE;
                    gap();
                } else {
                    patience.pause();
                }
            }
        } finally {
            waiting(-1);
            repay();
        }
        if (!enabled || !room(w, ti, 4)) {
            return false;
        }
        if (ti != w) {
            switchTo(w, ti);
        }
        put(w, CONTROL_ADJUST | Math.min(ticks() - t0, TICK_MASK));
        return enabled;
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

    /** Kept small: the JDK calls itself through handles all the time, to concatenate strings for instance. */
    private static boolean isHandleOfInterest(Object handle) {
        Object member = U.getReference(handle, Offsets.HANDLE_MEMBER);
        if (member == null) {
            return false;
        }
        Class<?> owner = (Class<?>) U.getReference(member, Offsets.MEMBER_CLASS);
        if (!followsJdk && U.getReference(owner, Offsets.CLASS_LOADER) == null) {
            return false;
        }
        java.lang.ref.WeakReference<?>[] known = knownMembers;
        java.lang.ref.WeakReference<?> seen = known[System.identityHashCode(member) & (known.length - 1)];
        return seen == null || seen.get() != member;
    }

    private static void namelessCall(ThreadInfo ti, Object caller) {
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = true;
        try {
            Request request = caller instanceof java.lang.reflect.Executable
                    ? reflection(caller)
                    : caller instanceof java.lang.invoke.MethodHandle ? handleCall(caller) : definition(caller);
            if (request != null) {
                long t0 = ticks();
                post(request);
                await(request);
                ThreadInfo w = writer(ti);
                on = enabled && w != null && room(w, ti, 4);
                if (on) {
                    if (virtual) {
                        switchTo(w, ti);
                    }
                    put(w, CONTROL_ADJUST | Math.min(ticks() - t0, TICK_MASK));
                    switchBack(w);
                }
            }
        } catch (Throwable t) {
            on = false;
            gap();
        }
        if (on && enabled) {
            if (virtual) {
                ti.virtualActive = true;
            } else {
                ti.active = true;
            }
        }
        ti.guard = false;
    }

    /** @return what to ask of a Method or Constructor, or null if that has been asked */
    private static Request reflection(Object executable) {
        boolean constructor = executable instanceof java.lang.reflect.Constructor;
        Class<?> owner = (Class<?>) U.getReference(executable, constructor ? Offsets.CONSTRUCTOR_CLASS : Offsets.METHOD_CLASS);
        int slot = U.getInt(executable, constructor ? Offsets.CONSTRUCTOR_SLOT : Offsets.METHOD_SLOT);
        // Lambda proxies are made by reflection; their classes cannot be instrumented anyway.
        if (owner.isHidden() || !isNew(owner, slot, constructor, null)) {
            return null;
        }
        return new Request(Request.REFLECTION, 0, executable, null);
    }

    /** The same for a method handle. A member is known by name: every look-up makes another MemberName. */
    private static Request handleCall(Object handle) {
        Object member = U.getReference(handle, Offsets.HANDLE_MEMBER);
        Class<?> owner = (Class<?>) U.getReference(member, Offsets.MEMBER_CLASS);
        Request request = null;
        boolean isCalled = (U.getInt(member, Offsets.MEMBER_FLAGS) & MEMBER_IS_METHOD_OR_CONSTRUCTOR) != 0;
        if (isCalled && !owner.isHidden()) {
            String name = (String) U.getReference(member, Offsets.MEMBER_NAME);
            String selector = name.concat(descriptor(U.getReference(member, Offsets.MEMBER_TYPE)));
            if (isNew(owner, selector.hashCode(), false, selector)) {
                request = new Request(Request.REFLECTION, 0, owner, selector);
            }
        }
        java.lang.ref.WeakReference<?>[] known = knownMembers;
        known[System.identityHashCode(member) & (known.length - 1)] = new java.lang.ref.WeakReference<>(member);
        return request;
    }

    /** The same for a hidden class. Those that the JDK spins call what is known otherwise. */
    private static Request definition(Object definer) {
        java.lang.invoke.MethodHandles.Lookup lookup =
                (java.lang.invoke.MethodHandles.Lookup) U.getReference(definer, Definers.LOOKUP);
        Class<?> host = lookup.lookupClass();
        if (!followsJdk && U.getReference(host, Offsets.CLASS_LOADER) == null) {
            return null;
        }
        String name = (String) U.getReference(definer, Definers.NAME);
        if (name.contains("$$Lambda") || name.endsWith("String$$StringConcat") || name.endsWith("$$InjectedInvoker")) {
            return null;
        }
        return new Request(Request.HIDDEN_CLASS, 0, host, U.getReference(definer, Definers.BYTES));
    }

    /** Fields of Lookup.ClassDefiner, which is another class in JDK 17 and in 25. */
    private static final class Definers {
        private static final String DEFINER = "java.lang.invoke.MethodHandles$Lookup$ClassDefiner";
        static final long LOOKUP = Offsets.at(DEFINER, "lookup");
        static final long NAME = name();
        static final long BYTES = Offsets.at(DEFINER, "bytes");

        private static long name() {
            try {
                return Offsets.at(DEFINER, "internalName");
            } catch (InternalError older) {
                return Offsets.at(DEFINER, "name");
            }
        }
    }

    /** A MemberName's type: a MethodType, its descriptor, or {result, parameters}. */
    private static String descriptor(Object type) {
        if (type instanceof java.lang.invoke.MethodType) {
            return ((java.lang.invoke.MethodType) type).toMethodDescriptorString();
        }
        if (type instanceof String) {
            return (String) type;
        }
        Object[] both = (Object[]) type;
        StringBuilder text = new StringBuilder("(");
        for (Class<?> parameter : (Class<?>[]) both[1]) {
            text.append(parameter.descriptorString());
        }
        return text.append(')').append(((Class<?>) both[0]).descriptorString()).toString();
    }

    /** As in MethodHandleNatives.Constants; a handle may stand for a field. */
    private static final int MEMBER_IS_METHOD_OR_CONSTRUCTOR = 0x30000;

    private static final class Offsets {
        /** Read as a field: what an instrumented method of the JDK does on our behalf would count as called. */
        static final long CLASS_LOADER = U.objectFieldOffset(Class.class, "classLoader");
        static final long METHOD_CLASS = U.objectFieldOffset(java.lang.reflect.Method.class, "clazz");
        static final long METHOD_SLOT = U.objectFieldOffset(java.lang.reflect.Method.class, "slot");
        static final long CONSTRUCTOR_CLASS = U.objectFieldOffset(java.lang.reflect.Constructor.class, "clazz");
        static final long CONSTRUCTOR_SLOT = U.objectFieldOffset(java.lang.reflect.Constructor.class, "slot");
        static final long HANDLE_MEMBER = at("java.lang.invoke.DirectMethodHandle", "member");
        static final long MEMBER_CLASS = at("java.lang.invoke.MemberName", "clazz");
        static final long MEMBER_NAME = at("java.lang.invoke.MemberName", "name");
        static final long MEMBER_FLAGS = at("java.lang.invoke.MemberName", "flags");
        static final long MEMBER_TYPE = at("java.lang.invoke.MemberName", "type");

        /** @throws InternalError if the class has no such field */
        static long at(String className, String field) {
            try {
                return U.objectFieldOffset(Class.forName(className, false, null), field);
            } catch (ClassNotFoundException e) {
                throw new ExceptionInInitializerError(e);
            }
        }
    }

    private static boolean isNew(Class<?> owner, int slot, boolean constructor, String selector) {
        Reflected[] set = reflected;
        int index = (System.identityHashCode(owner) * 31 + slot) & (set.length - 1);
        long at = OBJECTS_AT + (long) index * OBJECT_BYTES;
        while (true) {
            Reflected head = (Reflected) U.getReferenceVolatile(set, at);
            for (Reflected r = head; r != null; r = r.chain) {
                if (r.is(owner, slot, constructor, selector)) {
                    return false;
                }
            }
            if (U.compareAndSetReference(set, at, head, new Reflected(owner, slot, constructor, selector, head))) {
                return true;
            }
        }
    }

    /** Waits until the agent has answered, at most {@link #LONGEST_NANOS}, or while a redefinition runs {@link #PATIENCE_NANOS}. */
    public static boolean await(Request request) {
        // Whoever asks here may hold a lock of class loading that a running redefinition waits for.
        Patience patience = new Patience(swapping ? PATIENCE_NANOS : LONGEST_NANOS, true);
        waiting(1);
        try {
            while (enabled && !request.done && !patience.isOver()) {
                patience.pause();
            }
        } finally {
            waiting(-1);
            repay();
        }
        request.abandoned = !request.done;
        if (!request.done && enabled) {
            gap();
        }
        return request.done;
    }

    /**
     * How long to wait for the client. A client whose heart stands still for {@link #PATIENCE_NANOS} ends
     * the session. While a redefinition runs, the agent may be waiting for a lock that the waiting thread
     * holds (class initialisation, a class loader): the first thread in a load hook whose patience ends says
     * so for all of them, until that redefinition is over.
     */
    private static final class Patience {
        private final long since = System.nanoTime();
        private final long longest;
        private final boolean mayHoldLocks;
        private long lastLook = since;
        private long silence;
        private long paused;
        private int beat = heartbeat();

        Patience(long longest, boolean mayHoldLocks) {
            this.longest = longest;
            this.mayHoldLocks = mayHoldLocks;
        }

        /**
         * Sleeps until the next look: the longer the wait and the more threads wait, the longer. Hundreds that look up
         * every few microseconds would take the processors from the client they wait for.
         */
        void pause() {
            long usual = Math.max(PAUSE_NANOS, Math.min(lastLook - since >> 4, LONGEST_PAUSE_NANOS));
            long shared = Math.min(counters[COUNTER_WAITING] * PAUSE_AMONG_NANOS, LONGEST_PAUSE_AMONG_NANOS);
            // Few are in load hooks, and what they hold is waited for by others.
            paused = mayHoldLocks ? usual : Math.max(usual, shared);
            park(paused);
        }

        boolean isOver() {
            if (jammed && mayHoldLocks) {
                return true;
            }
            long now = System.nanoTime();
            int seen = heartbeat();
            silence = seen == beat ? silence + Math.min(now - lastLook, longestLook(paused)) : 0;
            beat = seen;
            lastLook = now;
            if (isLost(silence, now)) {
                abandon();
                return true;
            }
            if (now - since <= longest) {
                return false;
            }
            jammed |= swapping && mayHoldLocks && Thread.currentThread() != swapper;
            return true;
        }
    }

    /** As much silence of the client, at most, is one look after a pause. */
    private static long longestLook(long paused) {
        return Math.max(LOOK_NANOS, paused + LATE_NANOS);
    }

    private static void waiting(int more) {
        U.getAndAddInt(counters, INTS_AT + COUNTER_WAITING * 4L, more);
    }

    private static void starving(int more) {
        U.getAndAddInt(counters, INTS_AT + COUNTER_STARVING * 4L, more);
    }

    /**
     * A short sleep without JDK code. park() may eat a permit of the application: see repay(). It does
     * not sleep in a thread that is interrupted, and leaves it so; such a thread gives way, or many of
     * them would take the processors from those whom they wait for.
     */
    private static void park(long nanos) {
        long before = System.nanoTime();
        U.park(false, nanos);
        if (System.nanoTime() - before < nanos / 2) {
            Threads.giveWay();
        }
    }

    /**
     * Gives back the permit that pause() may have taken: without it a LockSupport.unpark() that arrived
     * while we slept would be lost. One permit too many is a spurious wake-up, which park() allows.
     */
    private static void repay() {
        U.unpark(Carrier.thread());
    }

    private static void post(Request request) {
        long at = OBJECTS_AT;
        Object head;
        do {
            head = U.getReferenceVolatile(mailbox, at);
            request.next = (Request) head;
        } while (!U.compareAndSetReference(mailbox, at, head, request));
        wakeAgent();
    }

    /** Lets an agent class ask in the name of an application thread, as post() does for the probes. */
    public static void ask(Request request) {
        post(request);
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
        long at = OBJECTS_AT
                + (tid & (into.length - 1)) * OBJECT_BYTES;
        do {
            ti.chain = (ThreadInfo) U.getReferenceVolatile(into, at);
        } while (!U.compareAndSetReference(into, at, ti.chain, ti));
        long told = OBJECTS_AT + OBJECT_BYTES;
        do {
            ti.untold = (ThreadInfo) U.getReferenceVolatile(mailbox, told);
        } while (!U.compareAndSetReference(mailbox, told, ti.untold, ti));
        return ti;
    }

    /** Something was not recorded, and the client can tell its user how often. */
    public static void gap() {
        U.getAndAddInt(counters, INTS_AT + COUNTER_GAPS * 4L, 1);
        long at = ring;
        if (at != 0) {
            U.getAndAddInt(null, at + RING_GAPS, 1); // where the client reads it when the JVM has ended
        }
    }

    // ---- chunks ----

    /** Writes one word; the caller has made room. */
    static void put(ThreadInfo w, long word) {
        long at = w.next;
        U.putLongRelease(null, at, word);
        w.next = at + EVENT_BYTES;
        if (w.siteAt == at && (word & KIND_CONTROL) == KIND_CONTROL) {
            w.siteAt = w.next; // what is no event may come between a call and its callee
        }
    }

    /** Writes an event of `ti` with the present time; the caller has made room for three words. */
    private static void event(ThreadInfo w, ThreadInfo ti, long word) {
        long now = clock(ti) - start;
        long base = start + (now & ~TICK_MASK);
        if (base != w.base) {
            w.base = base;
            put(w, CONTROL_EPOCH | now >>> TICK_BITS);
        }
        put(w, word | now & TICK_MASK);
    }

    /**
     * Makes sure that `words` events fit into the writer's chunk, taking a new one if they do not. When
     * no chunk is free the thread waits for the client and records the wait, so nothing is lost and
     * nothing is charged. If {@link #isLost} says that the client has died or hangs, the session ends.
     *
     * @param ti       the thread that will write: the writer itself, or a virtual thread on it
     * With more threads inside roots than chunks the client has nothing to give back: then the wait is
     * bounded even if it lives, the rest of this root call goes unrecorded, and a gap is counted. The
     * owners of the chunks may be waiting for a lock of this very thread.
     */
    static boolean room(ThreadInfo w, ThreadInfo ti, int words) {
        if (w.next + (long) words * EVENT_BYTES <= w.limit) {
            return enabled;
        }
        if (!enabled) {
            return false;
        }
        long t0 = ticks();
        boolean calling = w.siteAt == w.next;
        if (w.chunk >= 0) {
            U.putIntRelease(null, states + w.chunk * 4L, CHUNK_FULL);
            w.chunk = -1;
            w.next = w.limit = 0;
        }
        if ((isTurnOver(w) || !claim(w)) && !awaitChunk(w)) {
            return false;
        }
        if (calling) {
            w.siteAt = w.next;
        }
        if (ti != w) {
            switchTo(w, ti);
        }
        put(w, CONTROL_ADJUST | Math.min(ticks() - t0, TICK_MASK));
        if (ti == w) {
            sayOrigin(w, ti); // a thread that has just been started comes here with its first event
        }
        return true;
    }

    /**
     * Whether the thread has taken its share of chunks since it last waited and leaves the next to those that
     * wait: all together take one ring of chunks, then it is the others' turn.
     */
    private static boolean isTurnOver(ThreadInfo w) {
        return (long) ++w.taken * counters[COUNTER_STARVING] > chunkCount;
    }

    /** Waits until a chunk is free and takes it, once at least giving way to those that wait already. */
    private static boolean awaitChunk(ThreadInfo w) {
        U.getAndAddInt(null, ring + RING_STARVING, 1);
        waiting(1);
        starving(1);
        long since = System.nanoTime();
        long lastLook = since;
        long silence = 0;
        int beat = U.getIntVolatile(null, ring + RING_HEARTBEAT);
        boolean claimed = false;
        try {
            // Short-lived threads leave theirs faster than a busy client asks the agent for them.
            reclaim();
            while (enabled && !claimed) {
                long nanos = chunkPause(lastLook - since);
                park(nanos);
                claimed = claim(w);
                long now = System.nanoTime();
                int seen = U.getIntVolatile(null, ring + RING_HEARTBEAT);
                silence = seen == beat ? silence + Math.min(now - lastLook, longestLook(nanos)) : 0;
                beat = seen;
                lastLook = now;
                if (isLost(silence, now)) {
                    abandon();
                }
                if (!claimed && (now - since > LONGEST_NANOS || now - since > PATIENCE_NANOS && !anyFull())) {
                    gap();
                    break;
                }
            }
        } finally {
            waiting(-1);
            starving(-1);
            w.taken = 0;
            repay();
        }
        return claimed;
    }

    /**
     * How long to sleep before the next look for a chunk: one look every {@link #PAUSE_A_WAITER_NANOS}, however many
     * threads wait, or dozens of them would take the processors from the client they wait for. The ring is full
     * meanwhile, which lasts the client about as long as the longest of these pauses. Whoever has had bad luck looks
     * more often.
     */
    private static long chunkPause(long waited) {
        long all = Math.min(Math.max(1, counters[COUNTER_STARVING]) * PAUSE_A_WAITER_NANOS, LONGEST_PAUSE_AMONG_NANOS);
        return waited > UNLUCKY_NANOS ? Math.max(PAUSE_NANOS, all >> 2) : all;
    }

    /** Whether the client has a chunk to read, and so one to give back soon. */
    private static boolean anyFull() {
        for (int c = 0; c < chunkCount; c++) {
            if (U.getIntVolatile(null, states + c * 4L) == CHUNK_FULL) {
                return true;
            }
        }
        return false;
    }

    private static boolean claim(ThreadInfo w) {
        int count = chunkCount;
        int from = claimHint;
        for (int i = 0; i < count; i++) {
            int c = from + i < count ? from + i : from + i - count;
            long at = states + c * 4L;
            if (U.getIntVolatile(null, at) == CHUNK_FREE && U.compareAndSetInt(null, at, CHUNK_FREE, CHUNK_BUSY)) {
                claimHint = c + 1 < count ? c + 1 : 0;
                long chunk = chunks + (long) c * chunkBytes;
                long epoch = clock(w) - start >>> TICK_BITS;
                w.base = start + (epoch << TICK_BITS);
                U.putInt(null, chunk + CHUNK_SEQUENCE, w.sequence);
                U.putLong(null, chunk + CHUNK_EPOCH, epoch);
                U.putIntRelease(null, chunk + CHUNK_WRITER, w.number);
                w.sequence++;
                w.lastThread = w.number;
                w.resting = false;
                w.chunk = c;
                w.next = chunk + CHUNK_EVENTS;
                w.limit = chunk + chunkBytes;
                return true;
            }
        }
        return false;
    }

    /**
     * Makes sure that the writer owns its chunk: an idle one may have been taken back by the agent, given
     * away by the client, and rest idle in another thread's hands by now. The chunk's header tells.
     * A carrier's stays BUSY from its first virtual thread on.
     */
    private static void own(ThreadInfo w) {
        int c = w.chunk;
        if (c < 0 || !w.resting) {
            return; // never let go of: a carrier's, or left BUSY by a root call that failed
        }
        w.resting = false;
        long at = states + c * 4L;
        for (int tries = 0; tries < 10_000 && enabled && isMine(w, c); tries++) {
            int state = U.getIntVolatile(null, at);
            if (state == CHUNK_FREE || state == CHUNK_FULL) {
                break;
            }
            if (state == CHUNK_IDLE && U.compareAndSetInt(null, at, CHUNK_IDLE, CHUNK_BUSY)) {
                if (isMine(w, c)) {
                    return;
                }
                U.putIntRelease(null, at, CHUNK_IDLE); // it changed hands under us: back to its owner
                break;
            }
            Thread.onSpinWait(); // BUSY: another thread holds it for a moment by mistake
        }
        w.chunk = -1;
        w.next = w.limit = 0;
    }

    private static boolean isMine(ThreadInfo w, int c) {
        long chunk = chunks + (long) c * chunkBytes;
        return U.getIntVolatile(null, chunk + CHUNK_WRITER) == w.number
                && U.getIntVolatile(null, chunk + CHUNK_SEQUENCE) == w.sequence - 1;
    }

    /** The client's sign of life; it moves 500 times a second. Constant when there is no session. */
    private static int heartbeat() {
        return enabled ? U.getIntVolatile(null, ring + RING_HEARTBEAT) : 0;
    }

    /**
     * Whether a client that has been silent for so long has died or hangs. One that wants a processor and gets none is
     * excused by the agent, who looks at it in time: on an overloaded machine a scheduler that shares processors
     * between sessions first lets a thread that seldom runs wait for more than a second.
     *
     * @param now a System.nanoTime()
     */
    private static boolean isLost(long silence, long now) {
        if (silence < PATIENCE_NANOS - DOUBT_NANOS) {
            return false;
        }
        if (doubted) {
            return silence > STARVING_NANOS; // the agent is busy; a redefinition or a thousand class files may take its time
        }
        if (silence > PATIENCE_NANOS && excusedUntil - now < 0) {
            return true;
        }
        if (excusedUntil - now < DOUBT_NANOS && now - answeredAt > DOUBT_AGAIN_NANOS) {
            doubted = true;
            wakeAgent();
        }
        return false;
    }

    /** Whether a thread wonders about the client's silence since the last {@link #excuse}. */
    public static boolean isDoubted() {
        return doubted;
    }

    /**
     * @param until a System.nanoTime(): no silence ends the session before
     * @param wanting whether the client wants a processor
     */
    public static void excuse(long until, boolean wanting) {
        starved = wanting;
        answeredAt = System.nanoTime();
        excusedUntil = until;
        doubted = false;
    }

    private static void wakeAgent() {
        Runnable w = waker;
        if (w != null) {
            w.run();
        }
    }

    /** The client does not answer: stop recording. The agent sees it and un-instruments. */
    private static void abandon() {
        enabled = open = timesBare = false;
        U.putIntVolatile(null, ring + RING_ENDED, starved ? ENDED_STARVED : ENDED_SILENT);
        wakeAgent();
    }

    // ---- virtual threads: they write through their carrier ----

    /** Finds the platform thread below. Unlike the rest this differs between JDKs. */
    private static final class Carrier {
        private static final java.lang.invoke.MethodHandle CURRENT = find("currentCarrierThread", true);
        private static final java.lang.invoke.MethodHandle VIRTUAL = find("isVirtual", false);

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

        /** Not inlined: a caller's frame may move to another carrier, and C2 thinks the carrier is fixed. */
        @jdk.internal.vm.annotation.DontInline
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

    private static ThreadInfo carrier() {
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

    /** A thread that was elsewhere in between begins a new segment even if this writer did not notice. */
    static void switchTo(ThreadInfo w, ThreadInfo ti) {
        if (w.lastThread != ti.number || ti.lastWriter != w.number) {
            w.lastThread = ti.number;
            ti.lastWriter = w.number;
            put(w, CONTROL_THREAD | (long) (ti.segment++ & 0xffff) << THREAD_NUMBER_BITS | ti.number);
            sayOrigin(w, ti);
        }
    }

    /** Before a started thread's first event: says what it was started under. One word, once. */
    private static void sayOrigin(ThreadInfo w, ThreadInfo ti) {
        if (ti.token != 0) {
            put(w, CONTROL_BEGIN | ti.token);
            ti.token = 0;
        }
    }

    /** A carrier that is inside a root itself goes on writing its own events on the hot path. */
    static void switchBack(ThreadInfo w) {
        if (w.active && w.lastThread != w.number) {
            switchTo(w, w);
        }
    }

    @ReservedStackAccess
    private static void virtualEntry(ThreadInfo ti, int id) {
        if (state[id] < READY) {
            ti.virtualActive = false;
            ti.guard = true;
            boolean on = false;
            try {
                ThreadInfo w = carrier();
                on = w != null && awaitReady(w, ti, id);
                if (on) {
                    switchBack(w);
                }
            } catch (Throwable t) {
                on = false;
                gap();
            }
            ti.guard = false;
            ti.virtualActive = on;
            if (!on) {
                return;
            }
        }
        virtualEvent(ti, KIND_ENTER | (long) id << TICK_BITS);
    }

    @ReservedStackAccess
    private static void virtualEvent(ThreadInfo ti, long word) {
        ti.virtualActive = false;
        ti.called = ti.site = 0; // whose events come from wherever it is mounted
        ti.guard = true;
        boolean on = false;
        try {
            ThreadInfo w = carrier();
            if (w != null && room(w, ti, 5)) {
                switchTo(w, ti);
                event(w, ti, word);
                switchBack(w);
                on = enabled;
            }
        } catch (Throwable t) {
            on = false;
            gap();
        }
        ti.guard = false;
        ti.virtualActive = on;
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
            if (ti.token == 0) {
                letGo(ti); // a factory of the application runs the worker inside a task of its own
            }
            ti.token = 0;
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
        }
        goOn(ti, virtual, on);
    }

    /** A platform thread ends. */
    public static void threadEnds() {
        ThreadInfo ti = current();
        if (ti != null && ti.started && ti.active) {
            ti.token = 0;
            leaveGraph(ti);
        }
    }

    @ReservedStackAccess
    private static void submit(ThreadInfo ti, HandedOver tasks, Object task) {
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = true;
        try {
            ThreadInfo w = virtual ? carrier() : ti;
            on = w != null && room(w, ti, 5);
            if (on) {
                long token = tasks.put(task);
                if (token != 0) {
                    tell(w, ti, CONTROL_SUBMIT | token);
                }
            }
        } catch (Throwable t) {
            gap();
        }
        goOn(ti, virtual, on);
    }

    /**
     * Forgets a task that will not be taken up by a thread outside.
     *
     * @param ti the calling thread if it is known
     */
    @ReservedStackAccess
    private static void drop(ThreadInfo ti, HandedOver tasks, Object task, boolean latest) {
        if (ti == null || !(ti.active || ti.virtualActive)) {
            try {
                tasks.take(task, latest); // the client forgets the oldest tokens by itself
            } catch (Throwable t) {
                gap();
            }
            return;
        }
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = true;
        try {
            long token = tasks.take(task, latest);
            if (token != 0) {
                ThreadInfo w = virtual ? carrier() : ti;
                on = w != null && room(w, ti, 5);
                if (on) {
                    tell(w, ti, CONTROL_DROP | token);
                }
            }
        } catch (Throwable t) {
            gap();
        }
        goOn(ti, virtual, on);
    }

    /** Tells that open calls of this thread will not end inside the graph. */
    @ReservedStackAccess
    private static void letGo(ThreadInfo ti) {
        ti.active = false;
        ti.guard = true;
        boolean on = false;
        try {
            on = room(ti, ti, 1);
            if (on) {
                put(ti, CONTROL_BEGIN);
            }
        } catch (Throwable t) {
            gap();
        }
        goOn(ti, false, on);
    }

    /** Writes a control word for the thread; the caller has made room for five. */
    private static void tell(ThreadInfo w, ThreadInfo ti, long word) {
        if (ti != w) {
            switchTo(w, ti);
        }
        put(w, word);
        switchBack(w);
    }

    private static void goOn(ThreadInfo ti, boolean virtual, boolean on) {
        if (on && enabled) {
            if (virtual) {
                ti.virtualActive = true;
            } else {
                ti.active = true;
            }
        }
        ti.guard = false;
    }

    /** A thread outside the graph is about to run `task`: if it was handed over inside, so is the thread. */
    @ReservedStackAccess
    private static void takeUp(ThreadInfo known, HandedOver tasks, Object task, boolean working) {
        ThreadInfo ti = known;
        try {
            if (!enabled || ti != null && ti.guard || Points.isCarrier(Thread.currentThread())) {
                return;
            }
            long token = tasks.take(task, false);
            if (token == 0) {
                return;
            }
            if (ti == null) {
                ti = register(Thread.currentThread());
            }
            if (ti == null) {
                return;
            }
            ti.guard = true;
            ti.token = 0;
            ThreadInfo w = ti;
            if (ti.virtual) {
                w = carrier();
            } else {
                own(ti);
            }
            if (w != null && room(w, ti, 5)) {
                switchTo(w, ti);
                put(w, CONTROL_BEGIN | token);
                switchBack(w);
                ti.nesting = 1;
                ti.working = working;
                if (ti.virtual) {
                    ti.virtualActive = enabled;
                } else {
                    ti.active = enabled;
                }
            }
            ti.guard = false;
        } catch (Throwable t) {
            gap();
            if (ti != null) {
                ti.guard = false;
                ti.active = ti.virtualActive = false;
            }
        }
    }

    /** The thread's outermost activation inside the graph has ended. */
    private static void leaveGraph(ThreadInfo ti) {
        ti.nesting = 0;
        ti.working = ti.virtualActive = false;
        if (ti.active) {
            rest(ti);
        }
    }

    private static ThreadInfo find(long tid) {
        ThreadInfo[] in = table;
        ThreadInfo ti = in[(int) tid & (in.length - 1)];
        while (ti != null && ti.tid != tid) {
            ti = ti.chain;
        }
        return ti;
    }

    /** What must be known of classes of the JDK. Found by name: they differ between versions. */
    private static final class Points {
        static final Class<?> CARRIER = find("jdk.internal.misc.CarrierThread");
        static final Class<?> VIRTUAL_THREAD = find("java.lang.VirtualThread");
        static final Class<?> BOUND_VIRTUAL_THREAD = find("java.lang.ThreadBuilders$BoundVirtualThread");
        /** Offset of the task that a worker starts with; -1 on a JDK that does this otherwise. */
        static final long FIRST_TASK = field("java.util.concurrent.ThreadPoolExecutor$Worker", "firstTask");
        /** What a parked thread waits for, if it says so. */
        static final long BLOCKER = field("java.lang.Thread", "parkBlocker");
        /** Where a new thread keeps what it is to run: in itself up to JDK 18, in a record of its own later. */
        private static final long TARGET = field("java.lang.Thread", "target");
        private static final long HOLDER = field("java.lang.Thread", "holder");
        private static final long HOLDER_TASK = field("java.lang.Thread$FieldHolder", "task");
        private static final Class<?> WORKER = find("java.util.concurrent.ThreadPoolExecutor$Worker");
        private static final long CLASS_LOADER = U.objectFieldOffset(Class.class, "classLoader");
        private static final Object SCHEDULER_BASE;
        private static final long SCHEDULER;

        static {
            Object base = null;
            long offset = -1;
            try {
                if (VIRTUAL_THREAD != null) {
                    java.lang.reflect.Field field = VIRTUAL_THREAD.getDeclaredField("DEFAULT_SCHEDULER");
                    base = U.staticFieldBase(field);
                    offset = U.staticFieldOffset(field);
                }
            } catch (NoSuchFieldException otherJdk) {
                // Its work will be taken for tasks, which nobody takes up.
            }
            SCHEDULER_BASE = base;
            SCHEDULER = offset;
        }

        private static Class<?> find(String name) {
            try {
                return Class.forName(name, false, null);
            } catch (ClassNotFoundException otherJdk) {
                return null;
            }
        }

        private static long field(String owner, String name) {
            Class<?> c = find(owner);
            try {
                return c == null ? -1 : U.objectFieldOffset(c, name);
            } catch (InternalError otherJdk) {
                return -1;
            }
        }

        static boolean isCarrier(Thread t) {
            return t.getClass() == CARRIER;
        }

        /**
         * Not followed are the JDK's own threads, which serve everybody: carriers, workers of pools, timers.
         * A class of the application that extends a pool's thread is a worker, too.
         */
        static boolean isFollowed(Thread t) {
            Class<?> c = t.getClass();
            if (c == VIRTUAL_THREAD || c == BOUND_VIRTUAL_THREAD) {
                return true;
            }
            boolean own = c != Thread.class && U.getReference(c, CLASS_LOADER) == null;
            return !own && !(t instanceof java.util.concurrent.ForkJoinWorkerThread) && !isWorker(t);
        }

        private static boolean isWorker(Thread t) {
            Object task = null;
            if (TARGET >= 0) {
                task = U.getReference(t, TARGET);
            } else if (HOLDER >= 0 && HOLDER_TASK >= 0) {
                Object holder = U.getReference(t, HOLDER);
                task = holder == null ? null : U.getReference(holder, HOLDER_TASK);
            }
            return task != null && task.getClass() == WORKER;
        }

        /** Whether it is the pool that virtual threads run on. Does not initialise VirtualThread. */
        static boolean isScheduler(Object pool) {
            return SCHEDULER >= 0 && pool == U.getReferenceVolatile(SCHEDULER_BASE, SCHEDULER);
        }
    }

    /** One submission of a task. */
    private static final class Ticket {
        /** 0 if it was handed over by a thread outside the graph. */
        final long token;
        Ticket next;

        Ticket(long token) {
            this.token = token;
        }
    }

    /** A task that waits, and its submissions, oldest first: a lambda without captures is one object. */
    private static final class Waiting extends java.lang.ref.WeakReference<Object> {
        final int hash;
        Ticket first;
        Ticket last;
        Waiting chain;

        Waiting(Object task, int hash) {
            super(task);
            this.hash = hash;
        }
    }

    /**
     * Tasks that were handed over and have not been taken up, by identity. They are held weakly, and no
     * more than {@link #MOST} submissions of them: a further one is not followed, and a gap is counted.
     *
     * Striped spin locks: held for a few steps that call nothing which could block or be instrumented, and
     * waited for a bounded time. An application cannot hold one.
     */
    private static final class HandedOver {
        private static final int MOST = 1 << 16;
        private static final int BUCKETS = 1 << 14;
        private static final int STRIPES = 1 << 8;
        /** A stripe's lock has a cache line of its own. */
        private static final int LINE = 16;
        private static final long SPIN_NANOS = 50_000_000L;
        private static final int SPINS = 200;
        private static final long[] tokens = new long[1];

        private final Waiting[] buckets = new Waiting[BUCKETS];
        private final int[] locks = new int[STRIPES * LINE];
        private final int[] count = new int[1];

        /** Never 0, never twice in the life of this class. */
        static long nextToken() {
            return (U.getAndAddLong(tokens, LONGS_AT, 1) + 1) & TICK_MASK;
        }

        boolean isEmpty() {
            return U.getIntVolatile(count, INTS_AT) <= 0;
        }

        /** @return the token of the submission, 0 if it cannot be followed */
        long put(Object task) {
            if (U.getIntVolatile(count, INTS_AT) >= MOST) {
                gap();
                return 0;
            }
            long token = nextToken();
            if (add(task, token, true)) {
                return token;
            }
            gap();
            return 0;
        }

        /** Somebody outside hands over an object that waits already: they are taken up in this order. */
        void putForeign(Object task) {
            try {
                boolean isKnown = buckets[System.identityHashCode(task) & (BUCKETS - 1)] != null;
                if (isKnown && U.getIntVolatile(count, INTS_AT) < MOST) {
                    add(task, 0, false);
                }
            } catch (Throwable t) {
                gap();
            }
        }

        @ReservedStackAccess
        private boolean add(Object task, long token, boolean always) {
            int hash = System.identityHashCode(task);
            // Made before the lock is held: an allocation may wait for the collector.
            Ticket ticket = new Ticket(token);
            Waiting made = always ? new Waiting(task, hash) : null;
            if (!lock(hash)) {
                return false;
            }
            int at = hash & (BUCKETS - 1);
            Waiting found = buckets[at];
            while (found != null && !(found.hash == hash && found.refersTo(task))) {
                found = found.chain;
            }
            if (found == null && made != null) {
                made.chain = buckets[at];
                buckets[at] = made;
                made.first = made.last = ticket;
            } else if (found != null) {
                found.last.next = ticket;
                found.last = ticket;
            }
            unlock(hash);
            if (found != null || made != null) {
                U.getAndAddInt(count, INTS_AT, 1);
            }
            return true;
        }

        /**
         * Takes out a submission of the task.
         *
         * @param latest the newest instead of the oldest
         * @return its token, 0 if there is none
         */
        @ReservedStackAccess
        long take(Object task, boolean latest) {
            int hash = System.identityHashCode(task);
            if (!lock(hash)) {
                gap();
                return 0;
            }
            int at = hash & (BUCKETS - 1);
            Waiting before = null;
            Waiting found = buckets[at];
            while (found != null && !(found.hash == hash && found.refersTo(task))) {
                before = found;
                found = found.chain;
            }
            Ticket taken = null;
            if (found != null) {
                taken = latest ? takeLast(found) : takeFirst(found);
                if (found.first == null) {
                    unlink(at, before, found);
                }
            }
            unlock(hash);
            if (taken == null) {
                return 0;
            }
            U.getAndAddInt(count, INTS_AT, -1);
            return taken.token;
        }

        private static Ticket takeFirst(Waiting from) {
            Ticket taken = from.first;
            from.first = taken.next;
            return taken;
        }

        private static Ticket takeLast(Waiting from) {
            Ticket taken = from.last;
            if (from.first == taken) {
                from.first = null;
                return taken;
            }
            Ticket left = from.first;
            while (left.next != taken) {
                left = left.next;
            }
            left.next = null;
            from.last = left;
            return taken;
        }

        private void unlink(int at, Waiting before, Waiting out) {
            if (before == null) {
                buckets[at] = out.chain;
            } else {
                before.chain = out.chain;
            }
        }

        /** Drops tasks that nobody can run any more. Agent's thread only. */
        void purge() {
            if (isEmpty()) {
                return;
            }
            for (int at = 0; at < BUCKETS; at++) {
                if (buckets[at] == null || !lock(at)) {
                    continue;
                }
                int gone = 0;
                Waiting before = null;
                for (Waiting w = buckets[at]; w != null; w = w.chain) {
                    if (w.refersTo(null)) {
                        for (Ticket t = w.first; t != null; t = t.next) {
                            gone++;
                        }
                        unlink(at, before, w);
                    } else {
                        before = w;
                    }
                }
                unlock(at);
                U.getAndAddInt(count, INTS_AT, -gone);
            }
        }

        private long lockAt(int hash) {
            return INTS_AT + (hash & (STRIPES - 1)) * LINE * 4L;
        }

        private boolean lock(int hash) {
            long at = lockAt(hash);
            for (int i = 0; i < SPINS; i++) {
                if (U.compareAndSetInt(locks, at, 0, 1)) {
                    return true;
                }
                Thread.onSpinWait();
            }
            long since = System.nanoTime();
            while (!U.compareAndSetInt(locks, at, 0, 1)) {
                if (System.nanoTime() - since > SPIN_NANOS) {
                    return false;
                }
                Threads.giveWay();
            }
            return true;
        }

        private void unlock(int hash) {
            U.putIntRelease(locks, lockAt(hash), 0);
        }
    }

    // ---- waiting (--waits, --mode locks) ----
    //
    // Waiting is a call of a pseudo method, whose id says what for (src/events/wait-ids.ts). Waits, parks and sleeps
    // are told as they begin and as they end. A monitor that is free is taken without a word: its header says so, before. Of
    // one that is not, both events are written once it has been taken, if that took long enough to tell.

    /** Bits of an object's header; 001 is a monitor that is free and that nobody has waited for lately. */
    private static final long LOCK_BITS = 7;
    private static final long UNLOCKED = 1;
    private static final long MONITOR_BITS = 3;
    private static final long INFLATED = 2;

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
            lockTaken(ti);
        }
    }

    private static void lockTaken(ThreadInfo ti) {
        long now = ticks();
        Object lock = ti.wanted;
        ti.wanted = null;
        // Left by a monitorenter whose second probe could not run, it would be held by others, or nobody.
        if (now - ti.lockSince >= shortestWait && Thread.holdsLock(lock)) {
            try {
                lockAwaited(ti, lock, ti.lockSince, now);
            } catch (StackOverflowError full) {
                // The monitor is held, perhaps without a handler to leave it: better untold.
            }
        }
    }

    @ReservedStackAccess
    private static void lockAwaited(ThreadInfo ti, Object lock, long since, long now) {
        if (!(ti.active || ti.virtualActive)) {
            return;
        }
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = true;
        try {
            long id = (long) waitId(KIND_BLOCKED, lock) << TICK_BITS;
            ThreadInfo w = virtual ? carrier() : ti;
            on = w != null && room(w, ti, 8);
            if (on) {
                boolean calling = ti.siteAt == ti.next;
                if (virtual) {
                    switchTo(w, ti);
                }
                eventAt(w, KIND_ENTER | id, since);
                eventAt(w, KIND_EXIT | id, now);
                switchBack(w);
                if (calling) {
                    ti.siteAt = ti.next; // it is the callee that has waited
                }
            }
        } catch (Throwable t) {
            gap();
        }
        goOn(ti, virtual, on);
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

    /** Called by the call that said so last: no event came in between. */
    private static void monitorTaken(Object lock, int target) {
        ThreadInfo ti = current();
        if (ti == null || ti.called != target || ti.calledAt != ti.next) {
            return;
        }
        long now = ticks();
        ti.called = 0;
        if (now - ti.calledTicks >= shortestWait) {
            lockAwaited(ti, lock, ti.calledTicks, now);
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

    @ReservedStackAccess
    private static void tellWait(ThreadInfo ti, long event, Object on, int kind) {
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean isOn = true;
        try {
            if (event == KIND_ENTER) {
                ti.waitId = waitId(kind, on);
            }
            ThreadInfo w = virtual ? carrier() : ti;
            isOn = w != null && room(w, ti, 6);
            if (isOn) {
                boolean calling = ti.siteAt == ti.next;
                if (virtual) {
                    switchTo(w, ti);
                }
                event(w, ti, event | (long) ti.waitId << TICK_BITS);
                switchBack(w);
                if (calling) {
                    ti.siteAt = ti.next;
                }
            }
        } catch (Throwable t) {
            gap();
        }
        goOn(ti, virtual, isOn);
    }

    /** Writes an event of the past; the caller has made room for two words. */
    private static void eventAt(ThreadInfo w, long word, long ticks) {
        long since = ticks - start;
        long base = start + (since & ~TICK_MASK);
        if (base != w.base) {
            w.base = base;
            put(w, CONTROL_EPOCH | since >>> TICK_BITS);
        }
        put(w, word | since & TICK_MASK);
    }

    /** A class that is waited for: of a monitor, or of what a thread is parked for. The client is told its name once. */
    public static final class Waited extends java.lang.ref.WeakReference<Class<?>> {
        public final int kind;
        /** It is the class itself that is waited for, not an instance. */
        public final boolean itself;
        public final int id;
        /** Until it has been told. */
        public Class<?> named;
        Waited chain;

        Waited(Class<?> c, int kind, boolean itself, int id) {
            super(c);
            this.kind = kind;
            this.itself = itself;
            this.id = id;
            this.named = c;
        }
    }

    /** The id of waiting for this. Calls nothing of the object. With the guard on. */
    private static int waitId(int kind, Object on) {
        if (kind == KIND_SLEEPING) {
            return WAIT_SLEEPING;
        }
        Object target = on;
        if (kind == KIND_PARKED && target == null && Points.BLOCKER >= 0) {
            target = U.getReference(Thread.currentThread(), Points.BLOCKER);
        }
        if (target == null) {
            return kind == KIND_PARKED ? WAIT_PARKED : kind == KIND_BLOCKED ? BLOCKED_OTHER : WAIT_OTHER;
        }
        boolean itself = target instanceof Class;
        Class<?> c = itself ? (Class<?>) target : target.getClass();
        Waited[] table = waited;
        if (table == null) {
            return WAIT_OTHER;
        }
        long at = OBJECTS_AT + (System.identityHashCode(c) & (table.length - 1)) * OBJECT_BYTES;
        while (true) {
            Waited head = (Waited) U.getReferenceVolatile(table, at);
            for (Waited it = head; it != null; it = it.chain) {
                if (it.kind == kind && it.itself == itself && it.refersTo(c)) {
                    return it.id;
                }
            }
            boolean blocked = kind == KIND_BLOCKED;
            int first = blocked ? FIRST_BLOCKED_CLASS : FIRST_WAIT_CLASS;
            int end = blocked ? FIRST_METHOD_BESIDE_WAITS : BLOCKED_OTHER;
            long count = INTS_AT + (blocked ? 4L : 0L);
            int known = U.getIntVolatile(waitedCount, count);
            if (first + known >= end) {
                return blocked ? BLOCKED_OTHER : WAIT_OTHER;
            }
            // Made before it is taken: with no memory for it, nobody gets this id.
            Waited made = new Waited(c, kind, itself, first + known);
            Request request = new Request(Request.WAITED_CLASS, made.id, made, null);
            made.chain = head;
            if (U.compareAndSetInt(waitedCount, count, known, known + 1)) {
                while (!U.compareAndSetReference(table, at, made.chain, made)) {
                    made.chain = (Waited) U.getReferenceVolatile(table, at); // the same class twice at once has two ids
                }
                post(request);
                return made.id;
            }
        }
    }

    /** From now on, waits are told. Between begin() and the code that has the probes. */
    public static void tellWaits() {
        U.ensureClassInitialized(Points.class);
        U.ensureClassInitialized(Waited.class);
        U.ensureClassInitialized(Threads.class);
        waitedCount[0] = waitedCount[1] = 0;
        long nanos = System.nanoTime();
        long ticks = ticks();
        long passed;
        do {
            passed = System.nanoTime() - nanos;
        } while (passed < 1_000_000);
        shortestWait = Math.max(1, (ticks() - ticks) * SHORTEST_WAIT_NANOS / passed);
        waited = new Waited[64];
    }

    // ---- call sites (--call-sites) ----
    //
    // A caller says where it calls, in a field of its thread; the callee writes that to the ring, if no event has come in
    // between: then it is its own call. JDK code that is not instrumented calls back from where it was called itself.

    /** Sites are told: calibration goes with their probes. */
    private static boolean tellsSites;

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

    @ReservedStackAccess
    private static void tellSite(ThreadInfo ti, boolean virtual) {
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = false;
        try {
            ThreadInfo w = virtual ? carrier() : ti;
            if (w != null && room(w, ti, 5)) {
                if (virtual) {
                    switchTo(w, ti);
                }
                put(w, CONTROL_SITE | ti.site);
                switchBack(w);
                on = enabled;
            }
        } catch (Throwable t) {
            on = false;
            gap();
            ti.guard = false;
            passOn(t);
        }
        ti.site = 0;
        goOn(ti, virtual, on);
    }

    /** From now on, call sites are told. Between begin() and calibration. */
    public static void tellSites() {
        tellsSites = true;
        JFluid1Samples.tellSites();
    }

    // ---- for the agent ----

    /**
     * Stops the calling thread's clock while the agent works on its behalf (class-load hook).
     *
     * @return what resume() must be given; null if the clock did not run
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
            gap(); // as in append(): inactive until the next root
        }
        ti.guard = false;
        return null;
    }

    /** @param ti what suspend() has answered, perhaps in a session that is over */
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
            gap(); // as in append()
        }
        ti.guard = false;
    }

    /**
     * Begins a session on a mapped ring. Recording starts with {@link #open}.
     *
     * @param counts whether events tell what was executed, and not the time
     * @return the threads of this session, for {@link #anyoneInside}
     */
    public static Object begin(
            long address, int bytesPerChunk, int chunkTotal, int chunksAt, Runnable wake, boolean counts) {
        table = new ThreadInfo[TABLE_SIZE];
        state = new byte[1024];
        reflected = new Reflected[1024];
        knownMembers = new java.lang.ref.WeakReference<?>[1024];
        mailbox[0] = mailbox[1] = null;
        counters[COUNTER_THREADS] = counters[COUNTER_GAPS] = counters[COUNTER_KEEPERS] = 0;
        regionSession = 0;
        ring = address;
        states = address + RING_STATES;
        chunks = address + chunksAt;
        chunkBytes = bytesPerChunk;
        chunkCount = chunkTotal;
        claimHint = 0;
        waker = wake;
        excuse(System.nanoTime(), false);
        agent = Thread.currentThread();
        counting = counts;
        start = counts ? 0 : ticks();
        swapping = jammed = timesBare = false;
        swapper = null;
        timedSums = null;
        tellsSites = false;
        // Linked and initialised here: an application's thread may be short of stack or memory, and an
        // initialiser that fails for that is never tried again.
        for (int i = 0; i < HANDLE_CALLS; i++) {
            Carrier.thread();
            Carrier.isVirtual(Thread.currentThread());
            Threads.giveWay();
        }
        passOn(new OutOfMemoryError());
        U.ensureClassInitialized(JFluid1Samples.class); // its end is told at a time when memory may be short
        U.ensureClassInitialized(JFluid1Survivors.class);
        U.ensureClassInitialized(Offsets.class);
        U.ensureClassInitialized(Definers.class);
        U.ensureClassInitialized(ThreadInfo.class);
        U.ensureClassInitialized(Request.class);
        U.ensureClassInitialized(Reflected.class);
        U.ensureClassInitialized(Patience.class);
        return table;
    }

    /** Whether the methods of the JDK's own classes are of interest when a handle calls them. */
    public static void followJdk(boolean on) {
        followsJdk = on;
    }

    /** There is a client: what waits for one may wait. */
    public static void enable() {
        enabled = true;
    }

    /** From now on roots are recorded. */
    public static void open() {
        open = enabled;
    }

    /** Stops recording. Threads inside the runtime may still be on their way out. */
    public static void disable() {
        enabled = open = timesBare = false;
        for (ThreadInfo head : table) {
            for (ThreadInfo ti = head; ti != null; ti = ti.chain) {
                ti.active = ti.virtualActive = ti.keeps = false;
            }
        }
    }

    /**
     * Forgets the session. Allocates nothing.
     *
     * @param unmapped whether no thread is in the runtime any more; if one is, the addresses stay valid
     */
    public static void end(boolean unmapped) {
        if (unmapped) {
            ring = states = chunks = 0;
            chunkCount = 0;
        }
        waker = null;
        agent = null;
        reporter = null;
        gauge = null;
        JFluid1Survivors.end();
        allocated = NOTHING_ALLOCATED;
        NOTHING_ALLOCATED[0] = null;
        handedOver = null;
        waited = null;
        table = NOBODY;
        NOBODY[0] = null; // a thread that came late may have put itself there
        reflected = NOTHING;
        NOTHING[0] = null;
        knownMembers = NO_MEMBERS;
        NO_MEMBERS[0] = null;
        timedSums = null;
        mailbox[0] = mailbox[1] = null;
    }

    /** From now on, tasks and threads are followed. Between begin() and the code that has the probes. */
    public static void follow() {
        U.ensureClassInitialized(Threads.class);
        U.ensureClassInitialized(Points.class);
        U.ensureClassInitialized(Waiting.class);
        U.ensureClassInitialized(Ticket.class);
        handedOver = new HandedOver();
    }

    /**
     * Whether a living thread of a session is in a slow path. Platform threads are looked at by their stacks,
     * too.
     */
    public static boolean anyoneInside(Object threads) {
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

    public static boolean isEnabled() {
        return enabled;
    }

    /** While a redefinition runs, threads that wait for it do not lose patience. */
    public static void swapping(boolean on) {
        swapping = on;
        swapper = on ? Thread.currentThread() : null;
        jammed = false;
    }

    /** Makes room for method ids up to `highest`. Must precede the code that carries them. */
    public static void methods(int highest) {
        byte[] old = state;
        if (highest >= old.length) {
            byte[] grown = new byte[Math.max(highest + 1, old.length * 2)];
            System.arraycopy(old, 0, grown, 0, old.length);
            state = grown;
        }
    }

    public static void ready(int id) {
        methods(id);
        U.putByteVolatile(state, BYTES_AT + id, READY);
    }

    public static Request takeRequests() {
        return (Request) U.getAndSetReference(mailbox, OBJECTS_AT, null);
    }

    public static ThreadInfo takeThreads() {
        return (ThreadInfo) U.getAndSetReference(
                mailbox, OBJECTS_AT + OBJECT_BYTES, null);
    }

    /** Id of a thread, whatever a subclass makes of getId(). */
    public static long idOf(Thread t) {
        return U.getLong(t, TID);
    }

    /**
     * All platform threads and their stacks; a stack is null if its thread has ended. Unlike
     * Thread.getAllStackTraces() this calls no method of a thread, nor puts one into a map: subclasses
     * may override hashCode().
     *
     * @return {Thread[], StackTraceElement[][]}, or null on a JDK that does this otherwise
     */
    public static Object[] stacks() {
        return Threads.stacks();
    }

    /** Private natives of Thread. */
    private static final class Threads {
        private static final java.lang.invoke.MethodHandle ALL = find("getThreads", Thread[].class);
        private static final java.lang.invoke.MethodHandle DUMP =
                find("dumpThreads", StackTraceElement[][].class, Thread[].class);
        private static final java.lang.invoke.MethodHandle YIELD = yield0();

        private static java.lang.invoke.MethodHandle find(String name, Class<?> result, Class<?>... parameters) {
            try {
                return java.lang.invoke.MethodHandles.privateLookupIn(Thread.class, java.lang.invoke.MethodHandles.lookup())
                        .findStatic(Thread.class, name, java.lang.invoke.MethodType.methodType(result, parameters));
            } catch (ReflectiveOperationException otherJdk) {
                return null;
            }
        }

        /** The native one: Thread.yield() of JDK 21 and later may unmount a virtual thread. */
        private static java.lang.invoke.MethodHandle yield0() {
            java.lang.invoke.MethodHandle found = find("yield0", void.class);
            return found != null ? found : find("yield", void.class);
        }

        static void giveWay() {
            if (YIELD != null) {
                try {
                    YIELD.invokeExact();
                } catch (Throwable t) {
                    passOn(t); // else: not to give way is no failure
                }
            }
        }

        static Object[] stacks() {
            if (ALL == null || DUMP == null) {
                return null;
            }
            try {
                Thread[] all = (Thread[]) ALL.invokeExact();
                return new Object[] {all, (StackTraceElement[][]) DUMP.invokeExact(all)};
            } catch (Error e) {
                throw e;
            } catch (Throwable t) {
                return null;
            }
        }
    }

    /** The name a class loader was given, or null, without calling the loader. */
    public static String nameOf(ClassLoader loader) {
        return (String) U.getReference(loader, LOADER_NAME);
    }

    public static int gaps() {
        return counters[COUNTER_GAPS];
    }

    public static long startTicks() {
        return start;
    }

    /** Takes chunks back from threads that are outside the graph, so that busy ones find some. Any thread. */
    public static int reclaim() {
        int taken = 0;
        for (int c = 0; c < chunkCount; c++) {
            if (U.compareAndSetInt(null, states + c * 4L, CHUNK_IDLE, CHUNK_FULL)) {
                taken++;
            }
        }
        return taken;
    }

    /** Drops records of threads that have ended, and of classes that are gone. Agent's thread only. */
    public static void purge() {
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
        purgeReflected();
        purgeAllocated();
        HandedOver tasks = handedOver;
        if (tasks != null) {
            tasks.purge();
        }
    }

    private static void purgeReflected() {
        Reflected[] in = reflected;
        long known = 0;
        for (int i = 0; i < in.length; i++) {
            long at = OBJECTS_AT + i * OBJECT_BYTES;
            Reflected head = (Reflected) U.getReferenceVolatile(in, at);
            while (head != null && head.refersTo(null)) {
                U.compareAndSetReference(in, at, head, head.chain);
                head = (Reflected) U.getReferenceVolatile(in, at);
            }
            for (Reflected before = head; before != null; before = before.chain) {
                known++;
                while (before.chain != null && before.chain.refersTo(null)) {
                    before.chain = before.chain.chain;
                }
            }
        }
        membersKnown = known;
    }

    private static boolean isOver(ThreadInfo ti) {
        Thread t = ti.thread.get();
        // A started thread is known before it lives; with its token unspent it may not have begun to.
        boolean idle = ti.started ? ti.token == 0 : !ti.virtualActive && !ti.active;
        boolean over = t == null || !t.isAlive() && idle;
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

    /** Bytes of the heap that the session's own tables and records take, as they were at the last {@link #purge}. */
    public static long heapBytes() {
        long words = (long) table.length + reflected.length + knownMembers.length;
        long[] timed = timedSums;
        long tables = words * OBJECT_BYTES + state.length + (timed == null ? 0 : timed.length * 8L);
        return tables + threadsKnown * (THREAD_BYTES + JFluid1Samples.bytesOfThread()) + JFluid1Samples.bytesOfMethods() + membersKnown * MEMBER_BYTES
                + allocated.length * OBJECT_BYTES + classesKnown * ALLOCATED_BYTES + JFluid1Survivors.heapBytes();
    }

    /** To memory outside of the heap. */
    public static void copyOut(byte[] from, long to) {
        U.copyMemory(from, BYTES_AT, null, to, from.length);
    }

    /** The other way round. */
    public static void copyIn(long from, byte[] to) {
        U.copyMemory(null, from, to, BYTES_AT, to.length);
    }

    public static long address(java.nio.ByteBuffer mapped) {
        return ((sun.nio.ch.DirectBuffer) mapped).address();
    }

    public static void unmap(java.nio.ByteBuffer mapped) {
        U.invokeCleaner(mapped);
    }

    // ---- error bars: roots timed while nothing else has probes ----
    //
    // The client closes the graph, waits until nobody is inside, has the children given their own code and looks at these
    // sums, again and again. Nothing of it is an event: the profile leaves the calls out, and counts how many they were.

    private static volatile boolean timesBare;
    /** Goes up with each closing: what a thread has of an earlier one is void. */
    private static volatile int timedRound;
    /** As many roots are timed; of others nothing is told. */
    private static final int TIMED_ROOTS = 32;
    private static final int TIMED_STRIPES = 8;
    /** A cache line: calls and ticks of one root, for threads of one stripe. */
    private static final int TIMED_WORDS = 8;
    private static final int[] timedIds = new int[TIMED_ROOTS];
    private static long[] timedSums;

    /** From now on no root opens the graph; those in it stay until they leave. What roots take is summed. */
    public static void closeRoots() {
        if (timedSums == null) {
            timedSums = new long[TIMED_ROOTS * TIMED_STRIPES * TIMED_WORDS];
            java.util.Arrays.fill(timedIds, 0);
        }
        timedRound++;
        timesBare = enabled;
        open = false;
        U.fullFence();
    }

    /** How many threads are in the graph, or may be. A thread may hide for a moment: look more than once. */
    public static int inside() {
        int inside = 0;
        for (ThreadInfo head : table) {
            for (ThreadInfo ti = head; ti != null; ti = ti.chain) {
                if (ti.active || ti.virtualActive || ti.guard || ti.suspended) {
                    Thread t = ti.thread.get();
                    inside += t != null && t.isAlive() ? 1 : 0;
                }
            }
        }
        return inside;
    }

    /** {@code id, calls, ticks} of each root, outermost calls that have begun and ended since a closing, over all of them. */
    public static long[] bareTimes() {
        long[] sums = timedSums;
        long[] all = new long[sums == null ? 0 : TIMED_ROOTS * 3];
        for (int slot = 0; 3 * slot < all.length; slot++) {
            all[3 * slot] = timedIds[slot];
            for (int stripe = 0; stripe < TIMED_STRIPES; stripe++) {
                int at = (slot * TIMED_STRIPES + stripe) * TIMED_WORDS;
                all[3 * slot + 1] += sums[at];
                all[3 * slot + 2] += sums[at + 1];
            }
        }
        return all;
    }

    /** With the guard on: whoever closes the graph sees us, or we see that it is closed. */
    private static boolean mayEnter(ThreadInfo ti) {
        U.fullFence();
        // A root inside of one that was not recorded is not outermost.
        return open && (ti.timedNesting == 0 || ti.timedRound != timedRound);
    }

    /** Start of a root while the graph is closed. The clock is read last, as in {@link #methodEntry}. */
    private static void timedEntry(ThreadInfo known, int id) {
        ThreadInfo ti = known;
        try {
            if (Thread.currentThread() == agent || Thread.currentThread() == swapper) {
                return;
            }
            if (ti == null) {
                ti = register(Thread.currentThread());
            }
        } catch (Throwable t) {
            passOn(t); // no memory for a ThreadInfo: it is not timed
        }
        if (ti == null || ti.guard) {
            return;
        }
        int round = timedRound;
        if (ti.timedRound != round) {
            ti.timedRound = round;
            ti.timedNesting = 0;
        }
        if (ti.timedNesting++ == 0) {
            ti.timedRoot = id;
            ti.timedSince = ticks();
        }
    }

    private static void timedExit(ThreadInfo ti) {
        long now = ticks();
        if (--ti.timedNesting > 0 || ti.timedRound != timedRound) {
            return;
        }
        long[] sums = timedSums;
        int slot = timedSlot(ti.timedRoot);
        if (sums == null || slot < 0) {
            return;
        }
        long stripe = slot * TIMED_STRIPES + (ti.tid & (TIMED_STRIPES - 1));
        long at = LONGS_AT + stripe * TIMED_WORDS * 8;
        U.getAndAddLong(sums, at, 1);
        U.getAndAddLong(sums, at + 8, now - ti.timedSince);
    }

    private static int timedSlot(int id) {
        for (int slot = 0; slot < TIMED_ROOTS; slot++) {
            if (timedIds[slot] == id || timedIds[slot] == 0 && U.compareAndSetInt(timedIds, INTS_AT + slot * 4L, 0, id)
                    || timedIds[slot] == id) {
                return slot;
            }
        }
        return -1;
    }

    // ---- calibration (report, section 5.3) ----

    /**
     * Measures t_I and t_O with the probes as they run in instrumented methods: compiled, with a call
     * before and a call after an empty body. Blocks of 200 calls are timed; the least block counts, as
     * in the report.
     *
     * @param budgetNanos how long to keep trying for a smaller block
     * @return {inner, outer, spread of inner, of outer} in ticks per call, scaled by 1000; the spread is how far above the least
     *     three quarters of the blocks lie
     */
    public static long[] calibrate(long budgetNanos) {
        int block = 200;
        int words = tellsSites ? 3 : 2;
        long bytes = block * words * (long) EVENT_BYTES;
        long scratch = U.allocateMemory(bytes);
        methods(0);
        byte saved = state[0];
        state[0] = READY;
        ThreadInfo ti = register(Thread.currentThread());
        double[] inners = new double[SAMPLES];
        double[] outers = new double[SAMPLES];
        int samples = 0;
        double inner = Double.MAX_VALUE;
        double total = Double.MAX_VALUE;
        double bare = Double.MAX_VALUE;
        try {
            long until = System.nanoTime() + budgetNanos;
            for (int round = 0; round < 400 || System.nanoTime() < until; round++) {
                ti.base = ticks();
                ti.next = scratch;
                ti.limit = scratch + bytes;
                ti.active = true;
                long t0 = ticks();
                if (tellsSites) {
                    Calibration.sited(block, waited != null);
                } else if (waited == null) {
                    Calibration.probed(block);
                } else {
                    Calibration.announced(block);
                }
                long t1 = ticks();
                ti.active = false;
                if (ti.next != scratch + bytes) {
                    continue; // cannot happen with a clock that runs forward
                }
                Calibration.bare(block);
                long t2 = ticks();
                Calibration.bare(block);
                long t3 = ticks();
                long sum = 0;
                for (long at = scratch + (words - 2) * EVENT_BYTES; at < ti.next; at += words * EVENT_BYTES) {
                    sum += (U.getLong(at + EVENT_BYTES) & TICK_MASK) - (U.getLong(at) & TICK_MASK);
                }
                inner = Math.min(inner, (double) sum / block);
                total = Math.min(total, (double) (t1 - t0) / block);
                bare = Math.min(bare, (double) (t3 - t2) / block);
                // The last ones, which are compiled. Their own: what one block was slow in, another may have been, too.
                int at = samples++ % SAMPLES;
                inners[at] = (double) sum / block;
                outers[at] = (double) (t1 - t0) / block - bare - inners[at];
            }
        } finally {
            ti.active = false;
            ti.next = ti.limit = 0;
            ti.base = start;
            state[0] = saved;
            U.freeMemory(scratch);
        }
        double outer = Math.max(0, total - bare - inner);
        int n = Math.min(samples, SAMPLES);
        return new long[] {
            Math.round(inner * 1000), Math.round(outer * 1000),
            Math.round(Math.abs(thirdQuartile(inners, n) - inner) * 1000),
            Math.round(Math.abs(thirdQuartile(outers, n) - outer) * 1000)
        };
    }

    /** Of the first n, which it sorts, by insertion: what an application might override is not asked. */
    private static double thirdQuartile(double[] values, int n) {
        for (int i = 1; i < n; i++) {
            double value = values[i];
            int at = i;
            for (; at > 0 && values[at - 1] > value; at--) {
                values[at] = values[at - 1];
            }
            values[at] = value;
        }
        return n == 0 ? 0 : values[(3 * n) / 4];
    }

    /** Blocks that the spread is taken of. */
    private static final int SAMPLES = 256;

    private static final class Calibration {
        static int sink;

        static void probed(int n) {
            for (int i = 0; i < n; i++) {
                probedBody(i);
            }
        }

        /** As where waits are told. */
        static void announced(int n) {
            for (int i = 0; i < n; i++) {
                calling(1);
                probedBody(i);
            }
        }

        /** As where call sites are told, and perhaps waits. */
        static void sited(int n, boolean waits) {
            for (int i = 0; i < n; i++) {
                if (waits) {
                    calling(1);
                }
                callSite(1);
                sitedBody(i);
            }
        }

        static void bare(int n) {
            for (int i = 0; i < n; i++) {
                bareBody(i);
            }
        }

        private static void probedBody(int i) {
            methodEntry(0);
            try {
                sink = i;
            } catch (Throwable t) {
                methodExit(0);
                throw t;
            }
            methodExit(0);
        }

        static void regions(int n, int session) {
            for (int i = 0; i < n; i++) {
                regionBody(i, session);
            }
        }

        private static void regionBody(int i, int session) {
            long since = regionEnter(0, session);
            try {
                sink = i;
            } catch (Throwable t) {
                regionExit(since, 1);
                throw t;
            }
            regionExit(since, 1);
        }

        private static void sitedBody(int i) {
            siteEntry();
            methodEntry(0);
            try {
                sink = i;
            } catch (Throwable t) {
                methodExit(0);
                throw t;
            }
            methodExit(0);
        }

        private static void bareBody(int i) {
            sink = i;
        }
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
            try {
                String launch = launchLine();
                java.util.function.Function<String, String> agent = Setup.agent;
                if (launch != null && agent != null) {
                    String error = agent.apply(launch);
                    setProperty(error == null ? "jfluid.started" : "jfluid.error", error == null ? launch : error);
                }
            } catch (Throwable t) {
                setProperty("jfluid.error", String.valueOf(t));
            }
            return super.stringPropertyNames();
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
