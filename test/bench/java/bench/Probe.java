package bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CyclicBarrier;
import jdk.internal.misc.Unsafe;

/**
 * Cost of one call of a tiny method: bare, instrumented, and with manually written code that does the minimum work of any probe. Root:
 * bench.Probe.root.
 *
 * <p>All loops call a method with the same body, which C2 cannot compute in advance. Commands on stdin:
 *
 * <pre>
 *   measure &lt;loop&gt; &lt;threads&gt; &lt;warm-up ms&gt; &lt;rounds&gt; &lt;ms a round&gt;
 *       answers "measured", then wall ns and CPU ns per call of each round, as pairs w:c
 *   quit (or the end of stdin)
 * </pre>
 *
 * <pre>
 *   root       calls step() below the root: bare, or instrumented and inside the graph
 *   reference  like(), with two readings of System.nanoTime() and two 8-byte stores, written manually
 *   outside    calls step() from code outside the root, in threads that were never in the graph
 *   guarded    takes a monitor, calls nothing
 *   known      the same as outside, in threads that have been in the root before
 *   unreached  calls rare() from code outside the root. The root can call rare() but never does: under scheme b it keeps
 *              the check for a first invocation
 * </pre>
 *
 */
public final class Probe {
    /** Number of calls per batch, large enough that the entry of the root has no influence. */
    private static final int BATCH = 20_000;
    /** Bytes of a chunk of jfluid's buffer. The reference writes repeatedly into an array of this size. */
    private static final int BUFFER = 32 << 10;

    private static final Unsafe U = Unsafe.getUnsafe();
    private static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();
    private static final Object GUARD = new Object();
    private static volatile int result;

    static int root(int n, int x) {
        for (int i = 0; i < n; i++) x = step(x);
        return n == 0 ? rare(x) : x;
    }

    static int unreached(int n, int x) {
        for (int i = 0; i < n; i++) x = rare(x);
        return x;
    }

    /** Repeatedly takes a monitor that no other thread needs. A separate root, which calls nothing. */
    static int guarded(int n, int x) {
        for (int i = 0; i < n; i++) {
            synchronized (GUARD) {
                x = (x ^ x >>> 15) * 0x2c1b3c6d;
            }
        }
        return x;
    }

    /**
     * Like step(), with a callee that is never called: 0 stays 0, and no other value becomes 0. The receiver decides which callee this is,
     * so scheme b does not look ahead to the callee.
     */
    static int rare(int x) {
        return x == 0 ? RARER[x].of(x) : (x ^ x >>> 15) * 0x2c1b3c6d;
    }

    private interface Rarer {
        int of(int x);
    }

    private static final class More implements Rarer {
        @Override
        public int of(int x) {
            return x + 1;
        }
    }

    private static final class Less implements Rarer {
        @Override
        public int of(int x) {
            return x - 1;
        }
    }

    private static final Rarer[] RARER = {new More(), new Less()};

    static int outside(int n, int x) {
        for (int i = 0; i < n; i++) x = step(x);
        return x;
    }

    static int step(int x) {
        return (x ^ x >>> 15) * 0x2c1b3c6d;
    }

    static int reference(int n, int x, long buffer, long start) {
        long at = buffer;
        long limit = buffer + BUFFER;
        for (int i = 0; i < n; i++) {
            U.putLong(at, 1L << 62 | System.nanoTime() - start);
            x = like(x);
            U.putLong(at + 8, 2L << 62 | System.nanoTime() - start);
            at += 16;
            if (at >= limit) at = buffer;
        }
        return x;
    }

    /** Like step(), but the root does not call this method, so its code stays unchanged. */
    static int like(int x) {
        return (x ^ x >>> 15) * 0x2c1b3c6d;
    }

    static int batch(String loop, int x, long buffer, long start) {
        return switch (loop) {
            case "root" -> root(BATCH, x);
            case "reference" -> reference(BATCH, x, buffer, start);
            case "outside", "known" -> outside(BATCH, x);
            case "guarded" -> guarded(BATCH, x);
            case "unreached" -> unreached(BATCH, x);
            default -> throw new IllegalArgumentException("no such loop: " + loop);
        };
    }

    /** One thread of a measurement. */
    private static final class Worker extends Thread {
        final double[] wall;
        final double[] cpu;
        private final String loop;
        private final long warmUp;
        private final long round;
        private final CyclicBarrier together;

        Worker(String loop, long warmUp, int rounds, long round, CyclicBarrier together) {
            this.loop = loop;
            this.warmUp = warmUp;
            this.round = round;
            this.together = together;
            wall = new double[rounds];
            cpu = new double[rounds];
        }

        @Override
        public void run() {
            long buffer = U.allocateMemory(BUFFER);
            long start = System.nanoTime();
            int x = 1;
            try {
                if (loop.equals("known")) x += root(100, x);
                for (long until = System.nanoTime() + warmUp; System.nanoTime() < until; ) {
                    x += batch(loop, x, buffer, start);
                }
                for (int r = 0; r < wall.length; r++) {
                    together.await();
                    long calls = 0;
                    long cpu0 = CPU.getCurrentThreadCpuTime();
                    long t0 = System.nanoTime();
                    long t1;
                    do {
                        x += batch(loop, x, buffer, start);
                        calls += BATCH;
                        t1 = System.nanoTime();
                    } while (t1 - t0 < round);
                    wall[r] = (double) (t1 - t0) / calls;
                    cpu[r] = (double) (CPU.getCurrentThreadCpuTime() - cpu0) / calls;
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            } finally {
                result = x;
                U.freeMemory(buffer);
            }
        }
    }

    private static String measure(String[] word) throws InterruptedException {
        int threads = Integer.parseInt(word[2]);
        int rounds = Integer.parseInt(word[4]);
        CyclicBarrier together = new CyclicBarrier(threads);
        Worker[] workers = new Worker[threads];
        for (int k = 0; k < threads; k++) {
            workers[k] = new Worker(word[1], Long.parseLong(word[3]) * 1_000_000, rounds,
                Long.parseLong(word[5]) * 1_000_000, together);
            workers[k].start();
        }
        for (Worker worker : workers) worker.join();
        StringBuilder answer = new StringBuilder("measured");
        for (int r = 0; r < rounds; r++) {
            double wall = 0;
            double cpu = 0;
            for (Worker worker : workers) {
                wall += worker.wall[r] / threads;
                cpu += worker.cpu[r] / threads;
            }
            answer.append(' ').append(wall).append(':').append(cpu);
        }
        return answer.toString();
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) {
            System.out.println(measure(line.split(" ")));
        }
    }
}
