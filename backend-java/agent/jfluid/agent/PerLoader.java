package jfluid.agent;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One value for each class loader, for as long as the loader lives. Loaders are compared by identity:
 * equals() and hashCode() of a loader are the application's code and not called. A value must not lead
 * to its loader.
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
                return true; // all that is left of a loader that has gone
            }
            ClassLoader loader = get();
            return loader != null && o instanceof Key && ((Key) o).refersTo(loader);
        }

        @Override
        public int hashCode() {
            return hash;
        }
    }

    private final Map<Key, V> values = new HashMap<>();
    private final ReferenceQueue<ClassLoader> gone = new ReferenceQueue<>();
    private V ofBootstrap;

    /** The loader's value, or null. */
    synchronized V get(ClassLoader loader) {
        return loader == null ? ofBootstrap : values.get(new Key(loader, null));
    }

    /** The loader's value, which is this one unless it has one. */
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

    /** Of the loaders that live, but for the bootstrap loader. A copy. */
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

    /** A copy. */
    synchronized List<V> values() {
        List<V> all = new ArrayList<>(values.values());
        if (ofBootstrap != null) {
            all.add(ofBootstrap);
        }
        return all;
    }

    /** Forgets the loaders that have gone since the last call. */
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
