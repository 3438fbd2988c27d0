package jfluid.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

/**
 * The agent's start: defines the runtime in the bootstrap loader, once per JVM, and runs one session at
 * a time. Between sessions there is no thread of ours, only this class, asleep behind
 * {@code JFluid1.Wake}.
 */
public final class Main {
    /** Whether this agent was there before main(): then the compilers have noted down from the start what depends on what. */
    static volatile boolean atStart;

    private Main() {}

    /** Longer than a detach takes that waits for threads inside probes. */
    private static final long LEAVING_MILLIS = 5000;

    /** The same with a look at the client before; whoever asked waits for 10 s. */
    private static final long DISMISSAL_MILLIS = 8000;

    private static final AtomicReference<Session> running = new AtomicReference<>();

    /** Called by {@code jfluid.Boot} from an attach. */
    public static void launch(String options, Instrumentation instrumentation, Map<String, byte[]> runtime)
            throws Exception {
        java.util.function.Function<String, String> before =
                runtimeInThisJvm() == null ? null : Installer.agentOf(option(options, "build"));
        if (before != null) {
            // Another client was faster, or this one could not write what wakes: one agent in a JVM is enough.
            String error = before.apply(options);
            if (error != null) {
                throw new IOException(error);
            }
            return;
        }
        prepare(options, instrumentation, runtime);
        begin(options);
    }

    /** Called by {@code jfluid.Boot} before main(): waits until the client has given the word. */
    public static void launchAtStart(String options, Instrumentation instrumentation, Map<String, byte[]> runtime)
            throws Exception {
        atStart = true;
        prepare(options, instrumentation, runtime);
        Session session = begin(options);
        if (!session.awaitGo(10, TimeUnit.SECONDS)) {
            // Roots are recorded from now on. What is not in yet is waited for at its first call, or a gap.
            JFluid1Session.open();
        }
    }

    /**
     * Called by {@code jfluid.Boot} before main() of a JVM that is started with our option and no client ({@code jfluid
     * agent-path}): as if a session had been there. One that the command line names before this one stays, of whichever build: its session may have begun.
     */
    public static void sleep(String options, Instrumentation instrumentation, Map<String, byte[]> runtime)
            throws Exception {
        atStart = true;
        if (runtimeInThisJvm() == null) {
            prepare("build=" + text(runtime, "build"), instrumentation, runtime);
        }
    }

    private static void prepare(String options, Instrumentation instrumentation, Map<String, byte[]> runtime)
            throws Exception {
        refuseSecurityManager(); // before anything is changed
        String id = text(runtime, "id");
        String known = runtimeInThisJvm();
        if (known != null && !known.equals(id)) {
            throw new IllegalStateException(
                    "this JVM holds the runtime of another jfluid build (" + known + "); restart it or use that build");
        }
        if (known == null) {
            boolean fast = openFastClock(instrumentation);
            Definer.defineAll(runtime);
            Installer.install(id, fast, TimeStampCounter.isTrusted());
        }
        String build = option(options, "build");
        Installer.sleepAs(build, instrumentation, new Sleeper(build));
    }

    /** Reads what a launch line says; tells null, or what went wrong. */
    private static final class Sleeper implements Function<String, String> {
        private final String build;

        Sleeper(String build) {
            this.build = build;
        }

        @Override
        public String apply(String line) {
            if (!option(line, "build").equals(build)) {
                return "another build";
            }
            if (line.startsWith("detach=")) {
                return dismiss(option(line, "detach").equals("force"), option(line, "sessions"));
            }
            try {
                begin(line);
                return null;
            } catch (Exception | LinkageError e) {
                return e.toString();
            }
        }
    }

    private static String text(Map<String, byte[]> runtime, String name) {
        return new String(runtime.get(name), java.nio.charset.StandardCharsets.US_ASCII).strip();
    }

    /** Identity of the runtime that an earlier attach left in this JVM, or null. */
    private static String runtimeInThisJvm() {
        try {
            Class.forName("java.lang.JFluid1$Setup", false, null);
        } catch (ClassNotFoundException none) {
            return null;
        }
        return Installer.runtimeId();
    }

    /** Lets java.base read jdk.jfr's clock, an intrinsic. False if the runtime image has no jdk.jfr. */
    private static boolean openFastClock(Instrumentation instrumentation) {
        Module base = Object.class.getModule();
        Module jfr = ModuleLayer.boot().findModule("jdk.jfr").orElse(null);
        if (jfr == null) {
            return false;
        }
        instrumentation.redefineModule(base, Set.of(jfr), Map.of(), Map.of(), Set.of(), Map.of());
        instrumentation.redefineModule(
                jfr, Set.of(), Map.of("jdk.jfr.internal", Set.of(base)), Map.of(), Set.of(), Map.of());
        try {
            Class.forName("jdk.jfr.internal.JVM", false, null).getMethod("counterTime");
            return true;
        } catch (ReflectiveOperationException | LinkageError otherJfr) {
            return false;
        }
    }

