package jfluid.agent;

import java.io.EOFException;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * One session, from connect to detach: the agent's daemon thread. A redefinition runs on a second thread. This thread executes the client's
 * commands, forwards requests of probes and of the load hook to the client, and protects the target: if the client has ended, is stopped or
 * sends nothing for long, the session ends as after a detach.
 *
 * src/wire/messages.ts documents the messages.
 */
final class Session extends GuestThread {
    private static final long IDLE_CHECK_INTERVAL_MILLIS = 1000;
    /** Interval of checks whether the client is alive. */
    private static final long CLIENT_CHECK_INTERVAL_MILLIS = 500;
    /** Timeout for a silent client, counted in checks, so that time in which the machine sleeps or the JVM is stopped does not count. */
    private static final int MAX_SILENT_CHECKS =
            (int) (ClientProcess.SILENT_CLIENT_TIMEOUT_SECONDS * 1000 / CLIENT_CHECK_INTERVAL_MILLIS);
    /** Timeout between messages of a client after its "restore", while it inspects the JVM. */
    private static final long AFTER_RESTORE_TIMEOUT_NANOS = 10_000_000_000L;
    /**
     * Timeout for a client on another machine that sends no message before the buffer exists. A lost network is not reported, and no other
     * client can attach until the session ends.
     */
    private static final long NO_MESSAGE_TIMEOUT_NANOS = 10_000_000_000L;
    /** Number of attempts to close the link while the heap is full, and delay between attempts. */
    private static final int CLOSE_TRIES = 20;
    private static final long CLOSE_RETRY_DELAY_NANOS = 100_000_000L;
    /**
     * Commands that are executed while a redefinition runs. classBytes blocks only for classes of that redefinition. The client sends names
     * before its answer to a load hook, and the redefinition may wait for that hook.
     */
    private static final Set<String> WHILE_SWAPPING =
            Set.of("loadHook", "reflected", "names", "classBytes", "reclaim", "restore", "detach");
    /** Commands that are executed after the end of recording. */
    private static final Set<String> WHILE_LEAVING = Set.of("restore", "detach", "status", "loadedClasses", "vmLibrary",
            "mirrorWords", "peek", "loadHook", "reflected", "names");

    /** The session's directory; null if the client is on another machine, with which no files are shared. */
    private final Path dir;
    private final String build;
    /** Delays main() in a JVM started by jfluid. */
    private final CountDownLatch go = new CountDownLatch(1);
    private final Instrumentation instrumentation = (Instrumentation) JFluid1.Setup.instrumentation;
    private Link link;
    /** Topics, keyed by command. */
    private final Map<String, Topic> topics = new HashMap<>();
    // Topics that the loop uses. Null until the thread runs. Other threads read only recording and leaving.
    private Questions questions;
    private Classes classes;
    private Calibration calibration;
    private Redefinition redefinition;
    /** Read by other threads. */
    private volatile Recording recording;
    /** Read by other threads. */
    private volatile Leaving leaving;
    private volatile boolean over;
    private volatile Dismissal dismissal;
    private long lookedAt = System.nanoTime();
    /** Number of consecutive checks without a message and without a heartbeat of the client. */
    private int silentLooks;

    Session(Path dir, String build, String token) throws IOException {
        super("jfluid-agent");
        this.dir = dir;
        this.build = build;
        try {
            link = new Link(dir, token);
        } catch (ConnectException nobodyListens) {
            Main.removeDirectory(dir); // the client has been killed since its command
            throw nobodyListens;
        }
    }

    /** Creates a session with a client on another machine. */
    Session(InetSocketAddress client, String build, String token) throws IOException {
        super("jfluid-agent");
        this.dir = null;
        this.build = build;
        link = new Link(client, token);
    }

    boolean isOver() {
        return over;
    }

    /** @param names comma-separated names of session directories; empty for any */
    boolean isOneOf(String names) {
        Recording it = recording;
        // Until the buffer exists, other clients do not know the name of the session.
        return names.isEmpty() || it == null || !it.hasBuffer()
                || dir != null && Arrays.asList(names.split(",")).contains(dir.getFileName().toString());
    }

    /** Ends the session; called by another thread. @return the answer described at {@link Main#dismiss} */
    String dismiss(Dismissal wanted, long millis) throws InterruptedException {
        long until = System.nanoTime() + millis * 1_000_000L;
        dismissal = wanted;
        link.wakeup();
        while (isAlive() && System.nanoTime() < until && !wanted.awaitKnown()) {
            // isAlive() becomes false if the session ends for another reason.
        }
        int living = wanted.living();
        if (living != 0) {
            return "alive " + living;
        }
        Leaving it = leaving;
        Object[] said = it == null ? null : it.answer();
        return over && said != null ? "ended " + said[0] + " " + ((int) said[1] + (int) said[9]) + " " + said[2] + " "
                        + said[3] + " " + said[5] + " " + said[6]
                : over ? "none"
                       : "leaving";
    }

