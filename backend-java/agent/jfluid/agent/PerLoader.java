package jfluid.agent;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One value per class loader, until the loader is collected. Loaders are compared by identity, since equals() and hashCode() of a loader
 * may be application code. A value must not refer to its loader.
 */
final class PerLoader<V> {
    private static final class Key extends WeakReference<ClassLoader> {
        private final int hash;

        Key(ClassLoader loader, ReferenceQueue<ClassLoader> gone) {
            super(loader, gone);
            hash = System.identityHashCode(loader);
        }

        @Override
        public boolean equals(Object o) {
            if (this == o) {
                return true; // the key of a collected loader
            }
            ClassLoader loader = get();
            return loader != null && o instanceof Key && JFluid1Release.refersTo((Key) o, loader);
        }

        @Override
        public int hashCode() {
            return hash;
        }
    }

    private final Map<Key, V> values = new HashMap<>();
    private final ReferenceQueue<ClassLoader> gone = new ReferenceQueue<>();
    private V ofBootstrap;

    /** Returns the loader's value, or null. */
    synchronized V get(ClassLoader loader) {
        return loader == null ? ofBootstrap : values.get(new Key(loader, null));
    }

    /** Returns the loader's value. Stores `value` first if the loader has none. */
    synchronized V putIfAbsent(ClassLoader loader, V value) {
        V known = get(loader);
        if (known != null) {
            return known;
        }
        put(loader, value);
        return value;
    }

    synchronized void put(ClassLoader loader, V value) {
        if (loader == null) {
            ofBootstrap = value;
        } else {
            values.put(new Key(loader, gone), value);
        }
    }

    /** Returns a copy of the list of live loaders, without the bootstrap loader. */
    synchronized List<ClassLoader> loaders() {
        List<ClassLoader> all = new ArrayList<>(values.size());
        for (Key key : values.keySet()) {
            ClassLoader loader = key.get();
            if (loader != null) {
                all.add(loader);
            }
        }
        return all;
    }

    /** Returns a copy of the list of values. */
    synchronized List<V> values() {
        List<V> all = new ArrayList<>(values.values());
        if (ofBootstrap != null) {
            all.add(ofBootstrap);
        }
        return all;
    }

    /** Removes and returns the values of loaders collected since the last call. */
    synchronized List<V> takeGone() {
        List<V> taken = new ArrayList<>();
        for (Object key = gone.poll(); key != null; key = gone.poll()) {
            V value = values.remove(key);
            if (value != null) {
                taken.add(value);
            }
        }
        return taken;
    }

    synchronized void clear() {
        values.clear();
        ofBootstrap = null;
    }
}
