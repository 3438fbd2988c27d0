package suite;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.eclipse.jdt.internal.compiler.ClassFile;
import org.eclipse.jdt.internal.compiler.CompilationResult;
import org.eclipse.jdt.internal.compiler.batch.CompilationUnit;
import org.eclipse.jdt.internal.compiler.batch.Main;
import tables.Driver;

/** eclipse: the Eclipse compiler compiles generated classes that use each other, in memory. */
public final class Eclipse implements Driver.Program {
    private static final int CLASSES = 60;
    private static final String[] NAMES = new String[CLASSES];
    private static final String[] SOURCES = new String[CLASSES];

    static {
        System.setProperty("jdt.compiler.useSingleThread", "true"); // Otherwise a second thread parses.
        for (int i = 0; i < CLASSES; i++) {
            NAMES[i] = "Made" + i + ".java";
            SOURCES[i] = source(i);
        }
    }

    private static String source(int i) {
        String text = """
            import java.util.*;
            import java.util.function.*;
            public class Made# implements Comparable<Made#> {
                sealed interface Shape permits Square, Disc {}
                record Square(double a) implements Shape {}
                record Disc(double r) implements Shape {}
                enum Size { SMALL { @Override int limit() { return 3; } }, BIG; int limit() { return 9; } }
                private final Map<String, List<Integer>> found = new HashMap<>();
                private Other next;
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
                @Override public int compareTo(Made# other) { return Integer.compare(limit, other.limit); }
                class Inner { int twice() { return new Object() { int value = limit * 2; }.value; } }
                int limit = Size.BIG.limit() + #;
                METHODS
            }
            """;
        StringBuilder methods = new StringBuilder();
        for (int k = 0; k < 6; k++) {
            methods.append("""
                long sum%d(int[] a, Other other) {
                    long s = %d;
                    for (int i = 0; i < a.length; i++) {
                        if (a[i] %% %d == 0 && other.limit > i) s += a[i] * 3L; else s ^= (s << 3) + other.limit;
                    }
                    found.computeIfAbsent("k" + s, it -> new ArrayList<>()).add((int) s);
                    String t = "a" + s + next.name((int) s);
                    switch (t) { case "a1": s++; break; case "a2": s--; break; default: s = t.length(); }
                    return s;
                }
                """.formatted(k, k, k + 2));
        }
        return text.replace("METHODS", methods).replace("Other", "Made" + (i * 7 + 1) % CLASSES).replace("#", Integer.toString(i));
    }

    /** The batch compiler, with sources and classes in memory. */
    private static final class InMemory extends Main {
        long sum;

        InMemory(PrintWriter messages) {
            super(messages, messages, false, null, null);
        }

        @Override
        public CompilationUnit[] getCompilationUnits() {
            CompilationUnit[] units = new CompilationUnit[CLASSES];
            for (int i = 0; i < CLASSES; i++) units[i] = new CompilationUnit(SOURCES[i].toCharArray(), NAMES[i], null);
            return units;
        }

        @Override
        public void outputClassFiles(CompilationResult result) {
            for (ClassFile it : result.getClassFiles()) sum += Arrays.hashCode(it.getBytes()); // In the order of a hash table.
        }
    }

    @Override
    public long run() {
        StringWriter messages = new StringWriter();
        InMemory compiler = new InMemory(new PrintWriter(messages));
        // Does not use the class path of this JVM, which may contain an agent's jar.
        List<String> arguments = new ArrayList<>(List.of("-proc:none", "-17", "-nowarn", "-classpath", "none"));
        arguments.addAll(List.of(NAMES));
        if (!compiler.compile(arguments.toArray(String[]::new))) throw new IllegalStateException(messages.toString());
        return compiler.sum;
    }
}
