package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Nameless.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Behind the probes of allocations (--mode alloc): sizes, which of them is recorded, and the classes that were met, with
 * their numbers.
 */
public final class JFluid1Allocations {
    private JFluid1Allocations() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** What the JVM knows of sizes. Its methods must not throw, nor allocate but for the first call. */
    public abstract static class Gauge {
        /** Bytes of this object. */
        public abstract long sizeOf(Object o);

        /** Bytes that the present thread has allocated since it lives; -1 if that cannot be told. */
        public abstract long allocated();

        /** Collections so far; 0 if that cannot be told. */
        public abstract int collections();
    }

    /** A class of which something was allocated. It may be unloaded; its number is not given away again. */
    static final class Allocated extends java.lang.ref.WeakReference<Class<?>> {
        /** 1 to {@link JFluid1Layout#FIRST_METHOD_BESIDE_CLASSES} - 1. */
        final int id;
        /** Of an instance; of an array, before its elements. */
        final long bytes;
        /** Of an array: by how much its length is shifted. -1 if it is none. */
        final int shift;
        /** Of a lambda: the name that it shares with the others of its class, and their number. Else null. */
        final String lambda;
        Allocated chain;

        Allocated(Class<?> c, int id, long bytes, int shift, String lambda) {
            super(c);
            this.lambda = lambda;
            this.id = id;
            this.bytes = bytes;
            this.shift = shift;
        }
    }

    /** A record with its reference, and a word of the table. */
    private static final long ALLOCATED_BYTES = 80;
    private static final int ALLOCATED_TABLE = 1 << 12;
    private static final Allocated[] NOTHING_ALLOCATED = new Allocated[1];
    /** Classes by identity hash. */
    private static Allocated[] allocated = NOTHING_ALLOCATED;
    private static long classesKnown;
    private static final int[] allocatedClasses = new int[1];
    /** Null but for a session that counts allocations. */
    static volatile Gauge gauge;
    static int sampleEvery = 1;
    /** Whether most concatenations are code of a hidden class (JDK 24 and later), in which the string is made. */
    static boolean spinsConcatenations;
    /** Sizes are multiples of this and one more. */
    private static long alignmentMask = 7;
    /** By the operand of newarray; see {@link #allocations}. */
    static final Class<?>[] PRIMITIVE_ARRAYS = {null, null, null, null, boolean[].class, char[].class, float[].class,
        double[].class, byte[].class, short[].class, int[].class, long[].class};
    private static final long[] ARRAY_BASES = {0, 0, 0, 0, base("ARRAY_BOOLEAN_BASE_OFFSET"),
        base("ARRAY_CHAR_BASE_OFFSET"), base("ARRAY_FLOAT_BASE_OFFSET"), base("ARRAY_DOUBLE_BASE_OFFSET"), BYTES_AT,
        base("ARRAY_SHORT_BASE_OFFSET"), INTS_AT, LONGS_AT};
    private static final int[] ARRAY_SHIFTS = {0, 0, 0, 0, 0, 1, 2, 3, 0, 1, 2, 3};

    /**
     * From now on allocations are counted. Between begin() and the code that has the probes.
     *
     * @param alignment sizes of objects are multiples of it
     * @param every     one of so many allocations is recorded, by chance
     * @param follow    whether recorded objects are looked after, which of them live
     */
    public static void allocations(Gauge by, int alignment, int every, boolean follow) {
        if (follow) {
            JFluid1Survivors.begin(by);
        }
        U.ensureClassInitialized(Allocated.class);
        U.ensureClassInitialized(Values.class);
        allocated = new Allocated[ALLOCATED_TABLE];
        allocatedClasses[0] = 0;
        classesKnown = 0;
        alignmentMask = alignment - 1;
        spinsConcatenations = hasHiddenConcatenations();
        sampleEvery = every;
        gauge = by;
    }

    private static boolean hasHiddenConcatenations() {
        try {
            Class.forName("java.lang.invoke.StringConcatFactory$InlineHiddenClassStrategy", false, null);
            return true;
        } catch (ClassNotFoundException older) {
            return false;
        }
    }

    /** What the thread has allocated for us is none of the program's. */
    static void notItsOwn(ThreadInfo ti, long bytes) {
        if (ti.allocatedBefore >= 0) {
            ti.allocatedBefore += bytes;
        }
    }

