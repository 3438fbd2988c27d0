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
 * One attach, from connect to detach: the daemon thread of the back end, which has a second one beside it
 * only while a redefinition runs. It executes the client's commands, passes on what the probes and the load hook ask, and guards the target: when the
 * client is gone, is stopped, or says nothing for long, the session ends as if it had detached.
 *
 * The messages are drawn in src/wire/messages.ts.
 */
final class Session extends GuestThread {
    private static final long IDLE_MILLIS = 1000;
    /** So often it is looked whether the client lives. */
    private static final long CLIENT_LOOK_MILLIS = 500;
    /** By looks, not by the clock: time in which the machine sleeps, or the JVM is stopped, does not count. */
    private static final int SILENT_LOOKS = (int) (Reader.SILENT_SECONDS * 1000 / CLIENT_LOOK_MILLIS);
    /** A client that has its answer to "restore" may look at what the JVM has now: so long between two things it says. */
    private static final long LOOKING_NANOS = 10_000_000_000L;
    /**
     * A client elsewhere that has said nothing for so long has gone, before there is a buffer that it would ask for: where the network is
     * away nobody tells, and nobody else may attach as long as we wait.
     */
    private static final long NO_MESSAGE_TIMEOUT_NANOS = 10_000_000_000L;
    /** Where the heap is full. */
    private static final int CLOSE_TRIES = 20;
    private static final long CLOSE_NANOS = 100_000_000L;
    /**
     * What may be done while a redefinition runs. Class bytes: of others, else the JVM lets us wait. Answers to a load hook come behind
     * names and frames, and the redefinition may wait for that hook.
     */
    private static final Set<String> WHILE_SWAPPING =
            Set.of("loadHook", "reflected", "names", "classBytes", "reclaim", "restore", "detach");
    /** What may still be asked once nothing is recorded any more. */
    private static final Set<String> WHILE_LEAVING = Set.of("restore", "detach", "status", "loadedClasses", "vmLibrary",
            "mirrorWords", "peek", "loadHook", "reflected", "names");

    /** Null where the client is elsewhere, and nothing is shared with it. */
    private final Path dir;
    private final String build;
    /** Holds back main() in a JVM that was started under jfluid. */
    private final CountDownLatch go = new CountDownLatch(1);
    private final Instrumentation instrumentation = (Instrumentation) JFluid1.Setup.instrumentation;
    private Link link;
    /** By command. */
    private final Map<String, Topic> topics = new HashMap<>();
    // What the loop itself needs of them. Null until the thread runs, and its own but for two.
    private Questions questions;
    private Classes classes;
    private Calibration calibration;
    private Redefinition redefinition;
    /** Other threads ask whether it has a buffer. */
    private volatile Recording recording;
    /** Other threads ask whether it has begun, and what it has answered. */
    private volatile Leaving leaving;
    private volatile boolean over;
    private volatile Dismissal dismissal;
    private long lookedAt = System.nanoTime();
    /** So many looks in a row have found neither a word of the client nor a beat of its heart. */
    private int silentLooks;

    Session(Path dir, String build, String token) throws IOException {
        super("jfluid-agent");
        this.dir = dir;
        this.build = build;
        try {
            link = new Link(dir.resolve("link"), token);
        } catch (ConnectException nobodyListens) {
            // The client was killed between its command and now: what it left on disk is ours to remove.
            Main.deleteQuietly(dir.resolve("link"));
            Main.deleteQuietly(dir.resolve("token"));
            Main.deleteQuietly(dir.resolve("jfluid-agent.jar"));
            Main.deleteQuietly(dir);
            throw nobodyListens;
        }
    }

    /** With a client that is elsewhere. */
    Session(InetSocketAddress client, String build, String token) throws IOException {
        super("jfluid-agent");
        this.dir = null;
        this.build = build;
        link = new Link(client, token);
    }

    boolean isOver() {
        return over;
    }

    /** @param names of directories of sessions, between commas; empty: any */
    boolean isOneOf(String names) {
        Recording it = recording;
        // As long as it has no buffer nobody could know its name.
        return names.isEmpty() || it == null || !it.hasBuffer()
                || dir != null && Arrays.asList(names.split(",")).contains(dir.getFileName().toString());
    }

    /** On another thread. @return as {@link Main} says it */
    String dismiss(Dismissal wanted, long millis) throws InterruptedException {
        long until = System.nanoTime() + millis * 1_000_000L;
        dismissal = wanted;
        link.wakeup();
        while (isAlive() && System.nanoTime() < until && !wanted.awaitKnown()) {
            // It may have ended just before it was told.
        }
        int living = wanted.living();
        if (living != 0) {
            return "alive " + living;
        }
        Leaving it = leaving;
        Object[] said = it == null ? null : it.answer();
        return over && said != null
                ? "ended " + said[0] + " " + said[1] + " " + said[2] + " " + said[3] + " " + said[5] + " " + said[6]
                : over ? "none"
                       : "leaving";
    }

