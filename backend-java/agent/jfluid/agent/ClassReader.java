package jfluid.agent;

import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import jdk.internal.misc.Unsafe;

/**
 * Reads the bytes of classes as a retransformation sees them.
 *
 * Each class is retransformed alone, and the JVM's parser refuses the new bytes. So no class is redefined, and JDK 17 does not link or
 * verify the class (VM_RedefineClasses::load_new_class_versions); linking would load further classes. JDK 25 links a class before it shows
 * the bytes (JvmtiEnv::RetransformClasses), and so may wait for the class loader. Unlinked classes are therefore read by a separate thread;
 * the agent waits for that thread while the thread makes progress.
 */
final class ClassReader {
    /** Bytes that every JVM refuses as a class file. */
    private static final byte[] NO_CLASS = {0};
    private static final boolean LINKS_FIRST = Runtime.version().feature() >= 25;
    private static final long CHECK_INTERVAL_NANOS = 50_000L;
    /** Timeout for reading one class while the reading thread is blocked. */
    private static final long BLOCKED_TIMEOUT_NANOS = 200_000_000L;
    /** Maximum time counted between two checks: the process may have been stopped. */
    private static final long MAX_COUNTED_GAP_NANOS = 50_000_000L;
    /** Timeout for reading one class while the reading thread is runnable. */
    private static final long RUNNABLE_TIMEOUT_NANOS = 2_000_000_000L;

    private final Instrumentation instrumentation;
    private final RuntimeLink runtime;
    private final Reading own = new Reading();

    /**
     * Loaders that a reading thread of any session waits for; no second thread is started for these loaders. Null until a thread is stuck.
     */
    private static PerLoader<Stuck> stuck;

    /** An abandoned reading thread. Does not refer to its classes. */
    private static final class Stuck {
        volatile boolean isOver;
    }

    /** The class that a reading thread is reading now. Confined to that thread. */
    private final class Reading {
        private Class<?> of;
        private byte[] bytes;
        private boolean redefined;

        byte[] read(Class<?> c) {
            of = c;
            bytes = null;
            redefined = false;
            try {
                instrumentation.retransformClasses(c);
                redefined = true;
            } catch (UnmodifiableClassException | LinkageError | InternalError expected) {
                // Normally the intended ClassFormatError. Any other error means that the class is erroneous and the JVM did not pass its
                // bytes to the transformer.
            } finally {
                of = null;
            }
            byte[] seen = bytes;
            bytes = null;
            return seen;
        }
    }

    /** Thread that reads classes which the JVM may link before it shows their bytes. */
    private final class Aside extends GuestThread {
        private final Reading reading = new Reading();
        private final List<Class<?>> classes;
        private final byte[][] bytes;
        private final boolean[] redefined;
        /** Number of classes read. */
        private volatile int done;
        /** Set after a timeout. */
        private volatile boolean abandoned;
        private volatile OutOfMemoryError full;
        private final Stuck stuck = new Stuck();

        Aside(List<Class<?>> classes) {
            super("jfluid-read");
            this.classes = classes;
            bytes = new byte[classes.size()][];
            redefined = new boolean[classes.size()];
        }

        @Override
        public void run() {
            try {
                for (int i = 0; i < bytes.length && !abandoned; i++) {
                    if (LINKS_FIRST) {
                        Linking.awaitLoader(classes.get(i));
                    }
                    bytes[i] = reading.read(classes.get(i));
                    redefined[i] = reading.redefined;
                    done = i + 1;
                }
            } catch (OutOfMemoryError e) {
                full = e;
            } finally {
                stuck.isOver = true;
            }
        }

