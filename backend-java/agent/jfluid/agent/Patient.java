package jfluid.agent;

/** Waits for a thread of ours that may itself have to wait for the application, without end. */
final class Patient {
    private Patient() {}

    /** One that waits for so long in all may do so for ever. */
    private static final long WAITING_NANOS = 1_000_000_000L;
    /** One that works, or wants a processor, may take so long. */
    private static final long ANSWER_TIMEOUT_NANOS = 5_000_000_000L;
    private static final long MAX_CHECK_GAP_NANOS = 200_000L;
    /** Of what lies between two looks: the process may have been stopped. */
    private static final long MOST_NANOS = 50_000_000L;

    /** Where it is needed there may be no memory to load it. */
    static void prepare() {
        await(Thread.currentThread(), 0, 0);
    }

    /** @return whether it has ended */
    static boolean await(Thread thread) {
        return await(thread, WAITING_NANOS, ANSWER_TIMEOUT_NANOS);
    }

    /** The same, a tenth as patient. */
    static boolean awaitShortly(Thread thread) {
        return await(thread, WAITING_NANOS / 10, ANSWER_TIMEOUT_NANOS / 10);
    }

    private static boolean await(Thread thread, long longestWait, long longest) {
        long begun = System.nanoTime();
        long before = begun;
        for (long waited = 0; thread.isAlive();) {
            Pause.nanos(MAX_CHECK_GAP_NANOS);
            long now = System.nanoTime();
            if (thread.getState() != Thread.State.RUNNABLE) {
                waited += Math.min(now - before, MOST_NANOS);
            }
            before = now;
            if (waited > longestWait || now - begun > longest) {
                return !thread.isAlive();
            }
        }
        return true;
    }
}
