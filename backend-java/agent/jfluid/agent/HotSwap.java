package jfluid.agent;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.zip.CRC32;
import jdk.internal.misc.Unsafe;

/**
 * Reads class bytes and swaps method bodies: RedefineMethods and ExtendConstantPool of the report's
 * section 4.1 on top of {@code Instrumentation.retransformClasses}.
 *
 * HotSpot starts every retransformation from the class's base bytes, so all bodies installed in a class
 * so far are spliced in again each time, whoever asked for it. A body is tied to the base it was
 * rewritten from by a CRC-32; on any other base it is refused rather than guessed at.
 *
 * All but {@link #transform} and {@link #swap} runs on the agent's thread. A redefinition links its
 * classes and so may load others, and may have to wait for a thread that is loading them and waits for us
 * in the load hook: it has a thread of its own, for as long as it runs. Reading does not link on JDK 17.
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

    /** What is, or is about to be, installed in one class. Appended pool entries count as body {@link #POOL}. */
    private static final class Target {
        private static final int POOL = -1;
        private static final TreeMap<Integer, byte[]> NOTHING = new TreeMap<>();
        final int crc;
        final int poolEntries;
        private final Bodies kept = new Bodies();
        private boolean installed;
        private TreeMap<Integer, byte[]> pending = NOTHING;
        /** When the load hook put its bodies in; 0 once the class has been seen, or if it was redefined. */
        long hookedAt;
        /** While children are bare: the methods that keep their probes, the roots; null at other times. */
        private Set<Integer> roots;
        /** The class has its own code, as it should have at the moment. */
        private boolean ownCode;
        /** Set by transform(): why the bodies could not be put on the bytes it was shown. */
        volatile String problem;

        Target(int crc, int poolEntries, byte[] pool) {
            this.crc = crc;
            this.poolEntries = poolEntries;
            kept.putAll(new TreeMap<>(Map.of(POOL, pool)));
        }

        synchronized boolean isInstalled() {
            return installed;
        }

        synchronized boolean hasPool(int entries, byte[] pool) {
            return poolEntries == entries && java.util.Arrays.equals(kept.read().get(POOL), pool);
        }

        synchronized void bare(Set<Integer> roots) {
            this.roots = roots;
        }

        synchronized boolean isBare() {
            return roots != null || ownCode;
        }

        synchronized void prepare(TreeMap<Integer, byte[]> bodies) {
            pending = bodies;
        }

        synchronized void install(TreeMap<Integer, byte[]> bodies) {
            kept.putAll(bodies);
            installed |= !bodies.isEmpty();
        }

        /** @param asWell whether what was pending is installed now */
        synchronized void conclude(boolean asWell) {
            if (asWell) {
                install(pending);
            }
            pending = NOTHING;
        }

        /** What was pending may be in, and need not be kept: it will be taken back. Needs no memory. */
        synchronized void leave() {
            installed = true;
            pending = NOTHING;
        }

        /** Of no use any more; who comes late finds nothing to apply. */
        synchronized void forget() {
            installed = false;
            pending = NOTHING;
            kept.clear();
        }

        synchronized int bytesOutside() {
            return kept.bytes();
        }

        synchronized byte[] apply(byte[] base) {
            if (!installed && pending.isEmpty()) {
                return null;
            }
            if (crc(base) != crc) {
                problem = "its bytes have changed since it was analysed";
                return null;
            }
            problem = null;
            TreeMap<Integer, byte[]> all = kept.read();
            all.putAll(pending);
            byte[] pool = all.remove(POOL);
            if (roots != null) {
                all.keySet().retainAll(roots);
            }
            all.values().removeIf(body -> body.length == 0); // methods that have their own code for now
            ownCode = all.isEmpty();
            if (ownCode) {
                return null;
            }
            return Splicer.splice(base, poolEntries, pool, all);
        }
    }

    static final String NO_METASPACE = "no metaspace was left in the target";
    /** What no JVM takes for a class. */
    private static final byte[] NO_CLASS = {0};
    /** How long a class may take from its load hook to its definition before it counts as not coming. */
    private static final long DEFINED_NANOS = 300_000_000L;
    private static final int DEFINED_TRIES = 80;
    /** Of giving a class its code back that the JVM refuses to take. */
    private static final int REFUSED_TRIES = 10;
    private static final long REFUSED_NANOS = 10_000_000L;

    private final Instrumentation instrumentation;
    private final ClassTable classes;
    private final RuntimeLink runtime;
    private final LoadHook loadHook;
    private final Thread agent = Thread.currentThread();
    /** The one that is in {@link #swap}. */
    private volatile Thread swapper;
    /** With more culprits in a batch, halving needs less work of the JVM than one after the other. */
    private static final int SUSPECTS = 8;
    /** A Target, its Bodies and its place in a map. */
    private static final long TARGET_BYTES = 120;

    /** By the class's name, which the class itself has. Gone with the loader: nothing here leads to a class. */
    private final PerLoader<Map<String, Target>> targets = new PerLoader<>();
    /** While class bytes are being read: whose, and what transform() was shown; agent thread only. */
    private Class<?> reading;
    private byte[] read;
    private volatile boolean restoring;
    private boolean removed;
    /** The last class that the JVM has shown to the thread which redefines; only that thread's. */
    private Class<?> shown;
    /** The JVM has loaded classes on our own threads, to verify others. */
    private final AtomicBoolean loadedMeanwhile = new AtomicBoolean();
    private volatile Relay relay = new Relay();

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
        if (name == null || redefined == null && loader == HotSwap.class.getClassLoader()) {
            return null; // classes of ours may be loaded whenever they are needed first, and nobody is asked for them
        }
        boolean ours = Thread.currentThread() == agent || Thread.currentThread() == swapper;
        if ((ours || RuntimeLink.isAsking()) && redefined == null) {
            loadedMeanwhile.set(true);
            if (Thread.currentThread() != swapper) {
                return null;
            }
        }
        if (Thread.currentThread() == agent && redefined == reading) {
            read = bytes;
            return NO_CLASS;
        }
        if (redefined == null) {
            return loadHook.loading(loader, name, domain, bytes);
        }
        if (ours) {
            shown = redefined;
        }
        if (restoring) {
            return null;
        }
        Target target = target(redefined);
        byte[] spliced = null;
        try {
            spliced = target == null ? null : target.apply(bytes);
        } catch (Throwable e) {
            // The JVM would swallow it, and the class would count as rewritten. Without memory for words, either.
            target.problem = e instanceof VirtualMachineError ? "no memory or stack for its bodies" : e.toString();
        }
        if (!ours) {
            boolean unprobed = spliced == null && target != null && target.isInstalled() && !target.isBare();
            loadHook.changed(redefined, unprobed);
        }
        return spliced;
    }

    /**
     * Bytes of the given classes as a retransformation would see them; null where there are none.
     *
     * Each is retransformed alone, and what it is retransformed to is refused by the JVM's parser: nothing is
     * redefined, and, other than after a good answer, JDK 17 does not link and verify the class either
     * (VM_RedefineClasses::load_new_class_versions), which would load others. JDK 25 links it before it shows its bytes
     * (JvmtiEnv::RetransformClasses).
     */
    List<Object> read(int[] ids) {
        List<Object> result = new ArrayList<>(ids.length);
        for (int id : ids) {
            Class<?> c = classes.find(id);
            result.add(c != null && instrumentation.isModifiableClass(c) && runtime.mayLink(c) ? read(c) : null);
        }
        return result;
    }

    private byte[] read(Class<?> c) {
        boolean redefined = false;
        reading = c;
        try {
            instrumentation.retransformClasses(c);
            redefined = true;
        } catch (java.lang.instrument.UnmodifiableClassException | LinkageError | InternalError expected) {
            // ClassFormatError, or another one if the class is erroneous: then it was not shown.
        } finally {
            reading = null;
        }
        if (redefined) {
            // A transformer behind ours has made a class of it, and our bodies are not in it.
            loadHook.changed(c, true);
        }
        byte[] bytes = read;
        read = null;
        return bytes;
    }

    /** ExtendConstantPool: has no effect until bodies that use the entries are installed. */
    void extendPool(int classId, int crc, int poolEntries, byte[] pool) {
        Class<?> c = classes.find(classId);
        if (c == null) {
            return;
        }
        Target old = target(c);
        if (old == null || old.crc != crc || !old.hasPool(poolEntries, pool)) {
            // Another base: bodies made for the old one no longer fit and are dropped.
            put(c.getClassLoader(), c.getName(), new Target(crc, poolEntries, pool));
        }
    }

    private void put(ClassLoader loader, String name, Target target) {
        Target old = targets.get(loader, ConcurrentHashMap::new).put(name, target);
        if (old != null) {
            old.forget();
        }
    }

    /** One RedefineMethods, from {@link #prepare} to {@link #conclude}. */
    static final class Swap {
        private final Map<Integer, String> refused = new HashMap<>();
        private final Map<Class<?>, Integer> idOf = new IdentityHashMap<>();
        private final List<Class<?>> batch = new ArrayList<>();
        private final Map<Class<?>, String> failed = new IdentityHashMap<>();
        /** Of the JVM. */
        int calls;
        /** The JVM has loaded classes that the others need. */
        boolean loadedMeanwhile;
        /** No metaspace was left: to ask again costs the application a collection of all its heap. */
        boolean isOutOfMetaspace;

        boolean isEmpty() {
            return batch.isEmpty();
        }
    }

    /**
     * RedefineMethods: installs bodies in many classes at once. One class that the JVM rejects does not
     * sink the others.
     *
     * @param bodies class id → method index → contents of the Code attribute
     */
    Swap prepare(Map<Integer, TreeMap<Integer, byte[]>> bodies) {
        Swap swap = new Swap();
        for (var entry : bodies.entrySet()) {
            Class<?> c = classes.find(entry.getKey());
            Target target = c == null ? null : target(c);
            if (c == null) {
                swap.refused.put(entry.getKey(), "the class is no longer loaded");
            } else if (target == null) {
                swap.refused.put(entry.getKey(), "its constant pool was not extended");
            } else {
                target.prepare(entry.getValue());
                swap.idOf.put(c, entry.getKey());
                swap.batch.add(c);
            }
        }
        return swap;
    }

    /**
     * Gives classes their own code, but for the given methods; bodies stay at hand, and what is installed meanwhile is kept
     * with them.
     *
     * @param roots class id → numbers of methods that keep their bodies
     */
    Swap prepareBare(Map<Integer, Set<Integer>> roots) {
        Swap swap = new Swap();
        roots.forEach((id, kept) -> addInstalled(swap, id, kept));
        return swap;
    }

    /** The way back, for these classes, and all that are redefined from now on. */
    Swap prepareBack(int[] ids) {
        allTargets().forEach(target -> target.bare(null));
        Swap swap = new Swap();
        for (int id : ids) {
            addInstalled(swap, id, null);
        }
        return swap;
    }

    private void addInstalled(Swap swap, int id, Set<Integer> roots) {
        Class<?> c = classes.find(id);
        Target target = c == null ? null : target(c);
        if (target != null && target.isInstalled()) {
            target.bare(roots);
            swap.idOf.put(c, id);
            swap.batch.add(c);
        }
    }

    /** The redefinition itself, on whatever thread; the agent's does not touch the swap meanwhile. */
    void swap(Swap swap) {
        swapper = Thread.currentThread();
        try {
            List<Class<?>> ready = new ArrayList<>(swap.batch.size());
            for (Class<?> c : swap.batch) {
                String problem = runtime.problemOf(c.getClassLoader());
                if (problem == null) {
                    ready.add(c);
                } else {
                    swap.failed.put(c, problem);
                }
            }
            swap.calls = retransformLinked(ready, swap.failed);
            swap.isOutOfMetaspace = swap.failed.containsValue(NO_METASPACE);
        } finally {
            swap.loadedMeanwhile = loadedMeanwhile.getAndSet(false); // by this one, or to read classes for it
            swapper = null;
        }
    }

    /** @return class id → why it was refused */
    Map<Integer, String> conclude(Swap swap) {
        for (Class<?> c : swap.batch) {
            Target target = target(c);
            String why = swap.failed.get(c);
            if (why == null) {
                why = target.problem;
            }
            if (why != null) {
                swap.refused.put(swap.idOf.get(c), why);
            }
            target.conclude(why == null);
        }
        return swap.refused;
    }

    private Target target(Class<?> c) {
        Map<String, Target> known = targets.get(c.getClassLoader());
        return known == null ? null : known.get(c.getName());
    }

    /** Forgets what was installed in classes that have gone. */
    void dropGone() {
        for (Map<String, Target> gone : targets.takeGone()) {
            gone.values().forEach(Target::forget);
        }
    }

    /** {@code [in the heap, outside of it]}: bytes that are kept for the classes that have probes. */
    long[] bytes() {
        long inside = 0;
        long outside = 0;
        for (Map<String, Target> ofLoader : targets.values()) {
            for (Target target : ofLoader.values()) {
                inside += TARGET_BYTES;
                outside += target.bytesOutside();
            }
        }
        return new long[] {inside, outside};
    }

    private List<Target> allTargets() {
        dropGone();
        return targets.values().stream().flatMap(m -> m.values().stream()).toList();
    }

    /**
     * A redefinition links its classes, and ends at the first that cannot be linked because of a class that is
     * missing: in a server there are always some. They are told apart before, or halving would find each of them by
     * a dozen redefinitions of all the others.
     */
    private int retransformLinked(List<Class<?>> batch, Map<Class<?>, String> failed) {
        List<Class<?>> sound = new ArrayList<>();
        List<Class<?>> doubtful = new ArrayList<>();
        for (Class<?> c : batch) {
            (batch.size() == 1 || links(c) ? sound : doubtful).add(c);
        }
        return retransform(sound, failed) + retransform(doubtful, failed);
    }

    private int retransform(List<Class<?>> batch, Map<Class<?>, String> failed) {
        return retransform(batch, failed, SUSPECTS);
    }

    /**
     * To list constructors links the class, or methods for an interface, which has no constructors (jvm.cpp,
     * get_class_declared_methods_helper). It also looks up the classes that those name, so a failure may mean them.
     */
    private static boolean links(Class<?> c) {
        if (!Unsafe.getUnsafe().shouldBeInitialized(c)) {
            return true;
        }
        try {
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

    /**
     * Retransforms all or, where the JVM objects, all that can be. It looks at one class after the other, and at none
     * after one that it refuses, so the last that it has shown us is the first suspect. If that is innocent (JDK 25 may
     * refuse a class before it shows it), or if there are many culprits: halves until they are alone.
     *
     * @param suspects how many are tried
     * @return how many calls of the JVM it took
     */
    private int retransform(List<Class<?>> batch, Map<Class<?>, String> failed, int suspects) {
        if (batch.isEmpty()) {
            return 0;
        }
        shown = null;
        try {
            instrumentation.retransformClasses(batch.toArray(new Class<?>[0]));
        } catch (Throwable t) {
            Class<?> suspect = shown;
            shown = null;
            if (restoring && t instanceof OutOfMemoryError full) {
                throw full;
            }
            if (t instanceof VirtualMachineError && !(t instanceof InternalError)) {
                String why = t instanceof OutOfMemoryError full && isMetaspace(full) ? NO_METASPACE : t.toString();
                for (Class<?> c : batch) {
                    failed.put(c, why);
                }
                return 1;
            }
            if (batch.size() == 1) {
                failed.put(batch.get(0), t.toString());
                return 1;
            }
            if (suspects > 0 && suspect != null && batch.contains(suspect)) {
                List<Class<?>> others = new ArrayList<>(batch);
                others.remove(suspect);
                int calls = 1 + retransform(List.of(suspect), failed);
                return calls
                        + (failed.containsKey(suspect)
                                ? retransform(others, failed, suspects - 1)
                                : halves(others, failed));
            }
            return 1 + halves(batch, failed);
        } finally {
            shown = null; // or it could not be unloaded
        }
        return 1;
    }

    static boolean isMetaspace(OutOfMemoryError full) {
        return "Metaspace".equals(full.getMessage()) || "Compressed class space".equals(full.getMessage());
    }

    private int halves(List<Class<?>> batch, Map<Class<?>, String> failed) {
        int half = batch.size() / 2;
        return retransform(batch.subList(0, half), failed) + retransform(batch.subList(half, batch.size()), failed);
    }

    /** For the load hook: the bodies for a class that is about to be defined, as if redefined. */
    byte[] defineWith(
            ClassLoader loader, String name, byte[] base, int poolEntries, byte[] pool, TreeMap<Integer, byte[]> bodies) {
        Target target = new Target(crc(base), poolEntries, pool);
        boolean put = false;
        try {
            target.install(bodies);
            target.hookedAt = System.nanoTime();
            byte[] spliced = target.apply(base);
            put(loader, name.replace('/', '.'), target);
            put = true;
            return spliced;
        } finally {
            if (!put) {
                target.forget();
            }
        }
    }

    /** The session ends in the middle of this redefinition, which is over. Needs no memory. */
    void drop(Swap swap) {
        restoring = true;
        for (Class<?> c : swap.batch) {
            Target target = target(c);
            if (target != null) {
                target.leave();
            }
        }
    }

    /**
     * Gives every class its own code back, in one batch where the JVM lets us. To be called again when
     * memory ran out.
     *
     * @return {classes restored, classes the JVM refused, lambda classes of both, which it never unloads from now on}
     */
    int[] restore() {
        restoring = true;
        int lambdas = 0;
        List<Class<?>> batch = new ArrayList<>();
        Map<Class<?>, String> failed = new IdentityHashMap<>();
        boolean any = allTargets().stream().anyMatch(Target::isInstalled);
        // A class whose hook has been answered may not be defined yet: it is waited for, shortly.
        for (int tries = 0; any && tries < DEFINED_TRIES; tries++) {
            List<Class<?>> found = new ArrayList<>();
            for (Class<?> c : instrumentation.getAllLoadedClasses()) {
                if (c.isHidden()) {
                    lambdas += isLambdaOfTarget(c) ? 1 : 0;
                } else if (!c.isArray() && !c.isPrimitive()) {
                    Target target = target(c);
                    if (target != null && target.isInstalled()) {
                        found.add(c);
                    }
                }
            }
            retransform(found, failed);
            retryRefused(failed);
            for (Class<?> c : found) {
                target(c).forget(); // not before: where memory ran out we are called again
            }
            batch.addAll(found);
            long now = System.nanoTime();
            any = allTargets().stream()
                    .anyMatch(t -> t.isInstalled() && t.hookedAt != 0 && now - t.hookedAt < DEFINED_NANOS);
            if (any) {
                Pause.nanos(5_000_000L);
            }
        }
        allTargets().forEach(Target::forget);
        targets.clear();
        return new int[] {batch.size() - failed.size(), failed.size(), lambdas};
    }

    /** Another agent may have made something of a class that the JVM does not take, and the next time it does not. */
    private void retryRefused(Map<Class<?>, String> failed) {
        for (int tries = 0; tries < REFUSED_TRIES && !failed.isEmpty(); tries++) {
            Pause.nanos(REFUSED_NANOS);
            List<Class<?>> again = new ArrayList<>(failed.keySet());
            failed.clear();
            retransform(again, failed);
        }
    }

    /** Its call sites are linked anew, to other classes, once the host has its own code back. */
    private boolean isLambdaOfTarget(Class<?> hidden) {
        if (!hidden.getName().contains("$$Lambda")) {
            return false;
        }
        Target target = target(hidden.getNestHost());
        return target != null && target.isInstalled();
    }

    /** @return whether the JVM has let go of the transformer */
    boolean close() {
        removed |= instrumentation.removeTransformer(relay);
        return removed;
    }
}
