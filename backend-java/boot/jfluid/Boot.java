package jfluid;

import java.io.FileInputStream;
import java.lang.instrument.Instrumentation;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;

/**
 * The {@code Agent-Class} and {@code Premain-Class}: the only jfluid class that the application loader defines. It stays loaded until the
 * JVM ends, so it is minimal, and its contract must not change: it reads the jar named in its options, defines the agent in a loader of its
 * own, and calls {@code jfluid.agent.Main.launch(options, instrumentation)}.
 *
 * Options: {@code jar=<agent jar>;dir=<session directory>;…}. Failures are written to
 * {@code <dir>/error}, never to the target's output.
 *
 * Without a directory ({@code jfluid agent-path}) the agent only sleeps from the start of the JVM until a client wakes it. Failures then
 * must not affect the program: at most one line on standard error. The option may be in {@code JAVA_TOOL_OPTIONS} for all JVMs of a
 * machine, and an exception of a premain ends the JVM. So this class has the class file format of JDK 8 and checks the JDK release first.
 */
public final class Boot {
    /** Oldest supported release, as in {@code jdk-releases.ts}. */
    private static final int OLDEST_JDK = 11;

    /** Method of {@code jfluid.agent.Main} for JVMs below {@code jfluid run}. */
    private static final String AT_START = "launchAtStart";

    /** Number of attempts to write a failure, and delay between attempts: 2 s in total. */
    private static final int REPORT_TRIES = 40;
    private static final long REPORT_RETRY_DELAY_NANOS = 50_000_000L;

    /** Instrumentation of an agent loaded without options, until {@link #launched}. */
    private static Instrumentation given;

    private Boot() {}

    public static void agentmain(String options, Instrumentation instrumentation) {
        if (options == null || options.isEmpty()) {
            given = instrumentation; // loaded by the launcher or by a debugger
        } else {
            start(options, instrumentation, "launch");
            keepOpen(options);
        }
    }

    /**
     * Keeps the jar open in the JDK's cache. The JVM has added the jar to the class path, and the copy for a container is deleted later.
     * Application code that reads all manifests of the class path would then fail if the JDK did not have the jar open. The class path
     * itself keeps the file open in any case.
     */
    private static void keepOpen(String options) {
        try {
            java.net.URI jar = new java.io.File(option(options, "jar")).toURI();
            java.net.URI entry = java.net.URI.create("jar:" + jar + "!/META-INF/MANIFEST.MF");
            java.net.URLConnection manifest = entry.toURL().openConnection();
            if (manifest.getClass().getName().startsWith("sun.net.www.protocol.jar.")) {
                manifest.setUseCaches(true);
                manifest.connect();
            }
        } catch (Throwable none) {
            // The program has its own URL handlers, or memory is short. Best effort.
        }
    }

    /**
     * Called through a debugger, after the JVM has loaded the agent without options.
     *
     * @return why the agent could not start; null on success
     */
    public static String launched(String options) {
        Instrumentation instrumentation = given;
        given = null;
        try {
            call(option(options, "jar"), "launch", options, instrumentation);
            return null;
        } catch (Throwable t) {
            return causeOf(t).toString();
        } finally {
            keepOpen(options);
            if (options.contains(";peer=")) {
                new java.io.File(option(options, "jar"))
                        .delete(); // a copy made for the agent; the client may have ended
            }
        }
    }

    public static void premain(String options, Instrumentation instrumentation) {
        if (options != null && options.contains("dir=")) {
            start(options, instrumentation, AT_START);
        } else {
            sleep(options, instrumentation);
        }
    }

    private static void sleep(String options, Instrumentation instrumentation) {
        try {
            String unsupported = unsupported();
            if (unsupported != null) {
                say(unsupported + ": the agent is not active");
                return;
            }
            if (options != null && !options.isEmpty()) {
                say("the agent has no options, and '" + options + "' is none");
            }
            java.net.URL jar = Boot.class.getProtectionDomain().getCodeSource().getLocation();
            call(new java.io.File(jar.toURI()).getPath(), "sleep", options, instrumentation);
        } catch (Throwable t) {
            say("the agent is not active, and the program continues without it: " + causeOf(t));
        }
    }

