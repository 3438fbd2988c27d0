package top;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import jfluid.api.CallingContext;
import jfluid.api.Profiler;

/**
 * A small profiling agent, after the one that the JP paper describes (section 5.4): threads bring what they have counted into one
 * table, and the methods that executed most are printed now and then, and at the end.
 *
 * Where to: the file named by the system property top.file, else the JVM's own output.
 */
public final class TopMethods implements Profiler {
    private static final int GRANULARITY = 5_000_000;
    private static final int SHOWN = 10;

    /** {bytecodes, calls} by method. */
    private final Map<String, long[]> table = new HashMap<>();
    private final List<CallingContext> roots = new ArrayList<>();
    private int reports;

    @Override
    public synchronized int register(Thread thread, CallingContext root) {
        roots.add(root); // also of a thread that will have ended by then
        return GRANULARITY;
    }

    @Override
    public synchronized int report(CallingContext root, CallingContext current) {
        take(root);
        reports++;
        return GRANULARITY;
    }

    /** What is left since each thread's last report. */
    @Override
    public synchronized void end() {
        for (CallingContext root : roots) take(root);
        String file = System.getProperty("top.file");
        try (PrintStream out = file == null ? null : new PrintStream(file)) {
            print(out == null ? System.out : out);
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    /** Without recursion: a calling context may be as deep as a stack. */
    private void take(CallingContext root) {
        List<CallingContext> open = new ArrayList<>(root.callees());
        while (!open.isEmpty()) {
            CallingContext context = open.remove(open.size() - 1);
            String method = context.className() + "." + context.methodName() + context.descriptor();
            long[] sums = table.computeIfAbsent(method, m -> new long[2]);
            sums[0] += context.bytecodes();
            sums[1] += context.calls();
            context.reset();
            open.addAll(context.callees());
        }
    }

    private void print(PrintStream out) {
        out.println(roots.size() + " threads, " + reports + " reports");
        table.entrySet().stream()
            .sorted((a, b) -> Long.compare(b.getValue()[0], a.getValue()[0]))
            .limit(SHOWN)
            .forEach(e -> out.printf("%,15d bytecodes %,12d calls  %s%n", e.getValue()[0], e.getValue()[1], e.getKey()));
    }
}
