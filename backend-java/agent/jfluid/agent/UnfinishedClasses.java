package jfluid.agent;

import java.lang.instrument.Instrumentation;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * Classes that have left the load hook with probes but are not defined yet when the session ends. Between the load hook and the definition,
 * the JVM loads the superclass, which a loader of the program may delay. A class cannot be redefined until it is defined. This thread waits
 * while the defining threads are in progress, and then restores the classes.
 */
final class UnfinishedClasses extends GuestThread {
    private static final long CHECK_INTERVAL_NANOS = 20_000_000L;
    private static final long MAX_CHECK_INTERVAL_NANOS = 10_000_000_000L;
    /** Number of further searches for a class after its definition has ended. */
    private static final int FINAL_SEARCHES = 2;

    /** A class and the thread that defines it. */
    private static final class Unfinished {
        private final WeakReference<ClassLoader> loader;
        private final String name;
        private final WeakReference<Thread> by;

        Unfinished(ClassLoader loader, String name, WeakReference<Thread> by) {
            this.loader = new WeakReference<>(loader);
            this.name = name;
            this.by = by;
        }

        boolean is(Class<?> c) {
            return JFluid1Release.refersTo(loader, c.getClassLoader()) && c.getName().equals(name);
        }
    }

    private final List<Unfinished> unfinished = new ArrayList<>();
    private final Instrumentation instrumentation;
    private final Consumer<List<Class<?>>> restorer;

    /** @param restorer restores classes; called on this thread */
    UnfinishedClasses(Instrumentation instrumentation, Consumer<List<Class<?>>> restorer) {
        super("jfluid-swap");
        this.instrumentation = instrumentation;
        this.restorer = restorer;
    }

    void add(ClassLoader loader, String name, WeakReference<Thread> by) {
        unfinished.add(new Unfinished(loader, name, by));
    }

    /** Drops classes whose definition has failed, since no thread defines them. @return number of remaining classes */
    int stillDefining() {
        Stacks all = stacks();
        for (int i = unfinished.size() - 1; i >= 0; i--) {
            if (!isDefining(unfinished.get(i).by.get(), all)) {
                unfinished.remove(i);
            }
        }
        return unfinished.size();
    }

    /** Returns the names of the remaining classes. */
    List<String> names() {
        List<String> names = new ArrayList<>(unfinished.size());
        for (Unfinished it : unfinished) {
            names.add(it.name);
        }
        return names;
    }

    @Override
    public void run() {
        int last = 0;
        for (long pause = CHECK_INTERVAL_NANOS; last < FINAL_SEARCHES;
                pause = Math.min(pause + pause / 4, MAX_CHECK_INTERVAL_NANOS)) {
            Pause.nanos(last > 0 ? CHECK_INTERVAL_NANOS : pause);
            try {
                Stacks all = stacks();
                boolean any = false;
                for (Unfinished it : unfinished) {
                    any |= isDefining(it.by.get(), all);
                }
                List<Class<?>> here = loaded();
                if (!here.isEmpty()) {
                    restorer.accept(here);
                    forget(here); // called last, since an OutOfMemoryError causes a retry
                }
                last = unfinished.isEmpty() ? FINAL_SEARCHES : any ? 0 : last + 1;
            } catch (OutOfMemoryError full) {
                // Retried at the next check.
            }
        }
    }

    /** Dumps the stacks of the defining threads only: there may be ten thousand other threads. */
    private Stacks stacks() {
        Thread[] at = new Thread[unfinished.size()];
        int count = 0;
        for (Unfinished it : unfinished) {
            Thread thread = it.by.get();
            if (thread != null && !JFluid1Threads.isVirtual(thread)) {
                at[count++] = thread;
            }
        }
        return Stacks.of(Arrays.copyOf(at, count));
    }

    private List<Class<?>> loaded() {
        List<Class<?>> here = new ArrayList<>();
        for (Class<?> c : ClassTable.loaded(instrumentation)) {
            for (Unfinished it : unfinished) {
                if (it.is(c)) {
                    here.add(c);
                }
            }
        }
        return here;
    }

    private void forget(List<Class<?>> here) {
        for (int i = unfinished.size() - 1; i >= 0; i--) {
            boolean is = false;
            for (Class<?> c : here) {
                is |= unfinished.get(i).is(c);
            }
            if (is) {
                unfinished.remove(i);
            }
        }
    }

    /** Returns whether a thread is defining a class. Calls no method that a subclass of Thread may override. */
    private static boolean isDefining(Thread thread, Stacks all) {
        if (thread == null || !thread.isAlive()) {
            return false;
        }
        if (JFluid1Threads.isVirtual(thread)) {
            return isDefining(thread.getStackTrace());
        }
        for (int t = 0; t < all.threads.length; t++) {
            if (all.threads[t] == thread) {
                return all.traces[t] != null && isDefining(all.traces[t]);
            }
        }
        return false;
    }

    private static boolean isDefining(StackTraceElement[] trace) {
        for (StackTraceElement frame : trace) {
            String of = frame.getClassName();
            if (frame.getMethodName().startsWith("defineClass")
                    && (of.equals("java.lang.ClassLoader") || of.equals("jdk.internal.misc.Unsafe"))) {
                return true;
            }
        }
        return false;
    }
}
