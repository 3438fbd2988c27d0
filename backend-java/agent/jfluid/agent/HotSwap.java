package jfluid.agent;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.CRC32;

/**
 * Reads class bytes and swaps method bodies: RedefineMethods and ExtendConstantPool of the report's
 * section 4.1 on top of {@code Instrumentation.retransformClasses}.
 *
 * HotSpot starts every retransformation from the class's base bytes, so all bodies installed in a class
 * so far are spliced in again each time, whoever asked for it. A body is tied to the base it was
 * rewritten from by a CRC-32; on any other base it is refused rather than guessed at.
 *
 * All but {@link #transform} runs on the agent's thread.
 */
final class HotSwap {
    /** Decides about a class that is being loaded. Runs on the loading thread. */
    interface LoadHook {
        /** @return the bytes to define instead, or null */
        byte[] loading(ClassLoader loader, String name, ProtectionDomain domain, byte[] bytes);

        /**
         * Another agent redefines a class, perhaps with other bytes than it had as far as we know.
         *
         * @param unprobed whether it is left without the bodies that were installed in it
         */
        void changed(Class<?> redefined, boolean unprobed);
    }

    /** What is, or is about to be, installed in one class. */
    private static final class Target {
        final int crc;
        final int poolEntries;
        final byte[] pool;
        final TreeMap<Integer, byte[]> installed = new TreeMap<>();
        TreeMap<Integer, byte[]> pending = new TreeMap<>();
        /** When the load hook put its bodies in; 0 once the class has been seen, or if it was redefined. */
        long hookedAt;
        /** Set by transform(): why the bodies could not be put on the bytes it was shown. */
        volatile String problem;

        Target(int crc, int poolEntries, byte[] pool) {
            this.crc = crc;
            this.poolEntries = poolEntries;
            this.pool = pool;
        }

        synchronized byte[] apply(byte[] base) {
            if (installed.isEmpty() && pending.isEmpty()) {
                return null;
            }
            if (crc(base) != crc) {
                problem = "its bytes have changed since it was analysed";
                return null;
            }
            problem = null;
            TreeMap<Integer, byte[]> all = new TreeMap<>(installed);
            all.putAll(pending);
            return Splicer.splice(base, poolEntries, pool, all);
        }
    }

    /** How long a class may take from its load hook to its definition before it counts as not coming. */
    private static final long DEFINED_NANOS = 300_000_000L;
    private static final int DEFINED_TRIES = 80;

    private final Instrumentation instrumentation;
    private final ClassTable classes;
    private final RuntimeLink runtime;
    private final LoadHook loadHook;
    private final Thread agent = Thread.currentThread();
    /** By the internal name of the class. Gone with the loader: nothing here leads to a class. */
    private final PerLoader<Map<String, Target>> targets = new PerLoader<>();
    /** Filled by transform() while class bytes are being read; agent thread only. */
    private Map<Class<?>, byte[]> reading;
    private volatile boolean restoring;
    /** The JVM has loaded classes on the agent's own thread, to verify others: they pass no load hook. */
    boolean loadedMeanwhile;
    private volatile Relay relay = new Relay();
    int redefinitions;

    HotSwap(Instrumentation instrumentation, ClassTable classes, RuntimeLink runtime, LoadHook loadHook) {
        this.instrumentation = instrumentation;
        this.classes = classes;
        this.runtime = runtime;
        this.loadHook = loadHook;
        instrumentation.addTransformer(relay, true);
    }

    /**
     * Makes us the last transformer again: what one that was registered later makes of a class is then what we
     * read and put our bodies into. A class that is loaded meanwhile meets one of the two.
     */
    void goLast() {
        Relay old = relay;
        Relay fresh = new Relay();
        instrumentation.addTransformer(fresh, true);
        relay = fresh;
        instrumentation.removeTransformer(old);
    }

    /** What is registered with the JVM: the same transformer cannot be there twice. */
    private final class Relay implements ClassFileTransformer {
        @Override
        public byte[] transform(
                ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
            return this == relay ? HotSwap.this.transform(loader, name, redefined, domain, bytes) : null;
        }
    }

    static int crc(byte[] bytes) {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        return (int) crc.getValue();
    }

