package tables;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Runs one of the programs of the report's tables when told to, and says how long it took.
 *
 *   java tables.Driver <class of a Program>
 *   root: tables.Driver.task
 *
 *   run    "done <nanoseconds> <what it computed>"
 *   quit   (or the end of stdin)
 */
public final class Driver {
    private Driver() {}

    /** Some work that is the same each time, and says something that would change if it were not. */
    public interface Program {
        long run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Program program = (Program) Class.forName(args[0]).getDeclaredConstructor().newInstance();
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) {
            long begun = System.nanoTime();
            long result = task(program);
            System.out.println("done " + (System.nanoTime() - begun) + " " + result);
        }
    }

    private static long task(Program program) throws Exception {
        return program.run();
    }
}
