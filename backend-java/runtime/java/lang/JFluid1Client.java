package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;

/** The client as threads of the target see it: its signs of life, and how long they wait for it. */
public final class JFluid1Client {
    private JFluid1Client() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /**
     * No thread of the target waits longer than this for a client that shows no sign of life; then none does until it shows one, and
     * what cannot be recorded meanwhile is a gap.
     */
    public static final long SILENT_CLIENT_TIMEOUT_NANOS = 250_000_000L;
    /** Unless it wants a processor and gets none: then no longer than this. */
    public static final long STARVING_NANOS = 2_000_000_000L;
    /** So long after the last beat of its heart, by the clock, the agent is asked to look at it; then again and again. */
    public static final long CHECK_CLIENT_AFTER_NANOS = 50_000_000L;
    private static final long CHECK_CLIENT_INTERVAL_NANOS = 20_000_000L;
    /** So long before an excuse is over, too. */
    private static final long RENEWAL_NANOS = 150_000_000L;
    /**
     * As much of it passes, at most, between two looks of the waiting thread. Where even that thread gets no
     * processor for longer, the client may be alive and have got none either: schedulers share processors
     * between sessions first, and one of few threads may wait several times as long as those of another.
     */
    private static final long LOOK_NANOS = 4_500_000L;
    /** Nor longer than this for one that lives and works on it, whatever it is doing. */
    public static final long ANSWER_TIMEOUT_NANOS = 1_000_000_000L;
    /** Pauses between looks: a sixteenth of the wait so far, within these two. */
    static final long PAUSE_NANOS = 50_000L;
    private static final long LONGEST_PAUSE_NANOS = 4_000_000L;
    /** No shorter than this for each thread that waits, within the second. */
    private static final long PAUSE_AMONG_NANOS = 32_000L;
    static final long LONGEST_PAUSE_AMONG_NANOS = 32_000_000L;
    /** The same while the ring is full; see chunkPause(). */
    static final long PAUSE_A_WAITER_NANOS = 200_000L;
    static final long UNLUCKY_NANOS = 100_000_000L;
    /** A pause that ends no later than this counts as a whole, if it was longer than a look may be. */
    private static final long LATE_NANOS = 500_000L;
    /** The redefinition that runs may wait for those who wait for it. */
    static volatile boolean jammed;
    private static Runnable waker;
    private static volatile long excusedUntil;
    private static volatile boolean doubted;
    /** When the agent has last answered a doubt. */
    private static long answeredAt;
    /** Where its heart stood when it had been waited for in vain. */
    private static volatile int silentBeat;
    private static volatile boolean silent;
    /** Waits, one after the other, that the client has let pass without a word: see patienceLeft(). */
    private static volatile int inVain;
    private static volatile long inVainSince;

    static void begin(Runnable wake) {
        waker = wake;
        inVain = 0;
        silent = false;
        excuse(System.nanoTime());
    }

    static void end() {
        waker = null;
    }

    /**
     * How long to wait for the client. One whose heart stands still for {@link #SILENT_CLIENT_TIMEOUT_NANOS} is waited for
     * no longer. While a redefinition runs, the agent may be waiting for a lock that the waiting thread
     * holds (class initialisation, a class loader): the first thread in a load hook whose patience ends says
     * so for all of them, until that redefinition is over.
     */
    static final class Patience {
        private final long since = System.nanoTime();
        private final long longest;
        private final boolean mayHoldLocks;
        private long lastLook = since;
        private long lastBeat = since;
        private long silence;
        private long paused;
        private int beat = heartbeat();

        Patience(long longest, boolean mayHoldLocks) {
            this.longest = patienceLeft(longest);
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
            if (jammed && mayHoldLocks || isSilent()) {
                return true;
            }
            long now = System.nanoTime();
            int seen = heartbeat();
            silence = seen == beat ? silence + Math.min(now - lastLook, longestLook(paused)) : 0;
            lastBeat = seen == beat ? lastBeat : now;
            beat = seen;
            lastLook = now;
            if (isLost(silence, lastBeat, now)) {
                isSilentSince(seen);
                return true;
            }
            if (now - since <= longest) {
                return false;
            }
            jammed |= swapping && mayHoldLocks && Thread.currentThread() != swapper;
            // A redefinition takes its time; one that takes so long may wait for what this very thread holds.
            if (!swapping || now - since >= ANSWER_TIMEOUT_NANOS / 2) {
                waitedInVain(since, now);
            }
            return true;
        }
    }

