package java.lang;

import static java.lang.JFluid1.*;
import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Regions.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Sites.*;
import static java.lang.JFluid1Threads.*;
import static java.lang.JFluid1Waits.*;

import jdk.internal.misc.Unsafe;

/** Measures the cost of a probe in the target JVM (report, section 5.3). */
public final class JFluid1Calibration {
    private JFluid1Calibration() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /**
     * Measures the probe cost of one execution of a region: t_I, which is inside the measured time of the region, and the remaining cost.
     * Like {@link #calibrate}; called before {@link JFluid1Session#open}.
     *
     * @return {inner, outer} in ticks per execution, scaled by 1000
     */
    public static long[] calibrateRegions(long budgetNanos) {
        int block = 200;
        long bytes = (block + 1L) * EVENT_BYTES;
        long scratch = U.allocateMemory(bytes);
        ThreadInfo ti = register(Thread.currentThread());
        double inner = Double.MAX_VALUE;
        double total = Double.MAX_VALUE;
        double bare = Double.MAX_VALUE;
        try {
            long until = System.nanoTime() + budgetNanos;
            open = true; // no method has probes yet
            for (int round = 0; round < 400 || System.nanoTime() < until; round++) {
                ti.next = scratch;
                ti.limit = scratch + bytes;
                ti.keeps = true;
                long t0 = ticks();
                Blocks.regions(block, regionSession);
                long t1 = ticks();
                ti.keeps = false;
                Blocks.bare(block);
                long t2 = ticks();
                Blocks.bare(block);
                long t3 = ticks();
                if (ti.next != scratch + block * EVENT_BYTES) {
                    continue; // see the same check in calibrate()
                }
                long sum = 0;
                for (long at = scratch; at < ti.next; at += EVENT_BYTES) {
                    sum += U.getLong(at) & TICK_MASK;
                }
                inner = Math.min(inner, (double) sum / block);
                total = Math.min(total, (double) (t1 - t0) / block);
                bare = Math.min(bare, (double) (t3 - t2) / block);
            }
        } finally {
            open = false;
            ti.keeps = false;
            ti.next = ti.limit = 0;
            U.freeMemory(scratch);
        }
        double outer = Math.max(0, total - bare - inner);
        return new long[] {Math.round(inner * 1000), Math.round(outer * 1000)};
    }

