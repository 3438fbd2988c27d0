package jfluid.agent;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.ref.WeakReference;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.zip.CRC32;
import jdk.internal.misc.Unsafe;

/**
 * Reads class bytes and swaps method bodies: RedefineMethods and ExtendConstantPool of the report's
 * section 4.1 on top of {@code Instrumentation.retransformClasses}.
 *
 * HotSpot starts each retransformation from the class's base bytes, so the transformer splices in all installed bodies again each time,
 * also when another agent retransforms the class. A CRC-32 ties a body to the base it was rewritten from; on any other base the body is
 * refused.
 *
 * All methods except {@link #transform}, {@link #isComing} and {@link #swap} run on the agent's thread. A redefinition links its classes
 * and so may load further classes. It may then wait for a thread that is loading such a class and that itself waits for the agent in the
 * load hook. So each redefinition runs on a thread of its own.
 */
final class HotSwap {
    /** Whether this or an earlier session in this JVM has redefined a class. */
    static volatile boolean hasRedefined;

    /** Hook for classes that are being loaded or redefined. Runs on the loading thread. */
    interface LoadHook {
        /**
         * @param name null if the class is defined without a name
         * @return the bytes to define in place of `bytes`, or null
         */
        byte[] loading(ClassLoader loader, String name, ProtectionDomain domain, byte[] bytes);

        /**
         * Called when another agent redefines a class, possibly with changed bytes.
         *
         * @param unprobed whether the class loses its installed bodies
         */
        void changed(Class<?> redefined, boolean unprobed);
    }

    /** The bodies that are or will be installed in one class. Appended pool entries count as body {@link #POOL}. */
    private static final class Target {
        private static final int POOL = -1;
        private static final TreeMap<Integer, byte[]> NOTHING = new TreeMap<>();
        /**
         * Value of `problem` until the JVM passes the class to the transformer. If memory is short, the JVM does not pass it and reports no
         * error.
         */
        private static final String NOT_SHOWN = "the JVM lacked memory to pass its bytes to the agent";
        final int crc;
        final int poolEntries;
        private final Bodies kept = new Bodies();
        private boolean installed;
        /** Whether the class may contain installed bodies and so must be restored at the end. */
        private boolean touched;
        /** Value of `touched` before the running redefinition. */
        private boolean touchedBefore;
        /**
         * Bodies of the running redefinition. Only the redefining thread splices these bodies in, so that they cannot make a redefinition
         * by another agent fail.
         */
        private TreeMap<Integer, byte[]> pending = NOTHING;
        /**
         * Whether another agent redefined the class while jfluid's redefinition ran. The other redefinition may have ended after jfluid's
         * redefinition.
         */
        private boolean overtaken;
        /** System.nanoTime() at which the class last left the load hook with bodies; 0 if the class got bodies only by a redefinition. */
        volatile long hookedAt;
        /** Thread that was loading the class at `hookedAt`. */
        volatile WeakReference<Thread> hookedBy;
        /** Whether the last redefinition gave the class its original code back. */
        private boolean ownCode;
        /** Why the redefining thread could not splice the bodies into the bytes that the JVM passed to it. */
        volatile String problem;

        Target(int crc, int poolEntries, byte[] pool) {
            this.crc = crc;
            this.poolEntries = poolEntries;
            kept.putAll(new TreeMap<>(Map.of(POOL, pool)));
        }

        synchronized boolean isInstalled() {
            return installed;
        }

        synchronized boolean isTouched() {
            return touched;
        }

        synchronized boolean isOvertaken() {
            return overtaken;
        }

        /** Takes over the state of the class's previous target. */
        synchronized void follow(Target old) {
            touched |= old.isTouched();
        }

        synchronized boolean hasPool(int entries, byte[] pool) {
            return poolEntries == entries && java.util.Arrays.equals(kept.read().get(POOL), pool);
        }

        synchronized boolean hasOwnCode() {
            return ownCode;
        }

        /** Prepares a redefinition of the class. */
        synchronized void prepare(TreeMap<Integer, byte[]> bodies) {
            pending = bodies;
            problem = NOT_SHOWN;
            overtaken = false;
            touchedBefore = touched;
        }

