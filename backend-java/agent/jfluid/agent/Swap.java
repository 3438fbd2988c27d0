package jfluid.agent;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** One redefinition of many classes, from {@link HotSwap#prepare} to {@link HotSwap#conclude}. */
final class Swap {
    final Map<Integer, String> refused = new HashMap<>();
    final Map<Class<?>, Integer> idOf = new IdentityHashMap<>();
    final List<Class<?>> batch = new ArrayList<>();
    final Map<Class<?>, String> failed = new IdentityHashMap<>();
    /** A redefinition of them has ended in want of memory, or so: what it has done is not known. */
    final Set<Class<?>> unsure = Collections.newSetFromMap(new IdentityHashMap<>());
    /** Of the JVM. */
    int calls;
    /** The JVM has loaded classes that the others need. */
    boolean loadedMeanwhile;
    /** No metaspace was left: to ask again costs the application a collection of all its heap. */
    boolean isOutOfMetaspace;
    /** What the JVM redefines at the moment, and lets nobody else redefine. */
    private Class<?>[] inJvm;
    private boolean isOver;
    private boolean isAbandoned;

    /** Whether the class is what it was before: the JVM redefines all that it is given, or nothing. */
    boolean isRefused(Class<?> c) {
        return failed.containsKey(c) && !unsure.contains(c);
    }

    boolean isEmpty() {
        return batch.isEmpty();
    }

    /** @return false if nobody waits for it any more: then the JVM is not to be asked */
    synchronized boolean enter(Class<?>[] classes) {
        if (isAbandoned) {
            return false;
        }
        inJvm = classes;
        return true;
    }

    synchronized void leave() {
        if (!isAbandoned) {
            inJvm = null;
        }
    }

    /** @return what is to get its own code on this thread, as it was in the JVM when nobody waited any more; null as a rule */
    synchronized Class<?>[] end() {
        isOver = true;
        return isAbandoned ? inJvm : null;
    }

    /** Needs no memory. @return whether it still runs */
    synchronized boolean abandon() {
        isAbandoned = !isOver;
        return isAbandoned;
    }

    /** Of one that was abandoned: whether the JVM has it. */
    synchronized boolean holds(Class<?> c) {
        if (inJvm == null || !idOf.containsKey(c)) {
            return false;
        }
        for (Class<?> held : inJvm) {
            if (held == c) {
                return true;
            }
        }
        return false;
    }

    synchronized int heldCount() {
        return inJvm == null ? 0 : inJvm.length;
    }
}
