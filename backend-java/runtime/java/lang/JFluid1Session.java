package java.lang;

import static java.lang.JFluid1.*;
import static java.lang.JFluid1Client.*;
import static java.lang.JFluid1Contexts.*;
import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Nameless.*;
import static java.lang.JFluid1Regions.*;
import static java.lang.JFluid1Requests.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Sites.*;
import static java.lang.JFluid1Tasks.*;
import static java.lang.JFluid1Threads.*;
import static java.lang.JFluid1Waits.*;

import java.lang.invoke.JFluid1Getter;
import java.lang.invoke.JFluid1Tsc;
import jdk.internal.misc.Unsafe;

/**
 * The session: its recording state, its clock, the states of its methods, its gaps, its begin and its end. The agent's thread writes these
 * fields; every probe reads them. Initialising this class initialises all other runtime classes.
 */
public final class JFluid1Session {
    private JFluid1Session() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** States of a method. In states from READY on, the entry probe sends no request to the client. */
    public static final byte NEW = 0;
    public static final byte PENDING = 1;
    public static final byte READY = 2;
    static final byte LATE = 3;
    /**
     * Number of calls of each method handle at the start of a session. At the 127th call of a method handle, the JDK generates code and
     * loads classes for that handle. This must not happen in a probe, which may run while the thread loads one of these classes. Handles of
     * one shape share the generated code.
     */
    private static final int HANDLE_CALLS = 150;
    /** Time between two readings that measure the clock's rate, and the number of attempts; other threads may preempt an attempt. */
    private static final long RATE_MEASUREMENT_NANOS = 50_000;
    private static final int RATE_ATTEMPTS = 20;
    /** Whether the processor's time stamp counter can be read. False, without an attempt, unless the kernel trusts the counter. */
    private static final boolean TSC = Setup.trustsTsc && JFluid1Tsc.problem() == null && counts();
    /** Whether HotSpot's fast clock can be used and differs from System.nanoTime(). */
    private static final boolean FAST_CLOCK = !TSC && Setup.fastClock && fastClockWorks();
    /** Whether this session reads the time stamp counter. The kernel may have stopped trusting it since an earlier session. */
    private static boolean readsTsc = TSC;
    /** Highest id of a method that has or will have probes. */
    private static int highestMethod;
    static byte[] state = new byte[1024];
    static volatile boolean enabled;
    /** Whether root calls are recorded: all probes below the roots are in place. True only while {@link #enabled} is. */
    static volatile boolean open;
    static volatile boolean swapping;
    static long start;
    /** Whether a thread's clock is the number of bytecodes it has executed (count… probes), not the time. */
    private static boolean counting;
    /** Thread of the running redefinition. */
    static volatile Thread swapper;

    static final int COUNTER_THREADS = 0;
    private static final int COUNTER_GAPS = 1;
    /** Number of threads that wait for the client for any reason. */
    static final int COUNTER_WAITING = 2;
    /** Number of threads that wait for a free chunk. */
    static final int COUNTER_STARVING = 3;
    /** Number of threads that keep their chunk between executions of regions. */
    static final int COUNTER_KEEPERS = 4;
    /** Number of virtual threads in the load hook, see {@link JFluid1Threads#enterHook}. */
    static final int COUNTER_HOOKED = 5;
    static final int[] counters = new int[6];

    // Initialises all runtime classes now. Later an application thread, or the end of a session, may be short of stack or
    // memory, and the JVM never retries a failed class initialiser. No initialiser of these classes needs this class.
    static {
        U.ensureClassInitialized(JFluid1.class);
        U.ensureClassInitialized(JFluid1Release.class);
        if (!JFluid1Release.HAS_UNIX_SOCKETS) {
            U.ensureClassInitialized(JFluid1Pipes.class);
        }
        U.ensureClassInitialized(JFluid1Memory.class);
        U.ensureClassInitialized(JFluid1Threads.class);
        U.ensureClassInitialized(JFluid1Ring.class);
        U.ensureClassInitialized(JFluid1Client.class);
        U.ensureClassInitialized(JFluid1Requests.class);
        U.ensureClassInitialized(JFluid1Nameless.class);
        U.ensureClassInitialized(JFluid1Roots.class);
        U.ensureClassInitialized(JFluid1Thrown.class);
        U.ensureClassInitialized(JFluid1Caller.class);
        U.ensureClassInitialized(JFluid1Contexts.class);
        U.ensureClassInitialized(JFluid1Regions.class);
        U.ensureClassInitialized(JFluid1Allocations.class);
        U.ensureClassInitialized(JFluid1Tasks.class);
        U.ensureClassInitialized(JFluid1Waits.class);
        U.ensureClassInitialized(JFluid1Sites.class);
        U.ensureClassInitialized(JFluid1Stack.class);
        U.ensureClassInitialized(JFluid1Calibration.class);
        U.ensureClassInitialized(JFluid1Guest.class);
        U.ensureClassInitialized(JFluid1Inside.class);
        U.ensureClassInitialized(JFluid1Modes.class);
        U.ensureClassInitialized(JFluid1Trees.class);
        U.ensureClassInitialized(JFluid1Values.class);
        U.ensureClassInitialized(JFluid1Getter.class);
        U.ensureClassInitialized(JFluid1TraceIds.class);
    }

