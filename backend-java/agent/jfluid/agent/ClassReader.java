package jfluid.agent;

import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import jdk.internal.misc.Unsafe;

/**
 * Bytes of classes as a retransformation sees them.
 *
 * Each is retransformed alone, and what it is retransformed to is refused by the JVM's parser: nothing is
 * redefined, and, other than after a good answer, JDK 17 does not link and verify the class either
 * (VM_RedefineClasses::load_new_class_versions), which would load others. JDK 25 links it before it shows its bytes
 * (JvmtiEnv::RetransformClasses), and so may wait for its class loader: classes that are not linked are read by a thread of
 * their own, which is waited for as long as it gets on.
 */
final class ClassReader {
    /** What no JVM takes for a class. */
    private static final byte[] NO_CLASS = {0};
    private static final boolean LINKS_FIRST = Runtime.version().feature() >= 25;
    private static final long MAX_CHECK_GAP_NANOS = 50_000L;
    /** A thread that waits for so long for one class may do so for ever. */
    private static final long STUCK_NANOS = 200_000_000L;
    /** Of what lies between two looks: the process may have been stopped. */
    private static final long MOST_NANOS = 50_000_000L;
    /** One that works, or wants a processor, may take so long. */
    private static final long ANSWER_TIMEOUT_NANOS = 2_000_000_000L;

    private final Instrumentation instrumentation;
    private final RuntimeLink runtime;
    private final Reading own = new Reading();

    /** Loaders for which a thread of ours waits, in whatever session: no other is sent after it. Null if there was none. */
    private static PerLoader<Stuck> stuck;

    /** A thread that nobody waits for any more; it does not lead to what it reads. */
    private static final class Stuck {
        volatile boolean isOver;
    }

    /** What a thread reads at the moment; only that thread's. */
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
                // ClassFormatError, or another one if the class is erroneous: then it was not shown.
            } finally {
                of = null;
            }
            byte[] seen = bytes;
            bytes = null;
            return seen;
        }
    }

    /** Reads classes that the JVM may link first. */
    private final class Aside extends GuestThread {
        private final Reading reading = new Reading();
        private final List<Class<?>> classes;
        private final byte[][] bytes;
        private final boolean[] redefined;
        /** How many have been read. */
        private volatile int done;
        /** Nobody waits any more. */
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

        /** @return whether it gets on */
        boolean await() {
            long begun = System.nanoTime();
            long before = begun;
            long waited = 0;
            for (int seen = 0; done < bytes.length && isAlive();) {
                Pause.nanos(MAX_CHECK_GAP_NANOS);
                long now = System.nanoTime();
                if (done != seen) {
                    seen = done;
                    begun = now;
                    waited = 0;
                } else if (getState() != State.RUNNABLE) {
                    waited += Math.min(now - before, MOST_NANOS);
                }
                before = now;
                if (waited > STUCK_NANOS || now - begun > ANSWER_TIMEOUT_NANOS) {
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

    /** By the transformer: whether the present thread reads this class, and has now got it. */
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

    /** Whether the present thread reads classes, and is not the agent's. */
    static boolean isReading() {
        return Thread.currentThread() instanceof Aside;
    }

    /** @param hook told of each class that a transformer behind ours has made something of, without our bodies */
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

    /** @param which by number: of those whose loader is stuck there are no bytes */
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
                return; // they have no bytes
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
