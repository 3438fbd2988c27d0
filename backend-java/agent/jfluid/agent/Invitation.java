package jfluid.agent;

import java.io.IOException;
import java.net.ConnectException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * The question of a JVM that starts with the agent option of {@code jfluid run}: whether the client profiles this JVM, and in which session
 * directory. A command may start many JVMs with the same option, so each JVM needs a session directory of its own.
 *
 * The agent sends the token, its process id and the command of the program. The client answers with a launch line, or with an empty line if
 * it does not profile this JVM. The connection stays open until the session has begun; before that, the agent may send an error.
 */
final class Invitation implements AutoCloseable {
    /** Sent if the answer does not arrive in time. The client parses the text (startProblem in door.ts). */
    private static final String LATE = "the client did not answer the question in time";
    private static final int MAX_ANSWER = 8192;
    /** Maximum length of the command in characters. The client reads its first word only. */
    private static final int MAX_COMMAND = 2048;

    private final SocketChannel channel;

    private Invitation(SocketChannel channel) {
        this.channel = channel;
    }

    /** Asks the client. Returns null if the client has ended. */
    static Invitation request(Path dir) throws IOException {
        if (!isTrusted(dir)) {
            return null;
        }
        String token;
        try {
            token = Files.readString(dir.resolve("token"));
        } catch (NoSuchFileException ended) {
            return null;
        }
        SocketChannel opened = SocketChannel.open(StandardProtocolFamily.UNIX);
        Invitation asked = new Invitation(opened);
        boolean isSent = false;
        try {
            opened.connect(UnixDomainSocketAddress.of(dir.resolve(Link.SOCKET)));
            String command = System.getProperty("sun.java.command", "");
            String known = command.substring(0, Math.min(command.length(), MAX_COMMAND)).replace('\n', ' ');
            asked.send(token + ProcessHandle.current().pid() + "\n" + known + "\n");
            isSent = true;
            return asked;
        } catch (ConnectException killed) {
            Main.removeDirectory(dir);
            return null;
        } finally {
            if (!isSent) {
                opened.close();
            }
        }
    }

    /**
     * Returns whether only the user of this process, or root, can have made the directory. A process that outlives the client, such as a
     * Gradle daemon, still starts JVMs with this option, and by then another user may have made a directory of the same name.
     */
    private static boolean isTrusted(Path dir) throws IOException {
        if (!Files.isDirectory(dir, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        Object self = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        Object owner = Files.getAttribute(dir, "unix:uid", LinkOption.NOFOLLOW_LINKS);
        int mode = (Integer) Files.getAttribute(dir, "unix:mode", LinkOption.NOFOLLOW_LINKS);
        return (owner.equals(self) || owner.equals(0)) && (mode & 022) == 0;
    }

    /**
     * Waits for the launch line. Returns an empty line if the client does not profile this JVM, or does not answer in time.
     *
     * @param deadline value of {@code System.nanoTime()}
     */
    String answer(long deadline) throws IOException {
        channel.configureBlocking(false);
        ByteBuffer in = ByteBuffer.allocate(MAX_ANSWER);
        try (Selector selector = Selector.open()) {
            channel.register(selector, SelectionKey.OP_READ);
            while (in.hasRemaining()) {
                long left = (deadline - System.nanoTime()) / 1_000_000;
                if (left <= 0) {
                    failed(LATE);
                    return "";
                }
                selector.select(left);
                selector.selectedKeys().clear();
                if (channel.read(in) < 0) {
                    return "";
                }
                if (in.position() > 0 && in.get(in.position() - 1) == '\n') {
                    return new String(in.array(), 0, in.position() - 1, StandardCharsets.UTF_8);
                }
            }
        }
        return "";
    }

    /** Sends the reason why the session could not begin. */
    void failed(String reason) {
        try {
            send(reason);
        } catch (IOException ended) {
            // The client has ended.
        }
    }

    private void send(String text) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
        for (int tries = 0; bytes.hasRemaining() && tries < 100; tries++) {
            if (channel.write(bytes) == 0) {
                Pause.nanos(10_000_000L);
            }
        }
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
