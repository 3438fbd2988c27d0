package jfluid.agent;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketOption;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import jdk.internal.misc.Unsafe;

/**
 * Sends new words of a ring to a client on another machine, and frees the chunks that the client has read. It only answers requests; each
 * request of the client counts as a heartbeat. src/events/remote-ring.ts documents the packets.
 *
 * <p>A round first lists the chunks, then sends their contents. So a chunk is complete in a round that lists a later chunk of the same
 * writer. All words that a word of this round depends on are sent in the next round at the latest.
 */
final class Feeder extends GuestThread {
    /**
     * Timeout for a silent client: the network may fail briefly, and the client may be busy with a large snapshot. The timeout of waiting
     * threads is {@link JFluid1Client#STARVING_CLIENT_TIMEOUT_NANOS}.
     */
    private static final long SILENT_CLIENT_TIMEOUT_NANOS = 5_000_000_000L;
    /** Timeout for sending the remaining words while the client keeps requesting: long enough for a full buffer over a slow network. */
    private static final long FINISH_TIMEOUT_NANOS = 60_000_000_000L;
    private static final long FINISH_CHECK_INTERVAL_MILLIS = 100;
    /** Timeout for sending the remaining words when the JVM ends: the maximum delay of the JVM's exit. */
    private static final long FLUSH_TIMEOUT_NANOS = 2_000_000_000L;
    static final int CONNECT_TIMEOUT_MILLIS = 3000;

    private static final int PART_BYTES = 256 << 10;
    private static final int QUESTION_BYTES = 8;
    private static final int HEAD_BYTES = 20;
    private static final int ENTRY_BYTES = 32;
    private static final int MORE = 0;
    private static final int WHOLE = 1;
    private static final int LAST = 2;

    private static final Unsafe U = Unsafe.getUnsafe();

    private final SocketChannel channel;
    private final long address;
    private final int chunkBytes;
    private final int chunkCount;
    private final int chunksAt;
    private final ByteBuffer in;
    private final ByteBuffer out = ByteBuffer.allocateDirect(PART_BYTES).order(ByteOrder.LITTLE_ENDIAN);
    /**
     * Three arrays indexed by chunk: end offset of the sent words, last state sent (-1 for none), and whether the chunk is in this round.
     */
    private final int[] sent;
    private final int[] told;
    private final boolean[] present;
    /** Index of the next chunk to send in this round. */
    private int at;
    /** Whether this round began after the session's last write to the ring. */
    private boolean lastRound;
    private volatile long heardAt = System.nanoTime();
    private volatile boolean finishing;
    /** Number of complete rounds sent. Written only by this thread. */
    private volatile int taken;
    private final Flush flush = new Flush();

    Feeder(InetSocketAddress client, String token, long ring, int chunkBytes, int chunkCount, int chunksAt)
            throws IOException {
        super("jfluid-feeder");
        address = ring;
        this.chunkBytes = chunkBytes;
        this.chunkCount = chunkCount;
        this.chunksAt = chunksAt;
        sent = new int[chunkCount];
        told = new int[chunkCount];
        present = new boolean[chunkCount];
        for (int c = 0; c < chunkCount; c++) {
            forget(c);
        }
        at = chunkCount;
        in = ByteBuffer.allocateDirect(4 * chunkCount).order(ByteOrder.LITTLE_ENDIAN);
        channel = open(client, token);
        Runtime.getRuntime().addShutdownHook(flush);
    }

    /** Shutdown hook that sends the contents of the ring before the JVM ends. */
    private final class Flush extends GuestThread {
        /**
         * Number of rounds: the current round, a round that sends all remaining words, and one more round. The client reads the words of a
         * round only when the next round has arrived.
         */
        private static final int ROUNDS = 3;
        private static final long MIN_PAUSE_NANOS = 1_000_000L;

        Flush() {
            super("jfluid-flush");
        }

        @Override
        public void run() {
            int until = taken + ROUNDS;
            long latest = System.nanoTime() + FLUSH_TIMEOUT_NANOS;
            while (Feeder.this.isAlive() && taken - until < 0 && System.nanoTime() - latest < 0) {
                Pause.nanos(MIN_PAUSE_NANOS);
            }
        }
    }

    /** Connects to the client and sends the token. */
    static SocketChannel open(InetSocketAddress client, String token) throws IOException {
        SocketChannel opened = SocketChannel.open();
        boolean shown = false;
        try {
            opened.socket().connect(client, CONNECT_TIMEOUT_MILLIS);
            opened.setOption(StandardSocketOptions.TCP_NODELAY, true);
            opened.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            for (SocketOption<?> option : opened.supportedOptions()) {
                keepAlive(opened, option);
            }
            write(opened, ByteBuffer.wrap(token.getBytes(StandardCharsets.US_ASCII)));
            shown = true;
            return opened;
        } finally {
            if (!shown) {
                opened.close();
            }
        }
    }

    /**
     * Sets an option of jdk.net.ExtendedSocketOptions, in seconds. The option is found by name, since a runtime image may lack the module.
     */
    @SuppressWarnings("unchecked")
    private static void keepAlive(SocketChannel opened, SocketOption<?> option) throws IOException {
        switch (option.name()) {
            case "TCP_KEEPIDLE": opened.setOption((SocketOption<Integer>) option, 10); break;
            case "TCP_KEEPINTERVAL": opened.setOption((SocketOption<Integer>) option, 5); break;
            case "TCP_KEEPCOUNT": opened.setOption((SocketOption<Integer>) option, 3); break;
            default: // the option keeps its default value
        }
    }

