package jfluid.agent;

import static jfluid.check.Check.equal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Set;
import java.util.TreeSet;

/** Only old jars copied by a client are removed. */
final class CarriedJarsTest {
    private static final String TEMPORARY = "java.io.tmpdir";

    static void onlyOldCopiesOfOursAreRemoved() throws IOException {
        Path dir = Files.createTempDirectory("jfluid-carried-test-");
        FileTime old = FileTime.from(Instant.now().minusSeconds(3600));
        Path target = Files.createFile(dir.resolve("target.jar"));
        for (String name : new String[] {"jfluid-carried-1.jar", "jfluid-carried-12ab.jar", "jfluid-carried-.jar",
                 "jfluid-carried-x1.jar", "jfluid-carried-1.jar.part", "other.jar", "my-jfluid-carried-1.jar"}) {
            Files.createFile(dir.resolve(name));
        }
        Files.createDirectory(dir.resolve("jfluid-carried-2.jar"));
        Files.createSymbolicLink(dir.resolve("jfluid-carried-3.jar"), target);
        for (Path it : Files.newDirectoryStream(dir)) {
            Files.setLastModifiedTime(it, old);
        }
        Files.createFile(dir.resolve("jfluid-carried-9.jar")); // another JVM may still load this jar
        String before = System.getProperty(TEMPORARY);
        System.setProperty(TEMPORARY, dir.toString());
        try {
            CarriedJars.sweep();
        } finally {
            System.setProperty(TEMPORARY, before);
        }
        Set<String> left = new TreeSet<>();
        for (Path it : Files.newDirectoryStream(dir)) {
            left.add(it.getFileName().toString());
            Files.delete(it);
        }
        Files.delete(dir);
        equal(new TreeSet<>(Set.of("jfluid-carried-.jar", "jfluid-carried-1.jar.part", "jfluid-carried-2.jar",
                      "jfluid-carried-3.jar", "jfluid-carried-9.jar", "jfluid-carried-x1.jar",
                      "my-jfluid-carried-1.jar", "other.jar", "target.jar")),
                left);
    }

    static void aMissingFolderIsNoError() {
        String before = System.getProperty(TEMPORARY);
        System.setProperty(TEMPORARY, "/no/such/folder");
        try {
            CarriedJars.sweep();
        } finally {
            System.setProperty(TEMPORARY, before);
        }
    }
}
