package tables;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Runs one of the programs of the report's tables when told to, and says how long it took.
 *
 *   java tables.Driver <class of a Program>
 *   root: tables.Driver.task
 *
 *   run    "done <wall> <CPU time of the thread> <time it wanted a core and had none> <what it computed>", times in ns
 *   quit   (or the end of stdin)
 */
public final class Driver {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** Linux: time on a core, time in a queue for one, number of turns. */
    private static final Path SCHEDULED = Path.of("/proc/thread-self/schedstat");

    private Driver() {}

    /** Some work that is the same each time, and says something that would change if it were not. */
    public interface Program {
        long run() throws Exception;

        /** Runs it on the thread where it belongs, and returns when it has run. */
        default void call(Runnable it) throws Exception {
            it.run();
        }
    }

    public static void main(String[] args) throws Exception {
        Program program = (Program) Class.forName(args[0]).getDeclaredConstructor().newInstance();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) program.call(() -> timed(program));
    }

    private static void timed(Program program) {
        try {
            long queued = queued();
            long cpu = THREADS.getCurrentThreadCpuTime();
            long begun = System.nanoTime();
            long result = task(program);
            long wall = System.nanoTime() - begun;
            cpu = THREADS.getCurrentThreadCpuTime() - cpu;
            System.out.println("done " + wall + " " + cpu + " " + (queued() - queued) + " " + result);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static long queued() throws IOException {
        return Long.parseLong(Files.readString(SCHEDULED).split(" ")[1]);
    }

    private static long task(Program program) throws Exception {
        return program.run();
    }
}
