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
 *   apart  the same in a thread of its own, "apart <n>" for the n-th
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
        for (int i = 0; i < 1_000; i++) new Thread(); // Ids of later ones are no cached Long, however many others there are.
        Workload workload = (Workload) Class.forName(args[0]).getDeclaredConstructor().newInstance();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        int threads = 0;
        for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) {
            switch (line) {
                case "run":
                    System.out.println("done " + task(workload));
                    break;
                case "apart":
                    apart(workload, "apart " + ++threads);
                    break;
                default:
                    System.out.println("unknown command: " + line);
            }
        }
    }

    private static void apart(Workload workload, String name) throws InterruptedException {
        Thread thread = new Thread(null, null, name) {
            @Override
            public void run() {
                try {
                    System.out.println("done " + task(workload));
                } catch (Exception problem) {
                    problem.printStackTrace();
                    System.out.println("failed " + problem);
                }
            }
        };
        thread.start();
        thread.join();
    }

    static String task(Workload workload) throws Exception {
        return workload.work();
    }
}
