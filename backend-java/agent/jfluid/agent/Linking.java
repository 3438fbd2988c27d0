package jfluid.agent;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import jdk.internal.misc.Unsafe;

/**
 * Links classes, since a redefinition does, and would meanwhile keep everybody from redefining any class of its batch. To
 * link a class may take its loader, which a thread of the application may hold for ever: so a thread of our own links, and
 * is left to it where it does not get on.
 */
final class Linking {
    /** Mostly it is over by then. */
    private static final long SOON_NANOS = 100_000_000L;
    private static final long MAX_CHECK_GAP_NANOS = 200_000L;

    private final Consumer<List<Class<?>>> later;
    private final List<Class<?>> linked = new ArrayList<>();
    private Linker linker;

    private static final class Linker extends GuestThread {
        /** Those of a loader behind one another. */
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

        /** @return the classes that it does not get on with, which are its own from now on: of one loader */
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

    /** @param later on the thread that has linked classes when nobody waited any more: what is to be done with them */
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
            linked.addAll(classes); // whoever redefines them links them
        }
    }

    /** Where it is needed there may be no memory to load it. */
    static void prepare() {
        new Linker(List.of(), null);
    }

    /** @return whether it is over, after a moment: {@link #finish} does not wait then */
    boolean isSoonOver() {
        long until = System.nanoTime() + SOON_NANOS;
        while (linker != null && linker.isAlive() && System.nanoTime() - until < 0) {
            Pause.nanos(MAX_CHECK_GAP_NANOS);
        }
        return linker == null || !linker.isAlive();
    }

    /** @return those that are linked, or cannot be; the others are left to threads of their own */
    List<Class<?>> finish() {
        boolean isLate = false;
        while (linker != null) {
            Linker it = linker;
            int before = it.done();
            // Whoever holds one loader for ever may hold others: all of them together are not to take long.
            boolean hasEnded = isLate ? Patient.awaitShortly(it) : Patient.await(it);
            if (!hasEnded && it.done() > before) {
                continue;
            }
            int own = hasEnded ? 0 : it.abandon().size();
            int done = it.done();
            linked.addAll(it.classes.subList(0, done));
            List<Class<?>> rest = it.classes.subList(done + own, it.classes.size());
            if (hasEnded) {
                linked.addAll(rest); // there was no memory for it: whoever redefines them links them
                linker = null;
            } else {
                isLate = true;
                begin(rest);
            }
        }
        return linked;
    }

    /** Whether to link it may ask a loader for other classes, and so wait for the application: not those that the JDK starts programs with. */
    static boolean mayWait(Class<?> c) {
        ClassLoader loader = c.getClassLoader();
        return loader != null && !loader.getClass().getName().startsWith("jdk.internal.loader.ClassLoaders$")
                && Unsafe.getUnsafe().shouldBeInitialized(c);
    }

    /**
     * Who links a class has its initialisation lock, and waits for its loader: a thread that holds the loader and uses the class then would
     * wait for us in turn, and nobody goes on. So the loader is waited for before, while nothing is held. It is not held while
     * the class is linked: threads of the application take the two the other way round. The JVM takes only loaders that do not
     * load in parallel (is_parallelCapable in systemDictionary.cpp); others are not waited for.
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
     * To list constructors links the class, or methods for an interface, which has no constructors (jvm.cpp,
     * get_class_declared_methods_helper). It also looks up the classes that those name, so a failure may mean them.
     *
     * @return whether it can be linked
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
        } catch (Throwable e) { // whatever a class loader of the application throws; of ours is nothing there
            return false;
        }
    }
}