    private static synchronized Session begin(String options) throws IOException {
        Session before = running.get();
        if (before != null && before.isLeaving()) {
            awaitEnd(before); // its client has the answer to detach, and the thread a few steps to go
        }
        if (before != null && !before.isOver()) {
            throw new IOException("another jfluid is attached to this JVM");
        }
        if (Installer.sessionOfAnother()) {
            throw new IOException("another jfluid is attached to this JVM");
        }
        refuseSecurityManager();
        String build = option(options, "build");
        Path dir = Path.of(option(options, "dir"));
        boolean near = option(options, "peer").isEmpty();
        Session session = near ? new Session(dir, build, token(options, dir))
                               : new Session(peer(options), build, option(options, "token"));
        running.set(session);
        Installer.begun(session);
        boolean started = false;
        try {
            session.start(); // there may be no thread to be had
            started = true;
        } finally {
            if (!started) {
                session.abandon();
            }
        }
        if (!near) {
            CarriedJars.sweep();
        }
        return session;
    }

    /**
     * Ends the session that runs, for somebody else than its client: that hangs, say.
     *
     * @param force also if the client lives
     * @param meant names of the directories of sessions, between commas; empty: whichever runs
     * @return none, leaving, {@code alive <process of the client>}, or {@code ended} and what {@link Leaving#leave} has said
     */
    private static String dismiss(boolean force, String meant) {
        Session session = running.get();
        if (session == null || session.isOver() || !session.isOneOf(meant)) {
            return "none";
        }
        Dismissal dismissal = new Dismissal(force);
        try {
            return session.dismiss(dismissal, DISMISSAL_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "leaving";
        }
    }

    /**
     * The JVM asks a security manager before it links a probe. One of the application's may have probes itself, or
     * call what has, and would be asked again, for ever.
     */
    @SuppressWarnings("removal")
    private static void refuseSecurityManager() throws IOException {
        Object manager = System.getSecurityManager();
        if (manager != null && manager.getClass().getClassLoader() != null) {
            throw new IOException("security manager: " + manager.getClass().getName());
        }
    }

    /** What comes over the attach socket has it. A command line is for all to read: then it lies where only we may look. */
    private static String token(String options, Path dir) throws IOException {
        String told = option(options, "token");
        return told.isEmpty() ? Files.readString(dir.resolve("token")) : told;
    }

    /** Where a client listens that shares no directory with us: {@code peer=<numeric address>:<port>}. */
    static InetSocketAddress peer(String options) throws IOException {
        String told = option(options, "peer");
        int colon = told.lastIndexOf(':');
        return new InetSocketAddress(
                InetAddress.getByName(told.substring(0, colon)), Integer.parseInt(told.substring(colon + 1)));
    }

    private static void awaitEnd(Session session) {
        try {
            session.join(LEAVING_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Nothing of a session outlives it: its tables know the application's classes. */
    static void forget(Session over) {
        running.compareAndSet(over, null);
        Installer.forget(over);
    }

    static String option(String options, String name) {
        for (String part : options.split(";")) {
            if (part.startsWith(name + "=")) {
                return part.substring(name.length() + 1);
            }
        }
        return "";
    }

    /** Everything that links against the runtime, kept apart so that it links after its definition. */
    private static final class Installer {
        /** Where this agent could not be woken it was loaded once more: the other one's classes are not these. */
        static boolean sessionOfAnother() {
            Thread other = JFluid1.Setup.session;
            return other != null && !(other instanceof Session) && other.isAlive();
        }

        static void begun(Session session) {
            JFluid1.Setup.session = session;
        }

        static void forget(Session over) {
            if (JFluid1.Setup.session == over) {
                JFluid1.Setup.session = null;
            }
        }

        /** The one that was loaded before; null if there is none of this build. */
        static java.util.function.Function<String, String> agentOf(String build) {
            return build.equals(JFluid1.Setup.agentBuild) ? JFluid1.Setup.agent : null;
        }

        static String runtimeId() {
            return JFluid1.Setup.runtimeId;
        }

        static void install(String id, boolean fast, boolean trustsTsc) {
            JFluid1.Setup.runtimeId = id;
            JFluid1.Setup.fastClock = fast;
            JFluid1.Setup.trustsTsc = trustsTsc;
        }

        static void sleepAs(
                String build, Instrumentation instrumentation, java.util.function.Function<String, String> agent) {
            JFluid1.Setup.instrumentation = instrumentation;
            JFluid1.Setup.agentBuild = build;
            JFluid1.Setup.agent = agent;
            JFluid1.Wake.install();
        }
    }

    /** Needs the export of jdk.internal.misc that Boot has made. */
    private static final class Definer {
        static void defineAll(Map<String, byte[]> runtime) {
            jdk.internal.misc.Unsafe unsafe = jdk.internal.misc.Unsafe.getUnsafe();
            // In any order: nothing is initialised yet, and none of them is the superclass of another.
            for (var entry : new TreeMap<>(runtime).descendingMap().entrySet()) {
                String name = entry.getKey();
                if (name.endsWith(".class")) {
                    byte[] bytes = entry.getValue();
                    unsafe.defineClass(name.substring(0, name.length() - 6), bytes, 0, bytes.length, null, null);
                }
            }
        }
    }

    static void deleteQuietly(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException gone) {
            // The client's own clean-up got there first, or the file system went away with it.
        }
    }
}
