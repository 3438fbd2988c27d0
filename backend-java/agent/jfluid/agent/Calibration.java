package jfluid.agent;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteOrder;

/**
 * What the client needs to make times of what it reads: how fast the session's clock counts, what a probe costs, and how long the JVM has
 * stood still at safepoints.
 */
final class Calibration extends Topic implements AutoCloseable {
    /** Between two pairs of readings by which the client knows how fast the clock counts: LEAST_NANOS of its clock.ts, and more. */
    private static final long RATE_NANOS = 3_000_000L;

    /** The session's clock and System.nanoTime() when the client said hello. */
    private long[] greeted;
    /** Null where the JVM's own counters cannot be read. */
    private RandomAccessFile perfData;
    private long safepointTimeAt;

    @Override
    Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "calibrate": {
                long[] times = JFluid1Calibration.calibrate(MessagePack.asLong(m[2]) * 1_000_000L);
                return new Object[] {
                    times[0] / 1000.0, times[1] / 1000.0, times[2] / 1000.0, times[3] / 1000.0, times[4] / 1000.0};
            }
            case "timeRegions": {
                int number = JFluid1Regions.timeRegions();
                long[] times = JFluid1Calibration.calibrateRegions(MessagePack.asLong(m[2]) * 1_000_000L);
                return new Object[] {number, times[0] / 1000.0, times[1] / 1000.0};
            }
            default: throw unknown(op);
        }
    }

    /** The client says hello: the first pair. */
    void greet() {
        JFluid1Session.chooseClock(TimeStampCounter.isTrusted());
        greeted = readClocks();
    }

    /** The session has begun, from where its ticks count. @return the first pair, and one that is far enough from it */
    Object[] firstPairs() {
        while (System.nanoTime() - greeted[1] < RATE_NANOS) {
            Pause.nanos(RATE_NANOS / 10);
        }
        return new Object[] {pairOf(greeted), clockPair()};
    }

    /**
     * {@code [ticks, nanos, width]}: session ticks and System.nanoTime() of the same moment, as near as a few tries
     * can get. How near says the width: ticks between the two readings around that of the other clock.
     */
    static Object clockPair() {
        return pairOf(readClocks());
    }

    private static Object pairOf(long[] read) {
        return new Object[] {read[0] - JFluid1Session.startTicks(), read[1], read[2]};
    }

    private static long[] readClocks() {
        long best = Long.MAX_VALUE;
        long ticks = 0;
        long nanos = 0;
        for (int i = 0; i < 5; i++) {
            long t0 = JFluid1Session.ticks();
            long n = System.nanoTime();
            long t1 = JFluid1Session.ticks();
            if (t1 - t0 < best) {
                best = t1 - t0;
                ticks = t0 + (t1 - t0) / 2;
                nanos = n;
            }
        }
        return new long[] {ticks, nanos, best};
    }

    /**
     * @param perfPath of the JVM's own counters; empty if the client knows of none
     * @param safepointAt where the time at safepoints lies in them
     */
    void openPauses(String perfPath, long safepointAt) {
        if (perfPath.isEmpty()) {
            return;
        }
        try {
            perfData = new RandomAccessFile(perfPath, "r");
            safepointTimeAt = safepointAt;
        } catch (IOException none) {
            perfData = null; // pauses are then not taken out; the client says so
        }
    }

    boolean knowsPauses() {
        return perfData != null;
    }

    /** Total time at safepoints so far in nanoseconds, from the JVM's own counters; -1 if unknown. Also on {@link Swapping}. */
    long safepointNanos() {
        if (perfData == null) {
            return -1;
        }
        try {
            long v;
            synchronized (perfData) { // a redefinition reads it, too, on a thread of its own
                perfData.seek(safepointTimeAt);
                v = perfData.readLong();
            }
            return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? Long.reverseBytes(v) : v;
        } catch (IOException gone) {
            return -1;
        }
    }

    @Override
    public void close() throws IOException {
        if (perfData != null) {
            perfData.close();
        }
    }
}