    /** Reads the session's clock: the processor's time stamp counter, the flight recorder's clock, or System.nanoTime(). */
    public static long ticks() {
        if (TSC && readsTsc) {
            return JFluid1Tsc.read();
        }
        return FAST_CLOCK ? jdk.jfr.internal.JVM.counterTime() : System.nanoTime();
    }

    /** Chooses the clock of the next session. */
    public static void chooseClock(boolean trustsTsc) {
        readsTsc = TSC && trustsTsc;
    }

    public static String clockName() {
        return readsTsc ? "rdtsc" : FAST_CLOCK ? "counterTime" : "nanoTime";
    }

    /** Returns whether the time stamp counter advances fast enough to time single calls. An emulator may return a constant. */
    private static boolean counts() {
        long nanos = System.nanoTime();
        long ticks = JFluid1Tsc.read();
        while (System.nanoTime() - nanos < RATE_MEASUREMENT_NANOS) {
            // busy waiting, as in fastClockWorks
        }
        return JFluid1Tsc.read() - ticks > RATE_MEASUREMENT_NANOS / 4;
    }

    /**
     * Returns whether the flight recorder's clock works and differs from System.nanoTime(). The two clocks are equal where the JVM does not
     * trust the time stamp counter (os::elapsed_counter in os_linux.cpp). The first use initialises a class of the flight recorder. On JDK
     * 17 that initialiser fails permanently if the locale cannot encode java.io.tmpdir; the flight recorder does not work in such a JVM.
     */
    private static boolean fastClockWorks() {
        try {
            boolean isOther = true;
            for (int attempt = 0; attempt < RATE_ATTEMPTS; attempt++) {
                // Two readings of the fast clock, each between two readings of nanoTime().
                long n0 = System.nanoTime();
                long ticks = jdk.jfr.internal.JVM.counterTime();
                long n1 = System.nanoTime();
                long n2;
                do {
                    n2 = System.nanoTime();
                } while (n2 - n1 < RATE_MEASUREMENT_NANOS);
                ticks = jdk.jfr.internal.JVM.counterTime() - ticks;
                long n3 = System.nanoTime();
                isOther = ticks < n2 - n1 || ticks > n3 - n0;
                // If the condition is false, the thread was preempted, or a reading was slow.
                if ((n3 - n0) - (n2 - n1) < RATE_MEASUREMENT_NANOS / 20) {
                    break;
                }
            }
            return isOther;
        } catch (LinkageError broken) {
            return false;
        }
    }

    /**
     * Returns whether the method belongs to an earlier session: a thread may have called a synchronized root in that session and have
     * waited until now for the monitor, before the first probe.
     */
    static boolean isOfAnother(int id) {
        return id > highestMethod;
    }

    /** Returns whether the entry probe of the method sends no request. True for an unknown id: code of an earlier session may still run. */
    static boolean isReady(int id) {
        byte[] states = state;
        return id >= states.length || states[id] >= READY;
    }

    static boolean isOpen() {
        return open;
    }

    /** Returns an object that identifies the session. */
    static Object session() {
        return table;
    }

    /** Whether `t` is a thread of jfluid. */
    static boolean isOurs(Thread t) {
        return t instanceof JFluid1Guest;
    }

    /** Marks the thread as inside a root call, unless the session has ended. */
    static void activate(ThreadInfo ti) {
        if (ti.virtual) {
            ti.virtualActive = enabled;
        } else {
            ti.active = enabled;
        }
    }

    /** Returns the clock value for the thread's events: session ticks since {@link #start}, or executed bytecodes. */
    static long clock(ThreadInfo ti) {
        return counting ? ti.executed : ticks();
    }

    /** Swallows a failure of the runtime. Rethrows a ThreadDeath: Thread.stop() (up to JDK 19) is meant for the application. */
    @SuppressWarnings("removal")
    static void passOn(Throwable t) {
        if (t instanceof ThreadDeath) {
            throw (ThreadDeath) t;
        }
    }

    /** Counts an event that was not recorded. The client reports the number of gaps. */
    public static void gap() {
        U.getAndAddInt(counters, INTS_AT + COUNTER_GAPS * 4L, 1);
        long at = ring;
        if (at != 0) {
            U.getAndAddInt(
                    null, at + RING_GAPS, 1); // the client reads the number from the ring after the JVM has ended
        }
    }

