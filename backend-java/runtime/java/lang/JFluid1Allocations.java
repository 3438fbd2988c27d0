package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Nameless.*;
import static java.lang.JFluid1Release.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Slow paths of the allocation probes (--mode alloc): object sizes, the choice of recorded allocations, and the table of
 * allocated classes with their numbers.
 */
public final class JFluid1Allocations {
    private JFluid1Allocations() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** Sizes as reported by the JVM. The methods must not throw, and may allocate only at their first call. */
    public abstract static class Gauge {
        /** Returns the size of an object, bytes. */
        public abstract long sizeOf(Object o);

        /** Returns the bytes that the current thread has allocated since its start; -1 if unknown. */
        public abstract long allocated();

        /** Returns the number of garbage collections so far; 0 if unknown. */
        public abstract int collections();
    }

    /** An allocated class. The class may be unloaded; its number is not reused. */
    static final class Allocated extends java.lang.ref.WeakReference<Class<?>> {
        /** 1 to {@link JFluid1Layout#NOT_ATTRIBUTED} - 1. */
        final int id;
        /** Size of an instance; for an array class, size of the header. */
        final long bytes;
        /** For an array class: log2 of the element size; otherwise -1. */
        final int shift;
        /** Name of a lambda class, shared by all lambdas of its host class, with their number; null for any other class. */
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

    /** Size of a record with its weak reference and its table entry, bytes. */
    private static final long ALLOCATED_BYTES = 80;
    private static final int ALLOCATED_TABLE = 1 << 12;
    private static final Allocated[] NOTHING_ALLOCATED = new Allocated[1];
    /** Allocated classes, keyed by identity hash. */
    private static Allocated[] allocated = NOTHING_ALLOCATED;
    private static long classesKnown;
    private static final int[] allocatedClasses = new int[1];
    /** Null unless the session counts allocations. */
    static volatile Gauge gauge;
    static int sampleEvery = 1;
    /** Whether the result string of most concatenations is allocated by code of a hidden class (JDK 24 and later). */
    static boolean spinsConcatenations;
    /** Object alignment minus one. */
    private static long alignmentMask = 7;
    /** Array classes, indexed by the operand of newarray; see {@link #allocations}. */
    static final Class<?>[] PRIMITIVE_ARRAYS = {null, null, null, null, boolean[].class, char[].class, float[].class,
        double[].class, byte[].class, short[].class, int[].class, long[].class};
    private static final long[] ARRAY_BASES = {0, 0, 0, 0, base("ARRAY_BOOLEAN_BASE_OFFSET"),
        base("ARRAY_CHAR_BASE_OFFSET"), base("ARRAY_FLOAT_BASE_OFFSET"), base("ARRAY_DOUBLE_BASE_OFFSET"), BYTES_AT,
        base("ARRAY_SHORT_BASE_OFFSET"), INTS_AT, LONGS_AT};
    private static final int[] ARRAY_SHIFTS = {0, 0, 0, 0, 0, 1, 2, 3, 0, 1, 2, 3};

    /**
     * Starts counting allocations. Called after begin() and before the probes are installed.
     *
     * @param alignment object alignment, bytes
     * @param every     one in `every` allocations is recorded, chosen at random
     * @param follow    whether the liveness of recorded objects is tracked
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

    /** Subtracts an allocation made by jfluid from the thread's allocated bytes. */
    static void notItsOwn(ThreadInfo ti, long bytes) {
        if (ti.allocatedBefore >= 0) {
            ti.allocatedBefore += bytes;
        }
    }

    /**
     * Returns the address of the thread's next event. A changed address means that events were written in between. Does not register a
     * carrier, since that needs memory.
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

    /** @param made the array; null if its liveness is not tracked */
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
            if (ti.active) { // if the thread is not active, the session has ended
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

    /** Returns the length of an array; -1 for any other object. */
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
     * Returns whether this allocation is skipped. Distances between recorded allocations are random, 1 to 2 N - 1 and N on average, so that
     * no loop of the program is in step with the recorded allocations. The seed is the thread's number, so the distances are equal in every
     * run.
     */
    static boolean isPassedOver(ThreadInfo ti) {
        if (ti.untilSample > 0) {
            ti.untilSample--;
            return true;
        }
        int x = ti.chance == 0 ? ti.number * 0x9e3779b9 | 1 : ti.chance;
        if (ti.chance == 0) { // the first distance is shortened
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

    /** Returns the next number of Marsaglia's xorshift generator, never 0. */
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

    /** Registers a class at its first allocation: measures its size, assigns a number and writes its name to the ring. */
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
                long allocatedBefore = by.allocated();
                String name =
                        nameOf(c); // called first: if memory is short, the next allocation of the class must try again
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
                notItsOwn(ti, by.allocated() - allocatedBefore);
            }
        } catch (Throwable t) {
            gap(); // this allocation is not recorded; a later allocation of its class may be recorded
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
                if (id >= NOT_ATTRIBUTED) {
                    U.putInt(allocatedClasses, INTS_AT, NOT_ATTRIBUTED - 1);
                    gap(); // all class numbers are used
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

    /**
     * Returns name and loader, as "java.lang.String\nbootstrap" or "[I\nbootstrap". Names of lambdas omit the part that differs from run to
     * run.
     */
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
        return isHidden(c) && c.getName().contains("$$Lambda");
    }

    /**
     * Returns the number of lambda classes with this name, or 0. The JVM creates new lambda classes after a redefinition of their method.
     */
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

    /**
     * Writes the JVM's count of bytes that the thread has allocated in the root call. Called just before the EXIT of the outermost root
     * call.
     */
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
            if (now >= 0) { // a negative count means that the program has switched off the JVM's counter
                do { // a long root call may allocate more than fits into one word (1 TB)
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

    /** Drops records of unloaded classes. Called only by the agent's thread. */
    static void purge() {
        Allocated[] in = allocated;
        long known = 0;
        for (int i = 0; i < in.length; i++) {
            long at = OBJECTS_AT + i * OBJECT_BYTES;
            Allocated head = (Allocated) U.getReferenceVolatile(in, at);
            while (head != null && refersTo(head, null)) {
                U.compareAndSetReference(in, at, head, head.chain);
                head = (Allocated) U.getReferenceVolatile(in, at);
            }
            for (Allocated before = head; before != null; before = before.chain) {
                known++;
                while (before.chain != null && refersTo(before.chain, null)) {
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
     * Returns four numbers for each thread inside a root call, including threads in a slow path: thread id, thread number, number of
     * ALLOCATED words written, bytes allocated before the root call.
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

    /** Offsets of fields of boxes and strings. The fields are read directly, since the methods may have probes. */
    static final class Values {
        static final long STRING = U.objectFieldOffset(String.class, "value");
        private static final long INTEGER = U.objectFieldOffset(Integer.class, "value");
        private static final long LONG = U.objectFieldOffset(Long.class, "value");
        private static final long SHORT = U.objectFieldOffset(Short.class, "value");
        private static final long CHARACTER = U.objectFieldOffset(Character.class, "value");
        private static final int HIGHEST_INTEGER = highestInteger();

        /** Returns the upper bound of cached Integers, which -XX:AutoBoxCacheMax may have changed. */
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
