package jfluid.agent;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.raises;
import static jfluid.check.Check.that;

import java.io.EOFException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.ConnectException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Frames of a client: complete, fragmented and malformed. */
final class LinkTest {
    private static final int USUAL = 64 << 10;

    /** A link, and the client's end of the connection. */
    private static final class Pair implements AutoCloseable {
        private final Path dir = Files.createTempDirectory("jfluid-link-");
        private final Path socket = dir.resolve("link");
        private final ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        final Link link;
        final SocketChannel client;

        Pair() throws IOException {
            server.bind(UnixDomainSocketAddress.of(socket));
            link = new Link(dir, "token");
            client = server.accept();
            ByteBuffer token = ByteBuffer.allocate(5);
            while (token.hasRemaining()) {
                client.read(token);
            }
            equal("token", new String(token.array(), StandardCharsets.US_ASCII));
        }

        void send(ByteBuffer bytes) throws IOException {
            while (bytes.hasRemaining()) {
                client.write(bytes);
            }
        }

        /** Returns the next message; null if all bytes have arrived but no message is complete. */
        Object[] receive() throws IOException {
            link.await(200);
            return link.receive();
        }

        @Override
        public void close() throws IOException {
            link.close();
            client.close();
            server.close();
            Files.delete(socket);
            Files.delete(dir);
        }
    }

    private static ByteBuffer frame(Object message) {
        byte[] body = MessagePack.pack(message);
        return length(body.length, body);
    }

    private static ByteBuffer length(int length, byte[] body) {
        return ByteBuffer.allocate(4 + body.length).order(ByteOrder.LITTLE_ENDIAN).putInt(length).put(body).flip();
    }

    static void messagesComeOutWholeAndInOrder() throws IOException {
        try (Pair pair = new Pair()) {
            ByteBuffer three = ByteBuffer.allocate(1000);
            three.put(frame(new Object[] {1, "a"}))
                    .put(frame(new Object[0]))
                    .put(frame(new Object[] {2, new byte[] {9}}));
            pair.send(three.flip());
            equal(new Object[] {1L, "a"}, pair.receive());
            equal(new Object[0], pair.link.receive());
            equal(new Object[] {2L, new byte[] {9}}, pair.link.receive());
            equal(null, pair.link.receive());
        }
    }

    static void aMessageInPiecesIsReadWhenComplete() throws IOException {
        try (Pair pair = new Pair()) {
            ByteBuffer whole = frame(new Object[] {1, "text", new byte[10]});
            while (whole.remaining() > 1) {
                pair.send(ByteBuffer.wrap(new byte[] {whole.get()}));
                equal(null, pair.receive());
            }
            pair.send(whole);
            equal(new Object[] {1L, "text", new byte[10]}, pair.receive());
        }
    }