    /**
     * Where the thread's next event goes: another place, if there have been events in between. A carrier that has written none
     * need not become known for that, which takes memory.
     */
    static long placeOf(ThreadInfo ti) {
        ThreadInfo w = ti.virtual ? knownCarrier() : ti;
        return w == null ? 0 : w.next;
    }

    static void eachOf(ThreadInfo ti, Object array, int dimensions) {
        arrayOf(ti, array.getClass(), lengthOf(array), array);
        if (dimensions > 1) {
            Object[] outer = (Object[]) array;
            for (int i = 0; i < outer.length; i++) {
                eachOf(ti, outer[i], dimensions - 1);
            }
        }
    }

    /** @param made null if it is not looked after */
    static void arrayOf(ThreadInfo ti, Class<?> c, int length, Object made) {
        if (sampleEvery > 1 && isPassedOver(ti)) {
            return;
        }
        Allocated a = known(c);
        if (a == null) {
            a = learn(ti, c, null);
        }
        if (a != null) {
            long bytes = a.bytes + ((long) length << a.shift) + alignmentMask & ~alignmentMask;
            allocation(ti, a, bytes);
            if (made != null) {
                JFluid1Survivors.follow(ti, a.id, made, bytes);
            }
        }
    }

    static void allocation(ThreadInfo ti, Allocated a, long bytes) {
        long id = (long) a.id << TICK_BITS;
        if (ti.active) {
            countedEvent(ti, KIND_ENTER | id);
            ti.executed += bytes;
            if (ti.active) { // else the session is over
                countedEvent(ti, KIND_EXIT | id);
            }
        } else if (ti.virtualActive) {
            virtualEvent(ti, KIND_ENTER | id);
            ti.executed += bytes;
            if (ti.virtualActive) {
                virtualEvent(ti, KIND_EXIT | id);
            }
        }
    }

    /** -1 if it is no array. */
    static int lengthOf(Object o) {
        if (o instanceof Object[]) {
            return ((Object[]) o).length;
        }
        if (o instanceof byte[]) {
            return ((byte[]) o).length;
        }
        return o.getClass().isArray() ? lengthOfOther(o) : -1;
    }

    private static int lengthOfOther(Object o) {
        if (o instanceof int[]) {
            return ((int[]) o).length;
        }
        if (o instanceof char[]) {
            return ((char[]) o).length;
        }
        if (o instanceof long[]) {
            return ((long[]) o).length;
        }
        if (o instanceof double[]) {
            return ((double[]) o).length;
        }
        if (o instanceof boolean[]) {
            return ((boolean[]) o).length;
        }
        if (o instanceof float[]) {
            return ((float[]) o).length;
        }
        return ((short[]) o).length;
    }

    /**
     * Whether this allocation is not the one to record. Distances are 1 to 2 N - 1 by chance, N on average, so that no
     * loop of the program's keeps step with them; each thread's begin with its number, so they are the same in every run.
     */
    static boolean isPassedOver(ThreadInfo ti) {
        if (ti.untilSample > 0) {
            ti.untilSample--;
            return true;
        }
        int x = ti.chance == 0 ? ti.number * 0x9e3779b9 | 1 : ti.chance;
        if (ti.chance == 0) { // the first comes after a part of a distance
            x = nextChance(x);
            ti.chance = x;
            ti.untilSample = (x >>> 1) % sampleEvery;
            if (ti.untilSample > 0) {
                ti.untilSample--;
                return true;
            }
        }
        x = nextChance(x);
        ti.chance = x;
        ti.untilSample = (x >>> 1) % (2L * sampleEvery - 1);
        return false;
    }

    /** Marsaglia's xorshift: never 0. */
    private static int nextChance(int chance) {
        int x = chance ^ chance << 13;
        x ^= x >>> 17;
        return x ^ x << 5;
    }

    static Allocated known(Class<?> c) {
        Allocated[] in = allocated;
        Allocated a = in[System.identityHashCode(c) & in.length - 1];
        while (a != null && a.get() != c) {
            a = a.chain;
        }
        return a;
    }

