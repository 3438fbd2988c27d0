package tables;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Runs one of the programs of the report's tables on request, and prints its duration.
 *
 *   java tables.Driver <class of a Program>
 *   root: tables.Driver.task
 *
 *   run    "done <wall> <CPU time of the thread> <time it waited for a processor> <result>", times in ns
 *   quit   (or the end of stdin)
 */
public final class Driver {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** Linux: time on a processor, time in a queue for a processor, number of time slices. */
    private static final Path SCHEDULED = Path.of("/proc/thread-self/schedstat");

    private Driver() {}

    /** Work that is the same in each run. Its result would change if a run differed. */
    public interface Program {
        long run() throws Exception;

        /** Runs the program on the thread that it needs, and returns when it has ended. */
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
