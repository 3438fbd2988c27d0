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
 * Entry point of the agent: defines the runtime in the bootstrap loader, once per JVM, and runs one session at a time. Between sessions jfluid
 * has no thread in the target; {@code JFluid1.Wake} calls this class at the next attach.
 */
public final class Main {
    /** Whether this agent was loaded before main(). The JIT compilers then record dependencies for redefinition from the start. */
    static volatile boolean atStart;

    /** First release with UNIX sockets (JEP 380). */
    private static final int UNIX_SOCKETS = 16;

    /** Maximum time for which main() of a JVM below {@code jfluid run} waits for the client, for its answer and its probes together. */
    private static final long HOLD_NANOS = 10_000_000_000L;

    private Main() {}

    /** Maximum duration of a detach that waits for threads inside probes. */
    private static final long DETACH_TIMEOUT_MILLIS = 5000;

    /**
     * Timeout of a detach on request of another client, including the check of the session's client. The requesting client waits for 10 s.
     */
    private static final long DISMISSAL_TIMEOUT_MILLIS = 8000;

    /** Files in a session's directory when the agent connects, see session-directory.ts. */
    private static final String[] CLIENT_FILES = {
        Link.SOCKET, Link.TO_AGENT, Link.FROM_AGENT, "token", "jfluid-agent.jar"};

    private static final AtomicReference<Session> running = new AtomicReference<>();

    /** Called by {@code jfluid.Boot} from an attach. */
    public static void launch(String options, Instrumentation instrumentation, Map<String, byte[]> runtime)
            throws Exception {
        java.util.function.Function<String, String> before =
                runtimeInThisJvm() == null ? null : Installer.agentOf(option(options, "build"));
        if (before != null) {
            // Another client has loaded the agent, or this client could not write the launch file. A JVM needs only one agent.
            String error = before.apply(options);
            if (error != null) {
                throw new IOException(error);
            }
            return;
        }
        prepare(options, instrumentation, runtime);
        begin(options);
    }

    /**
     * Called by {@code jfluid.Boot} before main() of a JVM below {@code jfluid run}. Waits until the client allows main() to start. If the
     * options tell the JVM to ask first, and the client does not profile it, this JVM loads the agent and is not changed otherwise.
     */
    public static void launchAtStart(String options, Instrumentation instrumentation, Map<String, byte[]> runtime)
            throws Exception {
        if (option(options, "ask").isEmpty()) {
            awaitGo(beginAtStart(options, instrumentation, runtime), HOLD_NANOS);
            return;
        }
        if (Runtime.version().feature() < UNIX_SOCKETS) {
            throw new IOException(
                    "a question needs JDK " + UNIX_SOCKETS + ", and this is " + Runtime.version().feature());
        }
        Session session;
        long left = HOLD_NANOS;
        try (Invitation invitation = Invitation.request(Path.of(option(options, "dir")))) {
            long asked = System.nanoTime();
            String line = invitation == null ? "" : invitation.answer(asked + HOLD_NANOS);
            left -= System.nanoTime() - asked;
            if (line.isEmpty()) {
                return;
            }
            try {
                session = beginAtStart(line, instrumentation, runtime);
            } catch (Exception | LinkageError e) {
                invitation.failed(e.toString());
                return;
            }
        }
        awaitGo(session, left);
    }

    private static Session beginAtStart(String options, Instrumentation instrumentation, Map<String, byte[]> runtime)
            throws Exception {
        atStart = true;
        instrumentation.redefineModule(Object.class.getModule(), Set.of(),
                Map.of("jdk.internal.misc", Set.of(Main.class.getModule())), Map.of(), Set.of(), Map.of());
        prepare(options, instrumentation, runtime);
        return begin(options);
    }

    private static void awaitGo(Session session, long nanos) throws InterruptedException {
        if (!session.awaitGo(nanos, TimeUnit.NANOSECONDS)) {
            // Starts recording. The first call of a method that is not instrumented yet waits for the client, or is counted as a gap.
            JFluid1Session.open();
        }
    }

    /**
     * Called by {@code jfluid.Boot} before main() of a JVM that is started with the agent option and without a client ({@code jfluid
     * agent-path}). The agent sleeps, as after a session. An agent of any build that comes earlier on the command line stays in place,
     * since its session may have begun.
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
        refuseSecurityManager(); // checked before any change
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

    /** Executes a launch line; returns null or an error. */
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

