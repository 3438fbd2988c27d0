package jfluid.agent;

import java.io.IOException;

/** The end of a session: nothing is recorded any more, and the application has its own code. */
final class Leaving extends Topic {
    /** Where the heap is full: 2 s of tries, then one now and then. */
    private static final int RESTORE_TRIES = 20;
    private static final long RESTORE_NANOS = 100_000_000L;
    private static final long MAX_PAUSE_NANOS = 60_000_000_000L;

    private final HotSwap hotSwap;
    private final ClassLoading loading;
    private final Sampling sampling;
    private final Redefinition redefinition;
    private final Recording recording;
    private final Calibration calibration;
    /** The client has said "detach". */
    private boolean detached;
    /** {@link #leave} has begun: nothing is recorded any more. */
    private volatile boolean left;
    /** What {@link #leave} has answered. */
    private volatile Object[] answer;
    /** Each try to restore costs the application a collection of all its heap. */
    private boolean noMetaspace;

    Leaving(HotSwap hotSwap, ClassLoading loading, Sampling sampling, Redefinition redefinition, Recording recording,
            Calibration calibration) {
        this.hotSwap = hotSwap;
        this.loading = loading;
        this.sampling = sampling;
        this.redefinition = redefinition;
        this.recording = recording;
        this.calibration = calibration;
    }

    @Override
    Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "restore": return leave();
            case "detach": detached = true; return leave();
            default: throw unknown(op);
        }
    }

    /** Whether the client is done: the session ends as soon as it has its answer. */
    boolean isDetached() {
        return detached;
    }

    /** On any thread. */
    boolean hasBegun() {
        return left;
    }

    /** On any thread: what {@link #leave} has said; null until it has. */
    Object[] answer() {
        return answer;
    }

    /**
     * Detach: stop recording, give every method its code back, wait until no thread is in a probe, and
     * only then let go of the mapping. Does not end before the application has its code: where the heap is
     * full, it tries again until there is room. A second call does nothing, and returns the same.
     *
     * @return {classes restored, classes refused, milliseconds it took, whether the mapping could be released, what a
     *     profiler has thrown, lambda classes that stay, whether the transformer has gone}
     */
    Object[] leave() {
        if (left) {
            return answer;
        }
        left = true;
        long begun = System.nanoTime();
        loading.end();
        JFluid1Session.disable(); // a thread that waits for an answer goes on, and lets a redefinition end
        sampling.end();
        redefinition.leave();
        int[] restored = null;
        boolean released = true;
        long stopped = calibration.safepointNanos();
        try {
            for (int tries = 0; restored == null && !noMetaspace && tries < RESTORE_TRIES; tries++) {
                restored = restore();
            }
        } finally {
            released = recording.letGo();
        }
        for (long pause = RESTORE_NANOS; restored == null; pause = Math.min(2 * pause, MAX_PAUSE_NANOS)) {
            Pause.nanos(pause);
            restored = restore();
        }
        double millis = (System.nanoTime() - begun) / 1e6;
        if (stopped >= 0) {
            stopped = calibration.safepointNanos() - stopped;
        }
        String failure = recording.endProfiler(released);
        boolean closed = hotSwap.close();
        answer = new Object[] {restored[0], restored[1], millis, released, failure, restored[2], closed, stopped};
        return answer;
    }

    /** @return as {@link HotSwap#restore}, or null if there was no memory for it */
    private int[] restore() {
        try {
            redefinition.drop();
            int[] restored = hotSwap.restore();
            hotSwap.close();
            return restored;
        } catch (OutOfMemoryError full) {
            noMetaspace = HotSwap.isMetaspace(full);
            Pause.nanos(RESTORE_NANOS);
            return null;
        }
    }
}