    /** A class is met for the first time: measures it, gives it a number, and writes its name into the ring. */
    @ReservedStackAccess
    static Allocated learn(ThreadInfo ti, Class<?> c, Object instance) {
        boolean virtual = !ti.active;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        Allocated learnt = null;
        boolean on = enabled;
        try {
            Gauge by = gauge;
            if (on && by != null) {
                String name = nameOf(c); // first: without memory for it, the next that comes must try again
                int before = allocatedClasses[0];
                learnt = enrol(by, c, name, instance);
                if (learnt != null && learnt.id > before) {
                    ThreadInfo w = virtual ? carrier() : ti;
                    on = w != null && room(w, ti, name.length() + 4);
                    if (on) {
                        if (virtual) {
                            switchTo(w, ti);
                        }
                        for (int i = 0; i < name.length(); i++) {
                            put(w,
                                    CONTROL_NAME | (long) learnt.id << NAME_CLASS_SHIFT | i << NAME_AT_SHIFT
                                            | name.charAt(i));
                        }
                        switchBack(w);
                    }
                }
            }
        } catch (Throwable t) {
            gap(); // this one is not recorded; the next of its class is, perhaps
            on = enabled;
            ti.guard = false;
            passOn(t);
        }
        ti.guard = false;
        if (on && enabled) {
            if (virtual) {
                ti.virtualActive = true;
            } else {
                ti.active = true;
            }
        }
        return on ? learnt : null;
    }

    static int collections() {
        Gauge by = gauge;
        return by == null ? 0 : by.collections();
    }

    private static Allocated enrol(Gauge by, Class<?> c, String name, Object instance) throws InstantiationException {
        long bytes;
        int shift = -1;
        Class<?> of = c.getComponentType();
        if (of == null) {
            bytes = by.sizeOf(instance != null ? instance : U.allocateInstance(c));
        } else if (!of.isPrimitive()) {
            bytes = OBJECTS_AT;
            shift = OBJECT_BYTES == 8 ? 3 : 2;
        } else {
            int type = 4;
            while (PRIMITIVE_ARRAYS[type] != c) {
                type++;
            }
            bytes = ARRAY_BASES[type];
            shift = ARRAY_SHIFTS[type];
        }
        Allocated[] into = allocated;
        long at = OBJECTS_AT + (System.identityHashCode(c) & into.length - 1) * OBJECT_BYTES;
        Allocated made = null;
        while (true) {
            Allocated head = (Allocated) U.getReferenceVolatile(into, at);
            for (Allocated a = head; a != null; a = a.chain) {
                if (a.get() == c) {
                    return a;
                }
            }
            if (made == null) {
                String lambda = isLambda(c) ? name : null;
                int shared = lambda == null ? 0 : numberOf(lambda);
                int id = shared > 0 ? shared : U.getAndAddInt(allocatedClasses, INTS_AT, 1) + 1;
                if (id >= FIRST_METHOD_BESIDE_CLASSES) {
                    U.putInt(allocatedClasses, INTS_AT, FIRST_METHOD_BESIDE_CLASSES - 1);
                    gap(); // the numbers are used up
                    return null;
                }
                made = new Allocated(c, id, bytes, shift, lambda);
            }
            made.chain = head;
            if (U.compareAndSetReference(into, at, head, made)) {
                return made;
            }
        }
    }

    /** "java.lang.String\nbootstrap", "[I\nbootstrap"; what differs from run to run is left out of the names of lambdas. */
    static String nameOf(Class<?> c) {
        String name = c.getName();
        if (isLambda(c)) {
            name = name.substring(0, name.indexOf("$$Lambda") + 8);
        }
        ClassLoader loader = (ClassLoader) U.getReference(c, Offsets.CLASS_LOADER);
        String by = loader == null ? "bootstrap" : JFluid1Memory.nameOf(loader);
        String full = name.concat("\n").concat(by == null ? loader.getClass().getName() : by);
        return full.length() > LONGEST_NAME ? full.substring(0, LONGEST_NAME) : full;
    }

    private static boolean isLambda(Class<?> c) {
        return c.isHidden() && c.getName().contains("$$Lambda");
    }

    /** Of lambdas of this name, which the JVM makes anew when their method is redefined; 0 if there are none. */
    private static int numberOf(String lambda) {
        Allocated[] in = allocated;
        for (int i = 0; i < in.length; i++) {
            for (Allocated a = in[i]; a != null; a = a.chain) {
                if (lambda.equals(a.lambda)) {
                    return a.id;
                }
            }
        }
        return 0;
    }