    /** Null means "unchanged"; an exception here would be swallowed by the JVM and hide a defect. */
    private byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (name == null) {
            return null;
        }
        if (Thread.currentThread() == agent) {
            if (redefined == null) {
                loadedMeanwhile = true;
                return null;
            }
            if (reading != null) {
                if (redefined == Sentinel.class) {
                    return new byte[] {0};
                }
                reading.put(redefined, bytes);
                return null;
            }
        } else if (redefined == null) {
            return loadHook.loading(loader, name, domain, bytes);
        }
        if (restoring) {
            return null;
        }
        Target target = target(loader, name);
        byte[] spliced = null;
        try {
            spliced = target == null ? null : target.apply(bytes);
        } catch (RuntimeException e) {
            target.problem = e.toString();
        }
        if (Thread.currentThread() != agent) {
            loadHook.changed(redefined, spliced == null && target != null && !target.installed.isEmpty());
        }
        return spliced;
    }

    /** Bytes of the given classes as a retransformation would see them; null where there are none. */
    List<Object> read(int[] ids) {
        List<Class<?>> wanted = new ArrayList<>();
        Class<?>[] byPosition = new Class<?>[ids.length];
        for (int i = 0; i < ids.length; i++) {
            Class<?> c = classes.find(ids[i]);
            if (c != null && instrumentation.isModifiableClass(c)) {
                byPosition[i] = c;
                wanted.add(c);
            }
        }
        IdentityHashMap<Class<?>, byte[]> seen = new IdentityHashMap<>();
        // Erroneous classes fail a whole batch before the sentinel; halving finds the others.
        readBatch(wanted, seen);
        List<Object> result = new ArrayList<>(ids.length);
        for (Class<?> c : byPosition) {
            result.add(c == null ? null : seen.get(c));
        }
        return result;
    }

    private void readBatch(List<Class<?>> batch, Map<Class<?>, byte[]> seen) {
        if (batch.isEmpty()) {
            return;
        }
        Class<?>[] request = new Class<?>[batch.size() + 1];
        batch.toArray(request);
        request[batch.size()] = Sentinel.class;
        reading = seen;
        try {
            instrumentation.retransformClasses(request);
            throw new IllegalStateException("the sentinel was accepted");
        } catch (java.lang.instrument.UnmodifiableClassException | LinkageError expected) {
            // ClassFormatError for the sentinel: by then every class before it has been shown.
        } catch (InternalError e) {
            // As above on JVMs that map the error otherwise.
        } finally {
            reading = null;
        }
        if (batch.size() > 1 && !seen.containsKey(batch.get(batch.size() - 1))) {
            List<Class<?>> missing = new ArrayList<>();
            for (Class<?> c : batch) {
                if (!seen.containsKey(c)) {
                    missing.add(c);
                }
            }
            if (missing.size() == batch.size() || missing.size() > 1) {
                int half = (missing.size() + 1) / 2;
                readBatch(new ArrayList<>(missing.subList(0, half)), seen);
                readBatch(new ArrayList<>(missing.subList(half, missing.size())), seen);
            } else {
                readBatch(missing, seen);
            }
        }
    }

    /** ExtendConstantPool: has no effect until bodies that use the entries are installed. */
    void extendPool(ClassLoader loader, String name, int crc, int poolEntries, byte[] pool) {
        Target old = target(loader, name);
        Target fresh = new Target(crc, poolEntries, pool);
        if (old != null) {
            if (old.crc == crc && old.poolEntries == poolEntries && java.util.Arrays.equals(old.pool, pool)) {
                return;
            }
            // Another base: bodies made for the old one no longer fit and are dropped.
        }
        targetsOf(loader).put(name, fresh);
    }

    void extendPool(int classId, int crc, int poolEntries, byte[] pool) {
        Class<?> c = classes.find(classId);
        if (c != null) {
            extendPool(c.getClassLoader(), c.getName().replace('.', '/'), crc, poolEntries, pool);
        }
    }

    /**
     * RedefineMethods: installs bodies in many classes at once. One class that the JVM rejects does not
     * sink the others.
     *
     * @param bodies class id → method index → contents of the Code attribute
     * @return class id → why it was refused
     */
    Map<Integer, String> redefine(Map<Integer, TreeMap<Integer, byte[]>> bodies) {
        Map<Integer, String> refused = new HashMap<>();
        Map<Class<?>, Integer> idOf = new IdentityHashMap<>();
        List<Class<?>> batch = new ArrayList<>();
        for (var entry : bodies.entrySet()) {
            Class<?> c = classes.find(entry.getKey());
            Target target = c == null ? null : target(c);
            if (c == null) {
                refused.put(entry.getKey(), "the class is no longer loaded");
            } else if (target == null) {
                refused.put(entry.getKey(), "its constant pool was not extended");
            } else {
                target.pending = entry.getValue();
                idOf.put(c, entry.getKey());
                batch.add(c);
                runtime.beforeRedefinition(c.getClassLoader());
            }
        }
        Map<Class<?>, String> failed = new IdentityHashMap<>();
        retransform(batch, failed);
        for (Class<?> c : batch) {
            Target target = target(c);
            String why = failed.get(c);
            if (why == null) {
                why = target.problem;
            }
            if (why == null) {
                target.installed.putAll(target.pending);
            } else {
                refused.put(idOf.get(c), why);
            }
            target.pending = new TreeMap<>();
        }
        return refused;
    }

    private Target target(Class<?> c) {
        return target(c.getClassLoader(), c.getName().replace('.', '/'));
    }

    private Target target(ClassLoader loader, String name) {
        Map<String, Target> known = targets.get(loader);
        return known == null ? null : known.get(name);
    }

    private Map<String, Target> targetsOf(ClassLoader loader) {
        return targets.get(loader, ConcurrentHashMap::new);
    }

    /** Forgets what was installed in classes that have gone. */
    void dropGone() {
        targets.takeGone();
    }

    private List<Target> allTargets() {
        dropGone();
        return targets.values().stream().flatMap(m -> m.values().stream()).toList();
    }

    /** Retransforms all or, where the JVM objects, all that can be: halves until the culprits are alone. */
    private void retransform(List<Class<?>> batch, Map<Class<?>, String> failed) {
        if (batch.isEmpty()) {
            return;
        }
        try {
            redefinitions++;
            instrumentation.retransformClasses(batch.toArray(new Class<?>[0]));
        } catch (Throwable t) {
            if (restoring && t instanceof OutOfMemoryError full) {
                throw full;
            }
            if (t instanceof VirtualMachineError && !(t instanceof InternalError)) {
                for (Class<?> c : batch) {
                    failed.put(c, t.toString());
                }
                return;
            }
            if (batch.size() == 1) {
                failed.put(batch.get(0), t.toString());
                return;
            }
            int half = batch.size() / 2;
            retransform(batch.subList(0, half), failed);
            retransform(batch.subList(half, batch.size()), failed);
        }
    }

    /** For the load hook: the bodies for a class that is about to be defined, as if redefined. */
    byte[] defineWith(
            ClassLoader loader, String name, byte[] base, int poolEntries, byte[] pool, TreeMap<Integer, byte[]> bodies) {
        Target target = new Target(crc(base), poolEntries, pool);
        target.installed.putAll(bodies);
        target.hookedAt = System.nanoTime();
        byte[] spliced = target.apply(base);
        targetsOf(loader).put(name, target);
        return spliced;
    }

    /**
     * Gives every class its own code back, in one batch where the JVM lets us. To be called again when
     * memory ran out.
     *
     * @return {classes restored, classes the JVM refused}
     */
    int[] restore() {
        restoring = true;
        List<Class<?>> batch = new ArrayList<>();
        Map<Class<?>, String> failed = new IdentityHashMap<>();
        boolean any = allTargets().stream().anyMatch(t -> !t.installed.isEmpty());
        // A class whose hook has been answered may not be defined yet: it is waited for, shortly.
        for (int tries = 0; any && tries < DEFINED_TRIES; tries++) {
            List<Class<?>> found = new ArrayList<>();
            for (Class<?> c : instrumentation.getAllLoadedClasses()) {
                if (!c.isArray() && !c.isPrimitive() && !c.isHidden()) {
                    Target target = target(c);
                    if (target != null && !target.installed.isEmpty()) {
                        found.add(c);
                    }
                }
            }
            retransform(found, failed);
            for (Class<?> c : found) {
                target(c).installed.clear(); // not before: where memory ran out we are called again
            }
            batch.addAll(found);
            long now = System.nanoTime();
            any = allTargets().stream()
                    .anyMatch(t -> !t.installed.isEmpty() && t.hookedAt != 0 && now - t.hookedAt < DEFINED_NANOS);
            if (any) {
                Pause.nanos(5_000_000L);
            }
        }
        targets.clear();
        return new int[] {batch.size() - failed.size(), failed.size()};
    }

    void close() {
        instrumentation.removeTransformer(relay);
    }
}