    static void theBufferShrinksAfterALargeMessage() throws Exception {
        try (Pair pair = new Pair()) {
            equal((long) USUAL, pair.link.heapBytes());
            byte[] large = new byte[5 << 20];
            large[large.length - 1] = 7;
            ByteBuffer two = ByteBuffer.allocate(large.length + 1000);
            two.put(frame(new Object[] {large})).put(frame(new Object[] {"next"})).flip();
            Thread speaking = new Thread(() -> {
                try {
                    pair.send(two);
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            });
            speaking.start();
            Object[] message = null;
            while (message == null) {
                message = pair.receive();
            }
            equal(new Object[] {large}, message);
            speaking.join();
            equal(new Object[] {"next"}, pair.receive());
            equal((long) USUAL, pair.link.heapBytes());
        }
    }

    static void aFalseLengthAllocatesNothing() throws IOException {
        try (Pair pair = new Pair()) {
            pair.send(length(200 << 20, new byte[1000]));
            equal(null, pair.receive());
            equal((long) USUAL, pair.link.heapBytes());
        }
    }

    static void anImpossibleLengthIsMalformed() throws IOException {
        for (int length : new int[] {-1, Integer.MIN_VALUE, Integer.MAX_VALUE, (256 << 20) + 1}) {
            try (Pair pair = new Pair()) {
                pair.send(length(length, new byte[4]));
                raises(MessagePack.Malformed.class, pair::receive, String.valueOf(length));
            }
        }
    }

    static void aFrameWithoutAnArrayIsMalformed() throws IOException {
        Object[] others = {"text", 5, null};
        for (Object other : others) {
            try (Pair pair = new Pair()) {
                pair.send(frame(other));
                raises(MessagePack.Malformed.class, pair::receive, String.valueOf(other));
            }
        }
        try (Pair pair = new Pair()) {
            pair.send(length(0, new byte[0]));
            raises(MessagePack.Malformed.class, pair::receive, "an empty frame");
        }
    }

    static void aClosedConnectionIsAnEndOfFile() throws IOException {
        try (Pair pair = new Pair()) {
            pair.send(frame(new Object[] {"last"}));
            pair.client.close();
            equal(new Object[] {"last"}, pair.receive());
            raises(EOFException.class, pair::receive);
        }
    }

    static void messagesAreSentAsFrames() throws IOException {
        try (Pair pair = new Pair()) {
            pair.link.send(new Object[] {3, true, "done"});
            ByteBuffer in = ByteBuffer.allocate(frame(new Object[] {3, true, "done"}).remaining());
            while (in.hasRemaining()) {
                pair.client.read(in);
            }
            equal(frame(new Object[] {3, true, "done"}).array(), in.array());
            that(!pair.link.hasUnsent(), "all was sent");
        }
    }

    /** A false length must not fill the application's heap. */
    static void aClientThatDoesNotReadDoesNotBlockTheAgent() throws IOException {
        try (Pair pair = new Pair()) {
            List<Object> sent = new ArrayList<>();
            byte[] megabyte = new byte[1 << 20];
            raises(IOException.class, () -> {
                for (int i = 0; i < 100; i++) {
                    pair.link.send(new Object[] {i, megabyte});
                    sent.add(i);
                }
            });
            that(sent.size() > 30 && sent.size() < 70, sent.size() + " MiB were sent or kept");
            that(pair.link.hasUnsent(), "some of it waits");
        }
    }

    static void unsentFramesFollowInOrder() throws Exception {
        try (Pair pair = new Pair()) {
            for (int i = 0; i < 20; i++) {
                pair.link.send(new Object[] {i, new byte[100_000]});
            }
            that(pair.link.hasUnsent(), "some of it waits");
            ByteBuffer in = ByteBuffer.allocate(20 * frame(new Object[] {0, new byte[100_000]}).remaining());
            Thread reading = new Thread(() -> {
                try {
                    while (in.hasRemaining() && pair.client.read(in) >= 0) {
                        // Until all bytes have arrived.
                    }
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            });
            reading.start();
            while (pair.link.hasUnsent()) {
                pair.link.await(1000);
            }
            reading.join();
            in.flip();
            for (int i = 0; i < 20; i++) {
                ByteBuffer expected = frame(new Object[] {i, new byte[100_000]});
                byte[] next = new byte[expected.remaining()];
                in.get(next);
                equal(expected.array(), next, "frame " + i);
            }
        }
    }

    static void aMissingSocketIsAnError() throws IOException {
        Path none = Path.of(System.getProperty("java.io.tmpdir"), "jfluid-no-such-socket");
        raises(IOException.class, () -> new Link(none, "token"));
    }

    /** Named pipes, as on a JDK without UNIX sockets, and the client's ends. */
    private static final class Pipes implements AutoCloseable {
        private final Path dir = Files.createTempDirectory("jfluid-link-");
        final Path toAgent = dir.resolve(Link.TO_AGENT);
        final Path fromAgent = dir.resolve(Link.FROM_AGENT);

        Pipes() throws IOException, InterruptedException {
            Process made = new ProcessBuilder("mkfifo", toAgent.toString(), fromAgent.toString()).inheritIO().start();
            equal(0, made.waitFor());
        }

        @Override
        public void close() throws IOException {
            Files.deleteIfExists(toAgent);
            Files.deleteIfExists(fromAgent);
            Files.delete(dir);
        }
    }

    static void namedPipesCarryMessagesInBothDirections() throws IOException, InterruptedException {
        // The client of jfluid opens the pipes without waiting; RandomAccessFile does so if it also writes.
        try (Pipes pipes = new Pipes(); RandomAccessFile to = new RandomAccessFile(pipes.toAgent.toFile(), "rw");
                RandomAccessFile from = new RandomAccessFile(pipes.fromAgent.toFile(), "rw");
                Link link = Link.byPipes(pipes.dir, "token")) {
            byte[] token = new byte[5];
            from.readFully(token);
            equal("token", new String(token, StandardCharsets.US_ASCII));
            that(!Files.exists(pipes.toAgent), "another agent cannot open the pipe");

            to.write(frame(new Object[] {1, "a"}).array());
            link.await(10_000);
            equal("a", link.receive()[1]);
            equal(null, link.receive());

            ByteBuffer large = frame(new Object[] {2, new byte[200_000]}); // a pipe has 64 KiB
            link.send(new Object[] {2, new byte[200_000]});
            that(link.hasUnsent(), "a write does not block");
            byte[] arrived = new byte[large.remaining()];
            Thread reader = new Thread(() -> {
                try {
                    from.readFully(arrived);
                } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            });
            reader.start();
            while (link.hasUnsent()) {
                link.await(10_000);
            }
            reader.join();
            equal(large.array(), arrived);

            to.close();
            link.await(10_000);
            raises(EOFException.class, link::receive);
        }
    }

    static void namedPipesOfAClientThatHasEndedAreAnError() throws IOException, InterruptedException {
        try (Pipes pipes = new Pipes()) {
            raises(ConnectException.class, () -> Link.byPipes(pipes.dir, "token"));
            Files.delete(pipes.fromAgent);
            raises(NoSuchFileException.class, () -> Link.byPipes(pipes.dir, "token"));
        }
    }
}
