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
 * Lets the client look at the JVM's own data, of which it knows the layout (src/vmstructs). Never by address in this
 * process, where a wrong one would end it: by way of /proc/self/mem, where it is an error of a read, and answered with zeros.
 * Nothing is ever written.
 */
final class VmMemory implements AutoCloseable {
    private static final Path MEMORY = Path.of("/proc/self/mem");
    private static final Path MAPS = Path.of("/proc/self/maps");
    private static final String LIBRARY = "/libjvm.so";

    private FileChannel memory;
    /** Read at once, since places that are asked for together lie near each other, in order: a read costs 1 µs. */
    private static final int WINDOW = 16 << 10;

    private static final long PAGE = 4 << 10;

    /** One for all reads: only a garbage collection gives such memory back. */
    private ByteBuffer window;

    /** Where the JVM's library begins; 0 if it cannot be told, or this process must not read its own memory. */
    long library() {
        try (BufferedReader lines = Files.newBufferedReader(MAPS)) {
            open();
            // 7f04f8600000-7f04f9839000 r-xp 00000000 fe:00 1234   /usr/lib/.../libjvm.so
            // With " (deleted)" behind it where the JDK has been replaced.
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

    /** What a field of a class's mirror holds, eight bytes for each; zero if the class has gone. */
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
     * @param addresses eight bytes for each place; quick if they ascend
     * @return `length` bytes of each place; zeros where there is nothing to read
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
            if (address < begin || end - address < length) { // their sum might be too large
                begin = address & -PAGE;
                end = begin + readWindow(begin, (int) Math.max(WINDOW, address - begin + length));
            }
            // Less than that where the memory ends.
            int there = (int) Math.min(length, end - address);
            if (there > 0) {
                window.get((int) (address - begin), all, i * length, there);
            }
        }
        return all;
    }

    /** Fills the window from there on, as far as there is memory: it may have been given back a moment ago. */
    private int readWindow(long address, int most) {
        window.clear().limit(Math.min(most, window.capacity()));
        try {
            while (window.hasRemaining()) {
                if (memory.read(window, address + window.position()) <= 0) {
                    break;
                }
            }
        } catch (IOException nothingThere) {
            // What was looked for has been unloaded, and zeros say so; or the memory ends here.
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
