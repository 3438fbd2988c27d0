package bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/**
 * The JVM's tick counter as jfluid reads it, compared with the monotonic clock. Root: bench.Clock.root, which is never called.
 * Lines understood on stdin:
 *
 * <pre>
 *   pair
 *       answers "pair", ticks, nanoTime() at the same moment, and the width: ticks between the readings before and after it
 *   spin &lt;threads&gt; &lt;ms&gt;
 *       threads "mover-0", "mover-1" … read the counter without a pause; answers "spun", the number of readings,
 *       how many readings were below the previous reading of the same thread, and the largest difference in ticks
 *   quit (or the end of stdin)
 * </pre>
 */
public final class Clock {
    private static final int TRIES = 2000;
    private static final int BATCH = 1 << 16;

    static void root() {}

    private static String pair() {
        long best = Long.MAX_VALUE;
        long ticks = 0;
        long nanos = 0;
        for (int i = 0; i < TRIES; i++) {
            long t0 = jdk.jfr.internal.JVM.counterTime();
            long n = System.nanoTime();
            long t1 = jdk.jfr.internal.JVM.counterTime();
            if (t1 - t0 < best) {
                best = t1 - t0;
                ticks = t0 + (t1 - t0) / 2;
                nanos = n;
            }
        }
        return "pair " + ticks + " " + nanos + " " + best;
    }

    /** A thread that is moved between cores. */
    private static final class Mover extends Thread {
        final long until;
        long readings;
        long backward;
        long worst;

        Mover(int number, long until) {
            super("mover-" + number);
            this.until = until;
        }

        @Override
        public void run() {
            long last = jdk.jfr.internal.JVM.counterTime();
            do {
                for (int i = 0; i < BATCH; i++) {
                    long now = jdk.jfr.internal.JVM.counterTime();
                    if (now < last) {
                        backward++;
                        worst = Math.max(worst, last - now);
                    }
                    last = now;
                }
                readings += BATCH;
            } while (System.nanoTime() < until);
        }
    }

    private static String spin(int threads, long millis) throws InterruptedException {
        Mover[] movers = new Mover[threads];
        long until = System.nanoTime() + millis * 1_000_000;
        for (int k = 0; k < threads; k++) (movers[k] = new Mover(k, until)).start();
        long readings = 0;
        long backward = 0;
        long worst = 0;
        for (Mover mover : movers) {
            mover.join();
            readings += mover.readings;
            backward += mover.backward;
            worst = Math.max(worst, mover.worst);
        }
        return "spun " + readings + " " + backward + " " + worst;
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) {
            String[] word = line.split(" ");
            System.out.println(switch (word[0]) {
                case "pair" -> pair();
                case "spin" -> spin(Integer.parseInt(word[1]), Long.parseLong(word[2]));
                default -> "unknown command: " + line;
            });
        }
    }
}
