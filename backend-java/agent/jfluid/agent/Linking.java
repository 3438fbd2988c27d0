package jfluid.agent;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import jdk.internal.misc.Unsafe;

/**
 * Links classes before a redefinition. A redefinition links its classes and keeps all other threads from redefining them until it ends.
 * Linking may need the lock of a class loader, which an application thread may hold forever. So separate threads link the classes,
 * and are abandoned if they make no progress.
 */
final class Linking {
    /** Time within which linking usually ends. */
    private static final long SHORT_TIMEOUT_NANOS = 100_000_000L;
    private static final long CHECK_INTERVAL_NANOS = 200_000L;

    private final Consumer<List<Class<?>>> later;
    private final List<Class<?>> linked = new ArrayList<>();
    private Linker linker;

    private static final class Linker extends GuestThread {
        /** The classes, grouped by loader. */
        private final List<Class<?>> classes;
        private final Consumer<List<Class<?>>> later;
        private int done;
        private List<Class<?>> own;

        Linker(List<Class<?>> classes, Consumer<List<Class<?>>> later) {
            super("jfluid-swap");
            this.classes = classes;
            this.later = later;
        }

        @Override
        public void run() {
            for (Class<?> c : classes) {
                link(c);
                if (!advance()) {
                    for (Class<?> mine : own) {
                        link(mine);
                    }
                    later.accept(own);
                    return;
                }
            }
        }

        private synchronized boolean advance() {
            done += own == null ? 1 : 0;
            return own == null;
        }

        synchronized int done() {
            return done;
        }

        /** Abandons this thread. @return the unlinked classes of the current loader, which this thread keeps */
        synchronized List<Class<?>> abandon() {
            int end = done;
            while (end < classes.size() && classes.get(end).getClassLoader() == classes.get(done).getClassLoader()) {
                end++;
            }
            List<Class<?>> those = classes.subList(done, end);
            own = those.isEmpty() ? null : those;
            return those;
        }
    }

    /** @param later called by an abandoned thread with the classes that it has linked */
    Linking(List<Class<?>> classes, Consumer<List<Class<?>>> later) {
        this.later = later;
        Map<ClassLoader, List<Class<?>>> byLoader = new IdentityHashMap<>();
        for (Class<?> c : classes) {
            List<Class<?>> those = byLoader.get(c.getClassLoader());
            if (those == null) {
                those = new ArrayList<>();
                byLoader.put(c.getClassLoader(), those);
            }
            those.add(c);
        }
        List<Class<?>> sorted = new ArrayList<>();
        for (List<Class<?>> those : byLoader.values()) {
            sorted.addAll(those);
        }
        begin(sorted);
    }

    private void begin(List<Class<?>> classes) {
        linker = null;
        if (classes.isEmpty()) {
            return;
        }
        Linker next = new Linker(classes, later);
        try {
            next.start();
            linker = next;
        } catch (OutOfMemoryError noThread) {
            linked.addAll(classes); // the redefinition links these classes
        }
    }

    /** Loads the classes now: memory may be short when they are needed. */
    static void prepare() {
        new Linker(List.of(), null);
    }

    /** Waits briefly. @return whether linking has ended, so that {@link #finish} does not wait */
    boolean isSoonOver() {
        long until = System.nanoTime() + SHORT_TIMEOUT_NANOS;
        while (linker != null && linker.isAlive() && System.nanoTime() - until < 0) {
            Pause.nanos(CHECK_INTERVAL_NANOS);
        }
        return linker == null || !linker.isAlive();
    }

    /** @return classes that are linked or cannot be linked; abandoned threads keep the remaining classes */
    List<Class<?>> finish() {
        boolean isLate = false;
        while (linker != null) {
            Linker it = linker;
            int before = it.done();
            // A thread that holds one loader forever may hold other loaders, too, so the total wait is bounded.
            boolean hasEnded = isLate ? BoundedJoin.awaitShortly(it) : BoundedJoin.await(it);
            if (!hasEnded && it.done() > before) {
                continue;
            }
            int own = hasEnded ? 0 : it.abandon().size();
            int done = it.done();
            linked.addAll(it.classes.subList(0, done));
            List<Class<?>> rest = it.classes.subList(done + own, it.classes.size());
            if (hasEnded) {
                linked.addAll(rest); // memory was short: the redefinition links these classes
                linker = null;
            } else {
                isLate = true;
                begin(rest);
            }
        }
        return linked;
    }

    /** Returns whether linking a class may call a class loader of the application and wait for it. */
    static boolean mayWait(Class<?> c) {
        ClassLoader loader = c.getClassLoader();
        return loader != null && !loader.getClass().getName().startsWith("jdk.internal.loader.ClassLoaders$")
                && Unsafe.getUnsafe().shouldBeInitialized(c);
    }

    /**
     * Waits until the loader of a class is unlocked. A linking thread holds the class's initialisation lock and waits for the loader; an
     * application thread that holds the loader and uses the class would wait for the linking thread: a deadlock. So this thread waits for
     * the loader first, while it holds no lock. It does not hold the loader while it links: application threads take the two locks in
     * the opposite order. The JVM locks only loaders that are not parallel capable (is_parallelCapable in systemDictionary.cpp).
     */
    static void awaitLoader(Class<?> c) {
        ClassLoader loader = c.getClassLoader();
        if (loader != null && !loader.isRegisteredAsParallelCapable()) {
            synchronized (loader) {
                return;
            }
        }
    }

    /**
     * Links a class by listing its constructors, or the methods of an interface (jvm.cpp, get_class_declared_methods_helper). This also
     * resolves the parameter classes, so a failure may be caused by a parameter class.
     *
     * @return whether the class can be linked
     */
    static boolean link(Class<?> c) {
        if (!Unsafe.getUnsafe().shouldBeInitialized(c)) {
            return true;
        }
        try {
            if (mayWait(c)) {
                awaitLoader(c);
            }
            if (c.isInterface()) {
                c.getDeclaredMethods();
            } else {
                c.getDeclaredConstructors();
            }
            return true;
        } catch (Throwable e) { // a class loader of the application may throw anything
            return false;
        }
    }

    /**
     * Returns whether the JVM cannot link a class, for example because a class that its verification needs is missing. Each of the three calls
     * links the class first. Each also resolves other classes, so even three failures alone do not show that linking fails.
     */
    static boolean isUnlinkable(Class<?> c) {
        if (!Unsafe.getUnsafe().shouldBeInitialized(c)) {
            return false;
        }
        for (int i = 0; i < 3; i++) {
            try {
                Object[] listed = i == 0 ? c.getDeclaredConstructors()
                        : i == 1         ? c.getDeclaredMethods()
                                         : c.getDeclaredFields();
                return listed == null;
            } catch (VirtualMachineError memoryOrStack) {
                return false;
            } catch (Throwable notLinked) {
                // The next call decides.
            }
        }
        return true;
    }
}
