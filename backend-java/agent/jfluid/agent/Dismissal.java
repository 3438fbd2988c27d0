package jfluid.agent;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A request of another client to end the session (jfluid detach). Fields that are neither final nor volatile are confined to the session's
 * thread.
 */
final class Dismissal {
    /** Interval at which the requesting thread and the session's thread check an open request. */
    static final long CHECK_INTERVAL_MILLIS = 20;
    /** Minimum time without a message and without a heartbeat after which the session of a client may be ended. */
    private static final long SILENT_CLIENT_TIMEOUT_NANOS = 1_000_000_000L;

    /** Whether to end the session even if its client is alive. */
    private final boolean force;
    private final CountDownLatch known = new CountDownLatch(1);
    /** Process id of the client if it is known to be alive; otherwise 0. */
    private volatile int living;
    private boolean isRefuted;
    private boolean begun;
    private long since;
    private int beat;

    Dismissal(boolean force) {
        this.force = force;
    }

    /**
     * Called on the session's thread.
     *
     * @param client the client; null before the buffer exists
     * @param heard whether the client has just sent a message
     * @return whether the session may be ended: its client has been silent for a second since the request
     */
    boolean isDue(ClientProcess client, boolean heard) {
        if (force) {
            return true;
        }
        long now = System.nanoTime();
        int beat = client == null ? 0 : client.beat();
        if (!begun) {
            begun = true;
            since = now;
            this.beat = beat;
            return false;
        }
        if (heard || beat != this.beat || client != null && client.wantsProcessor()) {
            living = client == null ? -1 : client.process();
            isRefuted = true;
            return false;
        }
        return now - since > SILENT_CLIENT_TIMEOUT_NANOS;
    }

    /** Returns whether the client is alive. Called on the session's thread. */
    boolean isRefuted() {
        return isRefuted;
    }

    /** Ends the wait of the requesting thread. Called on the session's thread. */
    void tell() {
        known.countDown();
    }

    /** Called on the requesting thread. @return false on timeout */
    boolean awaitKnown() throws InterruptedException {
        return known.await(CHECK_INTERVAL_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Returns the process id of the client if it is known to be alive; otherwise 0. */
    int living() {
        return living;
    }
}
