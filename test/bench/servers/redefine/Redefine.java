import com.sun.tools.attach.VirtualMachine;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;

/**
 * Redefines classes of a JVM with their own bytes at given times, so nothing changes. A profiler that redefines these classes has at least
 * this effect on the JVM.
 *
 * <pre>Redefine jar pid time:file …</pre>
 *
 * A time is in ms since 1970. A file has the name of a class in each line, since HotSpot limits the argument of an agent to 1,024 bytes.
 * Prints one line before each redefinition and one line after it.
 */
public final class Redefine {
    private Redefine() {}

    public static void main(String[] args) throws Exception {
        VirtualMachine jvm = VirtualMachine.attach(args[1]);
        for (int i = 2; i < args.length; i++) {
            String[] step = args[i].split(":", 2);
            Thread.sleep(Math.max(0, Long.parseLong(step[0]) - System.currentTimeMillis()));
            System.out.println("redefines");
            jvm.loadAgent(args[0], step[1]);
            System.out.println("redefined");
        }
        jvm.detach();
    }

    /** Called in the target JVM for each redefinition. */
    public static void agentmain(String file, Instrumentation instrumentation) throws Exception {
        Set<String> wanted = Set.copyOf(Files.readAllLines(Path.of(file)));
        Class<?>[] classes = Arrays.stream(instrumentation.getAllLoadedClasses())
                .filter(it -> wanted.contains(it.getName()))
                .toArray(Class<?>[]::new);
        if (classes.length == 0) {
            throw new IllegalArgumentException("none of these classes is loaded: " + wanted);
        }
        instrumentation.retransformClasses(classes);
    }
}
