package bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/**
 * One thread that calls the root at a requested rate, and computes between the calls.
 *
 *   java bench.Paced        root: bench.Paced.root
 *
 *   depth <n>      a tree of 2^n calls, each to one of four random methods: 4^n contexts at the bottom;
 *                  0: a hundred calls of one method
 *   pace <n>       n entries and exits per second, 0 for as many as possible
 *   rate <ms>      measures for this time: "rate <entries and exits per second>"
 *   quit           (or the end of stdin)
 */
public final class Paced {
    private static volatile int depth;
    private static volatile long pace;
    private static volatile long events;
    private static volatile int sum;

    /** Returns the number of entries and exits in one call of the root. */
    private static int eventsOf(int depth) {
        return depth == 0 ? 202 : (6 << depth) - 4;
    }

    static int root(int depth, int x) {
        if (depth > 0) return two(depth, x);
        for (int i = 0; i < 100; i++) x = step(x);
        return x;
    }

    static int step(int x) {
        x ^= x << 13;
        x ^= x >>> 17;
        return x ^ x << 5;
    }

    private static int two(int depth, int x) {
        for (int i = 0; i < 2; i++) {
            x = x * 1103515245 + 12345;
            switch (x >>> 28 & 3) {
                case 0 -> x = a(depth - 1, x);
                case 1 -> x = b(depth - 1, x);
                case 2 -> x = c(depth - 1, x);
                default -> x = d(depth - 1, x);
            }
        }
        return x;
    }

    static int a(int depth, int x) {
        return depth == 0 ? x + 1 : two(depth, x);
    }

    static int b(int depth, int x) {
        return depth == 0 ? x + 2 : two(depth, x);
    }

    static int c(int depth, int x) {
        return depth == 0 ? x + 3 : two(depth, x);
    }

    static int d(int depth, int x) {
        return depth == 0 ? x + 4 : two(depth, x);
    }

    private static void run() {
        int x = 20031;
        long begun = System.nanoTime();
        long since = 0;
        long asked = 0;
        for (;;) {
            int deep = depth;
            x += root(deep, x | 1);
            int done = eventsOf(deep);
            events += done;
            if (pace != asked) {
                asked = pace;
                begun = System.nanoTime();
                since = 0;
            }
            since += done;
            if (asked == 0) continue;
            long due = begun + (long) (since * 1e9 / asked);
            // A delay above 10 ms is not caught up, since that would be another rate.
            if (System.nanoTime() - due > 10_000_000) {
                begun = System.nanoTime();
                since = 0;
            }
            while (System.nanoTime() < due) sum = x = x * 1103515245 + 12345;
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        Thread thread = new Thread(Paced::run, "paced");
        thread.setDaemon(true);
        thread.start();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) {
            String[] word = line.split(" ");
            long value = Long.parseLong(word[1]);
            switch (word[0]) {
                case "depth" -> depth = (int) value;
                case "pace" -> pace = value;
                case "rate" -> {
                    long before = events;
                    long start = System.nanoTime();
                    Thread.sleep(value);
                    System.out.println("rate " + (events - before) * 1e9 / (System.nanoTime() - start));
                    continue;
                }
                default -> throw new IllegalArgumentException(line);
            }
            System.out.println(line);
        }
    }
}
