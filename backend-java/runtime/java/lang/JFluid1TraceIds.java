package java.lang;

import static java.lang.JFluid1Release.*;

import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import jdk.internal.misc.Unsafe;

/**
 * The trace id that a tracing or logging library holds for the current thread.
 *
 * Only fields are read: of the library by their offsets, which the client has checked against the class files, and the thread's map of
 * ThreadLocals. No code of the library runs, and nothing changes: ThreadLocal.get() would add an entry to the map. The library is held
 * weakly.
 */
public final class JFluid1TraceIds {
    private JFluid1TraceIds() {}

    private static final Unsafe U = Unsafe.getUnsafe();
    private static final String[] KEYS = {"traceId", "trace_id"};
    private static final Source[] NONE = {};
    /** Has only final fields, so that a thread that sees the object also sees its offsets. Null without sources. */
    private static Places places;
    private static final int MAX_PER_SECOND = 200;
    /** Number of trace ids read in the current second, approximately: threads that count at the same time may lose a count. */
    private static int count;
    private static long second;

    /** A field of the objects of exactly one class, or a static field. The class is held weakly. */
    public static final class Field extends WeakReference<Class<?>> {
        final long offset;

        /** @param name an instance field of a reference type that occurs once in the class, or such a static field */
        public Field(Class<?> c, String name) {
            super(c);
            offset = offset(c, name);
        }

        private static long offset(Class<?> c, String name) {
            try {
                return U.objectFieldOffset(c, name);
            } catch (InternalError isStatic) { // from JDK 26 on it refuses static fields
                try {
                    return U.staticFieldOffset(c.getDeclaredField(name));
                } catch (NoSuchFieldException absent) {
                    throw new InternalError(absent);
                }
            }
        }

        /** Returns the value of a static field; null if the class is not initialised. */
        public Object ofClass() {
            Class<?> c = get();
            return c == null || U.shouldBeInitialized(c) ? null : U.getReferenceVolatile(c, offset);
        }

        /** Returns the value in an object of the class. The object must be of this class. */
        public Object of(Object o) {
            return U.getReferenceVolatile(o, offset);
        }
    }

    /** The sources of the session, and offsets of fields of the JDK. */
    static final class Places {
        final Source[] sources;
        final long locals = U.objectFieldOffset(Thread.class, "threadLocals");
        final long inherited = U.objectFieldOffset(Thread.class, "inheritableThreadLocals");
        final long hash = U.objectFieldOffset(ThreadLocal.class, "threadLocalHashCode");
        final long table;
        final long value;
        /** The class that wraps the map of logback 1.2. */
        final Class<?> wrapping = Class.forName("java.util.Collections$SynchronizedMap");
        final long wrapped = U.objectFieldOffset(wrapping, "m");

        Places(Source[] sources) throws ReflectiveOperationException {
            this.sources = sources;
            table = U.objectFieldOffset(Class.forName("java.lang.ThreadLocal$ThreadLocalMap"), "table");
            value = U.objectFieldOffset(Class.forName("java.lang.ThreadLocal$ThreadLocalMap$Entry"), "value");
        }
    }

    /** Where a library holds trace ids. */
    public static final class Source {
        private final WeakReference<ThreadLocal<?>> local;
        /** Key of the span in the context; null if the ThreadLocal has a map with trace ids. */
        private final WeakReference<Object> key;
        /** The array of keys and values in the context; then the fields that lead from a span to its trace id. */
        private final Field[][] steps;

        /**
         * @param key   null if the ThreadLocal has a map with trace ids
         * @param steps empty if the ThreadLocal has a map with trace ids
         */
        public Source(ThreadLocal<?> local, Object key, Field[][] steps) {
            this.local = new WeakReference<>(local);
            this.key = key == null ? null : new WeakReference<>(key);
            this.steps = steps;
        }

