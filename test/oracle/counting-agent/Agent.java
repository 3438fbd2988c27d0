package counting;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.jar.JarFile;

/**
 * Counts every call below a root, in every class, from the start of the JVM.
 *
 *   -javaagent:counting-agent.jar=recorder=R.jar,out=FILE,root=CLASS.METHOD[,jdk]
 *
 * Shares no code and no algorithm with jfluid, to which it is compared: ASM rewrites every class before its first method runs. JDK classes
 * are counted only with {@code jdk}. Dynamic proxies and hidden classes are never counted. R.jar contains {@link Recorder}, for the
 * bootstrap loader.
 *
 * <p>At the end FILE contains one line for each called method and each context (fields are separated by a blank; a context's number is
 * greater than its caller's; run n is the n-th outermost call of a root in its thread):
 *
 *   method NUMBER FLAGS CLASS.NAME(DESCRIPTOR)     FLAGS: i for &#64;IntrinsicCandidate, else -
 *   run    THREAD CONTEXT
 *   calls  THREAD CONTEXT CALLER METHOD CALLS
 *   failed CLASS PROBLEM                           a class that is not counted
 */
public final class Agent {
    private Agent() {}

    public static void premain(String arguments, Instrumentation instrumentation)
        throws IOException, UnmodifiableClassException {
        String root = null;
        Path out = null;
        boolean jdk = false;
        for (String it : arguments.split(",")) {
            String value = it.substring(it.indexOf('=') + 1);
            if (it.startsWith("recorder=")) instrumentation.appendToBootstrapClassLoaderSearch(new JarFile(value));
            else if (it.startsWith("out=")) out = Path.of(value);
            else if (it.startsWith("root=")) root = value;
            else if (it.equals("jdk")) jdk = true;
            else throw new IllegalArgumentException(it);
        }
        install(instrumentation, root, out, jdk);
    }

    /**
     * Installs the transformer. This is a separate method, because Recorder must not be resolved before the bootstrap loader knows its jar.
     */
    private static void install(Instrumentation instrumentation, String root, Path out, boolean jdk)
        throws UnmodifiableClassException {
        Transformer transformer = new Transformer(root, jdk);
        transformer.warmUp();
        Path file = out;
        Runtime.getRuntime().addShutdownHook(new Thread(new Runnable() {
            @Override
            public void run() {
                write(transformer, file);
            }
        }));
        instrumentation.addTransformer(transformer, true);
        if (!jdk) return;
        // Classes that are loaded during a transformation are not passed to the transformer, so the search is repeated.
        Set<Class<?>> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (List<Class<?>> fresh = unseen(instrumentation, seen); !fresh.isEmpty(); fresh = unseen(instrumentation, seen)) {
            instrumentation.retransformClasses(fresh.toArray(new Class<?>[0]));
        }
    }

    private static List<Class<?>> unseen(Instrumentation instrumentation, Set<Class<?>> seen) {
        List<Class<?>> fresh = new ArrayList<>();
        for (Class<?> it : instrumentation.getAllLoadedClasses()) {
            if (instrumentation.isModifiableClass(it) && !it.isArray() && seen.add(it)) fresh.add(it);
        }
        return fresh;
    }

    private static void write(Transformer transformer, Path file) {
        Recorder.suspend();
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
            boolean[] called = new boolean[transformer.methods()];
            int thread = 0;
            for (Recorder.Tree tree : Recorder.trees) {
                thread++;
                for (int i = 1; i < tree.size; i++) {
                    int id = tree.method[i];
                    if (id < 0) {
                        out.println("run " + thread + " " + i);
                    } else {
                        called[id] = true;
                        out.println("calls " + thread + " " + i + " " + tree.parent[i] + " " + id + " " + tree.calls[i]);
                    }
                }
            }
            for (int id = 0; id < called.length; id++) {
                if (called[id]) out.println("method " + id + " " + transformer.nameOf(id));
            }
            for (String it : transformer.failures()) out.println("failed " + it);
        } catch (IOException problem) {
            problem.printStackTrace();
        }
    }
}