    /**
     * Measures t_I and t_O with compiled probes before and after an empty body, as in instrumented methods. Times blocks of 200 calls; the
     * result is the minimum over all blocks, as in the report.
     *
     * May be repeated while a session records, in the agent's thread, which has no events of its own.
     *
     * @param budgetNanos time limit, ns
     * @param leastRounds number of blocks of each kind that are measured even after the time limit
     * @return {inner, outer, spread of inner, spread of outer, cost of a clock read} in ticks per call, scaled by 1000. A spread is the
     *     third quartile of the block results minus their minimum.
     */
    public static long[] calibrate(long budgetNanos, long leastRounds) {
        int block = 200;
        int words = tellsSites ? 3 : 2;
        long bytes = block * words * (long) EVENT_BYTES;
        // Not while the thread is active: loading a class may run code with probes.
        U.ensureClassInitialized(Blocks.class);
        ThreadInfo known = current();
        ThreadInfo ti = known == null ? register(Thread.currentThread()) : known;
        if (ti == null) {
            throw new IllegalStateException("all thread numbers are used");
        }
        long scratch = U.allocateMemory(bytes);
        methods(0);
        byte saved = state[0];
        state[0] = READY;
        double[] inners = new double[SAMPLES];
        double[] outers = new double[SAMPLES];
        int samples = 0;
        double inner = Double.MAX_VALUE;
        double total = Double.MAX_VALUE;
        double bare = Double.MAX_VALUE;
        double reading = Double.MAX_VALUE;
        try {
            long until = System.nanoTime() + budgetNanos;
            for (int round = 0; round < leastRounds || System.nanoTime() < until; round++) {
                ti.base = ticks();
                ti.next = scratch;
                ti.limit = scratch + bytes;
                ti.active = true;
                long t0 = ticks();
                if (tellsSites) {
                    Blocks.sited(block, waited != null);
                } else if (waited == null) {
                    Blocks.probed(block);
                } else {
                    Blocks.announced(block);
                }
                long t1 = ticks();
                ti.active = false;
                if (ti.next != scratch + bytes) {
                    continue; // cannot happen with a clock that runs forward
                }
                Blocks.bare(block);
                long t2 = ticks();
                Blocks.bare(block);
                long t3 = ticks();
                Blocks.readings(block);
                long t4 = ticks();
                reading = Math.min(reading, (double) (t4 - t3) / block);
                long sum = 0;
                for (long at = scratch + (words - 2) * EVENT_BYTES; at < ti.next; at += words * EVENT_BYTES) {
                    sum += (U.getLong(at + EVENT_BYTES) & TICK_MASK) - (U.getLong(at) & TICK_MASK);
                }
                inner = Math.min(inner, (double) sum / block);
                total = Math.min(total, (double) (t1 - t0) / block);
                bare = Math.min(bare, (double) (t3 - t2) / block);
                // Only the last blocks are kept, since their code ran compiled.
                int at = samples++ % SAMPLES;
                inners[at] = (double) sum / block;
                outers[at] = (double) (t1 - t0) / block - bare - inners[at];
            }
        } finally {
            ti.active = false;
            ti.next = ti.limit = 0;
            ti.base = start;
            state[0] = saved;
            U.freeMemory(scratch);
        }
        double outer = Math.max(0, total - bare - inner);
        int n = Math.min(samples, SAMPLES);
        return new long[] {Math.round(inner * 1000), Math.round(outer * 1000),
            Math.round(Math.abs(thirdQuartile(inners, n) - inner) * 1000),
            Math.round(Math.abs(thirdQuartile(outers, n) - outer) * 1000), Math.round(reading * 1000)};
    }

    /** Sorts the first n values and returns their third quartile. Insertion sort: calls no method that an application might override. */
    private static double thirdQuartile(double[] values, int n) {
        for (int i = 1; i < n; i++) {
            double value = values[i];
            int at = i;
            for (; at > 0 && values[at - 1] > value; at--) {
                values[at] = values[at - 1];
            }
            values[at] = value;
        }
        return n == 0 ? 0 : values[(3 * n) / 4];
    }

    /** Number of measured blocks from which the spread of the probe's cost is computed. */
    private static final int SAMPLES = 256;

    /** Measured code: calls of nearly empty bodies with and without probes. */
    private static final class Blocks {
        static int sink;
        static long read;

        static void probed(int n) {
            for (int i = 0; i < n; i++) {
                probedBody(i);
            }
        }

        /** Calls as in a session that records waits. */
        static void announced(int n) {
            for (int i = 0; i < n; i++) {
                calling(1);
                probedBody(i);
            }
        }

        /** Calls as in a session that records call sites, with or without waits. */
        static void sited(int n, boolean waits) {
            for (int i = 0; i < n; i++) {
                if (waits) {
                    calling(1);
                }
                callSite(1);
                sitedBody(i);
            }
        }

        static void bare(int n) {
            for (int i = 0; i < n; i++) {
                bareBody(i);
            }
        }

        static void readings(int n) {
            for (int i = 0; i < n; i++) {
                read = ticks();
            }
        }

        private static void probedBody(int i) {
            methodEntry(0);
            try {
                sink = i;
            } catch (Throwable t) {
                methodExit(0);
                throw t;
            }
            methodExit(0);
        }

        static void regions(int n, int session) {
            for (int i = 0; i < n; i++) {
                regionBody(i, session);
            }
        }

        private static void regionBody(int i, int session) {
            long since = regionEnter(0, session);
            try {
                sink = i;
            } catch (Throwable t) {
                regionExit(since, 1);
                throw t;
            }
            regionExit(since, 1);
        }

        private static void sitedBody(int i) {
            siteEntry();
            methodEntry(0);
            try {
                sink = i;
            } catch (Throwable t) {
                methodExit(0);
                throw t;
            }
            methodExit(0);
        }

        private static void bareBody(int i) {
            sink = i;
        }
    }
}
