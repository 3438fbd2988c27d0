package jfluid.agent;

/** Waits for an agent thread that may itself be blocked by the application forever. */
final class BoundedJoin {
    private BoundedJoin() {}

    /** Timeout for a blocked thread: total time in which the thread was not runnable. */
    private static final long BLOCKED_TIMEOUT_NANOS = 1_000_000_000L;
    /** Timeout for a runnable thread. */
    private static final long RUNNABLE_TIMEOUT_NANOS = 5_000_000_000L;
    private static final long CHECK_INTERVAL_NANOS = 200_000L;
    /** Maximum time counted between two checks. In a longer gap the whole process may have been stopped. */
    private static final long MAX_COUNTED_GAP_NANOS = 50_000_000L;

    /** Loads this class now: memory may be short when it is needed. */
    static void prepare() {
        await(Thread.currentThread(), 0, 0);
    }

    /** @return whether the thread has ended */
    static boolean await(Thread thread) {
        return await(thread, BLOCKED_TIMEOUT_NANOS, RUNNABLE_TIMEOUT_NANOS);
    }

    /** Like {@link #await}, with a tenth of the timeouts. */
    static boolean awaitShortly(Thread thread) {
        return await(thread, BLOCKED_TIMEOUT_NANOS / 10, RUNNABLE_TIMEOUT_NANOS / 10);
    }

    /**
     * @param longestWait  timeout for a blocked thread, in ns
     * @param longest      timeout for a runnable thread, in ns
     * @return whether the thread has ended
     */
    static boolean await(Thread thread, long longestWait, long longest) {
        long begun = System.nanoTime();
        long before = begun;
        for (long waited = 0; thread.isAlive();) {
            Pause.nanos(CHECK_INTERVAL_NANOS);
            long now = System.nanoTime();
            if (thread.getState() != Thread.State.RUNNABLE) {
                waited += Math.min(now - before, MAX_COUNTED_GAP_NANOS);
            }
            before = now;
            if (waited > longestWait || now - begun > longest) {
                return !thread.isAlive();
            }
        }
        return true;
    }
}