        /** Waits for this thread. @return false on timeout */
        boolean await() {
            long begun = System.nanoTime();
            long before = begun;
            long waited = 0;
            for (int seen = 0; done < bytes.length && isAlive();) {
                Pause.nanos(CHECK_INTERVAL_NANOS);
                long now = System.nanoTime();
                if (done != seen) {
                    seen = done;
                    begun = now;
                    waited = 0;
                } else if (getState() != State.RUNNABLE) {
                    waited += Math.min(now - before, MAX_COUNTED_GAP_NANOS);
                }
                before = now;
                if (waited > BLOCKED_TIMEOUT_NANOS || now - begun > RUNNABLE_TIMEOUT_NANOS) {
                    abandoned = true;
                    return false;
                }
            }
            if (full != null) {
                throw full;
            }
            return true;
        }
    }

    ClassReader(Instrumentation instrumentation, RuntimeLink runtime) {
        this.instrumentation = instrumentation;
        this.runtime = runtime;
    }

    /** Called by the transformer. Takes the bytes and returns true if the current thread is reading this class. */
    boolean takes(Class<?> shown, byte[] bytes, boolean isAgent) {
        Thread thread = Thread.currentThread();
        Reading reading = isAgent ? own : thread instanceof Aside ? ((Aside) thread).reading : null;
        if (reading == null || reading.of != shown || shown == null) {
            return false;
        }
        reading.bytes = bytes;
        return true;
    }

    static byte[] refused() {
        return NO_CLASS;
    }

    /** Returns whether the current thread is a separate reading thread. */
    static boolean isReading() {
        return Thread.currentThread() instanceof Aside;
    }

    /** @param hook notified of each class whose bytes a later transformer has changed */
    List<byte[]> read(List<Class<?>> classes, HotSwap.LoadHook hook) {
        byte[][] result = new byte[classes.size()][];
        List<Integer> unlinked = new ArrayList<>();
        for (int i = 0; i < result.length; i++) {
            Class<?> c = classes.get(i);
            if (c == null || !instrumentation.isModifiableClass(c)) {
                continue;
            }
            if (Unsafe.getUnsafe().shouldBeInitialized(c)) {
                unlinked.add(i);
                continue;
            }
            result[i] = own.read(c);
            if (own.redefined) {
                hook.changed(c, true);
            }
        }
        readAside(classes, unlinked, result, hook);
        return java.util.Arrays.asList(result);
    }

    /** @param which indices in `classes` of the classes to read; classes of a blocked loader get no bytes */
    private void readAside(List<Class<?>> classes, List<Integer> which, byte[][] result, HotSwap.LoadHook hook) {
        List<Integer> left = new ArrayList<>();
        for (int i : which) {
            ClassLoader loader = classes.get(i).getClassLoader();
            if (!isStuck(loader) && runtime.problemOf(loader) == null) {
                left.add(i);
            }
        }
        while (!left.isEmpty()) {
            List<Class<?>> those = new ArrayList<>();
            for (int i : left) {
                those.add(classes.get(i));
            }
            Aside aside = new Aside(those);
            try {
                aside.start();
            } catch (OutOfMemoryError noThread) {
                return; // the remaining classes get no bytes
            }
            boolean getsOn = aside.await();
            int done = aside.done;
            for (int at = 0; at < done; at++) {
                result[left.get(at)] = aside.bytes[at];
                if (aside.redefined[at]) {
                    hook.changed(classes.get(left.get(at)), true);
                }
            }
            if (getsOn || done == left.size()) {
                return;
            }
            ClassLoader held = classes.get(left.get(done)).getClassLoader();
            stuck = stuck == null ? new PerLoader<>() : stuck;
            stuck.takeGone();
            stuck.put(held, aside.stuck);
            left = new ArrayList<>(left.subList(done, left.size()));
            for (Iterator<Integer> it = left.iterator(); it.hasNext();) {
                if (classes.get(it.next()).getClassLoader() == held) {
                    it.remove();
                }
            }
        }
    }

    private static boolean isStuck(ClassLoader loader) {
        Stuck before = stuck == null || loader == null ? null : stuck.get(loader);
        return before != null && !before.isOver;
    }
}
