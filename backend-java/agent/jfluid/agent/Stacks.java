package jfluid.agent;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A dump of the stacks of platform threads. */
final class Stacks {
    final Thread[] threads;
    /** Stacks in the order of `threads`; null for a thread that has ended. */
    final StackTraceElement[][] traces;

    private Stacks(Thread[] threads, StackTraceElement[][] traces) {
        this.threads = threads;
        this.traces = traces;
    }

    /** Dumps all threads. */
    static Stacks take() {
        return of(null);
    }

    /** @param these threads to dump; null for all. On a JDK without the private native method all threads are dumped. */
    static Stacks of(Thread[] these) {
        Object[] found = JFluid1Threads.stacks(these);
        if (found != null) {
            return new Stacks((Thread[]) found[0], (StackTraceElement[][]) found[1]);
        }
        Map<Thread, StackTraceElement[]> all = Thread.getAllStackTraces();
        return new Stacks(all.keySet().toArray(new Thread[0]), all.values().toArray(new StackTraceElement[0][]));
    }

    /** Returns {@code [[tid, name, [[class, method], …]], …]}, with at most `depth` frames per thread. */
    static List<Object> rows(int depth) {
        Stacks all = take();
        List<Object> rows = new ArrayList<>();
        for (int t = 0; t < all.threads.length; t++) {
            StackTraceElement[] trace = all.traces[t];
            List<Object> frames = new ArrayList<>();
            for (int i = 0; trace != null && i < trace.length && i < depth; i++) {
                frames.add(new Object[] {trace[i].getClassName(), trace[i].getMethodName()});
            }
            // getName() is final; subclasses may override getId() and getState().
            rows.add(new Object[] {JFluid1Threads.idOf(all.threads[t]), all.threads[t].getName(), frames});
        }
        return rows;
    }
}
