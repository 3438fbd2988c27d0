package jfluid.agent;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;

/**
 * The connection to the client: a UNIX socket or two named pipes in the client's 0700 directory, or a TCP connection to a client on another
 * machine. The agent connects, so nothing in the target listens. A frame is a 32-bit little-endian length and one MessagePack array. Used
 * only by the agent's thread; other threads may call {@link #wakeup}.
 *
 * Writes never block: a client that stops reading must not block the agent.
 */
final class Link implements AutoCloseable {
    /** Maximum frame length: more than any batch of class bytes that the client requests. */
    private static final int MAX_FRAME = 256 << 20;
    /** Maximum number of unsent bytes. A client with more unsent bytes counts as gone. */
    private static final long MAX_UNSENT = 64L << 20;

    private static final int NO_MEMORY_TRIES = 50;
    /** Size of the reused buffer. A larger message gets a buffer of its own. */
    private static final int USUAL = 64 << 10;

    /** Names of the client's socket and of its named pipes in the session directory. */
    static final String SOCKET = "link";
    static final String TO_AGENT = "to-agent";
    static final String FROM_AGENT = "from-agent";

    private final ReadableByteChannel source;
    private final WritableByteChannel sink;
    private final Selector selector;
    /** Keys of source and sink. A socket is both, and has one key. */
    private final SelectionKey reading;
    private final SelectionKey writing;
    private final ArrayDeque<ByteBuffer> unsent = new ArrayDeque<>();
    private long unsentBytes;
    private ByteBuffer in = ByteBuffer.allocate(USUAL).order(ByteOrder.LITTLE_ENDIAN);
    /** The message that the heap is full. Allocated beforehand, since no memory is free when it is sent. */
    private final ByteBuffer noMemory = frame(new Object[] {0, "ended", "the JVM has no free heap memory"});

    /**
     * Connects to the client of a session directory.
     *
     * @param token sent to the client before any message; it authenticates the agent
     * @throws java.net.ConnectException if the client has ended
     */
    Link(Path dir, String token) throws IOException {
        this(JFluid1Release.HAS_UNIX_SOCKETS ? UnixSocket.connect(dir) : NamedPipes.connect(dir), token);
    }

    /** Connects by named pipes, on any release of the JDK. */
    static Link byPipes(Path dir, String token) throws IOException {
        return new Link(NamedPipes.connect(dir), token);
    }

    /** Connects to a client on another machine. */
    Link(InetSocketAddress client, String token) throws IOException {
        this(new SelectableChannel[] {Feeder.open(client, token)}, "");
    }

    /** A class of its own: the verifier loads UnixDomainSocketAddress, which older JDKs lack. */
    private static final class UnixSocket {
        static SelectableChannel[] connect(Path dir) throws IOException {
            SocketChannel opened = SocketChannel.open(StandardProtocolFamily.UNIX);
            boolean isConnected = false;
            try {
                opened.connect(UnixDomainSocketAddress.of(dir.resolve(SOCKET)));
                isConnected = true;
                return new SelectableChannel[] {opened};
            } finally {
                if (!isConnected) { // the client does not listen
                    opened.close();
                }
            }
        }
    }

    /**
     * The pipes serve one agent. With {@code jfluid run}, several JVMs may start: the JVM that deletes the name of a pipe gets both pipes.
     */
    private static final class NamedPipes {
        static SelectableChannel[] connect(Path dir) throws IOException {
            SelectableChannel sink = JFluid1Pipes.sink(dir.resolve(FROM_AGENT));
            SelectableChannel source = null;
            boolean isOurs = false;
            try {
                source = JFluid1Pipes.source(dir.resolve(TO_AGENT));
                Files.delete(dir.resolve(TO_AGENT));
                isOurs = true;
                return new SelectableChannel[] {source, sink};
            } finally {
                if (!isOurs) {
                    try (sink; SelectableChannel unused = source) {
                        // closes both
                    }
                }
            }
        }
    }

    /** @param ends a socket, or a source and a sink */
    private Link(SelectableChannel[] ends, String token) throws IOException {
        SelectableChannel first = ends[0];
        SelectableChannel last = ends[ends.length - 1];
        Selector waiting = null;
        SelectionKey reads = null;
        SelectionKey writes = null;
        try {
            show(token, (WritableByteChannel) last);
            first.configureBlocking(false);
            last.configureBlocking(false);
            waiting = Selector.open();
            reads = first.register(waiting, SelectionKey.OP_READ);
            writes = last == first ? reads : last.register(waiting, 0);
        } finally {
            if (writes == null) { // no file descriptor or memory was available, or the client has ended
                try (first; last; Selector unused = waiting) {
                    // closes all
                }
            }
        }
        source = (ReadableByteChannel) first;
        sink = (WritableByteChannel) last;
        selector = waiting;
        reading = reads;
        writing = writes;
    }

    private static void show(String token, WritableByteChannel to) throws IOException {
        ByteBuffer shown = ByteBuffer.wrap(token.getBytes(StandardCharsets.US_ASCII));
        while (shown.hasRemaining()) {
            to.write(shown);
        }
    }

    void wakeup() {
        selector.wakeup();
    }

    /** Calls {@link #wakeup}. Used by the ring, which has no reference to this link. */
    final Runnable waker = new Runnable() {
        @Override
        public void run() {
            wakeup();
        }
    };

    /** Waits until the connection is readable or writable, for wakeup(), or for the timeout. */
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

    /** Notifies the client, best effort, that the session ends because the heap is full. */
    void sayNoMemory() {
        for (int tries = 0; tries < NO_MEMORY_TRIES && noMemory.hasRemaining(); tries++) {
            try {
                flush();
                if (unsent.isEmpty()) {
                    sink.write(noMemory);
                }
            } catch (IOException nobodyListens) {
                return;
            } catch (OutOfMemoryError full) {
                // A write may need memory for a temporary buffer. The write is retried.
            }
            Pause.nanos(10_000_000L);
        }
    }

    private void flush() throws IOException {
        while (!unsent.isEmpty()) {
            ByteBuffer frame = unsent.peek();
            unsentBytes -= sink.write(frame);
            if (frame.hasRemaining()) {
                writing.interestOps(writing.interestOps() | SelectionKey.OP_WRITE);
                return;
            }
            unsent.remove();
        }
        writing.interestOps(writing.interestOps() & ~SelectionKey.OP_WRITE);
    }

    long heapBytes() {
        return in.capacity() + unsentBytes;
    }

    boolean hasUnsent() {
        return !unsent.isEmpty();
    }

    /**
     * Returns the next message, or null if none is complete yet.
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
                    // The buffer grows with the received bytes, so a false length cannot fill the application's heap.
                    int room = (int) Math.min(4L + length, 2L * in.capacity());
                    ByteBuffer larger = ByteBuffer.allocate(room).order(ByteOrder.LITTLE_ENDIAN);
                    in = larger.put(in.flip());
                }
            }
            int n = source.read(in);
            if (n < 0) {
                throw new EOFException("the client has closed the connection");
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
        try (source; sink; selector) {
            reading.cancel();
            writing.cancel();
        }
    }
}