    /**
     * Returns whether another client has requested the end of this session and may end it.
     *
     * @param heard whether the client has just sent a message
     */
    private boolean isDismissed(boolean heard) {
        Dismissal it = dismissal;
        if (it == null) {
            return false;
        }
        boolean isDue = it.isDue(recording.client(), heard);
        if (it.isRefuted()) {
            dismissal = null; // reset before the answer: the other client may send a new request after the answer
            it.tell();
        }
        return isDue;
    }

    /** Returns whether classes are being restored. The session then ends soon. */
    boolean isLeaving() {
        Leaving it = leaving;
        return it != null && it.hasBegun();
    }

    /** Ends a session whose thread could not be started, so that another attach is possible. */
    void abandon() {
        over = true;
        go.countDown();
        Main.forget(this);
        closeQuietly();
    }

    /** @return false on timeout */
    boolean awaitGo(long time, TimeUnit unit) throws InterruptedException {
        return go.await(time, unit);
    }

    @Override
    public void run() {
        try {
            Pause.prepare();
            BoundedJoin.prepare();
            Linking.prepare();
            makeTopics();
            long heardAt = System.nanoTime();
            while (!leaving.isDetached()) {
                link.await(lookMillis());
                boolean heard = false;
                redefinition.look();
                questions.ask();
                for (Object[] message = link.receive(); message != null && !leaving.isDetached();
                        message = link.receive()) {
                    recording.hear();
                    execute(message);
                    heard = true;
                }
                recording.hear();
                if (heard) {
                    heardAt = System.nanoTime();
                } else if (leaving.hasBegun() && System.nanoTime() - heardAt > AFTER_RESTORE_TIMEOUT_NANOS) {
                    break; // the classes are restored: the client is not needed any more
                }
                if (dir == null && !recording.hasBuffer() && !leaving.hasBegun()
                        && System.nanoTime() - heardAt > NO_MESSAGE_TIMEOUT_NANOS) {
                    sendQuietly(new Object[] {0, "ended", "no message from the client for some seconds"});
                    break;
                }
                if (!leaving.isDetached() && isDismissed(heard)) {
                    if (recording.hasBuffer()) {
                        recording.client().tellDismissed();
                    }
                    sendQuietly(new Object[] {0, "ended", "it was ended by jfluid detach"});
                    break;
                }
                if (recording.isEnabled() && !leaving.hasBegun() && dismissal == null) {
                    checkClient(heard);
                }
                if (!leaving.hasBegun() && recording.isUnheard()) {
                    if (!recording.isEnabled()) {
                        break;
                    }
                    JFluid1Client.abandon(JFluid1Layout.ENDED_SILENT);
                }
                if (redefinition.problem() != null) {
                    sendQuietly(new Object[] {0, "ended", redefinition.problem()});
                    break;
                }
                if (recording.isEnabled() && !leaving.hasBegun() && !JFluid1Session.isEnabled()) {
                    sendQuietly(new Object[] {0, "ended", recording.client().whyEnded()});
                    break;
                }
            }
        } catch (EOFException clientGone) {
            // The client has been killed: the session ends as after a detach.
        } catch (IOException | RuntimeException e) {
            sendQuietly(new Object[] {0, "ended", e.toString()});
        } catch (OutOfMemoryError full) {
            link.sayNoMemory();
        } catch (Error e) {
            sendQuietly(new Object[] {0, "ended", e.toString()});
        } finally {
            try {
                if (leaving != null) {
                    leaving.leave();
                }
            } finally {
                over = true;
                go.countDown();
                Main.forget(this);
                close();
                Dismissal it = dismissal;
                if (it != null) {
                    it.tell();
                }
            }
        }
    }

    private long lookMillis() {
        if (dismissal != null) {
            return Dismissal.CHECK_INTERVAL_MILLIS;
        }
        return recording.isEnabled() ? CLIENT_CHECK_INTERVAL_MILLIS : IDLE_CHECK_INTERVAL_MILLIS;
    }

    /**
     * Ends the session if the client is stopped or has hung for long. Otherwise the probes would stay installed if no application thread
     * waits for the client, since only such a wait would detect the problem. The check has an interval of its own, since the loop runs once
     * per message.
     *
     * @param heard whether the client has just sent a message
     */
    private void checkClient(boolean heard) {
        if (heard) {
            silentLooks = 0;
        }
        long now = System.nanoTime();
        if (!JFluid1Session.isEnabled() || now - lookedAt < CLIENT_CHECK_INTERVAL_MILLIS * 1_000_000L) {
            return;
        }
        lookedAt = now;
        ClientProcess client = recording.client();
        if (client.beats()) {
            silentLooks = 0;
        } else if (client.isStopped()) {
            JFluid1Client.abandon(JFluid1Layout.ENDED_STOPPED);
        } else if (++silentLooks > MAX_SILENT_CHECKS) {
            JFluid1Client.abandon(JFluid1Layout.ENDED_SILENT);
        }
    }

