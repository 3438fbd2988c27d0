package jfluid.agent;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Somebody else than the client wants the session to end (jfluid detach). What is neither final nor volatile is the session's thread's. */
final class Dismissal {
    /** So often both sides look, as long as there is one. */
    static final long LOOK_MILLIS = 20;
    /** A client whose heart has stood still for so long, and that has said nothing, may be dismissed. */
    private static final long SILENT_NANOS = 1_000_000_000L;

    /** Also if the client lives. */
    private final boolean force;
    private final CountDownLatch known = new CountDownLatch(1);
    /** The client's process, which lives; 0 if it has given no sign of it. */
    private volatile int living;
    private boolean isRefuted;
    private boolean begun;
    private long since;
    private int beat;

    Dismissal(boolean force) {
        this.force = force;
    }

    /**
     * On the session's thread.
     *
     * @param reader the client's, null before there is a buffer
     * @param heard whether the client has just said something
     * @return whether the session may be ended: its client has given no sign of life since, for a second
     */
    boolean isDue(Reader reader, boolean heard) {
        if (force) {
            return true;
        }
        long now = System.nanoTime();
        int beat = reader == null ? 0 : reader.beat();
        if (!begun) {
            begun = true;
            since = now;
            this.beat = beat;
            return false;
        }
        if (heard || beat != this.beat || reader != null && reader.wantsProcessor()) {
            living = reader == null ? -1 : reader.process();
            isRefuted = true;
            return false;
        }
        return now - since > SILENT_NANOS;
    }

    /** On the session's thread: whether the client has given a sign of life. */
    boolean isRefuted() {
        return isRefuted;
    }

    /** On the session's thread: ends the wait of the thread that asked. */
    void tell() {
        known.countDown();
    }

    /** On the thread that asked. @return false if the timeout was over first */
    boolean awaitKnown() throws InterruptedException {
        return known.await(LOOK_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** The client's process, as far as it is known to live; else 0. */
    int living() {
        return living;
    }
}