    long ownBytes() {
        return in.capacity() + out.capacity();
    }

    /** Returns whether the client has been silent for longer than the timeout. */
    boolean isSilent() {
        return !finishing && System.nanoTime() - heardAt > SILENT_CLIENT_TIMEOUT_NANOS;
    }

    /** Sends the remaining words if the client is alive. Called after the last write; afterwards this thread does not access the ring. */
    void finish() {
        finishing = true;
        try {
            Runtime.getRuntime().removeShutdownHook(flush);
        } catch (IllegalStateException ending) {
            // The JVM is ending, and the shutdown hook is running already.
        }
        try {
            long until = System.nanoTime() + FINISH_TIMEOUT_NANOS;
            long now = System.nanoTime();
            while (isAlive() && now - until < 0 && now - heardAt < SILENT_CLIENT_TIMEOUT_NANOS) {
                join(FINISH_CHECK_INTERVAL_MILLIS);
                now = System.nanoTime();
            }
            close();
            join();
        } catch (InterruptedException nobodyCan) {
            throw new IllegalStateException(nobodyCan); // see GuestThread
        }
    }

    @Override
    public void run() {
        try {
            for (int kind = WHOLE;;) {
                hear();
                if (kind == LAST) {
                    return; // the client has all words
                }
                kind = answer();
            }
        } catch (IOException | RuntimeException gone) {
            // The error is ignored: the link to the client fails as well, or the client times out.
        } finally {
            close();
            JFluid1Memory.unmap(in);
            JFluid1Memory.unmap(out);
        }
    }

    private void close() {
        try {
            channel.close();
        } catch (IOException closed) {
            // An error while closing has no remedy.
        }
    }

    private void hear() throws IOException {
        read(QUESTION_BYTES);
        if (at == chunkCount) {
            taken++;
        }
        int heart = in.getInt(0);
        int freed = in.getInt(4);
        if (freed < 0 || freed > chunkCount) {
            throw new IOException("chunks that do not exist");
        }
        read(4 * freed);
        for (int i = 0; i < freed; i++) {
            free(in.getInt(4 * i));
        }
        U.putIntVolatile(null, address + JFluid1Layout.RING_HEARTBEAT, heart);
        heardAt = System.nanoTime();
    }

    private void read(int bytes) throws IOException {
        in.clear().limit(bytes);
        while (in.hasRemaining()) {
            if (channel.read(in) < 0) {
                throw new EOFException();
            }
        }
    }

    private void free(int c) throws IOException {
        if (c < 0 || c >= chunkCount) {
            throw new IOException("a chunk that does not exist");
        }
        U.setMemory(chunk(c), sent[c], (byte) 0);
        forget(c);
        U.putIntRelease(null, state(c), JFluid1Layout.CHUNK_FREE);
    }

    private void forget(int c) {
        sent[c] = JFluid1Layout.CHUNK_EVENTS;
        told[c] = -1;
        present[c] = false;
    }

    private long chunk(int c) {
        return address + chunksAt + (long) c * chunkBytes;
    }

    private long state(int c) {
        return address + JFluid1Layout.RING_STATES + 4L * c;
    }

    private int answer() throws IOException {
        if (at == chunkCount) {
            lastRound = finishing;
            for (int c = 0; c < chunkCount; c++) {
                present[c] = U.getIntVolatile(null, state(c)) != JFluid1Layout.CHUNK_FREE
                        && U.getIntVolatile(null, chunk(c) + JFluid1Layout.CHUNK_WRITER) != 0;
            }
            at = 0;
        }
        out.clear().position(HEAD_BYTES);
        while (at < chunkCount && out.remaining() >= ENTRY_BYTES + chunkBytes) {
            if (present[at]) {
                tell(at);
            }
            at++;
        }
        int kind = at < chunkCount ? MORE : lastRound ? LAST : WHOLE;
        out.putInt(0, kind);
        out.putInt(4, out.position() - HEAD_BYTES);
        out.putInt(8, U.getIntVolatile(null, address + JFluid1Layout.RING_STARVING));
        out.putInt(12, U.getIntVolatile(null, address + JFluid1Layout.RING_GAPS));
        out.putInt(16, U.getIntVolatile(null, address + JFluid1Layout.RING_ENDED));
        write(channel, out.flip());
        return kind;
    }

    private void tell(int c) {
        int state = U.getIntVolatile(null, state(c)); // the state is read first: a full chunk has all its words
        long chunk = chunk(c);
        int from = sent[c];
        int end = from;
        while (end < chunkBytes && U.getLongVolatile(null, chunk + end) != 0) {
            end += Long.BYTES;
        }
        if (end == from && state == told[c]) {
            return;
        }
        out.putInt(c);
        out.putInt(state);
        out.putInt(U.getInt(chunk + JFluid1Layout.CHUNK_WRITER));
        out.putInt(U.getInt(chunk + JFluid1Layout.CHUNK_SEQUENCE));
        out.putLong(U.getLong(chunk + JFluid1Layout.CHUNK_EPOCH));
        out.putInt(from);
        out.putInt(end - from);
        U.copyMemory(chunk + from, JFluid1Memory.address(out) + out.position(), end - from);
        out.position(out.position() + end - from);
        sent[c] = end;
        told[c] = state;
    }

    private static void write(SocketChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }
}