    private void sendQuietly(Object message) {
        try {
            link.send(message);
            for (int i = 0; i < 10 && link.hasUnsent(); i++) {
                link.await(20);
            }
        } catch (IOException | RuntimeException | OutOfMemoryError nobodyListens) {
            // The message is optional; the session ends in any case.
        }
    }

    // ---- commands ----

    private void execute(Object[] message) throws IOException {
        JFluid1Client.heard();
        int id = MessagePack.asInt(message[0]);
        String op = (String) message[1];
        Object reply;
        try {
            if (!WHILE_SWAPPING.contains(op)) {
                redefinition.finish(); // the client waits for the redefinition before it sends such a command
            }
            if (leaving.hasBegun() && !WHILE_LEAVING.contains(op)) {
                throw new IOException("the session has ended");
            }
            reply = topicOf(op).command(op, message);
        } catch (MessagePack.Malformed e) {
            throw e;
        } catch (IOException | RuntimeException | LinkageError e) {
            if (id != 0) {
                link.send(new Object[] {id, false, e.toString()});
            }
            return;
        }
        if (id != 0 && reply != Topic.LATER) {
            link.send(new Object[] {id, true, reply});
        }
        if (leaving.isDetached()) {
            for (int i = 0; i < 50 && link.hasUnsent(); i++) {
                link.await(20);
            }
        }
    }

    /** Creates the topics and registers their commands. */
    private void makeTopics() {
        ClassTable table = new ClassTable(instrumentation);
        RuntimeLink runtime = new RuntimeLink();
        ClassLoading loading = new ClassLoading(link, table, runtime);
        HotSwap hotSwap = new HotSwap(instrumentation, table, runtime, loading);
        loading.begin(hotSwap);
        questions = new Questions(link, table, loading);
        classes = new Classes(table, hotSwap);
        calibration = new Calibration();
        Sampling sampling = new Sampling(runtime, calibration);
        recording = new Recording(instrumentation, link, loading, calibration, sampling, dir == null, go);
        redefinition = new Redefinition(link, hotSwap, calibration, recording);
        Status status =
                new Status(instrumentation, build, link, table, runtime, hotSwap, calibration, recording, sampling);
        Values values = new Values(table);
        TraceIds traceIds = new TraceIds(table);
        Leaving end = new Leaving(hotSwap, loading, sampling, redefinition, recording, calibration);

        table(status, "hello", "status", "stackTraces");
        table(classes, "loadedClasses", "findClasses", "classBytes", "vmLibrary", "mirrorWords", "peek");
        table(redefinition, "extendConstantPool", "redefineMethods", "ready");
        table(loading, "watch", "loadHook");
        table(questions, "reflected");
        table(calibration, "calibrate", "timeRegions");
        table(recording, "configure", "neverWait", "tellSites", "profiler", "names", "allocations", "enable", "go",
                "reclaim");
        table(sampling, "sampling", "sampleInside", "insideSamples", "modes", "modeCounts", "timeOneOf", "slowFrom");
        table(values, "values", "valueStep", "valueCounts");
        table(traceIds, "classesNamed", "traceIds");
        table(end, "restore", "detach");

        // Assigned last: from here on the end of the session must undo changes.
        leaving = end;
        hotSwap.open();
    }

    private void table(Topic topic, String... commands) {
        for (String op : commands) {
            topics.put(op, topic);
        }
    }

    private Topic topicOf(String op) throws IOException {
        Topic topic = topics.get(op);
        if (topic == null) {
            throw Topic.unknown(op);
        }
        return topic;
    }

    // ---- the end ----

    /** Closes the link, which shows the client that the session has ended. Removes files that the client can no longer remove. */
    private void close() {
        for (int tries = 0; tries < CLOSE_TRIES; tries++) {
            try {
                closeQuietly();
                if (dir == null) {
                    return;
                }
                Main.deleteQuietly(dir.resolve("ring"));
                if (leaving == null || !leaving.isDetached()) {
                    Main.deleteQuietly(dir.resolve("link"));
                    Main.deleteQuietly(dir);
                }
                return;
            } catch (OutOfMemoryError full) {
                Pause.nanos(CLOSE_RETRY_DELAY_NANOS);
            }
        }
    }

    private void closeQuietly() {
        try (Link l = link; Calibration c = calibration; Classes m = classes) {
            // All three objects are closed even if one close fails.
        } catch (IOException closed) {
            // Nothing more can be done.
        }
    }
}