    /**
     * Whether somebody has dismissed the session, and may.
     *
     * @param heard whether the client has just said something
     */
    private boolean isDismissed(boolean heard) {
        Dismissal it = dismissal;
        if (it == null) {
            return false;
        }
        boolean isDue = it.isDue(recording.reader(), heard);
        if (it.isRefuted()) {
            dismissal = null; // first: who is told may want it once more
            it.tell();
        }
        return isDue;
    }

    /** Whether the classes are being given their code: it will be over soon, by itself. */
    boolean isLeaving() {
        Leaving it = leaving;
        return it != null && it.hasBegun();
    }

    /** For one whose thread could not be started: the next attach finds nothing of it. */
    void abandon() {
        over = true;
        go.countDown();
        Main.forget(this);
        closeQuietly();
    }

    /** @return false if the time was over first */
    boolean awaitGo(long time, TimeUnit unit) throws InterruptedException {
        return go.await(time, unit);
    }

    @Override
    public void run() {
        try {
            Pause.prepare();
            Patient.prepare();
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
                } else if (leaving.hasBegun() && System.nanoTime() - heardAt > LOOKING_NANOS) {
                    break; // the methods have their own code: the client is not needed for the rest
                }
                if (dir == null && !recording.hasBuffer() && !leaving.hasBegun()
                        && System.nanoTime() - heardAt > NO_MESSAGE_TIMEOUT_NANOS) {
                    sendQuietly(new Object[] {0, "ended", "nothing came from the client for some seconds"});
                    break;
                }
                if (!leaving.isDetached() && isDismissed(heard)) {
                    if (recording.hasBuffer()) {
                        recording.reader().tellDismissed();
                    }
                    sendQuietly(new Object[] {0, "ended", "somebody has ended it by jfluid detach"});
                    break;
                }
                if (recording.isEnabled() && !leaving.hasBegun() && dismissal == null) {
                    lookAtClient(heard);
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
                    sendQuietly(new Object[] {0, "ended", recording.reader().whyEnded()});
                    break;
                }
            }
        } catch (EOFException clientGone) {
            // The usual end of a client that was killed: leave as if it had detached.
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
            return Dismissal.LOOK_MILLIS;
        }
        return recording.isEnabled() ? CLIENT_LOOK_MILLIS : IDLE_MILLIS;
    }

    /**
     * Ends the session of a client that is stopped, or has hung for long: nothing of the target may have to wait for it, and its
     * probes would stay as long as nothing has. Looks now and then only, as the loop turns with each message.
     *
     * @param heard whether the client has just said something
     */
    private void lookAtClient(boolean heard) {
        if (heard) {
            silentLooks = 0;
        }
        long now = System.nanoTime();
        if (!JFluid1Session.isEnabled() || now - lookedAt < CLIENT_LOOK_MILLIS * 1_000_000L) {
            return;
        }
        lookedAt = now;
        Reader reader = recording.reader();
        if (reader.beats()) {
            silentLooks = 0;
        } else if (reader.isStopped()) {
            JFluid1Client.abandon(JFluid1Layout.ENDED_STOPPED);
        } else if (++silentLooks > SILENT_LOOKS) {
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
            // The message is a courtesy; leaving is what matters.
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
                redefinition.finish(); // the client knows to wait before it asks
            }
            if (leaving.hasBegun() && !WHILE_LEAVING.contains(op)) {
                throw new IOException("the session is over");
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

    /** What the client can ask for, and whose it is. */
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
        Leaving end = new Leaving(hotSwap, loading, sampling, redefinition, recording, calibration);

        table(status, "hello", "status", "stackTraces");
        table(classes, "loadedClasses", "findClasses", "classBytes", "vmLibrary", "mirrorWords", "peek");
        table(redefinition, "extendConstantPool", "redefineMethods", "ready");
        table(loading, "watch", "loadHook");
        table(questions, "reflected");
        table(calibration, "calibrate", "timeRegions");
        table(recording, "configure", "neverWait", "tellSites", "profiler", "names", "allocations", "enable", "go",
                "reclaim");
        table(sampling, "sampling", "sampleInside", "insideSamples", "modes", "modeCounts", "timeOneOf");
        table(end, "restore", "detach");

        // Last: from here on there is something to be undone.
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

    /** Closes the link: only now the client sees us gone. What it cannot remove itself any more, we do. */
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
                Pause.nanos(CLOSE_NANOS);
            }
        }
    }

    private void closeQuietly() {
        try (Link l = link; Calibration c = calibration; Classes m = classes) {
            // All three, whatever becomes of the others.
        } catch (IOException closed) {
            // Nothing is left to be done with either.
        }
    }
}
