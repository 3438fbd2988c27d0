package jfluid.agent;

import static jfluid.check.Check.equal;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/** The directory in which a JVM asks its client. */
final class InvitationTest {
    /** The user of this process. */
    private static final int OWN = -1;

    /** Calls request with a directory in which a client listens. Returns whether the JVM has asked. */
    private static boolean asks(String mode, int owner, boolean isLink) throws IOException {
        Path place = Files.createTempDirectory("jfluid-ask-");
        Path dir = Files.createDirectory(place.resolve("dir"));
        Path socket = dir.resolve(Link.SOCKET);
        Path token = Files.writeString(dir.resolve("token"), "token");
        Path link = Files.createSymbolicLink(place.resolve("link"), dir);
        try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            server.bind(UnixDomainSocketAddress.of(socket));
            Files.setPosixFilePermissions(dir, PosixFilePermissions.fromString(mode));
            if (owner != OWN) {
                Files.setAttribute(dir, "unix:uid", owner);
            }
            try (Invitation asked = Invitation.request(isLink ? link : dir)) {
                return asked != null;
            }
        } finally {
            for (Path it : new Path[] {socket, token, dir, link, place}) {
                Files.deleteIfExists(it);
            }
        }
    }

    static void aJvmAsksInADirectoryOfItsUser() throws IOException {
        equal(true, asks("rwx------", OWN, false));
    }

    static void aJvmDoesNotAskInADirectoryThatOthersCanWriteOrThatIsALink() throws IOException {
        equal(false, asks("rwxrwx---", OWN, false));
        equal(false, asks("rwx----w-", OWN, false));
        equal(false, asks("rwx------", OWN, true));
    }

    static void aJvmDoesNotAskInADirectoryOfAnotherUser() throws IOException {
        boolean isRoot = Files.getAttribute(Path.of("/proc/self"), "unix:uid").equals(0);
        if (isRoot) { // only root can give a directory away
            equal(false, asks("rwx------", 4711, false));
        }
    }

    static void aJvmContinuesIfTheDirectoryIsGone() throws IOException {
        equal(null, Invitation.request(Path.of("/tmp/jfluid-no-such-directory")));
    }
}
