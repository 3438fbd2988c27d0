package java.lang;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.raises;
import static jfluid.check.Check.that;

import java.nio.ByteBuffer;
import jdk.internal.misc.Unsafe;

/** Offsets and addresses in this JVM. */
final class JFluid1MemoryTest {
    private static final Unsafe U = Unsafe.getUnsafe();

    static void arrayOffsetsAreRight() {
        byte[] bytes = {1, 2, 3};
        int[] ints = {4, 5, 6};
        long[] longs = {7, 8, 9};
        Object[] objects = {"a", "b", "c"};
        equal((byte) 2, U.getByte(bytes, JFluid1Memory.BYTES_AT + 1));
        equal(6, U.getInt(ints, JFluid1Memory.INTS_AT + 8));
        equal(8L, U.getLong(longs, JFluid1Memory.LONGS_AT + 8));
        equal("c", U.getReference(objects, JFluid1Memory.OBJECTS_AT + 2 * JFluid1Memory.OBJECT_BYTES));
        raises(ExceptionInInitializerError.class, () -> JFluid1Memory.base("NO_SUCH_CONSTANT"));
    }

    static void bytesAreCopiedOutAndIn() {
        byte[] bytes = {1, 2, 3, 4, 5};
        long at = U.allocateMemory(8);
        JFluid1Memory.copyOut(bytes, at);
        byte[] back = new byte[5];
        JFluid1Memory.copyIn(at, back);
        U.freeMemory(at);
        equal(bytes, back);
    }

    static void theAddressOfABufferIsRight() {
        ByteBuffer buffer = ByteBuffer.allocateDirect(64);
        buffer.put(5, (byte) 77);
        equal((byte) 77, U.getByte(JFluid1Memory.address(buffer) + 5));
        buffer.position(4);
        equal((byte) 77, U.getByte(JFluid1Memory.address(buffer) + 5));
        equal((byte) 77, U.getByte(JFluid1Memory.address(buffer.slice()) + 1));
        JFluid1Memory.unmap(buffer);
    }

    static void theNameOfALoaderIsReadWithoutAskingIt() {
        ClassLoader named = new ClassLoader("its name", null) {};
        equal("its name", JFluid1Memory.nameOf(named));
        equal("app", JFluid1Memory.nameOf(ClassLoader.getSystemClassLoader()));
        that(JFluid1Memory.nameOf(new ClassLoader(null) {}) == null, "it was given none");
    }
}
