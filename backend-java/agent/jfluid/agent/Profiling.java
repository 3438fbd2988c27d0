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

/** A user's profiler: its loader, and the names of methods. The runtime keeps the trees. */
final class Profiling extends JFluid1Contexts.Reporter {
    private static final String ATTRIBUTE = "Jfluid-Profiler";
    /** Number of bytecodes that a thread executes before it repeats a failed report. */
    private static final int SOON = 1 << 20;
    /** Timeout for the profiler's end. Less than the client's timeout of a detach. */
    private static final long END_TIMEOUT_MILLIS = 5000;

    private final URLClassLoader loader;
    private final Profiler profiler;
    /** Class, method and descriptor by method id. Replaced when it grows; written only by the agent's thread. */
    private volatile String[][] names = new String[1024][];
    private volatile Throwable failure;
    private boolean ended;
    private final Thread atExit = new Thread(null, null, "jfluid-profiler", 0, false) {
        @Override
        public void run() {
            endNow();
        }
    };

    /** @throws IOException with a message for the user */
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

    /** Returns the first exception of the profiler, or null. */
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

    /** Handles an exception. A thread short of stack or memory retries later; a ThreadDeath is rethrown to the application. */
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
        return 1; // any number: no report follows
    }

    /** Registers a shutdown hook, so that the profiler's end() is called even if the JVM ends during the session. */
    void endWithJvm() {
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /**
     * Ends the profiler at the end of the session, on a thread of its own and with a timeout: the profiler's end() may wait for a lock of
     * an application thread.
     *
     * @param released whether no thread is in the runtime any more, and so no thread is in a report
     */
    void end(boolean released) {
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException itRuns) {
            return; // the JVM is ending, and the shutdown hook ends the profiler
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
            ending.join(END_TIMEOUT_MILLIS);
        } catch (InterruptedException never) {
            // Nothing interrupts a guest thread.
        }
        if (ending.isAlive() && failure == null) {
            failure = new IllegalStateException("end() has not returned after " + END_TIMEOUT_MILLIS + " ms");
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
            // The file stays open until the loader is garbage collected.
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
