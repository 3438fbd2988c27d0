package programs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/**
 * A long-lived JVM that does one of these programs' work when told to.
 *
 *   java programs.Driver <class of a Workload>
 *   root: programs.Driver.task
 *
 *   run    does it once: "done <what it computed>"
 *   quit   (or the end of stdin)
 *
 * The classes that do the work are loaded by the first run. A workload runs in the calling thread, does the same
 * each time, and says something that would change if it did not.
 */
public final class Driver {
    private Driver() {}

    /** Some work; its class has a constructor without parameters that does none of it. */
    public interface Workload {
        String work() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Workload workload = (Workload) Class.forName(args[0]).getDeclaredConstructor().newInstance();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) {
            System.out.println(line.equals("run") ? "done " + task(workload) : "unknown command: " + line);
        }
    }

    static String task(Workload workload) throws Exception {
        return workload.work();
    }
}