    /** Returns the identity of the runtime that an earlier attach left in this JVM, or null. */
    private static String runtimeInThisJvm() {
        try {
            Class.forName("java.lang.JFluid1$Setup", false, null);
        } catch (ClassNotFoundException none) {
            return null;
        }
        return Installer.runtimeId();
    }

    /** Lets java.base read the clock of jdk.jfr, a JVM intrinsic. Returns false if the runtime image has no jdk.jfr. */
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
            awaitEnd(before); // the client has received the answer to detach, and the session's thread is about to end
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
            session.start(); // fails if no thread can be created
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
     * Ends the running session on request of another client, for example because the client of the running session hangs.
     *
     * @param force whether to end the session even if its client is alive
     * @param meant comma-separated names of session directories; empty for any
     * @return none, leaving, {@code alive <process of the client>}, or {@code ended} and the result of {@link Leaving#leave}
     */
    private static String dismiss(boolean force, String meant) {
        Session session = running.get();
        if (session == null || session.isOver() || !session.isOneOf(meant)) {
            return "none";
        }
        Dismissal dismissal = new Dismissal(force);
        try {
            return session.dismiss(dismissal, DISMISSAL_TIMEOUT_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return "leaving";
        }
    }

    /**
     * Throws if the application has a security manager. The JVM calls the security manager before it links a probe. If the security manager
     * or one of its callees has probes, linking a probe calls the security manager again, without end.
     */
    @SuppressWarnings("removal")
    private static void refuseSecurityManager() throws IOException {
        Object manager = System.getSecurityManager();
        if (manager != null && manager.getClass().getClassLoader() != null) {
            throw new IOException("security manager: " + manager.getClass().getName());
        }
    }

    /** Returns the session's token: from the options, or from a file of the owner, since every user can read a command line. */
    private static String token(String options, Path dir) throws IOException {
        String told = option(options, "token");
        return told.isEmpty() ? Files.readString(dir.resolve("token")) : told;
    }

    /** Returns the address of a client on another machine: {@code peer=<numeric address>:<port>}. */
    static InetSocketAddress peer(String options) throws IOException {
        String told = option(options, "peer");
        int colon = told.lastIndexOf(':');
        return new InetSocketAddress(
                InetAddress.getByName(told.substring(0, colon)), Integer.parseInt(told.substring(colon + 1)));
    }

    private static void awaitEnd(Session session) {
        try {
            session.join(DETACH_TIMEOUT_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Drops an ended session: its tables refer to classes of the application. */
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

    /** Code that refers to runtime classes. It is in a separate class, so that it is linked only after the runtime has been defined. */
    private static final class Installer {
        /**
         * Returns whether another loaded agent runs a session: if an agent could not be woken, a second agent was loaded, with classes of
         * its own.
         */
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

        /** Returns the sleeping agent that was loaded earlier; null if there is no sleeping agent of this build. */
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

    /** Defines the runtime classes. Needs the export of jdk.internal.misc by Boot or beginAtStart. */
    private static final class Definer {
        private static final String RELEASE = "java/lang/JFluid1Release.class";

        static void defineAll(Map<String, byte[]> runtime) {
            jdk.internal.misc.Unsafe unsafe = jdk.internal.misc.Unsafe.getUnsafe();
            // JFluid1Release adapts the other classes. Their order does not matter: none is initialised yet, and none is the superclass of
            // another.
            Map<String, byte[]> others = new TreeMap<>(runtime).descendingMap();
            define(unsafe, RELEASE, others.remove(RELEASE));
            for (var entry : others.entrySet()) {
                String name = entry.getKey();
                if (name.endsWith(".class")) {
                    define(unsafe, name, JFluid1Release.adapted(entry.getValue()));
                }
            }
        }

        private static void define(jdk.internal.misc.Unsafe unsafe, String name, byte[] bytes) {
            unsafe.defineClass(name.substring(0, name.length() - 6), bytes, 0, bytes.length, null, null);
        }
    }

    /** Removes a session directory whose client has been killed. */
    static void removeDirectory(Path dir) {
        for (String name : CLIENT_FILES) {
            deleteQuietly(dir.resolve(name));
        }
        deleteQuietly(dir);
    }

    static void deleteQuietly(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException gone) {
            // The client has removed the file, or the file system is gone.
        }
    }
}