    /** The outermost root ends: what the JVM has seen the thread allocate inside. */
    static void tellAllocated(ThreadInfo ti) {
        Gauge by = gauge;
        long before = ti.allocatedBefore;
        if (by == null || before < 0) {
            return;
        }
        ti.active = false;
        ti.guard = true;
        ti.allocatedBefore = -1;
        try {
            long now = by.allocated();
            long left = Math.max(0, now - before);
            boolean on = true;
            if (now >= 0) { // or the JVM has been told meanwhile to count no more
                do { // a server's loop may allocate more than a word holds, which is a terabyte
                    on = room(ti, ti, 2);
                    if (on) {
                        ti.allocationsTold++;
                        put(ti, CONTROL_ALLOCATED | Math.min(left, TICK_MASK));
                        left -= TICK_MASK;
                    }
                } while (on && left > 0);
            }
            ti.active = on && enabled;
        } catch (Throwable t) {
            gap();
            ti.guard = false;
            passOn(t);
        }
        ti.guard = false;
    }

    /** Drops records of classes that are gone. Agent's thread only. */
    static void purge() {
        Allocated[] in = allocated;
        long known = 0;
        for (int i = 0; i < in.length; i++) {
            long at = OBJECTS_AT + i * OBJECT_BYTES;
            Allocated head = (Allocated) U.getReferenceVolatile(in, at);
            while (head != null && head.refersTo(null)) {
                U.compareAndSetReference(in, at, head, head.chain);
                head = (Allocated) U.getReferenceVolatile(in, at);
            }
            for (Allocated before = head; before != null; before = before.chain) {
                known++;
                while (before.chain != null && before.chain.refersTo(null)) {
                    before.chain = before.chain.chain;
                }
            }
        }
        classesKnown = known;
    }

    static void end() {
        gauge = null;
        JFluid1Survivors.end();
        allocated = NOTHING_ALLOCATED;
        NOTHING_ALLOCATED[0] = null;
    }

    static long heapBytes() {
        return allocated.length * OBJECT_BYTES + classesKnown * ALLOCATED_BYTES;
    }

    /**
     * Threads that are inside the graph now, also those that are busy with us: {id, number, how often ALLOCATED was told, what they had allocated when they
     * came}, one after the other.
     */
    public static long[] allocatedBefore() {
        int count = 0;
        long[] found = new long[16];
        for (ThreadInfo head : table) {
            for (ThreadInfo ti = head; ti != null; ti = ti.chain) {
                if ((ti.active || ti.guard) && ti.allocatedBefore >= 0) {
                    if (count + 4 > found.length) {
                        found = java.util.Arrays.copyOf(found, count * 2);
                    }
                    found[count++] = ti.tid;
                    found[count++] = ti.number;
                    found[count++] = ti.allocationsTold;
                    found[count++] = ti.allocatedBefore;
                }
            }
        }
        return java.util.Arrays.copyOf(found, count);
    }

    /** Fields of boxes and strings, read as such: their methods may be instrumented. */
    static final class Values {
        static final long STRING = U.objectFieldOffset(String.class, "value");
        private static final long INTEGER = U.objectFieldOffset(Integer.class, "value");
        private static final long LONG = U.objectFieldOffset(Long.class, "value");
        private static final long SHORT = U.objectFieldOffset(Short.class, "value");
        private static final long CHARACTER = U.objectFieldOffset(Character.class, "value");
        private static final int HIGHEST_INTEGER = highestInteger();

        /** -XX:AutoBoxCacheMax may have moved it. */
        private static int highestInteger() {
            int high = 127;
            while (high < Integer.MAX_VALUE && Integer.valueOf(high + 1) == Integer.valueOf(high + 1)) {
                high++;
            }
            return high;
        }

        static boolean isCached(Object box) {
            if (box instanceof Integer) {
                int value = U.getInt(box, INTEGER);
                return value >= -128 && value <= HIGHEST_INTEGER;
            }
            if (box instanceof Long) {
                long value = U.getLong(box, LONG);
                return value >= -128 && value <= 127;
            }
            if (box instanceof Short) {
                short value = U.getShort(box, SHORT);
                return value >= -128 && value <= 127;
            }
            if (box instanceof Character) {
                return U.getChar(box, CHARACTER) <= 127;
            }
            return box instanceof Byte || box instanceof Boolean;
        }
    }
}