    /** Returns why the agent cannot run in this JVM, or null. The client parses the text (startProblem in door.ts). */
    private static String unsupported() {
        String version = System.getProperty("java.specification.version");
        if (Float.parseFloat(version) < OLDEST_JDK) {
            return "this is JDK " + version + ", and jfluid needs JDK " + OLDEST_JDK + " or newer";
        }
        String vm = System.getProperty("java.vm.name");
        return vm != null && vm.contains("J9") ? "the VM is " + vm + ", not HotSpot" : null;
    }

    private static void say(String line) {
        try {
            System.err.println("jfluid: " + line.replace('\n', ' '));
        } catch (Throwable unsaid) {
            // For example, no memory is free for the line. A failure here must not end the program.
        }
    }

    private static void start(String options, Instrumentation instrumentation, String how) {
        try {
            String unsupported = unsupported();
            if (unsupported != null) {
                throw new UnsupportedOperationException(unsupported);
            }
            call(option(options, "jar"), how, options, instrumentation);
        } catch (Throwable t) {
            report(options, t, AT_START.equals(how));
        }
    }

    private static void call(String jar, String how, String options, Instrumentation instrumentation) throws Exception {
        Loader loader = new Loader(jar);
        if (!AT_START.equals(how)) { // there the agent asks the client first, and changes nothing before
            instrumentation.redefineModule(Object.class.getModule(), Set.of(),
                    Map.of("jdk.internal.misc", Set.of(loader.getUnnamedModule())), Map.of(), Set.of(), Map.of());
        }
        loader.loadClass("jfluid.agent.Main")
                .getMethod(how, String.class, Instrumentation.class, Map.class)
                .invoke(null, options, instrumentation, loader.runtime);
    }

    /** @param tellsJvm whether to add the process id: the client does not know which JVM its command has started */
    private static void report(String options, Throwable t, boolean tellsJvm) {
        for (int tries = 0; tries < REPORT_TRIES; tries++) {
            try {
                write(options, tellsJvm ? "JVM " + processId() + ": " + causeOf(t) : causeOf(t).toString());
                return;
            } catch (java.io.IOException | RuntimeException nowhere) {
                return; // the client reports that the agent did not connect
            } catch (OutOfMemoryError full) {
                // Not rethrown: the JVM would print it. The heap may have free space soon. A retry for
                // metaspace would cost a garbage collection each time.
                if (!"Java heap space".equals(full.getMessage())) {
                    return;
                }
                java.util.concurrent.locks.LockSupport.parkNanos(REPORT_RETRY_DELAY_NANOS);
            }
        }
    }

    /** Without classes that JDK 8 or a small runtime lacks. */
    private static String processId() throws java.io.IOException {
        return new java.io.File("/proc/self").getCanonicalFile().getName();
    }

    private static void write(String options, String text) throws java.io.IOException {
        java.io.File whole = new java.io.File(option(options, "dir"), "error");
        java.io.File part = new java.io.File(whole + ".part");
        try (java.io.FileWriter out = new java.io.FileWriter(part)) {
            out.write(text);
        }
        part.renameTo(whole); // atomic: the client may be watching the file
    }

    private static Throwable causeOf(Throwable t) {
        Throwable cause = t;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        return cause;
    }

    private static String option(String options, String name) {
        for (String part : options.split(";")) {
            if (part.startsWith(name + "=")) {
                return part.substring(name.length() + 1);
            }
        }
        throw new IllegalArgumentException("no " + name + " in agent options");
    }

    /** Defines the agent's classes from the jar and closes the jar. */
    private static final class Loader extends ClassLoader {
        final Map<String, byte[]> runtime = new HashMap<>();
        private final Map<String, byte[]> classes = new HashMap<>();

        Loader(String jar) throws java.io.IOException {
            super("jfluid", ClassLoader.getPlatformClassLoader());
            try (JarInputStream in = new JarInputStream(new FileInputStream(jar))) {
                for (JarEntry entry = in.getNextJarEntry(); entry != null; entry = in.getNextJarEntry()) {
                    String name = entry.getName();
                    if (name.startsWith("agent/") && name.endsWith(".class")) {
                        classes.put(name.substring(6, name.length() - 6).replace('/', '.'), in.readAllBytes());
                    } else if (name.startsWith("runtime/")) {
                        runtime.put(name.substring(8), in.readAllBytes());
                    }
                }
            }
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            byte[] bytes = classes.get(name);
            if (bytes == null) {
                throw new ClassNotFoundException(name);
            }
            return defineClass(name, bytes, 0, bytes.length);
        }
    }
}
