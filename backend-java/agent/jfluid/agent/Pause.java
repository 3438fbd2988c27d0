package jfluid.agent;

/** Sleeps briefly, even while memory is short: after {@link #prepare} it loads and links no class. */
final class Pause {
    private Pause() {}

    static void prepare() {
        nanos(1);
    }

    static void nanos(long nanos) {
        java.util.concurrent.locks.LockSupport.parkNanos(nanos);
    }
}
