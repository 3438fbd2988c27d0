package jfluid.agent;

/** Waits for a thread of ours that may itself have to wait for the application, without end. */
final class Patient {
    private Patient() {}

    /** One that waits for so long in all may do so for ever. */
    private static final long WAITING_NANOS = 1_000_000_000L;
    /** One that works, or wants a processor, may take so long. */
    private static final long LONGEST_NANOS = 5_000_000_000L;
    private static final long LOOK_NANOS = 200_000L;

    /** @return whether it has ended */
    static boolean await(Thread thread) {
        long begun = System.nanoTime();
        long before = begun;
        for (long waited = 0; thread.isAlive(); ) {
            Pause.nanos(LOOK_NANOS);
            long now = System.nanoTime();
            if (thread.getState() != Thread.State.RUNNABLE) {
                waited += now - before;
            }
            before = now;
            if (waited > WAITING_NANOS || now - begun > LONGEST_NANOS) {
                return !thread.isAlive();
            }
        }
        return true;
    }
}
