package jfluid.agent;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteOrder;

/**
 * Data that the client needs to compute times from events: the rate of the session's clock, the cost of a probe, and the time that the JVM
 * has spent at safepoints.
 */
final class Calibration extends Topic implements AutoCloseable {
    /**
     * Minimum time between the two pairs of readings from which the client computes the clock's rate. Longer than the minimum in the
     * client's clock.ts.
     */
    private static final long MIN_PAIR_DISTANCE_NANOS = 3_000_000L;

    /** Readings of the session's clock and System.nanoTime() at the client's hello. */
    private long[] greeted;
    /** The JVM's performance counters; null if they cannot be read. */
    private RandomAccessFile perfData;
    private long safepointTimeAt;

    @Override
    Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "calibrate": {
                long[] times =
                        JFluid1Calibration.calibrate(MessagePack.asLong(m[2]) * 1_000_000L, MessagePack.asLong(m[3]));
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

    /** Takes the first pair of readings at the client's hello. */
    void greet() {
        JFluid1Session.chooseClock(TimeStampCounter.isTrusted());
        greeted = readClocks();
    }

    /**
     * Called after the session has begun, since session ticks are counted from the begin of the session. @return the pair of the client's
     * hello, and a second pair taken at least MIN_PAIR_DISTANCE_NANOS later
     */
    Object[] firstPairs() {
        while (System.nanoTime() - greeted[1] < MIN_PAIR_DISTANCE_NANOS) {
            Pause.nanos(MIN_PAIR_DISTANCE_NANOS / 10);
        }
        return new Object[] {pairOf(greeted), clockPair()};
    }

    /**
     * Returns {@code [ticks, nanos, width]}: simultaneous readings of session ticks and System.nanoTime(), from the attempt with the
     * smallest width. The width is the uncertainty of the pair: the number of ticks that pass while nanoTime() is read.
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
     * @param perfPath file of the JVM's performance counters; empty if there is none
     * @param safepointAt offset of the safepoint time in that file
     */
    void openPauses(String perfPath, long safepointAt) {
        if (perfPath.isEmpty()) {
            return;
        }
        try {
            perfData = new RandomAccessFile(perfPath, "r");
            safepointTimeAt = safepointAt;
        } catch (IOException none) {
            perfData = null; // without the counters pauses are not subtracted; the client reports this
        }
    }

    boolean knowsPauses() {
        return perfData != null;
    }

    /**
     * Returns the total safepoint time so far in ns, from the JVM's counters; -1 if unknown. A {@link Swapping} thread calls this method,
     * too.
     */
    long safepointNanos() {
        if (perfData == null) {
            return -1;
        }
        try {
            long v;
            synchronized (perfData) { // the thread of a redefinition reads perfData, too
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