    /**
     * A client whose heart beats while the rest of it hangs (its terminal takes nothing more, say) would let each question
     * take its second. So every wait in vain halves the next, until the client speaks: two seconds in all.
     */
    private static long patienceLeft(long longest) {
        return longest >> Math.min(inVain, Long.SIZE - 1);
    }

    /** Those who waited at the same time have waited in vain once. */
    private static void waitedInVain(long since, long now) {
        if (inVain == 0 || since - inVainSince >= 0) {
            inVainSince = now;
            inVain++;
        }
    }

    /** The client has said something. */
    public static void heard() {
        if (inVain != 0) {
            inVain = 0;
        }
    }

    /** Whether no thread waits for the client, since its heart stands still. */
    static boolean isSilent() {
        return silent && heartbeat() == silentBeat;
    }

    /** It has been waited for in vain. */
    static void isSilentSince(int beat) {
        silentBeat = beat;
        silent = true;
    }

    /** As much silence of the client, at most, is one look after a pause. */
    static long longestLook(long paused) {
        return Math.max(LOOK_NANOS, paused + LATE_NANOS);
    }

    static void waiting(int more) {
        U.getAndAddInt(counters, INTS_AT + COUNTER_WAITING * 4L, more);
    }

    static void starving(int more) {
        U.getAndAddInt(counters, INTS_AT + COUNTER_STARVING * 4L, more);
    }

    /**
     * A short sleep without JDK code. park() may eat a permit of the application: see repay(). It does
     * not sleep in a thread that is interrupted, and leaves it so; such a thread gives way, or many of
     * them would take the processors from those whom they wait for.
     */
    static void park(long nanos) {
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
    static void repay() {
        U.unpark(Carrier.thread());
    }

    /** The client's sign of life; it moves 500 times a second. Constant when there is no session. */
    private static int heartbeat() {
        return enabled ? U.getIntVolatile(null, ring + RING_HEARTBEAT) : 0;
    }

    /**
     * Whether a client that has been silent for so long is to be waited for no longer. One that wants a processor and gets none is
     * excused by the agent, who looks at it in time: on an overloaded machine a scheduler that shares processors
     * between sessions first lets a thread that seldom runs wait for more than a second. One that has died the agent
     * does not let us wait for: it ends the session itself.
     *
     * @param silence of it, by looks of the waiting thread
     * @param lastBeat when its heart was last seen to move, or the wait began: a System.nanoTime()
     * @param now a System.nanoTime()
     */
    static boolean isLost(long silence, long lastBeat, long now) {
        if (now - lastBeat < CHECK_CLIENT_AFTER_NANOS) {
            return false;
        }
        if (doubted) {
            // The agent is busy: a redefinition or a thousand class files may take its time.
            return silence > STARVING_NANOS;
        }
        if (silence > SILENT_CLIENT_TIMEOUT_NANOS && excusedUntil - now < 0) {
            return true;
        }
        if (excusedUntil - now < RENEWAL_NANOS && now - answeredAt > CHECK_CLIENT_INTERVAL_NANOS) {
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
     * @param until a System.nanoTime(): the client is waited for until then, however silent it is
     */
    public static void excuse(long until) {
        answeredAt = System.nanoTime();
        excusedUntil = until;
        doubted = false;
    }

    /** The selector that is woken has monitors, and the caller may be about to write through its carrier. */
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
     * The client will not come back: stops recording. On the agent's thread, which then gives the classes their code.
     *
     * @param why ENDED_STOPPED or ENDED_SILENT
     */
    public static void abandon(int why) {
        enabled = open = false;
        U.putIntVolatile(null, ring + RING_ENDED, why);
    }
}
