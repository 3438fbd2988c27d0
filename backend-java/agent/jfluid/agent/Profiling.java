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
final class Profiling extends JFluid1Contexts.Reporter {
    private static final String ATTRIBUTE = "Jfluid-Profiler";
    /** Bytecodes. */
    private static final int SOON = 1 << 20;
    /** Less than a client waits for a detach. */
    private static final long END_MILLIS = 5000;

    private final URLClassLoader loader;
    private final Profiler profiler;
    /** By method id: class, method, descriptor. Replaced when it grows; written by the agent's thread only. */
    private volatile String[][] names = new String[1024][];
    private volatile Throwable failure;
    private boolean ended;
    private final Thread atExit = new Thread(null, null, "jfluid-profiler", 0, false) {
        @Override
        public void run() {
            endNow();
        }
    };

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
        loader = new URLClassLoader(
                "jfluid-profiler", new URL[] {jar.toUri().toURL()}, Profiling.class.getClassLoader());
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
    public int register(Thread thread, JFluid1Contexts.Context root) {
        try {
            return Math.max(1, profiler.register(thread, new View(root)));
        } catch (Throwable t) {
            return failed(t);
        }
    }

    @Override
    public int report(JFluid1Contexts.Context root, JFluid1Contexts.Context current) {
        try {
            return Math.max(1, profiler.report(new View(root), new View(current)));
        } catch (Throwable t) {
            return failed(t);
        }
    }

    /** A thread short of stack or memory tries again later; a Thread.stop() was meant for the application. */
    @SuppressWarnings("removal")
    private int failed(Throwable t) {
        if (t instanceof ThreadDeath) {
            throw (ThreadDeath) t;
        }
        if (t instanceof VirtualMachineError) {
            return SOON;
        }
        if (failure == null) {
            failure = t;
        }
        JFluid1Contexts.stopReporting(this);
        return 1; // the next time there is nobody to report to
    }

    /** Also when the JVM ends while the session is on, in a hook of its own. */
    void endWithJvm() {
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /**
     * The session is over. The profiler has a few seconds for its end, on a thread of its own: it may wait for what one
     * of the application's holds.
     *
     * @param released whether no thread is in the runtime any more, and so none in a report
     */
    void end(boolean released) {
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException itRuns) {
            return; // the JVM is ending, and has the profiler end in the hook
        }
        if (!released) {
            failure = failure == null ? new IllegalStateException("a report has not returned, so end() was not called")
                                      : failure;
            return;
        }
        Thread ending = new GuestThread("jfluid-profiler") {
            @Override
            public void run() {
                endNow();
            }
        };
        ending.start();
        try {
            ending.join(END_MILLIS);
        } catch (InterruptedException never) {
            // A guest thread is not interrupted.
        }
        if (ending.isAlive() && failure == null) {
            failure = new IllegalStateException("end() has not returned after " + END_MILLIS + " ms");
        }
    }

    private synchronized void endNow() {
        if (ended) {
            return;
        }
        ended = true;
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
        private final JFluid1Contexts.Context context;

        View(JFluid1Contexts.Context context) {
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
            for (JFluid1Contexts.Context c = context.callees; c != null; c = c.next) {
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
