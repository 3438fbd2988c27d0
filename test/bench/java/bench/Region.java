package bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CyclicBarrier;
import jdk.internal.misc.Unsafe;

/**
 * Cost of an execution of a region: methods that take about 100 ns, 1 us and 10 us, and the same methods with two readings of the clock and
 * a store, written manually. Regions: bench.Region.ns100, us1, us10.
 *
 * <p>Commands on stdin are the commands of bench.Probe, with the loops ns100, us1, us10, and hand100, hand1, hand10.
 */
public final class Region {
    private static final int BUFFER = 32 << 10;
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();
    private static volatile int result;

    /** Executes rounds. A round takes about 1.5 ns, and depends on the previous round. */
    static int rounds(int n, int x) {
        for (int i = 0; i < n; i++) x = (x ^ x >>> 15) * 0x2c1b3c6d;
        return x;
    }

    static int ns100(int x) {
        return rounds(67, x);
    }

    static int us1(int x) {
        return rounds(670, x);
    }

    static int us10(int x) {
        return rounds(6700, x);
    }

    static int like100(int x) {
        return rounds(67, x);
    }

    static int like1(int x) {
        return rounds(670, x);
    }

    static int like10(int x) {
        return rounds(6700, x);
    }

    static long clock() {
        return jdk.jfr.internal.JVM.counterTime();
    }

    private static int batch(String loop, int x, long buffer) {
        long at = buffer;
        long limit = buffer + BUFFER;
        switch (loop) {
            case "ns100":
                for (int i = 0; i < 20_000; i++) x = ns100(x);
                return x;
            case "us1":
                for (int i = 0; i < 2_000; i++) x = us1(x);
                return x;
            case "us10":
                for (int i = 0; i < 200; i++) x = us10(x);
                return x;
            case "hand100":
                for (int i = 0; i < 20_000; i++) {
                    long t0 = clock();
                    x = like100(x);
                    U.putLong(at, clock() - t0);
                    at = at + 8 < limit ? at + 8 : buffer;
                }
                return x;
            case "hand1":
                for (int i = 0; i < 2_000; i++) {
                    long t0 = clock();
                    x = like1(x);
                    U.putLong(at, clock() - t0);
                    at = at + 8 < limit ? at + 8 : buffer;
                }
                return x;
            case "hand10":
                for (int i = 0; i < 200; i++) {
                    long t0 = clock();
                    x = like10(x);
                    U.putLong(at, clock() - t0);
                    at = at + 8 < limit ? at + 8 : buffer;
                }
                return x;
            default:
                throw new IllegalArgumentException("no such loop: " + loop);
        }
    }

    private static int size(String loop) {
        return loop.endsWith("100") ? 20_000 : loop.endsWith("10") ? 200 : 2_000;
    }

    private static String measure(String[] word) throws InterruptedException {
        String loop = word[1];
        int threads = Integer.parseInt(word[2]);
        long warmUp = Long.parseLong(word[3]) * 1_000_000;
        int rounds = Integer.parseInt(word[4]);
        long round = Long.parseLong(word[5]) * 1_000_000;
        CyclicBarrier together = new CyclicBarrier(threads);
        double[][] wall = new double[threads][rounds];
        double[][] cpu = new double[threads][rounds];
        Thread[] workers = new Thread[threads];
        for (int k = 0; k < threads; k++) {
            int me = k;
            workers[k] = new Thread(() -> {
                long buffer = U.allocateMemory(BUFFER);
                int x = 1;
                try {
                    for (long until = System.nanoTime() + warmUp; System.nanoTime() < until; ) x += batch(loop, x, buffer);
                    for (int r = 0; r < rounds; r++) {
                        together.await();
                        long calls = 0;
                        long cpu0 = CPU.getCurrentThreadCpuTime();
                        long t0 = System.nanoTime();
                        long t1;
                        do {
                            x += batch(loop, x, buffer);
                            calls += size(loop);
                            t1 = System.nanoTime();
                        } while (t1 - t0 < round);
                        wall[me][r] = (double) (t1 - t0) / calls;
                        cpu[me][r] = (double) (CPU.getCurrentThreadCpuTime() - cpu0) / calls;
                    }
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                } finally {
                    result = x;
                    U.freeMemory(buffer);
                }
            });
            workers[k].start();
        }
        for (Thread worker : workers) worker.join();
        StringBuilder answer = new StringBuilder("measured");
        for (int r = 0; r < rounds; r++) {
            double w = 0;
            double c = 0;
            for (int k = 0; k < threads; k++) {
                w += wall[k][r] / threads;
                c += cpu[k][r] / threads;
            }
            answer.append(' ').append(w).append(':').append(c);
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