        /** Returns the trace id of the current thread, or null. */
        private Object read(Places in) {
            ThreadLocal<?> local = this.local.get();
            Object held = local == null ? null : valueOf(in, local);
            if (held == null) {
                return null;
            }
            if (key == null) {
                return inMap(in, held);
            }
            Object at = step(held, steps[0]);
            at = at instanceof Object[] ? after((Object[]) at) : null;
            for (int i = 1; i < steps.length && at != null; i++) {
                at = step(at, steps[i]);
            }
            return at;
        }

        /** Returns the value of the key in an array of keys and values, or null. */
        private Object after(Object[] entries) {
            for (int i = 0; i + 1 < entries.length; i += 2) {
                if (entries[i] != null && refersTo(key, entries[i])) {
                    return entries[i + 1];
                }
            }
            return null;
        }
    }

    /**
     * Sets where libraries hold trace ids. Called by the agent's thread.
     *
     * @throws ReflectiveOperationException, InternalError if the JDK has other fields
     */
    public static void sources(Source[] now) throws ReflectiveOperationException {
        Places in = new Places(now.clone());
        HashMap<Object, Object> some = new HashMap<>();
        some.put(KEYS[1], "");
        inMap(in, some); // initialises the classes that threads use
        places = now.length == 0 ? null : in;
    }

    static void end() {
        places = null;
    }

    /** Returns the trace id of the current thread for a slow call; null also if there were too many slow calls in this second. */
    static String ofSlowCall() {
        if (places == null) {
            return null;
        }
        long now = System.nanoTime() >> 30; // 1.07 s
        if (now != second) {
            second = now;
            count = 0;
        }
        return count++ < MAX_PER_SECOND ? read() : null;
    }

    /** Returns the trace id of the current thread, or null. */
    static String read() {
        try {
            Places in = places;
            for (Source it : in == null ? NONE : in.sources) {
                Object id = it.read(in);
                if (id != null && id.getClass() == String.class && !isZero((String) id)) {
                    return (String) id;
                }
            }
        } catch (StackOverflowError full) {
            return null; // this call has no trace id
        }
        return null;
    }

    /** Returns the value of the field that belongs to the class of the object; null if there is none. */
    public static Object step(Object o, Field[] fields) {
        for (Field it : fields) {
            if (refersTo(it, o.getClass())) {
                return it.of(o);
            }
        }
        return null;
    }

    /** Returns the current thread's value of a ThreadLocal, or null. Reads the thread's map as ThreadLocal.get() does. */
    private static Object valueOf(Places in, ThreadLocal<?> local) {
        boolean inherits = local instanceof InheritableThreadLocal;
        Object map = U.getReference(Thread.currentThread(), inherits ? in.inherited : in.locals);
        Object[] entries = map == null ? null : (Object[]) U.getReference(map, in.table);
        if (entries == null) {
            return null;
        }
        int last = entries.length - 1; // a power of two minus one
        int at = U.getInt(local, in.hash) & last;
        for (int left = entries.length; left > 0 && entries[at] != null; left--) {
            if (refersTo((Reference<?>) entries[at], local)) {
                return U.getReference(entries[at], in.value);
            }
            at = at + 1 & last;
        }
        return null;
    }

    /** Only maps of the JDK are read. The keys are strings, so that no other code computes a hash or compares keys. */
    private static Object inMap(Places in, Object map) {
        Object plain = map.getClass() == in.wrapping ? U.getReference(map, in.wrapped) : map;
        if (plain == null || plain.getClass() != HashMap.class) {
            return null;
        }
        for (String key : KEYS) {
            Object id = ((HashMap<?, ?>) plain).get(key);
            if (id != null) {
                return id;
            }
        }
        return null;
    }

    /** Returns whether the id is that of no trace: OpenTelemetry has a span with this id where there is none. */
    private static boolean isZero(String id) {
        for (int i = id.length() - 1; i >= 0; i--) {
            if (id.charAt(i) != '0') {
                return false;
            }
        }
        return true;
    }
}
