package programs;

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

/** javac, which belongs to the JDK but not to its boot loader: compiles sources to class files in memory. */
public final class Javac implements Driver.Workload {
    private static final String SOURCE = """
        import java.util.*;
        import java.util.function.*;
        public class Made {
            sealed interface Shape permits Square, Disc {}
            record Square(double a) implements Shape {}
            record Disc(double r) implements Shape {}
            enum Size { SMALL { @Override int limit() { return 3; } }, BIG; int limit() { return 9; } }
            static <T extends Comparable<T>> T greatest(Collection<? extends T> all) {
                Iterator<? extends T> it = all.iterator();
                T best = it.next();
                while (it.hasNext()) { T next = it.next(); if (next.compareTo(best) > 0) best = next; }
                return best;
            }
            static double area(Shape shape) {
                if (shape instanceof Square square) return square.a() * square.a();
                return shape instanceof Disc disc ? 3 * disc.r() * disc.r() : 0;
            }
            String name(int n) {
                Function<Integer, Supplier<String>> later = i -> () -> "n" + i + n;
                try (AutoCloseable closed = () -> {}) {
                    return switch (n) { case 1, 2 -> later.apply(n).get(); default -> { var s = "x"; yield s + greatest(List.of(1, n)); } };
                } catch (Exception e) { throw new IllegalStateException(e); }
            }
            class Inner { int twice() { return new Object() { int value = limit * 2; }.value; } }
            int limit = Size.BIG.limit();
            int wrong() { return "text"; }
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
        public JavaFileObject getJavaFileForOutput(
            JavaFileManager.Location location, String name, JavaFileObject.Kind kind, FileObject sibling) {
            made.add(new Bytes(name));
            return made.get(made.size() - 1);
        }
    }

    @Override
    public String work() throws Exception {
        StringBuilder said = new StringBuilder();
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        for (String source : new String[] {SOURCE, SOURCE.replaceAll("int wrong.*", "")}) {
            try (Memory files = new Memory(javac.getStandardFileManager(null, null, null))) {
                // Does not use the class path of this JVM, which may contain an agent's jar.
                List<String> options =
                    List.of("-proc:none", "-XDignore.symbol.file", "-classpath", "none", "--limit-modules", "java.base");
                List<String> problems = new ArrayList<>();
                javac.getTask(null, files, it -> problems.add(it.getCode() + it.getLineNumber()), options, null,
                    List.of(new Text("Made.java", source))).call();
                int sum = 0;
                for (Bytes it : files.made) sum = sum * 31 + Arrays.hashCode(it.bytes.toByteArray());
                said.append(problems).append(files.made.size()).append(' ').append(sum).append(' ');
            }
        }
        return said.toString();
    }
}
