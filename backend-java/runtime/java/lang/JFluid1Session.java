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

import java.lang.invoke.JFluid1Tsc;
import jdk.internal.misc.Unsafe;

/**
 * The session: whether it records, its clock, the states of its methods, its gaps, and how it begins and ends. Written by
 * the agent's thread, read by every probe. Whoever initialises this class initialises the rest of the runtime, as if it
 * were one class.
 */
public final class JFluid1Session {
    private JFluid1Session() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** States of a method: READY and above need no question at entry. */
    public static final byte NEW = 0;
    public static final byte PENDING = 1;
    public static final byte READY = 2;
    static final byte LATE = 3;
    /**
     * The JDK spins code of its own for a method handle that is called the 127th time, and loads classes for it: not where
     * a thread waits for us in the middle of loading one of these. Of one that has the shape of another it loads no more.
     */
    private static final int HANDLE_CALLS = 150;
    /** Between two readings that tell how fast it counts, and how often that is tried where others have the processor meanwhile. */
    private static final long RATE_NANOS = 50_000;
    private static final int RATE_ATTEMPTS = 20;
    /** Whether the processor's time stamp counter can be read. Where it is not trusted, nothing is tried. */
    private static final boolean TSC = Setup.trustsTsc && JFluid1Tsc.problem() == null && counts();
    /** Whether what HotSpot makes of that counter is another clock than System.nanoTime(), where it is looked at. */
    private static final boolean FAST_CLOCK = !TSC && Setup.fastClock && fastClockWorks();
    /** Whether this session reads it: the kernel may have lost its trust in it since the first. */
    private static boolean readsTsc = TSC;
    /** Of the methods that have or will have probes. */
    private static int highestMethod;
    static byte[] state = new byte[1024];
    static volatile boolean enabled;
    /** Whether roots open the graph: all is in that they lead to. Never without {@link #enabled}. */
    static volatile boolean open;
    static volatile boolean swapping;
    static long start;
    /** The clock of each thread is what it has executed (probes count…), not time. */
    private static boolean counting;
    /** The thread of the redefinition that runs. */
    static volatile Thread swapper;

    static final int COUNTER_THREADS = 0;
    private static final int COUNTER_GAPS = 1;
    /** Threads that wait for the client, whatever for. */
    static final int COUNTER_WAITING = 2;
    /** Those of them that wait for a chunk. */
    static final int COUNTER_STARVING = 3;
    /** Threads that keep their chunk between two executions of a region. */
    static final int COUNTER_KEEPERS = 4;
    /** Virtual threads in the load hook: see {@link JFluid1Threads#enterHook}. */
    static final int COUNTER_HOOKED = 5;
    static final int[] counters = new int[6];

    // Together, as if they were one class: an application's thread, or the end of a session, may be short of stack or
    // memory, and an initialiser that fails for that is never tried again. None of them needs this class for its own.
    static {
        U.ensureClassInitialized(JFluid1.class);
        U.ensureClassInitialized(JFluid1Memory.class);
        U.ensureClassInitialized(JFluid1Threads.class);
        U.ensureClassInitialized(JFluid1Ring.class);
        U.ensureClassInitialized(JFluid1Client.class);
        U.ensureClassInitialized(JFluid1Requests.class);
        U.ensureClassInitialized(JFluid1Nameless.class);
        U.ensureClassInitialized(JFluid1Roots.class);
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
    }

    /** One reading of the session's clock: the processor's counter, or the flight recorder's clock, or else System.nanoTime(). */
    public static long ticks() {
        if (TSC && readsTsc) {
            return JFluid1Tsc.read();
        }
        return FAST_CLOCK ? jdk.jfr.internal.JVM.counterTime() : System.nanoTime();
    }

    /** Before a session begins. */
    public static void chooseClock(boolean trustsTsc) {
        readsTsc = TSC && trustsTsc;
    }

    public static String clockName() {
        return readsTsc ? "rdtsc" : FAST_CLOCK ? "counterTime" : "nanoTime";
    }

    /** Whether it counts, and fast enough to tell calls apart: an emulator may make it up. */
    private static boolean counts() {
        long nanos = System.nanoTime();
        long ticks = JFluid1Tsc.read();
        while (System.nanoTime() - nanos < RATE_NANOS) {
            // as in fastClockWorks
        }
        return JFluid1Tsc.read() - ticks > RATE_NANOS / 4;
    }

    /**
     * Where the JVM does not trust the processor's counter, its fast clock is System.nanoTime() by another name (os::elapsed_counter of
     * os_linux.cpp). Its first use initialises a class of the flight recorder, which fails for good on JDK 17 where the locale has no
     * bytes for java.io.tmpdir: then the program has no flight recorder, either.
     */
    private static boolean fastClockWorks() {
        try {
            boolean isOther = true;
            for (int attempt = 0; attempt < RATE_ATTEMPTS; attempt++) {
                // Two readings, each between two of the other clock.
                long n0 = System.nanoTime();
                long ticks = jdk.jfr.internal.JVM.counterTime();
                long n1 = System.nanoTime();
                long n2;
                do {
                    n2 = System.nanoTime();
                } while (n2 - n1 < RATE_NANOS);
                ticks = jdk.jfr.internal.JVM.counterTime() - ticks;
                long n3 = System.nanoTime();
                isOther = ticks < n2 - n1 || ticks > n3 - n0;
                // Else others have had the processor meanwhile, or each reading takes long.
                if ((n3 - n0) - (n2 - n1) < RATE_NANOS / 20) {
                    break;
                }
            }
            return isOther;
        } catch (LinkageError broken) {
            return false;
        }
    }

