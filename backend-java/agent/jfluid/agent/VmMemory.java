package jfluid.agent;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.stream.Stream;
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
    /** One for all reads: only a garbage collection gives such memory back. */
    private ByteBuffer part;

    /** Where the JVM's library begins; 0 if it cannot be told, or this process must not read its own memory. */
    long library() {
        try (Stream<String> lines = Files.lines(MAPS)) {
            open();
            // 7f04f8600000-7f04f9839000 r-xp 00000000 fe:00 1234   /usr/lib/.../libjvm.so
            // With " (deleted)" behind it where the JDK has been replaced.
            return lines.filter(line -> line.contains(LIBRARY) && line.split(" ", 4)[2].matches("0+"))
                    .mapToLong(line -> Long.parseUnsignedLong(line.substring(0, line.indexOf('-')), 16))
                    .findFirst()
                    .orElse(0);
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
     * @param addresses eight bytes for each place
     * @return `length` bytes of each place; zeros where there is nothing to read
     */
    byte[] peek(int length, byte[] addresses) throws IOException {
        open();
        ByteBuffer from = ByteBuffer.wrap(addresses).order(ByteOrder.nativeOrder());
        int count = addresses.length / 8;
        if (part == null || part.capacity() < length) {
            part = ByteBuffer.allocateDirect(Math.max(512, length));
        }
        byte[] all = new byte[Math.multiplyExact(count, length)];
        for (int i = 0; i < count; i++) {
            long address = from.getLong();
            if (address <= 0) {
                continue;
            }
            part.clear().limit(length);
            try {
                int read = memory.read(part, address);
                part.flip();
                if (read > 0) {
                    part.get(all, i * length, read);
                }
            } catch (IOException nothingThere) {
                // Zeros say so. The class that was looked for has been unloaded.
            }
        }
        return all;
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
