package java.lang;

import jdk.internal.misc.Unsafe;

/** Array base offsets, and copies between the heap and native memory. */
public final class JFluid1Memory {
    private JFluid1Memory() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    static final long BYTES_AT = base("ARRAY_BYTE_BASE_OFFSET");
    static final long INTS_AT = base("ARRAY_INT_BASE_OFFSET");
    static final long LONGS_AT = base("ARRAY_LONG_BASE_OFFSET");
    static final long OBJECTS_AT = base("ARRAY_OBJECT_BASE_OFFSET");
    static final long OBJECT_BYTES = base("ARRAY_OBJECT_INDEX_SCALE");
    private static final long LOADER_NAME = U.objectFieldOffset(ClassLoader.class, "name");
    private static final long BUFFER_ADDRESS = U.objectFieldOffset(java.nio.Buffer.class, "address");

    /**
     * Reads a constant of Unsafe by reflection: it is an int up to JDK 24 and a long from 25 on, and the class file must work with both.
     */
    static long base(String constant) {
        try {
            return ((Number) Unsafe.class.getField(constant).get(null)).longValue();
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** Returns the name of a class loader, or null, without calling the loader. */
    public static String nameOf(ClassLoader loader) {
        return (String) U.getReference(loader, LOADER_NAME);
    }

    /** Copies an array to native memory. */
    public static void copyOut(byte[] from, long to) {
        U.copyMemory(from, BYTES_AT, null, to, from.length);
    }

    /** Copies native memory to an array. */
    public static void copyIn(long from, byte[] to) {
        U.copyMemory(null, from, to, BYTES_AT, to.length);
    }

    public static long address(java.nio.ByteBuffer mapped) {
        return U.getLong(mapped, BUFFER_ADDRESS);
    }

    public static void unmap(java.nio.ByteBuffer mapped) {
        JFluid1Release.unmap(mapped);
    }
}
