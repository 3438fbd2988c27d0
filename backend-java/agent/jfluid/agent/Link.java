package jfluid.agent;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;

/**
 * The connection to the client: a UNIX socket in the client's 0700 directory, to which the agent
 * connects, so nothing in the target listens; a TCP connection where the two share nothing. Frames are a 32-bit little-endian length and one
 * MessagePack array. Used by the agent's thread only; other threads may call {@link #wakeup}.
 *
 * Writes never block: a client that has stopped reading must not hold up the agent.
 */
final class Link implements AutoCloseable {
    /** Larger than any batch of class bytes that the client asks for. */
    private static final int MAX_FRAME = 256 << 20;
    /** What may wait for a client that does not read before it counts as gone. */
    private static final long MAX_UNSENT = 64L << 20;

    private static final int NO_MEMORY_TRIES = 50;
    /** What is kept for the next message; a larger one has its buffer for itself. */
    private static final int USUAL = 64 << 10;

    private final SocketChannel channel;
    private final Selector selector;
    private final SelectionKey key;
    private final ArrayDeque<ByteBuffer> unsent = new ArrayDeque<>();
    private long unsentBytes;
    private ByteBuffer in = ByteBuffer.allocate(USUAL).order(ByteOrder.LITTLE_ENDIAN);
    /** Made beforehand: when it is needed, nothing can be made any more. */
    private final ByteBuffer noMemory = frame(new Object[] {0, "ended", "no memory was left in the target"});

    /** @param token shown to the client before anything is said, so that it knows whom it has called */
    Link(Path socket, String token) throws IOException {
        this(toSocket(socket, token));
    }

    /** To a client that shares no directory with us. */
    Link(InetSocketAddress client, String token) throws IOException {
        this(Feeder.open(client, token));
    }

    private static SocketChannel toSocket(Path socket, String token) throws IOException {
        SocketChannel opened = SocketChannel.open(StandardProtocolFamily.UNIX);
        boolean isShown = false;
        try {
            opened.connect(UnixDomainSocketAddress.of(socket));
            ByteBuffer shown = ByteBuffer.wrap(token.getBytes(StandardCharsets.US_ASCII));
            while (shown.hasRemaining()) {
                opened.write(shown);
            }
            isShown = true;
            return opened;
        } finally {
            if (!isShown) { // nobody listens
                opened.close();
            }
        }
    }

    private Link(SocketChannel opened) throws IOException {
        Selector waiting = null;
        SelectionKey registered = null;
        try {
            opened.configureBlocking(false);
            waiting = Selector.open();
            registered = opened.register(waiting, SelectionKey.OP_READ);
        } finally {
            if (registered == null) { // there was no descriptor or memory to be had
                try (opened) {
                    if (waiting != null) {
                        waiting.close();
                    }
                }
            }
        }
        channel = opened;
        selector = waiting;
        key = registered;
    }

    void wakeup() {
        selector.wakeup();
    }

    /** Calls {@link #wakeup}: for the ring, which has no link. */
    final Runnable waker = new Runnable() {
        @Override
        public void run() {
            wakeup();
        }
    };

    /** Waits for something to read, for room to write, for wakeup(), or until the time is over. */
    void await(long millis) throws IOException {
        selector.select(millis);
        selector.selectedKeys().clear();
        if (!unsent.isEmpty()) {
            flush();
        }
    }

    void send(Object message) throws IOException {
        ByteBuffer frame = frame(message);
        unsent.add(frame);
        unsentBytes += frame.remaining();
        flush();
        if (unsentBytes > MAX_UNSENT) {
            throw new IOException("the client does not read");
        }
    }

    private static ByteBuffer frame(Object message) {
        byte[] body = MessagePack.pack(message);
        ByteBuffer frame = ByteBuffer.allocate(body.length + 4).order(ByteOrder.LITTLE_ENDIAN);
        return frame.putInt(body.length).put(body).flip();
    }

    /** Tells the client, if there is a way, that the session ends because the heap is full. */
    void sayNoMemory() {
        for (int tries = 0; tries < NO_MEMORY_TRIES && noMemory.hasRemaining(); tries++) {
            try {
                flush();
                if (unsent.isEmpty()) {
                    channel.write(noMemory);
                }
            } catch (IOException nobodyListens) {
                return;
            } catch (OutOfMemoryError full) {
                // Writing may want a buffer for a moment.
            }
            Pause.nanos(10_000_000L);
        }
    }

    private void flush() throws IOException {
        while (!unsent.isEmpty()) {
            ByteBuffer frame = unsent.peek();
            unsentBytes -= channel.write(frame);
            if (frame.hasRemaining()) {
                key.interestOps(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
                return;
            }
            unsent.remove();
        }
        key.interestOps(SelectionKey.OP_READ);
    }

    long heapBytes() {
        return in.capacity() + unsentBytes;
    }

    boolean hasUnsent() {
        return !unsent.isEmpty();
    }

    /**
     * The next message, or null if none is complete yet.
     *
     * @throws EOFException when the client has closed its end
     */
    Object[] receive() throws IOException {
        while (true) {
            int have = in.position();
            if (have >= 4) {
                int length = in.getInt(0);
                if (length < 0 || length > MAX_FRAME) {
                    throw new MessagePack.Malformed("frame of " + length + " bytes");
                }
                if (have >= 4 + length) {
                    Object message = MessagePack.unpack(in.array(), 4, 4 + length);
                    in.flip().position(4 + length);
                    in.compact();
                    if (in.capacity() > USUAL && in.position() < USUAL) {
                        shrink();
                    }
                    if (message instanceof Object[]) {
                        return (Object[]) message;
                    }
                    throw new MessagePack.Malformed("array expected");
                }
                if (!in.hasRemaining()) {
                    // As it comes: a length that is only claimed takes nothing of the application's heap.
                    int room = (int) Math.min(4L + length, 2L * in.capacity());
                    ByteBuffer larger = ByteBuffer.allocate(room).order(ByteOrder.LITTLE_ENDIAN);
                    in = larger.put(in.flip());
                }
            }
            int n = channel.read(in);
            if (n < 0) {
                throw new EOFException("the client has closed the link");
            }
            if (n == 0) {
                return null;
            }
        }
    }

    private void shrink() {
        ByteBuffer smaller = ByteBuffer.allocate(USUAL).order(ByteOrder.LITTLE_ENDIAN);
        in = smaller.put(in.flip());
    }

    @Override
    public void close() throws IOException {
        try (channel; selector) {
            key.cancel();
        }
    }
}
