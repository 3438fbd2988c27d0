package jfluid.agent;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import jdk.internal.misc.Unsafe;

/**
 * Lets the client read the JVM's own data; src/vmstructs has the layout of the data. Reads /proc/self/mem in place of dereferencing
 * addresses: a wrong address is a read error, answered with zeros, and does not crash the process. Never writes.
 */
final class VmMemory implements AutoCloseable {
    private static final Path MEMORY = Path.of("/proc/self/mem");
    private static final Path MAPS = Path.of("/proc/self/maps");
    private static final String LIBRARY = "/libjvm.so";

    private FileChannel memory;
    /** Bytes per read. A read costs 1 µs, and addresses of one request are ascending and close together. */
    private static final int WINDOW = 16 << 10;

    private static final long PAGE = 4 << 10;

    /** One buffer for all reads, since only a garbage collection frees direct memory. */
    private ByteBuffer window;

    /** Returns the load address of libjvm; 0 if it is unknown or if the process may not read its own memory. */
    long library() {
        try (BufferedReader lines = Files.newBufferedReader(MAPS)) {
            open();
            // 7f04f8600000-7f04f9839000 r-xp 00000000 fe:00 1234   /usr/lib/.../libjvm.so
            // The path ends with " (deleted)" if the JDK has been replaced.
            for (String line; (line = lines.readLine()) != null;) {
                if (line.contains(LIBRARY) && line.split(" ", 4)[2].matches("0+")) {
                    return Long.parseUnsignedLong(line.substring(0, line.indexOf('-')), 16);
                }
            }
            return 0;
        } catch (IOException | RuntimeException unreadable) {
            return 0;
        }
    }

    /** Returns a field of each class's mirror, eight bytes per class; zero for an unloaded class. */
    static byte[] mirrorWords(ClassTable classes, int offset, int[] ids) {
        if (offset < 8 || offset > 256) {
            throw new IllegalArgumentException("no field of a mirror lies at " + offset);
        }
        ByteBuffer words = ByteBuffer.allocate(8 * ids.length).order(ByteOrder.nativeOrder());
        for (int id : ids) {
            Class<?> c = classes.byId(id);
            words.putLong(c == null ? 0 : Unsafe.getUnsafe().getLong(c, (long) offset));
        }
        return words.array();
    }

    /**
     * @param addresses eight bytes per address; ascending order is fastest
     * @return `length` bytes per address; zeros for unreadable memory
     */
    byte[] peek(int length, byte[] addresses) throws IOException {
        open();
        ByteBuffer from = ByteBuffer.wrap(addresses).order(ByteOrder.nativeOrder());
        int count = addresses.length / 8;
        if (window == null || window.capacity() < length + PAGE) {
            window = ByteBuffer.allocateDirect((int) Math.max(WINDOW, length + PAGE));
        }
        byte[] all = new byte[Math.multiplyExact(count, length)];
        long begin = 0;
        long end = 0;
        for (int i = 0; i < count; i++) {
            long address = from.getLong();
            if (address <= 0) {
                continue;
            }
            if (address < begin || end - address < length) { // avoids an overflow of the sum
                begin = address & -PAGE;
                end = begin + readWindow(begin, (int) Math.max(WINDOW, address - begin + length));
            }
            // At the end of the mapping the window may have fewer bytes.
            int there = (int) Math.min(length, end - address);
            if (there > 0) {
                window.clear().position((int) (address - begin));
                window.get(all, i * length, there);
            }
        }
        return all;
    }

    /** Fills the window from `address` on, up to the first unreadable byte: the memory may just have been unmapped. */
    private int readWindow(long address, int most) {
        window.clear().limit(Math.min(most, window.capacity()));
        try {
            while (window.hasRemaining()) {
                if (memory.read(window, address + window.position()) <= 0) {
                    break;
                }
            }
        } catch (IOException nothingThere) {
            // The data has been unloaded, or the mapping ends here: answered with zeros.
        }
        return window.position();
    }

    private void open() throws IOException {
        if (memory == null) {
            memory = FileChannel.open(MEMORY, StandardOpenOption.READ);
        }
    }

    @Override
    public void close() throws IOException {
        if (memory != null) {
            memory.close();
        }
    }
}