        synchronized void install(TreeMap<Integer, byte[]> bodies) {
            kept.putAll(bodies);
            installed |= !bodies.isEmpty();
            touched |= installed;
        }

        /** @param asWell whether the pending bodies are installed now */
        synchronized void conclude(boolean asWell) {
            if (asWell) {
                install(pending);
            }
            pending = NOTHING;
        }

        /** Called when the JVM has refused the redefinition. The class is unchanged. */
        synchronized void refuse() {
            touched = touchedBefore;
            pending = NOTHING;
        }

        /** Called when the session ends during the redefinition. Pending bodies may be installed and will be removed. Allocates nothing. */
        synchronized void leave() {
            installed = touched = true;
            pending = NOTHING;
        }

        /** Drops all bodies. A later transform() applies nothing. */
        synchronized void forget() {
            installed = touched = false;
            pending = NOTHING;
            kept.clear();
        }

        synchronized int bytesOutside() {
            return kept.bytes();
        }

        /** @param swaps whether the calling thread is the redefining thread */
        synchronized byte[] apply(byte[] base, boolean swaps) {
            overtaken |= !swaps && !pending.isEmpty()
                    && problem != NOT_SHOWN; // NOT_SHOWN: our redefinition has not reached the class yet
            if (!installed && !(swaps && !pending.isEmpty())) {
                return null;
            }
            if (crc(base) != crc) {
                problem = swaps ? "its bytes have changed since it was analysed" : problem;
                return null;
            }
            TreeMap<Integer, byte[]> all = kept.read();
            if (swaps) {
                problem = null;
                all.putAll(pending);
            }
            byte[] pool = all.remove(POOL);
            for (Iterator<byte[]> it = all.values().iterator(); it.hasNext();) {
                if (it.next().length == 0) { // an empty body: no splicing
                    it.remove();
                }
            }
            ownCode = all.isEmpty();
            if (ownCode) {
                return null;
            }
            touched = true;
            return Splicer.splice(base, poolEntries, pool, all);
        }
    }

    /**
     * Reason of the JVM for a class that it cannot link, because a class that its verification needs is missing (jvmtiRedefineClasses.cpp,
     * load_new_class_versions: JVMTI_ERROR_INVALID_CLASS). The JVM gives it also for a linked class whose static initializer has failed, which
     * may still run, so Linking.isUnlinkable must agree. Other failures of linking have the reason "internal error", which the JVM also gives
     * for classes that can run.
     */
    private static final String UNLINKABLE = "java.lang.InternalError: class redefinition failed: invalid class";
    private static final String INITIALIZER_FAILED =
            "its static initializer has failed, and the JVM does not redefine such a class";
    static final String NO_METASPACE = "the JVM has no free metaspace";
    /** Timeout between a class's load hook and the definition of the class, ns. In that time the JVM loads the superclass. */
    private static final long DEFINITION_TIMEOUT_NANOS = 1_000_000_000L;
    private static final int DEFINED_TRIES = 220;
    /** Size of an allocation that tests whether the heap is full, bytes. The JVM's error may not state which memory is full. */
    private static final int TRIAL_BYTES = 256 << 10;
    /** Number of attempts to restore a class that the JVM refuses, and delay between attempts. */
    private static final int REFUSED_TRIES = 10;
    private static final long REFUSED_RETRY_DELAY_NANOS = 10_000_000L;
    private static final long MAX_RETRY_DELAY_NANOS = 60_000_000_000L;
    /** Maximum number of classes that are reported by name after a restore. */
    private static final int MAX_NAMED = 10;

    private final Instrumentation instrumentation;
    private final ClassTable classes;
    private final RuntimeLink runtime;
    private final LoadHook loadHook;
    private final Thread agent = Thread.currentThread();
    /** Thread that runs {@link #swap}, or null. */
    private volatile Thread swapper;
    /**
     * Maximum number of refused classes per batch that are searched for one by one. With more refused classes, halving the batch is
     * cheaper.
     */
    private static final int SUSPECTS = 8;
    /** Size of a Target with its Bodies and its map entry, bytes. */
    private static final long TARGET_BYTES = 120;

