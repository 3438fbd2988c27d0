package jfluid.agent;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.raises;
import static jfluid.check.Check.that;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import jdk.internal.misc.Unsafe;

/** Reads this process's memory: mapped memory is read, unmapped memory yields zeros. */
final class VmMemoryTest {
    private static final Unsafe U = Unsafe.getUnsafe();

    private static byte[] places(long... addresses) {
        ByteBuffer bytes = ByteBuffer.allocate(8 * addresses.length).order(ByteOrder.nativeOrder());
        for (long address : addresses) {
            bytes.putLong(address);
        }
        return bytes.array();
    }

    static void mappedMemoryIsRead() throws IOException {
        int size = 1 << 20;
        long at = U.allocateMemory(size);
        try (VmMemory memory = new VmMemory()) {
            for (int i = 0; i < size; i += 4) {
                U.putInt(at + i, i);
            }
            long[] addresses = {at, at + 4, at + 4096, at + 16_380, at + 16_384, at + 500_000, at + size - 8, at + 8};
            byte[] seen = memory.peek(8, places(addresses));
            ByteBuffer words = ByteBuffer.wrap(seen).order(ByteOrder.nativeOrder());
            for (long address : addresses) {
                int expected = (int) (address - at);
                equal(expected, words.getInt());
                equal(expected + 4, words.getInt());
            }
            byte[] much = memory.peek(300_000, places(at + 100, at + 400_000)); // needs more than one read
            equal(100, ByteBuffer.wrap(much).order(ByteOrder.nativeOrder()).getInt(0));
            equal(400_000 + 299_996, ByteBuffer.wrap(much).order(ByteOrder.nativeOrder()).getInt(2 * 300_000 - 4));
        } finally {
            U.freeMemory(at);
        }
    }

    static void unmappedMemoryReadsAsZeros() throws IOException {
        long at = U.allocateMemory(64);
        try (VmMemory memory = new VmMemory()) {
            U.setMemory(at, 64, (byte) 7);
            byte[] seen = memory.peek(16, places(0, -1, Long.MIN_VALUE, 8, at, 1L << 47, Long.MAX_VALUE - 4));
            byte[] expected = new byte[7 * 16];
            Arrays.fill(expected, 4 * 16, 5 * 16, (byte) 7);
            equal(expected, seen);
            equal(new byte[0], memory.peek(16, new byte[0]));
        } finally {
            U.freeMemory(at);
        }
    }

    static void theAddressOfTheLibraryIsFound() throws IOException {
        try (VmMemory memory = new VmMemory()) {
            long library = memory.library();
            that(library != 0, "it is found");
            equal(new byte[] {0x7f, 'E', 'L', 'F'}, memory.peek(4, places(library)));
        }
    }

    static void fieldsOfMirrorsAreRead() {
        FakeJvm jvm = new FakeJvm();
        jvm.add(String.class, new byte[0]);
        ClassTable table = new ClassTable(jvm);
        int id = table.id(String.class);
        byte[] words = VmMemory.mirrorWords(table, 16, new int[] {id, 99, id});
        equal(24, words.length);
        byte[] first = Arrays.copyOf(words, 8);
        equal(U.getLong(String.class, 16L), ByteBuffer.wrap(first).order(ByteOrder.nativeOrder()).getLong());
        equal(new byte[8], Arrays.copyOfRange(words, 8, 16));
        equal(first, Arrays.copyOfRange(words, 16, 24));
        for (int offset : new int[] {-8, 0, 7, 257, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
            raises(IllegalArgumentException.class,
                    () -> VmMemory.mirrorWords(table, offset, new int[] {id}), "" + offset);
        }
    }
}
