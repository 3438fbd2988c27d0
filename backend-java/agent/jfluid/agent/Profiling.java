package jfluid.agent;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import jfluid.api.CallingContext;
import jfluid.api.Profiler;

/** A profiler of the user's: its loader, and the names of methods. The runtime keeps the trees. */
final class Profiling extends JFluid1.Reporter {
    private static final String ATTRIBUTE = "Jfluid-Profiler";

    private final URLClassLoader loader;
    private final Profiler profiler;
    /** By method id: class, method, descriptor. Replaced when it grows; written by the agent's thread only. */
    private volatile String[][] names = new String[1024][];
    private volatile Throwable failure;

    /** @throws IOException with what the client tells its user */
    Profiling(Path jar) throws IOException {
        if (!Files.isReadable(jar)) {
            throw new IOException("the JVM cannot read " + jar);
        }
        String name;
        try (JarFile file = new JarFile(jar.toFile())) {
            var manifest = file.getManifest();
            name = manifest == null ? null : manifest.getMainAttributes().getValue(ATTRIBUTE);
        }
        if (name == null) {
            throw new IOException("the manifest of " + jar + " has no " + ATTRIBUTE);
        }
        loader = new URLClassLoader("jfluid-profiler", new URL[] {jar.toUri().toURL()}, Profiling.class.getClassLoader());
        try {
            profiler = (Profiler) loader.loadClass(name.strip()).getConstructor().newInstance();
        } catch (ReflectiveOperationException | LinkageError | ClassCastException e) {
            loader.close();
            throw new IOException(name + " cannot be made: " + e);
        }
    }

    void name(int id, String className, String method, String descriptor) {
        String[][] known = names;
        if (id >= known.length) {
            known = java.util.Arrays.copyOf(known, Math.max(id + 1, known.length * 2));
        }
        known[id] = new String[] {className, method, descriptor};
        names = known;
    }

    /** What the profiler has thrown first, null if nothing. */
    String failure() {
        return failure == null ? null : failure.toString();
    }

    @Override
    public int register(Thread thread, JFluid1.Context root) {
        try {
            return Math.max(1, profiler.register(thread, new View(root)));
        } catch (Throwable t) {
            return failed(t);
        }
    }

    @Override
    public int report(JFluid1.Context root, JFluid1.Context current) {
        try {
            return Math.max(1, profiler.report(new View(root), new View(current)));
        } catch (Throwable t) {
            return failed(t);
        }
    }

    private int failed(Throwable t) {
        if (failure == null) {
            failure = t;
        }
        JFluid1.reportTo(null);
        return Integer.MAX_VALUE;
    }

    /** On the agent's thread, when no thread is inside the graph any more. */
    void end() {
        try {
            if (failure == null) {
                profiler.end();
            }
        } catch (Throwable t) {
            failure = t;
        }
        try {
            loader.close();
        } catch (IOException e) {
            // Its file stays open until the loader is collected, which nothing keeps.
        }
    }

    private final class View implements CallingContext {
        private final JFluid1.Context context;

        View(JFluid1.Context context) {
            this.context = context;
        }

        private String name(int part) {
            String[][] known = names;
            String[] name = context.id < known.length ? known[context.id] : null;
            return context.caller == null ? "" : name == null ? "?" : name[part];
        }

        @Override
        public CallingContext caller() {
            return context.caller == null ? null : new View(context.caller);
        }

        @Override
        public String className() {
            return name(0);
        }

        @Override
        public String methodName() {
            return name(1);
        }

        @Override
        public String descriptor() {
            return name(2);
        }

        @Override
        public long calls() {
            return context.calls;
        }

        @Override
        public long bytecodes() {
            return context.executed;
        }

        @Override
        public List<CallingContext> callees() {
            List<CallingContext> callees = new ArrayList<>();
            for (JFluid1.Context c = context.callees; c != null; c = c.next) {
                callees.add(new View(c));
            }
            return callees;
        }

        @Override
        public void reset() {
            context.calls = 0;
            context.executed = 0;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof View && ((View) other).context == context;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(context);
        }
    }
}