    /** Targets by class name, per loader. No entry refers to a class, so classes can be unloaded. */
    private final PerLoader<Map<String, Target>> targets = new PerLoader<>();
    private final ClassReader reader;
    /** Created early, because at the end of the session there may be no metaspace for the class of this object. */
    private final Consumer<List<Class<?>>> later = new Consumer<>() {
        @Override
        public void accept(List<Class<?>> classes) {
            restoreAbandoned(classes);
        }
    };
    /** Redefinition that was abandoned before its end, or null. The thread of that redefinition restores its classes. */
    private Swap stuck;
    /** Number of restored classes, and number of classes that could not be restored, at the end of the session over all attempts. */
    private int restoredClasses;
    private int keptClasses;
    /** Names of at most {@link #MAX_NAMED} classes of `keptClasses`, each with the reason. */
    private final List<String> keptNames = new ArrayList<>(MAX_NAMED);
    private int unlinkableClasses;
    private final List<String> unlinkableNames = new ArrayList<>(MAX_NAMED);
    private volatile boolean restoring;
    /** Whether a thread waits for classes that are not defined yet. `keptClasses` includes these classes. */
    private boolean unfinishedAwaited;
    private boolean removed;
    /** Last class that the JVM has shown to the redefining thread. Used only by that thread. */
    private Class<?> shown;
    /** Whether the JVM has loaded classes on jfluid threads, for example to verify a redefined class. */
    private final AtomicBoolean loadedMeanwhile = new AtomicBoolean();
    private final ClassFileTransformer transformer = new ClassFileTransformer() {
        @Override
        public byte[] transform(
                ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
            return HotSwap.this.transform(loader, name, redefined, domain, bytes);
        }
    };

    HotSwap(Instrumentation instrumentation, ClassTable classes, RuntimeLink runtime, LoadHook loadHook) {
        this.instrumentation = instrumentation;
        this.classes = classes;
        this.runtime = runtime;
        this.loadHook = loadHook;
        reader = new ClassReader(instrumentation, runtime);
    }

    /** Registers the transformer: the JVM shows it each loaded class until {@link #close}. */
    void open() {
        instrumentation.addTransformer(transformer, true);
    }

    static int crc(byte[] bytes) {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        return (int) crc.getValue();
    }

