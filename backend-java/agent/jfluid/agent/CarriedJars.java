package jfluid.agent;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * Copies of the agent's jar in the JVM's temporary directory that a client elsewhere has brought, and did not live to use: the next
 * session with such a client removes them. {@code src/session/doors/carried-jar.ts} names them.
 */
final class CarriedJars {
    private CarriedJars() {}

    private static final String NAMES = "jfluid-carried-[0-9]*.jar";
    /** A younger one may be on its way into another JVM: its client has a minute at most. */
    private static final long LEFT_MILLIS = 600_000;

    static void sweep() {
        try (DirectoryStream<Path> found =
                        Files.newDirectoryStream(Path.of(System.getProperty("java.io.tmpdir")), NAMES)) {
            for (Path it : found) {
                BasicFileAttributes its =
                        Files.readAttributes(it, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
                if (its.isRegularFile()
                        && System.currentTimeMillis() - its.lastModifiedTime().toMillis() > LEFT_MILLIS) {
                    Main.deleteQuietly(it);
                }
            }
        } catch (IOException | RuntimeException notOurs) {
            // Not to be looked into, or gone: it is a courtesy.
        }
    }
}
