package bench;

import com.sun.management.ThreadMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;

/**
 * Cost of a root call that allocates nothing, and of one reading of the thread's allocation counter. Root: bench.AllocatedRoot.root.
 *
 * <p>Command on stdin: "measure root|counter &lt;rounds&gt; &lt;calls&gt;". Answer: "measured", then for each round the CPU time per call in ns
 * and the bytes per call that the thread has allocated, as ns:bytes. The first round is not reported.
 */
public final class AllocatedRoot {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static volatile long result;

    private AllocatedRoot() {}

    static long root(long x) {
        return x * 31 + 1;
    }

    private static long roots(int calls) {
        long x = 0;
        for (int i = 0; i < calls; i++) {
            x = root(x);
        }
        return x;
    }

    private static long readings(int calls) {
        long x = 0;
        for (int i = 0; i < calls; i++) {
            x += THREADS.getCurrentThreadAllocatedBytes();
        }
        return x;
    }

    public static void main(String[] args) throws IOException {
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            int calls = Integer.parseInt(words[3]);
            StringBuilder answer = new StringBuilder("measured");
            for (int round = 0; round <= Integer.parseInt(words[2]); round++) {
                long bytes = THREADS.getCurrentThreadAllocatedBytes();
                long ns = THREADS.getCurrentThreadCpuTime();
                result = words[1].equals("root") ? roots(calls) : readings(calls);
                double took = (double) (THREADS.getCurrentThreadCpuTime() - ns) / calls;
                double allocated = (double) (THREADS.getCurrentThreadAllocatedBytes() - bytes) / calls;
                if (round > 0) {
                    answer.append(' ').append(took).append(':').append(allocated);
                }
            }
            System.out.println(answer);
        }
    }
}
