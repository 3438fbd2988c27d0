package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;

/** The client as seen by threads of the target: the client's heartbeat, and the limits of waits for the client. */
public final class JFluid1Client {
    private JFluid1Client() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /**
     * Timeout of a wait for a client without a heartbeat. After this timeout, no thread starts a wait until the heartbeat continues. Events
     * that cannot be recorded without a wait are counted as gaps.
     */
    public static final long SILENT_CLIENT_TIMEOUT_NANOS = 250_000_000L;
    /** Timeout of a wait for a client that is runnable but gets no processor. */
    public static final long STARVING_CLIENT_TIMEOUT_NANOS = 2_000_000_000L;
    /** Minimum age of the last heartbeat at which the agent is asked to check the client, and interval of further checks. */
    public static final long CHECK_CLIENT_AFTER_NANOS = 50_000_000L;
    private static final long CHECK_CLIENT_INTERVAL_NANOS = 20_000_000L;
    /** If waits were extended ({@link #extendWaits}), the agent is asked to check again this long before the extension ends. */
    private static final long RENEW_BEFORE_NANOS = 150_000_000L;
    /**
     * Maximum silence counted between two checks by the waiting thread. If the waiting thread itself gets no processor for longer, the
     * client may be alive but also get no processor: a scheduler may share processors between login sessions first, and a login session
     * with few threads may wait several times as long as another.
     */
    private static final long MAX_CHECK_GAP_NANOS = 4_500_000L;
    /** Timeout of a wait for a client with a heartbeat. */
    public static final long ANSWER_TIMEOUT_NANOS = 1_000_000_000L;
    /** Timeout of a wait for an answer of the client, in a JVM that the client has started. */
    public static final long STARTED_ANSWER_TIMEOUT_NANOS = 10_000_000_000L;
    /** Bounds of the pause between two checks, which is a sixteenth of the wait so far. */
    static final long MIN_PAUSE_NANOS = 50_000L;
    private static final long MAX_PAUSE_NANOS = 4_000_000L;
    /** Minimum pause between two checks: this time for each waiting thread, but at most MAX_SHARED_PAUSE_NANOS in total. */
    private static final long PAUSE_PER_WAITER_NANOS = 32_000L;
    static final long MAX_SHARED_PAUSE_NANOS = 32_000_000L;
    /** Pause per waiting thread while the ring is full, and duration of a wait after which the pauses become shorter; see chunkPause(). */
    static final long CHUNK_PAUSE_PER_WAITER_NANOS = 200_000L;
    static final long LONG_WAIT_NANOS = 100_000_000L;
    /** A pause longer than MAX_CHECK_GAP_NANOS counts as silence in full if it ends at most this much too late. */
    private static final long MAX_OVERRUN_NANOS = 500_000L;
    /** Whether the running redefinition may be waiting for threads that in turn wait for the redefinition. */
    static volatile boolean mayDeadlock;
    /** Timeout of a wait for an answer in this session. */
    private static volatile long answerTimeout = ANSWER_TIMEOUT_NANOS;
    private static Runnable waker;
    private static volatile long extendedUntil;
    private static volatile boolean checkRequested;
    /** System.nanoTime() of the agent's last check of the client. */
    private static long answeredAt;
    /** Value of the heartbeat counter when the client was found silent. */
    private static volatile int silentBeat;
    private static volatile boolean silent;
    /** Number of consecutive waits that have timed out, see halvedTimeout(). */
    private static volatile int timeouts;
    private static volatile long timedOutAt;

    static void begin(Runnable wake) {
        waker = wake;
        answerTimeout = ANSWER_TIMEOUT_NANOS;
        timeouts = 0;
        silent = false;
        extendWaits(System.nanoTime());
    }

    static void end() {
        waker = null;
    }

    /**
     * Makes threads wait longer for answers, because the client has started this JVM to record it. For its first class with a root, the client may
     * have to read and rewrite a thousand classes of the JDK, which takes seconds on a slow machine.
     */
    public static void waitLonger() {
        answerTimeout = STARTED_ANSWER_TIMEOUT_NANOS;
    }

