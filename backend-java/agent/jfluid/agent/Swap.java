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
    private static final Class<?>[] NONE = {};
    final Map<Integer, String> refused = new HashMap<>();
    final Map<Class<?>, Integer> idOf = new IdentityHashMap<>();
    final List<Class<?>> batch = new ArrayList<>();
    final Map<Class<?>, String> failed = new IdentityHashMap<>();
    /** Classes of failed redefinitions that may have been redefined nevertheless, for example after an OutOfMemoryError. */
    final Set<Class<?>> unsure = Collections.newSetFromMap(new IdentityHashMap<>());
    /** Number of redefinition calls of the JVM. */
    int calls;
    /** Whether the JVM has loaded further classes during the redefinition. */
    boolean loadedMeanwhile;
    /** Whether metaspace was full. A retry would cost the application a full garbage collection. */
    boolean isOutOfMetaspace;
    /** Classes that the JVM is redefining now. No other thread can redefine them. */
    private Class<?>[] inJvm;
    private boolean isOver;
    private boolean isAbandoned;

    /** Returns whether the class is unchanged. The JVM redefines all classes of a call or none. */
    boolean isRefused(Class<?> c) {
        return failed.containsKey(c) && !unsure.contains(c);
    }

    boolean isEmpty() {
        return batch.isEmpty();
    }

    /** Called before each redefinition call. @return false if this swap was abandoned: the JVM must then not be called */
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

    /** @return classes that this thread must restore, since the swap was abandoned during their redefinition; usually null */
    synchronized Class<?>[] end() {
        isOver = true;
        return isAbandoned ? inJvm : null;
    }

    /** Abandons this swap. Allocates nothing. @return whether it was still running */
    synchronized boolean abandon() {
        isAbandoned = !isOver;
        return isAbandoned;
    }

    /** Returns whether this swap was abandoned, for example while it waited for a class loader. The JVM must then not be called. */
    synchronized boolean isAbandoned() {
        return isAbandoned;
    }

    /** Returns whether the JVM is redefining the class for this abandoned swap. */
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

    /** Returns the classes that the JVM is redefining for this abandoned swap. */
    synchronized Class<?>[] held() {
        return inJvm == null ? NONE : inJvm;
    }
}