    /**
     * Begins a session on a mapped ring. Recording starts with {@link #open}.
     *
     * @param counts whether events have numbers of executed bytecodes in place of times
     * @param treesAt address of the tree blocks in the buffer; 0 for none
     * @return the threads of this session, for {@link JFluid1Threads#anyoneInside}
     */
    public static Object begin(long address, int bytesPerChunk, int chunkTotal, int chunksAt, Runnable wake,
            boolean counts, long treesAt) {
        JFluid1Release.begin();
        JFluid1Threads.begin();
        // The array is never smaller than before: code that an earlier session could not restore still reads the states of its ids.
        state = new byte[state.length];
        highestMethod = 0;
        JFluid1Nameless.begin();
        JFluid1Requests.forget();
        JFluid1Modes.begin();
        JFluid1Roots.begin();
        JFluid1Thrown.begin();
        counters[COUNTER_THREADS] = counters[COUNTER_GAPS] = counters[COUNTER_KEEPERS] = 0;
        regionSession = 0;
        JFluid1Ring.begin(address, bytesPerChunk, chunkTotal, chunksAt);
        JFluid1Trees.begin(treesAt == 0 ? 0 : address + treesAt, address + RING_BLOCKS);
        JFluid1Client.begin(wake);
        counting = counts;
        start = counts ? 0 : ticks();
        swapping = mayDeadlock = false;
        swapper = null;
        tellsSites = false;
        JFluid1Samples.tellsSites = false;
        // Links and initialises the method handles of these classes now, while stack and memory suffice.
        for (int i = 0; i < HANDLE_CALLS; i++) {
            Carrier.warmUp();
        }
        Threads.warmUp();
        passOn(new OutOfMemoryError());
        U.ensureClassInitialized(JFluid1Samples.class); // JFluid1Samples.end() may run while memory is short
        U.ensureClassInitialized(JFluid1Survivors.class);
        U.ensureClassInitialized(Offsets.class);
        if (JFluid1Release.HAS_HIDDEN_CLASSES) {
            U.ensureClassInitialized(Definers.class);
        }
        U.ensureClassInitialized(ThreadInfo.class);
        U.ensureClassInitialized(Request.class);
        U.ensureClassInitialized(Reflected.class);
        U.ensureClassInitialized(ClientWait.class);
        return table;
    }

    /** Allows probes to wait for the client, which is connected now. */
    public static void enable() {
        enabled = true;
    }

    /** Starts recording of root calls. */
    public static void open() {
        open = enabled;
    }

    /** Stops recording. Threads may still be in runtime code when this returns. */
    public static void disable() {
        enabled = open = false;
        for (ThreadInfo head : table) {
            for (ThreadInfo ti = head; ti != null; ti = ti.chain) {
                ti.active = ti.virtualActive = ti.keeps = false;
            }
        }
    }

    /**
     * Drops all data of the session. Allocates nothing.
     *
     * @param unmapped whether the buffer is unmapped. It stays mapped while any thread is in runtime code.
     */
    public static void end(boolean unmapped) {
        if (unmapped) {
            JFluid1Ring.end();
            JFluid1Trees.end();
        }
        JFluid1Client.end();
        swapping = false;
        swapper = null;
        reporter = null;
        JFluid1Allocations.end();
        JFluid1Thrown.end();
        handedOver = null;
        waited = null;
        JFluid1Threads.end();
        JFluid1Modes.end();
        JFluid1Values.end();
        JFluid1TraceIds.end();
        JFluid1Nameless.end();
        JFluid1Requests.forget();
    }

    public static boolean isEnabled() {
        return enabled;
    }

    /** While a redefinition runs, threads that wait for it do not time out. */
    public static void swapping(boolean on) {
        if (!on && swapper != Thread.currentThread()) {
            return; // this redefinition belongs to a session that has ended
        }
        swapping = on;
        swapper = on ? Thread.currentThread() : null;
        mayDeadlock = false;
    }

    /** Makes space for method ids up to `highest`. Must precede the code that contains these ids. */
    public static void methods(int highest) {
        highestMethod = Math.max(highestMethod, highest);
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

    public static int gaps() {
        return counters[COUNTER_GAPS];
    }

    public static long startTicks() {
        return start;
    }

    /** Drops records of ended threads and of unloaded classes. Called only by the agent's thread. */
    public static void purge() {
        JFluid1Threads.purge();
        JFluid1Nameless.purge();
        JFluid1Allocations.purge();
        HandedOver tasks = handedOver;
        if (tasks != null) {
            tasks.purge();
        }
    }

    /** Returns the heap bytes of the session's tables and records, as of the last {@link #purge}. */
    public static long heapBytes() {
        long own = state.length + JFluid1Threads.heapBytes() + JFluid1Nameless.heapBytes();
        return own + JFluid1Allocations.heapBytes() + JFluid1Survivors.heapBytes() + JFluid1Values.heapBytes();
    }
}