    /** Returns the timeout of a wait for an answer, ns. */
    static long answerTimeout() {
        return answerTimeout;
    }

    /**
     * The limits of one wait for the client. The wait ends if the heartbeat stops for {@link #SILENT_CLIENT_TIMEOUT_NANOS}. While a
     * redefinition runs, the agent may be waiting for a lock that the waiting thread holds (class initialisation, a class loader). So the
     * first timeout of a thread in a load hook ends the waits of all threads in load hooks until that redefinition has ended. After
     * {@link #ANSWER_TIMEOUT_NANOS}, each wait ends if the redefinition waits for a lock for {@link #SILENT_CLIENT_TIMEOUT_NANOS}.
     */
    static final class ClientWait {
        private final long since = System.nanoTime();
        private final long longest;
        private final boolean mayHoldLocks;
        private long lastCheck = since;
        private long lastBeat = since;
        private long silence;
        private long paused;
        private int beat = heartbeat();
        /** System.nanoTime() of the last check at which no redefinition was waiting for a lock. */
        private long unblocked = since;

        ClientWait(long longest, boolean mayHoldLocks) {
            this.longest = halvedTimeout(longest);
            this.mayHoldLocks = mayHoldLocks;
        }

        /**
         * Sleeps until the next check. The pause grows with the wait and with the number of waiting threads: hundreds of threads that check
         * every few microseconds would take the processors from the client.
         */
        void pause() {
            long usual = Math.max(MIN_PAUSE_NANOS, Math.min(lastCheck - since >> 4, MAX_PAUSE_NANOS));
            long shared = Math.min(counters[COUNTER_WAITING] * PAUSE_PER_WAITER_NANOS, MAX_SHARED_PAUSE_NANOS);
            // Few threads are in load hooks, and other threads wait for their locks.
            paused = mayHoldLocks ? usual : Math.max(usual, shared);
            park(paused);
        }

        boolean isOver() {
            if (mayDeadlock && mayHoldLocks || isSilent()) {
                return true;
            }
            long now = System.nanoTime();
            int seen = heartbeat();
            silence = seen == beat ? silence + Math.min(now - lastCheck, longestGap(paused)) : 0;
            lastBeat = seen == beat ? lastBeat : now;
            beat = seen;
            lastCheck = now;
            if (isLost(silence, lastBeat, now)) {
                isSilentSince(seen);
                return true;
            }
            if (now - since <= longest && !blocksRedefinition(now)) {
                return false;
            }
            mayDeadlock |= swapping && mayHoldLocks && Thread.currentThread() != swapper;
            // A redefinition may be slow. After this time it may be waiting for a lock of this thread.
            if (!swapping || now - since >= ANSWER_TIMEOUT_NANOS / 2) {
                timedOut(since, now);
            }
            return true;
        }

        /** Returns whether this thread may hold a lock for which the redefinition waits. Only a wait with a long timeout becomes so long. */
        private boolean blocksRedefinition(long now) {
            if (now - since < ANSWER_TIMEOUT_NANOS) {
                unblocked = now;
                return false;
            }
            Thread running = swapper;
            if (running == null || running.getState() != Thread.State.BLOCKED) {
                unblocked = now;
            }
            return now - unblocked >= SILENT_CLIENT_TIMEOUT_NANOS;
        }
    }

    /**
     * Returns the timeout of the next wait. A client with a heartbeat may still hang, for example because its terminal is blocked. Each
     * request would then wait for the whole timeout. So each timeout halves the next timeout until the client answers: all timeouts
     * together are twice the first.
     */
    private static long halvedTimeout(long longest) {
        return longest >> Math.min(timeouts, Long.SIZE - 1);
    }

    /** Counts a timeout. Several concurrent waits that time out count as one timeout. */
    private static void timedOut(long since, long now) {
        if (timeouts == 0 || since - timedOutAt >= 0) {
            timedOutAt = now;
            timeouts++;
        }
    }

    /** Called at each message of the client. */
    public static void heard() {
        if (timeouts != 0) {
            timeouts = 0;
        }
    }

