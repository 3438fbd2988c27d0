package dbg;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.List;

/**
 * The program that the tests debug. It executes the words on its standard input, one per line, and answers after each:
 *
 *   call     calls `call` once: "returned <n>"
 *   throw    throws an exception and catches it
 *   thread   starts a thread, which ends
 *   wait     waits 5 ms in Object.wait
 *   contend  a second thread blocks at a lock that is held
 *   field    reads `watched` and writes it
 *   load     loads dbg.Late
 *   unload   loads dbg.Late with a separate loader, and drops the loader
 *   ticks    "ticks <n>": number of iterations of the thread "worker"
 *   quit     (or the end of stdin)
 */
public class Debuggee implements Shape {
    static byte aByte = -7;
    static short aShort = -300;
    static int anInt = 70_000;
    static long aLong = 1L << 40;
    static float aFloat = 1.5f;
    static double aDouble = -2.25;
    static char aChar = 'ß';
    static boolean aBoolean = true;
    static String text = "grüße, 日本";
    static Object nothing;
    static Object object = new Debuggee(5);
    static Thread thread = Thread.currentThread();
    static ThreadGroup group = Thread.currentThread().getThreadGroup();
    static ClassLoader loader = Debuggee.class.getClassLoader();
    static Class<?> type = Debuggee.class;

    static byte[] bytes = {1, -1};
    static short[] shorts = {2, -2};
    static int[] ints = {3, -3, 70_000};
    static long[] longs = {4, -1L << 40};
    static float[] floats = {0.5f, -0.5f};
    static double[] doubles = {0.25, -0.25};
    static char[] chars = {'a', 'ß', '\ud83d'};
    static boolean[] booleans = {true, false};
    static Object[] objects = {"one", null, bytes, type};

    static Thread worker;
    static Object poison = new Poison();
    static int watched;
    static volatile long ticks;
    static final Object LOCK = new Object();

    int number;
    List<String> names = List.of("x");

    Debuggee(int number) {
        if (number < 0) throw new IllegalArgumentException("negative");
        this.number = number;
    }

    int plus(int more) {
        return number + more;
    }

    static int call(int x, String who) {
        int twice = 2 * x;
        synchronized (LOCK) {
            twice += who.length();
        }
        return twice;
    }

    static String fail(String message) {
        throw new IllegalStateException(message);
    }

    private static native void foreign();

    private static void contend() throws InterruptedException {
        Thread other = new Thread(() -> {
            synchronized (LOCK) {
                watched++;
            }
        }, "other");
        synchronized (LOCK) {
            other.start();
            while (other.getState() != Thread.State.BLOCKED) Thread.sleep(1);
        }
        other.join();
    }

    private static void unload() throws Exception {
        URL[] here = {Debuggee.class.getProtectionDomain().getCodeSource().getLocation()};
        try (URLClassLoader own = new URLClassLoader(here, null)) {
            Class.forName("dbg.Late", true, own);
        }
    }

    public static void main(String[] args) throws Exception {
        worker = new Thread(() -> {
            for (;;) {
                try {
                    ticks = ticks + 1;
                    Thread.sleep(1);
                } catch (InterruptedException e) {
                    System.out.println("interrupted");
                } catch (Poison e) {
                    System.out.println("stopped");
                }
            }
        }, "worker");
        worker.setDaemon(true);
        worker.start();
        Shape keep = new Small(7);
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String word; (word = in.readLine()) != null && !word.equals("quit"); ) {
            System.out.println(done(word));
        }
        System.out.println(keep.area());
    }

    private static String done(String word) throws Exception {
        switch (word) {
            case "call":
                return "returned " + call(21, "me");
            case "throw":
                try {
                    fail("for you");
                } catch (IllegalStateException expected) {
                    return "done throw";
                }
                break;
            case "thread":
                Thread brief = new Thread(() -> watched++, "brief");
                brief.start();
                brief.join();
                break;
            case "wait":
                synchronized (LOCK) {
                    LOCK.wait(5);
                }
                break;
            case "contend":
                contend();
                break;
            case "field":
                watched = watched + 2;
                break;
            case "load":
                Class.forName("dbg.Late");
                break;
            case "unload":
                unload();
                System.gc();
                call(1, "");
                break;
            case "ticks":
                return "ticks " + ticks;
            default:
                throw new IOException(word);
        }
        return "done " + word;
    }

    @Override
    public int area() {
        return number * number;
    }

    /** The debugger makes a thread throw this exception. */
    static class Poison extends RuntimeException {}
}

interface Shape {
    int area();

    static int sides(int more) {
        return 3 + more;
    }
}

class Small extends Debuggee {
    Small(int number) {
        super(number);
    }

    @Override
    int plus(int more) {
        return -1;
    }
}

class Late {
    static int loaded = 1;
}
