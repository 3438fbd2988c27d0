package jfluid.agent;

import java.io.IOException;

/** The end of a session: stops recording and restores the application's code. */
final class Leaving extends Topic {
    /**
     * Number of attempts to restore while the heap is full, and delay between attempts: 2 s in total. Later attempts have longer delays.
     */
    private static final int RESTORE_TRIES = 20;
    private static final long RESTORE_RETRY_DELAY_NANOS = 100_000_000L;
    private static final long MAX_RETRY_DELAY_NANOS = 60_000_000_000L;

    private final HotSwap hotSwap;
    private final ClassLoading loading;
    private final Sampling sampling;
    private final Redefinition redefinition;
    private final Recording recording;
    private final Calibration calibration;
    /** Whether the client has sent "detach". */
    private boolean detached;
    /** Whether {@link #leave} has begun. */
    private volatile boolean left;
    /** Result of {@link #leave}. */
    private volatile Object[] answer;
    /** Whether metaspace is full: each attempt to restore then costs the application a full garbage collection. */
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

    /** Returns whether the client has detached. The session then ends after the answer. */
    boolean isDetached() {
        return detached;
    }

    /** Returns whether leave() has begun. Thread-safe. */
    boolean hasBegun() {
        return left;
    }

    /** Returns the result of {@link #leave}; null until leave() has ended. Thread-safe. */
    Object[] answer() {
        return answer;
    }

    /**
     * Detaches: stops recording, restores every method, waits until no thread is in a probe, and then unmaps the buffer. Does not return
     * before the application has its original code: while the heap is full, restoring is retried. A second call has no effect and returns
     * the same result.
     *
     * @return {restored classes, refused classes, duration in ms, whether the mapping was released, exception of a profiler, remaining
     *     lambda classes, whether the transformer was removed, duration of the JVM's stops in ns or -1, names of
     *     refused classes, number and names of classes that cannot be linked}
     */
    Object[] leave() {
        if (left) {
            return answer;
        }
        left = true;
        long begun = System.nanoTime();
        loading.end();
        JFluid1Session.disable(); // ends the waits for answers, so that a redefinition can end
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
        for (long pause = RESTORE_RETRY_DELAY_NANOS; restored == null;
                pause = Math.min(2 * pause, MAX_RETRY_DELAY_NANOS)) {
            Pause.nanos(pause);
            restored = restore();
        }
        double millis = (System.nanoTime() - begun) / 1e6;
        if (stopped >= 0) {
            stopped = calibration.safepointNanos() - stopped;
        }
        String failure = recording.endProfiler(released);
        boolean closed = hotSwap.close();
        answer = new Object[] {restored[0], restored[1], millis, released, failure, restored[2], closed, stopped,
            hotSwap.keptNames(), hotSwap.unlinkableClasses(), hotSwap.unlinkableNames()};
        return answer;
    }

    /** @return result of {@link HotSwap#restore}, or null if memory was short */
    private int[] restore() {
        try {
            redefinition.drop();
            int[] restored = hotSwap.restore();
            hotSwap.close();
            return restored;
        } catch (OutOfMemoryError full) {
            noMetaspace = HotSwap.isMetaspace(full);
            Pause.nanos(RESTORE_RETRY_DELAY_NANOS);
            return null;
        }
    }
}
