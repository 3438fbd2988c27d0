import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Prints a row for each class named on the command line (after the directory for class files of the JDK)
 * and for each of its supertypes: {@code name|super|interface,interface|modifiers|jdk}. A small version of
 * the agent's LoadedClasses.
 */
public class DescribeClasses {
    public static void main(String[] args) throws Exception {
        Path jdkClasses = Path.of(args[0]);
        Set<Class<?>> all = new LinkedHashSet<>();
        for (int i = 1; i < args.length; i++) {
            add(Class.forName(args[i].replace('/', '.'), false, ClassLoader.getSystemClassLoader()), all);
        }
        for (Class<?> c : all) {
            boolean jdk = c.getModule().getName() != null;
            StringBuilder interfaces = new StringBuilder();
            for (Class<?> i : c.getInterfaces()) {
                interfaces.append(interfaces.length() == 0 ? "" : ",").append(internal(i));
            }
            String above = c.getSuperclass() == null ? "" : internal(c.getSuperclass());
            System.out.println(internal(c) + "|" + above + "|" + interfaces + "|" + c.getModifiers() + "|" + jdk);
            if (jdk) {
                Path file = jdkClasses.resolve(internal(c) + ".class");
                Files.createDirectories(file.getParent());
                try (InputStream in = c.getModule().getResourceAsStream(internal(c) + ".class")) {
                    Files.write(file, in.readAllBytes());
                }
            }
        }
    }

    private static void add(Class<?> c, Set<Class<?>> all) {
        if (c == null || all.contains(c)) {
            return;
        }
        add(c.getSuperclass(), all);
        for (Class<?> i : c.getInterfaces()) {
            add(i, all);
        }
        all.add(c);
    }

    private static String internal(Class<?> c) {
        return c.getName().replace('.', '/');
    }
}
