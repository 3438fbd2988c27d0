package jfluid.agent;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.lang.ref.WeakReference;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** One value per loader until the loader is collected; loaders are compared by identity. */
final class PerLoaderTest {
    private static final long ANSWER_TIMEOUT_NANOS = 10_000_000_000L;

    /** Overridden methods are application code and must not be called. */
    private static final class Hostile extends ClassLoader {
        @Override
        public boolean equals(Object o) {
            throw new AssertionError();
        }

        @Override
        public int hashCode() {
            throw new AssertionError();
        }

        @Override
        public String toString() {
            return "";
        }
    }

    static void eachLoaderHasItsOwnValue() {
        PerLoader<String> values = new PerLoader<>();
        ClassLoader a = new Hostile();
        ClassLoader b = new Hostile();
        equal(null, values.get(a));
        equal(null, values.get(null));
        values.put(a, "a");
        values.put(b, "b");
        values.put(null, "bootstrap");
        equal("a", values.get(a));
        equal("b", values.get(b));
        equal("bootstrap", values.get(null));
        values.put(a, "another");
        equal("another", values.get(a));
        equal(Set.of("another", "b", "bootstrap"), new HashSet<>(values.values()));
        equal(2, values.loaders().size());
        values.clear();
        equal(List.of(), values.values());
        equal(null, values.get(null));
    }

    static void theFirstValueStays() {
        PerLoader<String> values = new PerLoader<>();
        ClassLoader a = new Hostile();
        equal("first", values.putIfAbsent(a, "first"));
        equal("first", values.putIfAbsent(a, "second"));
        equal("one", values.putIfAbsent(null, "one"));
        equal("one", values.putIfAbsent(null, "two"));
    }

    static void aCollectedLoaderIsForgotten() {
        PerLoader<String> values = new PerLoader<>();
        ClassLoader stays = new Hostile();
        values.put(stays, "stays");
        values.put(null, "bootstrap");
        WeakReference<ClassLoader> gone = putAnother(values);
        long until = System.nanoTime() + ANSWER_TIMEOUT_NANOS;
        Set<String> taken = new HashSet<>();
        while (taken.isEmpty() && System.nanoTime() < until) {
            System.gc();
            taken.addAll(values.takeGone());
        }
        equal(null, gone.get());
        equal(Set.of("goes"), taken);
        that(values.loaders().size() == 1 && values.loaders().get(0) == stays, "one is left");
        equal(Set.of("stays", "bootstrap"), new HashSet<>(values.values()));
        equal(List.of(), values.takeGone());
    }

    private static WeakReference<ClassLoader> putAnother(PerLoader<String> values) {
        ClassLoader goes = new Hostile();
        values.put(goes, "goes");
        return new WeakReference<>(goes);
    }
}