    /** Returns whether the client's heartbeat has stopped, so that no thread waits for the client. */
    static boolean isSilent() {
        return silent && heartbeat() == silentBeat;
    }

    /** Marks the client as silent since its heartbeat counter reached `beat`. */
    static void isSilentSince(int beat) {
        silentBeat = beat;
        silent = true;
    }

    /** Returns the maximum silence counted for one check after a pause. */
    static long longestGap(long paused) {
        return Math.max(MAX_CHECK_GAP_NANOS, paused + MAX_OVERRUN_NANOS);
    }

    static void waiting(int more) {
        U.getAndAddInt(counters, INTS_AT + COUNTER_WAITING * 4L, more);
    }

    static void starving(int more) {
        U.getAndAddInt(counters, INTS_AT + COUNTER_STARVING * 4L, more);
    }

    /**
     * Sleeps briefly without JDK code. park() may consume a permit of the application, see repay(). In an interrupted thread park() returns
     * at once and keeps the interrupt; such a thread yields, so that many such threads do not take the processors from the client.
     */
    static void park(long nanos) {
        long before = System.nanoTime();
        U.park(false, nanos);
        if (System.nanoTime() - before < nanos / 2) {
            Threads.yieldProcessor();
        }
    }

    /**
     * Restores the permit that pause() may have consumed: otherwise a LockSupport.unpark() that arrived during the pause would be lost. A
     * surplus permit is a spurious wake-up, which park() allows.
     */
    static void repay() {
        U.unpark(Carrier.thread());
    }

    /** Returns the client's heartbeat, which the client increments 500 times a second. 0 without a session. */
    private static int heartbeat() {
        return enabled ? U.getIntVolatile(null, ring + RING_HEARTBEAT) : 0;
    }

    /**
     * Returns whether a wait for a silent client must end. The agent checks the client in time and extends the wait for a client that is
     * runnable but gets no processor: on an overloaded machine, a scheduler that shares processors between login sessions first may delay a
     * rarely running thread for more than a second. If the client has died, the agent ends the session.
     *
     * @param silence duration of the client's silence, as counted by checks of the waiting thread, ns
     * @param lastBeat System.nanoTime() of the last change of the heartbeat, or of the start of the wait
     * @param now System.nanoTime()
     */
    static boolean isLost(long silence, long lastBeat, long now) {
        if (now - lastBeat < CHECK_CLIENT_AFTER_NANOS) {
            return false;
        }
        if (checkRequested) {
            // The agent has not checked yet: it may be busy with a redefinition or many class files.
            return silence > STARVING_CLIENT_TIMEOUT_NANOS;
        }
        if (silence > SILENT_CLIENT_TIMEOUT_NANOS && extendedUntil - now < 0) {
            return true;
        }
        if (extendedUntil - now < RENEW_BEFORE_NANOS && now - answeredAt > CHECK_CLIENT_INTERVAL_NANOS) {
            checkRequested = true;
            wakeAgent();
        }
        return false;
    }

    /** Returns whether a thread has asked for a check of the client since the last {@link #extendWaits}. */
    public static boolean isCheckRequested() {
        return checkRequested;
    }

    /**
     * Extends waits for a silent client.
     *
     * @param until System.nanoTime() until which a wait does not end because of silence
     */
    public static void extendWaits(long until) {
        answeredAt = System.nanoTime();
        extendedUntil = until;
        checkRequested = false;
    }

    /**
     * Wakes the agent's selector. Pins a virtual thread to its carrier, since the selector has monitors and the caller may be about to
     * write to the chunk of its carrier.
     */
    static void wakeAgent() {
        Runnable w = waker;
        if (w == null) {
            return;
        }
        boolean pinned = Carrier.pin();
        try {
            w.run();
        } finally {
            if (pinned) {
                Carrier.unpin();
            }
        }
    }

    /**
     * Stops recording because the client has stopped or is silent. Called by the agent's thread, which then restores the classes.
     *
     * @param why ENDED_STOPPED or ENDED_SILENT
     */
    public static void abandon(int why) {
        enabled = open = false;
        U.putIntVolatile(null, ring + RING_ENDED, why);
    }
}
