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
 * HotSpot starts every retransformation from the class's base bytes, so all bodies installed in a class
 * so far are spliced in again each time, whoever asked for it. A body is tied to the base it was
 * rewritten from by a CRC-32; on any other base it is refused rather than guessed at.
 *
 * All but {@link #transform}, {@link #isComing} and {@link #swap} runs on the agent's thread. A redefinition links its
 * classes and so may load others, and may have to wait for a thread that is loading them and waits for us
 * in the load hook: it has a thread of its own, for as long as it runs.
 */
final class HotSwap {
    /** Whether a session in this JVM, this one or an earlier one, has had a class redefined. */
    static volatile boolean hasRedefined;

    /** Decides about a class that is being loaded. Runs on the loading thread. */
    interface LoadHook {
        /**
         * @param name null where whoever defines the class has given none
         * @return the bytes to define instead, or null
         */
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
        /** Until the JVM has: where memory is short it does not say so. */
        private static final String NOT_SHOWN = "there was no memory for the JVM to show it to the agent";
        final int crc;
        final int poolEntries;
        private final Bodies kept = new Bodies();
        private boolean installed;
        /** Bodies of ours may be in, whether they count as installed or not: it is to get its own code in the end. */
        private boolean touched;
        /** The same before the redefinition that runs. */
        private boolean touchedBefore;
        /** Only the thread that redefines puts these in: another agent's redefinition must not fail for them. */
        private TreeMap<Integer, byte[]> pending = NOTHING;
        /** Another agent has redefined it meanwhile, perhaps after us. */
        private boolean overtaken;
        /** When a thread last was in the load hook with its bodies; 0 if it was redefined. */
        volatile long hookedAt;
        /** Which it was. */
        volatile WeakReference<Thread> hookedBy;
        /** The class has its own code, as it should have at the moment. */
        private boolean ownCode;
        /** Why the thread that redefines could not put the bodies on the bytes it was shown. */
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

        /** The class had another before. */
        synchronized void follow(Target old) {
            touched |= old.isTouched();
        }

        synchronized boolean hasPool(int entries, byte[] pool) {
            return poolEntries == entries && java.util.Arrays.equals(kept.read().get(POOL), pool);
        }

        synchronized boolean hasOwnCode() {
            return ownCode;
        }

        /** It is about to be redefined. */
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

        /** @param asWell whether what was pending is installed now */
        synchronized void conclude(boolean asWell) {
            if (asWell) {
                install(pending);
            }
            pending = NOTHING;
        }

        /** The JVM has refused the redefinition: the class is what it was. */
        synchronized void refuse() {
            touched = touchedBefore;
            pending = NOTHING;
        }

        /** What was pending may be in, and need not be kept: it will be taken back. Needs no memory. */
        synchronized void leave() {
            installed = touched = true;
            pending = NOTHING;
        }

        /** Of no use any more; who comes late finds nothing to apply. */
        synchronized void forget() {
            installed = touched = false;
            pending = NOTHING;
            kept.clear();
        }

        synchronized int bytesOutside() {
            return kept.bytes();
        }

        /** @param swaps on the thread that redefines */
        synchronized byte[] apply(byte[] base, boolean swaps) {
            overtaken |=
                    !swaps && !pending.isEmpty() && problem != NOT_SHOWN; // before it was shown, ours is still to come
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
                if (it.next().length == 0) { // a method that has its own code for now
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

    static final String NO_METASPACE = "no metaspace was left in the target";
    /** How long a class may take from its load hook to its definition before it counts as not coming: its superclass is loaded. */
    private static final long DEFINED_NANOS = 1_000_000_000L;
    private static final int DEFINED_TRIES = 220;
    /** Of memory for words, where the JVM does not say which it is that is full. */
    private static final int SOME_BYTES = 256 << 10;
    /** Of giving a class its code back that the JVM refuses to take. */
    private static final int REFUSED_TRIES = 10;
    private static final long REFUSED_NANOS = 10_000_000L;
    private static final long MAX_PAUSE_NANOS = 60_000_000_000L;

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
    private final ClassReader reader;
    /** Made here: at the end there may be no metaspace for its class. */
    private final Consumer<List<Class<?>>> later = new Consumer<>() {
        @Override
        public void accept(List<Class<?>> classes) {
            restoreAbandoned(classes);
        }
    };
    /** Of a redefinition that would not end: its own thread gives these their code back. */
    private Swap stuck;
    /** By the end of the session, in all of its tries. */
    private int restoredClasses;
    private int keptClasses;
    private volatile boolean restoring;
    /** Their count is in `keptClasses`, and a thread waits for them. */
    private boolean comersAwaited;
    private boolean removed;
    /** The last class that the JVM has shown to the thread which redefines; only that thread's. */
    private Class<?> shown;
    /** The JVM has loaded classes on our own threads, to verify others. */
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

    /** From now on the JVM shows each class that it loads, until {@link #close}. */
    void open() {
        instrumentation.addTransformer(transformer, true);
    }

    static int crc(byte[] bytes) {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        return (int) crc.getValue();
    }

    /** Null means "unchanged"; an exception here would be swallowed by the JVM and hide a defect. */
    private byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (redefined == null && loader == HotSwap.class.getClassLoader()) {
            return null; // classes of ours may be loaded whenever they are needed first, and nobody is asked for them
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
            // The JVM would swallow it, and the class would count as rewritten. Without memory for words, either.
            String why = e instanceof VirtualMachineError ? "no memory or stack for its bodies" : e.toString();
            target.problem = swaps ? why : target.problem;
        }
        if (!ours) {
            boolean unprobed = spliced == null && target != null && target.isInstalled() && !target.hasOwnCode();
            loadHook.changed(redefined, unprobed || target != null && target.isOvertaken());
        }
        return spliced;
    }

    /** Bytes of the given classes as a retransformation would see them; null where there are none. */
    List<Object> read(int[] ids) {
        List<Class<?>> wanted = new ArrayList<>(ids.length);
        for (int id : ids) {
            wanted.add(classes.find(id));
        }
        // What a transformer behind ours has made a class of has not our bodies in it.
        return new ArrayList<>(reader.read(wanted, loadHook));
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
            swap.calls = retransformLinked(ready, swap);
            swap.isOutOfMetaspace = swap.failed.containsValue(NO_METASPACE);
        } finally {
            swap.loadedMeanwhile = loadedMeanwhile.getAndSet(false); // by this one, or to read classes for it
            swapper = null;
            Class<?>[] held = swap.end();
            if (held != null) {
                restoreAbandoned(java.util.Arrays.asList(held));
            }
        }
    }

    /** On the thread of a redefinition that came out of it when the session was over. */
    private void restoreAbandoned(List<Class<?>> batch) {
        Map<Class<?>, String> failed = null;
        for (long pause = REFUSED_NANOS; failed == null; pause = Math.min(2 * pause, MAX_PAUSE_NANOS)) {
            failed = tryRestore(batch);
            if (failed == null) {
                Pause.nanos(pause);
            }
        }
    }

    /** @return what the JVM has refused, with the reason; null where there was no memory */
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
     * The session ends in the middle of this redefinition, which does not: it may wait for a class loader that is locked. What it
     * comes to from now on gets no probes. The JVM lets nobody else redefine the classes that it has from it at the moment: once
     * it gives them back, the redefinition's thread gives them their own code. Needs no memory.
     *
     * @return false if it has just ended
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

    /** Forgets what was installed in classes that have gone. */
    void dropGone() {
        for (Map<String, Target> gone : targets.takeGone()) {
            for (Target target : gone.values()) {
                target.forget();
            }
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

    /** No stream: where there is no metaspace, the JDK's classes of these would be lost to the program, if nobody has had one yet. */
    private List<Target> allTargets() {
        dropGone();
        List<Target> all = new ArrayList<>();
        for (Map<String, Target> ofLoader : targets.values()) {
            all.addAll(ofLoader.values());
        }
        return all;
    }

    /**
     * A redefinition links its classes, and ends at the first that cannot be linked because of a class that is
     * missing: in a server there are always some. They are told apart before, or halving would find each of them by
     * a dozen redefinitions of all the others.
     */
    private int retransformLinked(List<Class<?>> batch, Swap swap) {
        List<Class<?>> sound = new ArrayList<>();
        List<Class<?>> doubtful = new ArrayList<>();
        for (Class<?> c : batch) {
            boolean isAlone = batch.size() == 1 && !Linking.mayWait(c);
            (isAlone || Linking.link(c) ? sound : doubtful).add(c);
        }
        return retransform(sound, swap.failed, swap, SUSPECTS) + retransform(doubtful, swap.failed, swap, SUSPECTS);
    }

    /** To give classes their own code. */
    private int retransform(List<Class<?>> batch, Map<Class<?>, String> failed) {
        return retransform(batch, failed, null, SUSPECTS);
    }

    /**
     * Retransforms all or, where the JVM objects, all that can be. It looks at one class after the other, and at none
     * after one that it refuses, so the last that it has shown us is the first suspect. If that is innocent (JDK 25 may
     * refuse a class before it shows it), or if there are many culprits: halves until they are alone.
     *
     * @param swap     that is to know what the JVM has, and can be abandoned; or null
     * @param suspects how many are tried
     * @return how many calls of the JVM it took
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
                throw new OutOfMemoryError(); // the JVM has had no memory to say so
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
            shown = null; // or it could not be unloaded
        }
        return 1;
    }

    /** Out of a redefinition it comes without a word (JPLISAgent, createThrowableFromJVMTIErrorCode): then it is what is not the heap. */
    static boolean isMetaspace(OutOfMemoryError full) {
        String which = full.getMessage();
        return which == null ? hasRoom() : which.equals("Metaspace") || which.equals("Compressed class space");
    }

    /** Of the heap. */
    private static boolean hasRoom() {
        try {
            return new byte[SOME_BYTES].length > 0;
        } catch (OutOfMemoryError full) {
            return false;
        }
    }

    private int halves(List<Class<?>> batch, Map<Class<?>, String> failed, Swap swap) {
        int half = batch.size() / 2;
        return retransform(batch.subList(0, half), failed, swap, SUSPECTS)
                + retransform(batch.subList(half, batch.size()), failed, swap, SUSPECTS);
    }

    /** For the load hook: the bodies for a class that is about to be defined, as if redefined. */
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
     * On the thread that loads a class with bodies, as it leaves the load hook.
     *
     * @return false if the session has ended meanwhile: then it is to be defined as it is
     */
    boolean isComing(ClassLoader loader, String name) {
        Map<String, Target> known = targets.get(loader);
        Target target = known == null ? null : known.get(name.replace('/', '.'));
        if (target == null) {
            return false;
        }
        target.hookedBy = new WeakReference<>(Thread.currentThread());
        target.hookedAt = System.nanoTime();
        if (restoring) { // restore() says so first, and then looks who was here
            target.hookedBy = null;
            return false;
        }
        return true;
    }

    /** A class that was to be defined with bodies is defined without. */
    void dropLoading(ClassLoader loader, String name) {
        Map<String, Target> known = targets.get(loader);
        Target target = known == null ? null : known.remove(name.replace('/', '.'));
        if (target != null) {
            target.forget();
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
        boolean any = false;
        for (Target target : allTargets()) {
            any |= target.isTouched();
        }
        // A class whose hook has been answered may not be defined yet: it is waited for, shortly.
        for (int tries = 0; any && tries < DEFINED_TRIES; tries++) {
            List<Class<?>> found = new ArrayList<>();
            List<Class<?>> unlinked = new ArrayList<>();
            for (Class<?> c : ClassTable.loaded(instrumentation)) {
                if (c.isHidden()) {
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
                } finally { // where memory ran out we are called again, and must not have it linked twice
                    linked = linking.finish();
                    unlinked.removeAll(linked); // these are left to threads that wait
                    for (Class<?> c : unlinked) {
                        target(c).forget();
                    }
                    keptClasses += unlinked.size();
                }
                giveBack(linked);
            }
            long now = System.nanoTime();
            any = false;
            for (Target t : allTargets()) {
                any |= t.isTouched() && t.hookedAt != 0 && now - t.hookedAt < DEFINED_NANOS;
            }
            if (any) {
                Pause.nanos(5_000_000L);
            }
        }
        if (!comersAwaited) { // where memory runs out later we are called again
            keptClasses += awaitComers();
            comersAwaited = true;
        }
        for (Target target : allTargets()) {
            target.forget();
        }
        targets.clear();
        return new int[] {restoredClasses, keptClasses + (stuck == null ? 0 : stuck.heldCount()), lambdas};
    }

    /** What has not come by now may come yet, with probes. @return how many, which are left to a thread that waits for them */
    private int awaitComers() {
        Comers comers = new Comers(instrumentation, later);
        for (ClassLoader loader : targets.loaders()) {
            for (Map.Entry<String, Target> it : targets.get(loader).entrySet()) {
                Target target = it.getValue();
                if (target.isTouched() && target.hookedBy != null) {
                    comers.add(loader, it.getKey(), target.hookedBy);
                }
            }
        }
        int coming = comers.stillCome();
        if (coming > 0) {
            try {
                comers.start();
            } catch (OutOfMemoryError noThread) {
                return coming; // they keep probes that do nothing, and the client is told
            }
        }
        return coming;
    }

    /** Their own code, in one batch where the JVM lets us. */
    private void giveBack(List<Class<?>> classes) {
        Map<Class<?>, String> failed = new IdentityHashMap<>();
        retransform(classes, failed);
        retryRefused(failed);
        for (Class<?> c : classes) {
            target(c).forget(); // not before: where memory ran out we are called again
        }
        restoredClasses += classes.size() - failed.size();
        keptClasses += failed.size();
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
        Class<?> host = hidden.getNestHost();
        Target target = target(host);
        return target != null && target.isTouched() && !isStuck(host);
    }

    /** @return whether the JVM has let go of the transformer */
    boolean close() {
        removed |= instrumentation.removeTransformer(transformer);
        return removed;
    }
}
