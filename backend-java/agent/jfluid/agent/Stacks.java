package jfluid.agent;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The stacks of platform threads at one moment. */
final class Stacks {
    final Thread[] threads;
    /** In the order of `threads`; null where the thread has ended. */
    final StackTraceElement[][] traces;

    private Stacks(Thread[] threads, StackTraceElement[][] traces) {
        this.threads = threads;
        this.traces = traces;
    }

    /** Of all. */
    static Stacks take() {
        return of(null);
    }

    /** @param these null for all; on a JDK that does this otherwise all in any case */
    static Stacks of(Thread[] these) {
        Object[] found = JFluid1Threads.stacks(these);
        if (found != null) {
            return new Stacks((Thread[]) found[0], (StackTraceElement[][]) found[1]);
        }
        Map<Thread, StackTraceElement[]> all = Thread.getAllStackTraces();
        return new Stacks(all.keySet().toArray(new Thread[0]), all.values().toArray(new StackTraceElement[0][]));
    }

    /** {@code [[tid, name, [[class, method], …]], …]}, at most `depth` frames each. */
    static List<Object> rows(int depth) {
        Stacks all = take();
        List<Object> rows = new ArrayList<>();
        for (int t = 0; t < all.threads.length; t++) {
            StackTraceElement[] trace = all.traces[t];
            List<Object> frames = new ArrayList<>();
            for (int i = 0; trace != null && i < trace.length && i < depth; i++) {
                frames.add(new Object[] {trace[i].getClassName(), trace[i].getMethodName()});
            }
            // getName() is final; getId() and getState() are not.
            rows.add(new Object[] {JFluid1Threads.idOf(all.threads[t]), all.threads[t].getName(), frames});
        }
        return rows;
    }
}