    /** Returns null for "unchanged". Catches exceptions, since the JVM would swallow them silently. */
    private byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (redefined == null && loader == HotSwap.class.getClassLoader()) {
            return null; // jfluid's own classes load at their first use, without a hook
        }
        boolean swaps = Thread.currentThread() == swapper;
        boolean ours = swaps || Thread.currentThread() == agent;
        if ((ours || RuntimeLink.isAsking() || ClassReader.isReading()) && redefined == null) {
            loadedMeanwhile.set(true);
            if (!swaps) {
                return null;
            }
        }
        if (reader.takes(redefined, bytes, Thread.currentThread() == agent)) {
            return ClassReader.refused();
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
            spliced = target == null ? null : target.apply(bytes, swaps);
        } catch (Throwable e) {
            // Recorded here: the JVM would swallow the exception, and the class would count as rewritten. Must work without free memory.
            String why = e instanceof VirtualMachineError ? "the JVM lacked memory or stack for its method bodies"
                                                          : e.toString();
            target.problem = swaps ? why : target.problem;
        }
        if (!ours) {
            boolean unprobed = spliced == null && target != null && target.isInstalled() && !target.hasOwnCode();
            loadHook.changed(redefined, unprobed || target != null && target.isOvertaken());
        }
        return spliced;
    }

    /** Returns the bytes of classes as a retransformation would see them; null for a class without bytes. */
    List<Object> read(int[] ids) {
        List<Class<?>> wanted = new ArrayList<>(ids.length);
        for (int id : ids) {
            wanted.add(classes.find(id));
        }
        // The result of a later transformer does not contain jfluid's bodies.
        return new ArrayList<>(reader.read(wanted, loadHook));
    }

    /** ExtendConstantPool: stores constant pool entries, which are installed together with the bodies that use them. */
    void extendPool(int classId, int crc, int poolEntries, byte[] pool) {
        Class<?> c = classes.find(classId);
        if (c == null) {
            return;
        }
        Target old = target(c);
        if (old == null || old.crc != crc || !old.hasPool(poolEntries, pool)) {
            // The base has changed: bodies for the old base no longer fit and are dropped.
            put(c.getClassLoader(), c.getName(), new Target(crc, poolEntries, pool));
        }
    }

    private void put(ClassLoader loader, String name, Target target) {
        Map<String, Target> known = targets.get(loader);
        if (known == null) {
            known = targets.putIfAbsent(loader, new ConcurrentHashMap<>());
        }
        Target old = known.put(name, target);
        if (old != null) {
            target.follow(old);
            old.forget();
        }
    }

    /**
     * RedefineMethods: prepares the installation of bodies in many classes at once. A class that the JVM rejects does not fail the other
     * classes.
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

    /** Runs the redefinition on the calling thread. The agent's thread does not use the swap until the redefinition has ended. */
    void swap(Swap swap) {
        swapper = Thread.currentThread();
        try {
            List<Class<?>> ready = new ArrayList<>(swap.batch.size());
            for (Class<?> c : swap.batch) {
                if (swap.isAbandoned()) {
                    return;
                }
                String problem = runtime.problemOf(c.getClassLoader());
                if (problem == null) {
                    ready.add(c);
                } else {
                    swap.failed.put(c, problem);
                }
            }
            swap.calls = retransformLinked(ready, swap);
            swap.isOutOfMetaspace = swap.failed.containsValue(NO_METASPACE);
        } finally {
            swap.loadedMeanwhile =
                    loadedMeanwhile.getAndSet(false); // classes loaded by the redefinition, or while reading bytes
            swapper = null;
            Class<?>[] held = swap.end();
            if (held != null) {
                restoreAbandoned(java.util.Arrays.asList(held));
            }
        }
    }

    /** Restores classes on the thread of a redefinition that ended after the session. */
    private void restoreAbandoned(List<Class<?>> batch) {
        Map<Class<?>, String> failed = null;
        for (long pause = REFUSED_RETRY_DELAY_NANOS; failed == null;
                pause = Math.min(2 * pause, MAX_RETRY_DELAY_NANOS)) {
            failed = tryRestore(batch);
            if (failed == null) {
                Pause.nanos(pause);
            }
        }
    }

    /** @return refused classes with reasons; null if memory was short */
    private Map<Class<?>, String> tryRestore(List<Class<?>> batch) {
        try {
            Map<Class<?>, String> failed = new IdentityHashMap<>();
            retransform(batch, failed);
            retryRefused(failed);
            return failed;
        } catch (OutOfMemoryError full) {
            return null;
        }
    }

    /**
     * Ends the session during a redefinition that does not end, for example because it waits for a locked class loader. Classes that the
     * redefinition reaches later get no probes. The JVM lets no other thread redefine the classes of a running redefinition, so the
     * redefinition's thread restores them afterwards. Allocates nothing.
     *
     * @return false if the redefinition has just ended
     */
    boolean abandon(Swap swap) {
        restoring = true;
        if (!swap.abandon()) {
            return false;
        }
        stuck = swap;
        return true;
    }

    private boolean isStuck(Class<?> c) {
        return stuck != null && stuck.holds(c);
    }

    /** @return reason of the refusal of each refused class, keyed by class id */
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
            if (swap.isRefused(c)) {
                target.refuse();
            } else {
                target.conclude(why == null);
            }
        }
        return swap.refused;
    }

    private Target target(Class<?> c) {
        Map<String, Target> known = targets.get(c.getClassLoader());
        return known == null ? null : known.get(c.getName());
    }

    /** Drops the targets of unloaded classes. */
    void dropGone() {
        for (Map<String, Target> gone : targets.takeGone()) {
            for (Target target : gone.values()) {
                target.forget();
            }
        }
    }

    /** Returns {@code [heap bytes, native bytes]} kept for classes with probes. */
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

    /**
     * Returns all targets. Uses no stream: if metaspace is full, a first use of streams would leave the JDK's stream classes unusable for
     * the program.
     */
    private List<Target> allTargets() {
        dropGone();
        List<Target> all = new ArrayList<>();
        for (Map<String, Target> ofLoader : targets.values()) {
            all.addAll(ofLoader.values());
        }
        return all;
    }

    /**
     * Retransforms the classes of a batch that can be linked. A redefinition links its classes and fails at the first class that cannot be
     * linked because of a missing class; most servers have such classes. These classes are removed beforehand: to find each of them by
     * halving would need about ten redefinitions of all other classes.
     */
    private int retransformLinked(List<Class<?>> batch, Swap swap) {
        List<Class<?>> sound = new ArrayList<>();
        List<Class<?>> doubtful = new ArrayList<>();
        for (Class<?> c : batch) {
            if (swap.isAbandoned()) {
                return 0;
            }
            boolean isAlone = batch.size() == 1 && !Linking.mayWait(c);
            (isAlone || Linking.link(c) ? sound : doubtful).add(c);
        }
        return retransform(sound, swap.failed, swap, SUSPECTS) + retransform(doubtful, swap.failed, swap, SUSPECTS);
    }

    /** Retransforms classes to restore their original code. */
    private int retransform(List<Class<?>> batch, Map<Class<?>, String> failed) {
        return retransform(batch, failed, null, SUSPECTS);
    }

    /**
     * Retransforms all classes of a batch or, if the JVM refuses, all classes that it accepts. The JVM passes the classes to the
     * transformer in order and stops at a refused class. So the last class that the transformer has received is excluded first. If the JVM still
     * refuses the batch (JDK 25 may refuse a class before passing it), or if many classes are refused, the batch is halved until the refused
     * classes are isolated.
     *
     * @param swap     receives the batch that the JVM is redefining, so that the swap can be abandoned; or null
     * @param suspects maximum number of classes tried one by one
     * @return number of redefinition calls of the JVM
     */
    private int retransform(List<Class<?>> batch, Map<Class<?>, String> failed, Swap swap, int suspects) {
        if (batch.isEmpty()) {
            return 0;
        }
        shown = null;
        try {
            Class<?>[] all = batch.toArray(new Class<?>[0]);
            if (swap != null && !swap.enter(all)) {
                return 0;
            }
            try {
                instrumentation.retransformClasses(all);
                hasRedefined = true;
            } finally {
                if (swap != null) {
                    swap.leave();
                }
            }
        } catch (Throwable t) {
            Class<?> suspect = shown;
            shown = null;
            if (restoring && t instanceof OutOfMemoryError) {
                throw (OutOfMemoryError) t;
            }
            if (restoring && t instanceof InternalError && t.getMessage() == null && !hasRoom()) {
                throw new OutOfMemoryError(); // the JVM had no memory for an error of its own
            }
            if (swap != null && t instanceof VirtualMachineError) {
                swap.unsure.addAll(batch);
            }
            if (t instanceof VirtualMachineError && !(t instanceof InternalError)) {
                String why = t instanceof OutOfMemoryError && isMetaspace((OutOfMemoryError) t) ? NO_METASPACE
                                                                                                : t.toString();
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
                int calls = 1 + retransform(List.of(suspect), failed, swap, SUSPECTS);
                return calls
                        + (failed.containsKey(suspect) ? retransform(others, failed, swap, suspects - 1)
                                                       : halves(others, failed, swap));
            }
            return 1 + halves(batch, failed, swap);
        } finally {
            shown = null; // a reference would keep the class from being unloaded
        }
        return 1;
    }

    /**
     * Returns whether an OutOfMemoryError of a redefinition means that metaspace is full: such an error has no message (JPLISAgent,
     * createThrowableFromJVMTIErrorCode).
     */
    static boolean isMetaspace(OutOfMemoryError full) {
        String which = full.getMessage();
        return which == null ? hasRoom() : which.equals("Metaspace") || which.equals("Compressed class space");
    }

    /** Returns whether the heap has free space. */
    private static boolean hasRoom() {
        try {
            return new byte[TRIAL_BYTES].length > 0;
        } catch (OutOfMemoryError full) {
            return false;
        }
    }

    private int halves(List<Class<?>> batch, Map<Class<?>, String> failed, Swap swap) {
        int half = batch.size() / 2;
        return retransform(batch.subList(0, half), failed, swap, SUSPECTS)
                + retransform(batch.subList(half, batch.size()), failed, swap, SUSPECTS);
    }

    /** Called in the load hook: returns the bytes of a class that is about to be defined, with its bodies. */
    byte[] defineWith(ClassLoader loader, String name, byte[] base, int poolEntries, byte[] pool,
            TreeMap<Integer, byte[]> bodies) {
        Target target = new Target(crc(base), poolEntries, pool);
        boolean put = false;
        try {
            target.install(bodies);
            target.hookedAt = System.nanoTime();
            byte[] spliced = target.apply(base, false);
            put(loader, name.replace('/', '.'), target);
            put = true;
            return spliced;
        } finally {
            if (!put) {
                target.forget();
            }
        }
    }

    /**
     * Called by the loading thread when it leaves the load hook with bodies for a class.
     *
     * @return false if the session has ended: the class must then be defined without bodies
     */
    boolean isComing(ClassLoader loader, String name) {
        Map<String, Target> known = targets.get(loader);
        Target target = known == null ? null : known.get(name.replace('/', '.'));
        if (target == null) {
            return false;
        }
        target.hookedBy = new WeakReference<>(Thread.currentThread());
        target.hookedAt = System.nanoTime();
        if (restoring) { // restore() first sets `restoring`, and then reads hookedAt
            target.hookedBy = null;
            return false;
        }
        return true;
    }

    /** Called when a class is defined without its prepared bodies. */
    void dropLoading(ClassLoader loader, String name) {
        Map<String, Target> known = targets.get(loader);
        Target target = known == null ? null : known.remove(name.replace('/', '.'));
        if (target != null) {
            target.forget();
        }
    }

    /** Called when the session ends and this redefinition has ended. Allocates nothing. */
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
     * Restores the original code of every class, in one batch if possible. Must be called again after an OutOfMemoryError.
     *
     * @return {number of restored classes, number of classes that could not be restored, number of lambda classes that the JVM can no
     *     longer unload}
     */
    int[] restore() {
        restoring = true;
        int lambdas = 0;
        boolean any = false;
        for (Target target : allTargets()) {
            any |= target.isTouched();
        }
        // A class may have left the load hook without being defined yet. Waits briefly for its definition.
        for (int tries = 0; any && tries < DEFINED_TRIES; tries++) {
            List<Class<?>> found = new ArrayList<>();
            List<Class<?>> unlinked = new ArrayList<>();
            for (Class<?> c : ClassTable.loaded(instrumentation)) {
                if (JFluid1Release.isHidden(c)) {
                    lambdas += isLambdaOfTarget(c) ? 1 : 0;
                } else if (!c.isArray() && !c.isPrimitive()) {
                    Target target = target(c);
                    if (target != null && target.isTouched() && !isStuck(c)) {
                        (Linking.mayWait(c) ? unlinked : found).add(c);
                    }
                }
            }
            Linking linking = new Linking(unlinked, later);
            if (linking.isSoonOver()) {
                found.addAll(linking.finish());
                giveBack(found);
            } else {
                List<Class<?>> linked = List.of();
                try {
                    giveBack(found);
                } finally { // restore() is called again after an OutOfMemoryError, and must not link the classes again
                    linked = linking.finish();
                    unlinked.removeAll(linked); // waiting threads restore the unlinked classes
                    for (Class<?> c : unlinked) {
                        nameKept(c.getName(), "its linking waits for another thread");
                        target(c).forget();
                    }
                    keptClasses += unlinked.size();
                }
                giveBack(linked);
            }
            long now = System.nanoTime();
            any = false;
            for (Target t : allTargets()) {
                any |= t.isTouched() && t.hookedAt != 0 && now - t.hookedAt < DEFINITION_TIMEOUT_NANOS;
            }
            if (any) {
                Pause.nanos(5_000_000L);
            }
        }
        if (!unfinishedAwaited) { // restore() is called again after an OutOfMemoryError
            keptClasses += awaitUnfinished();
            unfinishedAwaited = true;
        }
        for (Target target : allTargets()) {
            target.forget();
        }
        targets.clear();
        if (stuck != null) {
            for (Class<?> held : stuck.held()) {
                nameKept(held.getName(), "its redefinition has not ended");
            }
        }
        return new int[] {restoredClasses, keptClasses + (stuck == null ? 0 : stuck.held().length), lambdas};
    }

    /** Returns names of classes that kept their probes, each with the reason. */
    Object[] keptNames() {
        return keptNames.toArray();
    }

    /** Number of classes with probes that the JVM cannot link, and so neither runs nor redefines. `keptClasses` does not include them. */
    int unlinkableClasses() {
        return unlinkableClasses;
    }

    Object[] unlinkableNames() {
        return unlinkableNames.toArray();
    }

    private void nameKept(String name, String reason) {
        try {
            name(keptNames, name + " (" + reason + ")");
        } catch (OutOfMemoryError noName) {
            // The number of these classes is still reported.
        }
    }

    /** Neither list grows, so that this works without free memory. */
    private static void name(List<String> names, String name) {
        if (names.size() < MAX_NAMED) {
            names.add(name);
        }
    }

    /** Starts a thread that waits for classes that may still be defined with probes. @return number of such classes */
    private int awaitUnfinished() {
        UnfinishedClasses unfinished = new UnfinishedClasses(instrumentation, later);
        for (ClassLoader loader : targets.loaders()) {
            for (Map.Entry<String, Target> it : targets.get(loader).entrySet()) {
                Target target = it.getValue();
                if (target.isTouched() && target.hookedBy != null) {
                    unfinished.add(loader, it.getKey(), target.hookedBy);
                }
            }
        }
        int defining = unfinished.stillDefining();
        if (defining > 0) {
            for (String name : unfinished.names()) {
                nameKept(name, "a thread is still defining it");
            }
            try {
                unfinished.start();
            } catch (OutOfMemoryError noThread) {
                return defining; // these classes keep inactive probes, which the client reports
            }
        }
        return defining;
    }

    /** Restores classes, in one batch if possible. */
    private void giveBack(List<Class<?>> classes) {
        Map<Class<?>, String> failed = new IdentityHashMap<>();
        retransform(classes, failed);
        retryRefused(failed);
        int unlinkable = 0;
        for (Map.Entry<Class<?>, String> it : failed.entrySet()) {
            if (it.getValue().equals(UNLINKABLE) && Linking.isUnlinkable(it.getKey())) {
                unlinkable++;
                name(unlinkableNames, it.getKey().getName());
            } else {
                nameKept(it.getKey().getName(), it.getValue().equals(UNLINKABLE) ? INITIALIZER_FAILED : it.getValue());
            }
        }
        for (Class<?> c : classes) {
            target(c).forget(); // done last: after an OutOfMemoryError, restore() is called again
        }
        restoredClasses += classes.size() - failed.size();
        keptClasses += failed.size() - unlinkable;
        unlinkableClasses += unlinkable;
    }

    /** Retries refused classes: another agent may produce invalid bytes for a class at one attempt and valid bytes at the next. */
    private void retryRefused(Map<Class<?>, String> failed) {
        for (int tries = 0; tries < REFUSED_TRIES && !failed.isEmpty(); tries++) {
            Pause.nanos(REFUSED_RETRY_DELAY_NANOS);
            List<Class<?>> again = new ArrayList<>(failed.keySet());
            failed.clear();
            retransform(again, failed);
        }
    }

    /**
     * Returns whether a hidden class is a lambda class of an instrumented class. After that class is restored, the JVM links its call sites
     * again, to new lambda classes.
     */
    private boolean isLambdaOfTarget(Class<?> hidden) {
        if (!hidden.getName().contains("$$Lambda")) {
            return false;
        }
        Class<?> host = hidden.getNestHost();
        Target target = target(host);
        return target != null && target.isTouched() && !isStuck(host);
    }

    /** @return whether the JVM has removed the transformer */
    boolean close() {
        removed |= instrumentation.removeTransformer(transformer);
        return removed;
    }
}
