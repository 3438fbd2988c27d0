package jfluid;

import java.io.FileInputStream;
import java.lang.instrument.Instrumentation;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;

/**
 * What {@code Agent-Class} and {@code Premain-Class} name: the only class of ours that the application
 * loader ever defines. It stays there for the life of the JVM, so it does next to nothing and must not
 * change its contract: it reads the jar named in its options, defines the agent in a loader of its own,
 * and calls {@code jfluid.agent.Main.launch(options, instrumentation)}.
 *
 * Options: {@code jar=<agent jar>;dir=<session directory>;…}. Failures are written to
 * {@code <dir>/error}, never to the target's output.
 *
 * Without a directory, as {@code jfluid agent-path} has it, the agent is only put to sleep at the start of a JVM, until a
 * client wakes it. That must not hinder a program, whatever it meets: one line on the error output at most. The option may
 * stand in {@code JAVA_TOOL_OPTIONS}, for all JVMs of a machine, and what a premain throws ends one: so this class is of
 * the format of JDK 8, and the first to ask for the version.
 */
public final class Boot {
    /** As {@code admission.ts} has it. */
    private static final int OLDEST_JDK = 17;

    /** For 2 s. */
    private static final int REPORT_TRIES = 40;
    private static final long REPORT_NANOS = 50_000_000L;

    /** What the JVM has given without options, until {@link #launched}. */
    private static Instrumentation given;

    private Boot() {}

    public static void agentmain(String options, Instrumentation instrumentation) {
        if (options == null || options.isEmpty()) {
            given = instrumentation; // as a launcher loads an agent, or a debugger in its place
        } else {
            start(options, instrumentation, "launch");
            keepOpen(options);
        }
    }

    /**
     * The JVM has put the jar on the class path. If it goes, as a copy for a container does at once, whoever reads all manifests
     * of the class path meets one that is not there, unless the JDK has it open: then that is what is read. The file is the one that the
     * class path has open anyway.
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
            // A program has its own ideas of URLs, or there is no memory: it is as without this.
        }
    }

    /**
     * Called by a debugger, in a thread of its own, which has the JVM load the agent as its launcher would: without options.
     *
     * @return why the agent could not start; null if it has
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
                new java.io.File(option(options, "jar")).delete(); // a copy for us: the client may have gone by now
            }
        }
    }

    public static void premain(String options, Instrumentation instrumentation) {
        if (options != null && options.contains("dir=")) {
            start(options, instrumentation, "launchAtStart");
        } else {
            sleep(options, instrumentation);
        }
    }

    private static void sleep(String options, Instrumentation instrumentation) {
        try {
            String version = System.getProperty("java.specification.version");
            if (Float.parseFloat(version) < OLDEST_JDK) {
                say("this is JDK " + version + ", and it needs " + OLDEST_JDK + " or newer: the agent is not in place");
                return;
            }
            if (options != null && !options.isEmpty()) {
                say("the agent has no options, and '" + options + "' is none");
            }
            java.net.URL jar = Boot.class.getProtectionDomain().getCodeSource().getLocation();
            call(new java.io.File(jar.toURI()).getPath(), "sleep", options, instrumentation);
        } catch (Throwable t) {
            say("the agent is not in place, and the program goes on without it: " + causeOf(t));
        }
    }

    private static void say(String line) {
        try {
            System.err.println("jfluid: " + line.replace('\n', ' '));
        } catch (Throwable unsaid) {
            // No memory for a line, say: not a program's to end for.
        }
    }

    private static void start(String options, Instrumentation instrumentation, String how) {
        try {
            call(option(options, "jar"), how, options, instrumentation);
        } catch (Throwable t) {
            report(options, t);
        }
    }

    private static void call(String jar, String how, String options, Instrumentation instrumentation) throws Exception {
        Loader loader = new Loader(jar);
        instrumentation.redefineModule(Object.class.getModule(), Set.of(),
                Map.of("jdk.internal.misc", Set.of(loader.getUnnamedModule())), Map.of(), Set.of(), Map.of());
        loader.loadClass("jfluid.agent.Main")
                .getMethod(how, String.class, Instrumentation.class, Map.class)
                .invoke(null, options, instrumentation, loader.runtime);
    }

    private static void report(String options, Throwable t) {
        for (int tries = 0; tries < REPORT_TRIES; tries++) {
            try {
                write(options, t);
                return;
            } catch (java.io.IOException | RuntimeException nowhere) {
                return; // the client sees that nobody connects and says so
            } catch (OutOfMemoryError full) {
                // Perhaps what has failed; thrown, the JVM would print it. The heap may have room again shortly; for
                // metaspace it is collected each time one asks.
                if (!"Java heap space".equals(full.getMessage())) {
                    return;
                }
                java.util.concurrent.locks.LockSupport.parkNanos(REPORT_NANOS);
            }
        }
    }

    private static void write(String options, Throwable t) throws java.io.IOException {
        java.io.File whole = new java.io.File(option(options, "dir"), "error");
        java.io.File part = new java.io.File(whole + ".part");
        try (java.io.FileWriter out = new java.io.FileWriter(part)) {
            out.write(causeOf(t).toString());
        }
        part.renameTo(whole); // the client may be watching
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

    /** Defines the agent's classes from the jar, which it closes again. */
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
