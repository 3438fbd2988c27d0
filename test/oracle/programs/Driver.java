package programs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/**
 * A long-lived JVM that executes one of these programs on request.
 *
 *   java programs.Driver <class of a Workload>
 *   root: programs.Driver.task
 *
 *   run    executes the workload once and prints "done <result>"
 *   apart  the same in a new thread, which is named "apart <n>" (n counts these threads)
 *   quit   ends the program, as does the end of stdin
 *
 * The first run loads the classes of the workload. A workload runs in the calling thread, does the same in each run, and returns a result
 * that would change if a run differed.
 */
public final class Driver {
    private Driver() {}

    /** A workload. Its class has a constructor without parameters, which does none of the work. */
    public interface Workload {
        String work() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 1_000; i++) new Thread(); // Ids of later threads are above the range of cached Longs.
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
