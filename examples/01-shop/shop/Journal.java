package shop;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;

/** All receipts, in one file that only grows. It is a temporary one and goes with the shop. */
final class Journal implements AutoCloseable {
    private static final int FORCE_EVERY = 64;

    private final Path file = Files.createTempFile("shop-journal-", ".txt");
    // Linux unlinks such a file as soon as it is open: not even a killed shop leaves it behind.
    private final FileChannel channel = FileChannel.open(
            file, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE);
    private final Map<Integer, long[]> places = new HashMap<>();
    private long end;

    Journal() throws IOException {}

    synchronized void append(Receipt receipt) throws IOException {
        Call.APPEND.hit();
        ByteBuffer bytes = ByteBuffer.wrap(receipt.text().getBytes(StandardCharsets.UTF_8));
        places.put(receipt.number, new long[] {end, bytes.remaining()});
        while (bytes.hasRemaining()) end += channel.write(bytes, end);
        if (places.size() % FORCE_EVERY == 0) channel.force(false);
    }

    /** The text of a receipt from the file, or null. */
    synchronized String read(int number) throws IOException {
        Call.READ.hit();
        long[] place = places.get(number);
        if (place == null) return null;
        ByteBuffer bytes = ByteBuffer.allocate((int) place[1]);
        while (bytes.hasRemaining() && channel.read(bytes, place[0] + bytes.position()) >= 0) {}
        return new String(bytes.array(), StandardCharsets.UTF_8);
    }

    @Override
    public synchronized void close() throws IOException {
        channel.close();
    }
}
