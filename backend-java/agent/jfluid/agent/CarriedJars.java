package jfluid.agent;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * Removes stale copies of the agent's jar from the JVM's temporary directory. A copy is stale if the client that created it, on another
 * machine, was killed before it used the copy. The next session whose client is on another machine removes stale copies. {@code
 * src/session/doors/carried-jar.ts} defines the names of copies.
 */
final class CarriedJars {
    private CarriedJars() {}

    private static final String NAMES = "jfluid-carried-[0-9]*.jar";
    /** Minimum age of a stale copy. Another JVM may still load a younger copy: a client makes its JVM load the copy within a minute. */
    private static final long MIN_STALE_AGE_MILLIS = 600_000;

    static void sweep() {
        try (DirectoryStream<Path> found =
                        Files.newDirectoryStream(Path.of(System.getProperty("java.io.tmpdir")), NAMES)) {
            for (Path it : found) {
                BasicFileAttributes its =
                        Files.readAttributes(it, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
                if (its.isRegularFile()
                        && System.currentTimeMillis() - its.lastModifiedTime().toMillis() > MIN_STALE_AGE_MILLIS) {
                    Main.deleteQuietly(it);
                }
            }
        } catch (IOException | RuntimeException notOurs) {
            // The directory is unreadable or gone. Removal is best effort.
        }
    }
}
