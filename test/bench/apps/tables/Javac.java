package tables;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/** javac: the JDK's compiler compiles thirty classes from text to bytes, all in memory. */
public final class Javac implements Driver.Program {
    private static final String SOURCE = """
        import java.util.*;
        import java.util.function.*;
        public class Made# {
            interface Shape { double area(); }
            record Square(double side) implements Shape { public double area() { return side * side; } }
            record Disc(double radius) implements Shape { public double area() { return 3 * radius * radius; } }
            static <T extends Comparable<T>> T greatest(Collection<? extends T> all) {
                Iterator<? extends T> it = all.iterator();
                T best = it.next();
                while (it.hasNext()) { T next = it.next(); if (next.compareTo(best) > 0) best = next; }
                return best;
            }
            String name(int n) {
                Function<Integer, Supplier<String>> later = i -> () -> "n" + i + n;
                return switch (n) { case 1, 2 -> later.apply(n).get(); default -> { var s = "x"; yield s + greatest(List.of(1, n)); } };
            }
            double sum(List<Shape> shapes) {
                double sum = 0;
                for (Shape it : shapes) sum += it.area() * (it instanceof Square s ? s.side() : 1);
                return sum;
            }
        }
        """;

    private static final class Text extends SimpleJavaFileObject {
        private final String text;

        Text(String name, String text) {
            super(URI.create("string:///" + name), Kind.SOURCE);
            this.text = text;
        }

        @Override
        public CharSequence getCharContent(boolean ignoreErrors) {
            return text;
        }
    }

    private static final class Bytes extends SimpleJavaFileObject {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        Bytes(String name) {
            super(URI.create("bytes:///" + name), Kind.CLASS);
        }

        @Override
        public OutputStream openOutputStream() {
            return bytes;
        }
    }

    private static final class Memory extends ForwardingJavaFileManager<StandardJavaFileManager> {
        final List<Bytes> made = new ArrayList<>();

        Memory(StandardJavaFileManager files) {
            super(files);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
            made.add(new Bytes(name));
            return made.get(made.size() - 1);
        }
    }

    @Override
    public long run() throws Exception {
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        List<Text> sources = new ArrayList<>();
        for (int i = 0; i < 30; i++) sources.add(new Text("Made" + i + ".java", SOURCE.replace("#", "" + i)));
        try (Memory files = new Memory(javac.getStandardFileManager(null, null, null))) {
            List<String> options = List.of("-proc:none", "-XDignore.symbol.file", "--limit-modules", "java.base");
            if (!javac.getTask(null, files, null, options, null, sources).call()) throw new IllegalStateException();
            long sum = 0;
            for (Bytes it : files.made) sum = sum * 31 + Arrays.hashCode(it.bytes.toByteArray());
            return sum;
        }
    }
}
