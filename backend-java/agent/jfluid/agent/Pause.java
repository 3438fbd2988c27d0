package jfluid.agent;

/** Waits a little, also where there is no memory: nothing is loaded or linked for it after {@link #prepare}. */
final class Pause {
    private Pause() {}

    static void prepare() {
        nanos(1);
    }

    static void nanos(long nanos) {
        java.util.concurrent.locks.LockSupport.parkNanos(nanos);
    }
}