    /**
     * Whether the method is none of this session: a thread may have called a root of an earlier one, and have waited for its
     * monitor before the first probe until now.
     */
    static boolean isOfAnother(int id) {
        return id > highestMethod;
    }

    /** So is a method of an earlier session: old code may go on long after its session, and ask of ids that this one has not. */
    static boolean isReady(int id) {
        byte[] states = state;
        return id >= states.length || states[id] >= READY;
    }

    static boolean isOpen() {
        return open;
    }

    /** What differs from session to session. */
    static Object session() {
        return table;
    }

    /** Whether it is a thread of a session's own. */
    static boolean isOurs(Thread t) {
        return t instanceof JFluid1Guest;
    }

    /** The thread is inside the graph, or inside again, unless the session is over. */
    static void activate(ThreadInfo ti) {
        if (ti.virtual) {
            ti.virtualActive = enabled;
        } else {
            ti.active = enabled;
        }
    }

    /** What the thread's events say: session ticks from {@link #start}, or what it has executed. */
    static long clock(ThreadInfo ti) {
        return counting ? ti.executed : ticks();
    }

    /** A failure of ours ends here, but a Thread.stop() (up to JDK 19) was meant for the application. */
    @SuppressWarnings("removal")
    static void passOn(Throwable t) {
        if (t instanceof ThreadDeath) {
            throw (ThreadDeath) t;
        }
    }

    /** Something was not recorded, and the client can tell its user how often. */
    public static void gap() {
        U.getAndAddInt(counters, INTS_AT + COUNTER_GAPS * 4L, 1);
        long at = ring;
        if (at != 0) {
            U.getAndAddInt(null, at + RING_GAPS, 1); // where the client reads it when the JVM has ended
        }
    }

    /**
     * Begins a session on a mapped ring. Recording starts with {@link #open}.
     *
     * @param counts whether events tell what was executed, and not the time
     * @param treesAt where trees are in the buffer, for as many blocks as may be; 0 for none
     * @return the threads of this session, for {@link JFluid1Threads#anyoneInside}
     */
    public static Object begin(long address, int bytesPerChunk, int chunkTotal, int chunksAt, Runnable wake,
            boolean counts, long treesAt) {
        JFluid1Threads.begin();
        // Never less: code that an earlier session could not give back goes on asking of its ids.
        state = new byte[state.length];
        highestMethod = 0;
        JFluid1Nameless.begin();
        JFluid1Requests.forget();
        JFluid1Modes.begin();
        JFluid1Roots.begin();
        counters[COUNTER_THREADS] = counters[COUNTER_GAPS] = counters[COUNTER_KEEPERS] = 0;
        regionSession = 0;
        JFluid1Ring.begin(address, bytesPerChunk, chunkTotal, chunksAt);
        JFluid1Trees.begin(treesAt == 0 ? 0 : address + treesAt, address + RING_BLOCKS);
        JFluid1Client.begin(wake);
        counting = counts;
        start = counts ? 0 : ticks();
        swapping = jammed = false;
        swapper = null;
        tellsSites = false;
        JFluid1Samples.tellsSites = false;
        // What those hold is linked and initialised here, for the same reason.
        for (int i = 0; i < HANDLE_CALLS; i++) {
            Carrier.warmUp();
        }
        Threads.warmUp();
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
        enabled = open = false;
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
            JFluid1Ring.end();
            JFluid1Trees.end();
        }
        JFluid1Client.end();
        swapping = false;
        swapper = null;
        reporter = null;
        JFluid1Allocations.end();
        handedOver = null;
        waited = null;
        JFluid1Threads.end();
        JFluid1Modes.end();
        JFluid1Nameless.end();
        JFluid1Requests.forget();
    }

    public static boolean isEnabled() {
        return enabled;
    }

    /** While a redefinition runs, threads that wait for it do not lose patience. */
    public static void swapping(boolean on) {
        if (!on && swapper != Thread.currentThread()) {
            return; // it has come out of a redefinition of a session that is over
        }
        swapping = on;
        swapper = on ? Thread.currentThread() : null;
        jammed = false;
    }

    /** Makes room for method ids up to `highest`. Must precede the code that carries them. */
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

    /** Drops records of threads that have ended, and of classes that are gone. Agent's thread only. */
    public static void purge() {
        JFluid1Threads.purge();
        JFluid1Nameless.purge();
        JFluid1Allocations.purge();
        HandedOver tasks = handedOver;
        if (tasks != null) {
            tasks.purge();
        }
    }

    /** Bytes of the heap that the session's own tables and records take, as they were at the last {@link #purge}. */
    public static long heapBytes() {
        long own = state.length + JFluid1Threads.heapBytes() + JFluid1Nameless.heapBytes();
        return own + JFluid1Allocations.heapBytes() + JFluid1Survivors.heapBytes();
    }
}
