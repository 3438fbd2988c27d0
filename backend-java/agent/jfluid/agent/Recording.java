package jfluid.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** What is recorded, and into which buffer: from "configure" by way of "enable" to "go". */
final class Recording extends Topic {
    private final Instrumentation instrumentation;
    private final Link link;
    private final ClassLoading loading;
    private final Calibration calibration;
    private final Sampling sampling;
    /** The client is, and nothing is shared with it. */
    private final boolean elsewhere;
    /** Holds back main() in a JVM that was started under jfluid. */
    private final CountDownLatch go;
    /** Whether there is one is for any thread to ask. */
    private volatile Ring ring;
    private boolean enabled;
    /** Of the user's; null mostly. */
    private Profiling profiling;
    /** Null but where allocations are counted. */
    private Allocations allocations;

    Recording(Instrumentation instrumentation, Link link, ClassLoading loading, Calibration calibration,
            Sampling sampling, boolean elsewhere, CountDownLatch go) {
        this.instrumentation = instrumentation;
        this.link = link;
        this.loading = loading;
        this.calibration = calibration;
        this.sampling = sampling;
        this.elsewhere = elsewhere;
        this.go = go;
    }

    @Override
    Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "configure":
                return configure((String) m[2], MessagePack.asInt(m[3]), MessagePack.asInt(m[4]),
                        MessagePack.asInt(m[5]), (String) m[6], MessagePack.asLong(m[7]), (Object[]) m[8],
                        (Boolean) m[9], (Boolean) m[10], (Boolean) m[11]);
            case "neverWait":
                JFluid1Ring.neverWait();
                loading.hearChanges();
                return null;
            case "tellSites": JFluid1Sites.tellSites(); return null;
            case "profiler":
                profiling = new Profiling(Path.of((String) m[2]));
                profiling.endWithJvm();
                JFluid1Contexts.reportTo(profiling);
                return null;
            case "names":
                for (Object row : (Object[]) m[2]) {
                    Object[] name = (Object[]) row;
                    profiling.name(MessagePack.asInt(name[0]), (String) name[1], (String) name[2], (String) name[3]);
                }
                return null;
            case "allocations":
                allocations = new Allocations(instrumentation);
                JFluid1Allocations.allocations(
                        allocations, allocations.alignment(), MessagePack.asInt(m[2]), (Boolean) m[3]);
                return null;
            case "enable":
                if (ring == null) {
                    throw new IOException("there is no buffer to record into");
                }
                ring.reader().meet();
                JFluid1Session.enable();
                enabled = true;
                return null;
            case "go":
                sampling.begin(); // first: there may be no thread to be had
                JFluid1Session.open();
                go.countDown();
                return null;
            case "reclaim": return JFluid1Ring.reclaim();
            default: throw unknown(op);
        }
    }

    private Object configure(String path, int chunkBytes, int chunkCount, int chunksAt, String perfPath,
            long safepointAt, Object[] follow, boolean counts, boolean waits, boolean trees) throws IOException {
        long chunksEnd = chunksAt + (long) chunkBytes * chunkCount;
        ring = elsewhere ? Ring.mirrored(Main.peer(path), Main.option(path, "token"), chunkBytes, chunkCount, chunksAt)
                         : Ring.map(Path.of(path), trees ? chunksEnd + JFluid1Trees.BYTES : chunksEnd);
        calibration.openPauses(perfPath, safepointAt);
        ring.begin(chunkBytes, chunkCount, chunksAt, link.waker, counts, trees ? chunksEnd : 0);
        if (follow.length > 0) {
            follow(follow);
        }
        if (waits) {
            JFluid1Waits.tellWaits();
        }
        Object[] pairs = calibration.firstPairs();
        return new Object[] {pairs[0], pairs[1], calibration.knowsPauses()};
    }

    /** Makes sure that the JDK's classes where work changes hands are loaded, so that they can have probes. */
    private static void follow(Object[] classNames) {
        for (Object name : classNames) {
            try {
                Class.forName((String) name, false, null);
            } catch (ClassNotFoundException otherJdk) {
                // The client knows the names of several JDKs, and does without.
            }
        }
        JFluid1Tasks.follow();
    }

    /** On any thread. */
    boolean hasBuffer() {
        return ring != null;
    }

    /** The client's, as far as the buffer shows it; null if there is none. */
    Reader reader() {
        Ring it = ring;
        return it == null ? null : it.reader();
    }

    /** From "enable" on: who waits for the client may. */
    boolean isEnabled() {
        return enabled;
    }

    /** Whether the buffer is sent to a client of which nothing has come for too long. */
    boolean isUnheard() {
        return ring != null && ring.isUnheard();
    }

    /** A thread of the target that waits for the client wonders whether it lives. */
    void hear() {
        if (ring != null && JFluid1Client.isCheckRequested() && JFluid1Session.isEnabled()) {
            ring.reader().listen();
        }
    }

    /** Lets go of the buffer, once nothing is recorded any more. @return as {@link Ring#letGo}; true if there was none */
    boolean letGo() {
        boolean released = ring == null || ring.letGo();
        ring = null;
        return released;
    }

    /**
     * @param released what {@link #letGo} has said
     * @return what a profiler of the user's has thrown, or null
     */
    String endProfiler(boolean released) {
        if (profiling == null) {
            return null;
        }
        profiling.end(released);
        return profiling.failure();
    }

    /** What threads inside roots have allocated so far: {@link Allocations#open}, or null. */
    Object openAllocations() {
        return allocations == null ? null : allocations.open();
    }

    /** Of the buffer, where it is the JVM's own memory. */
    long ownBytes() {
        return ring == null ? 0 : ring.ownBytes();
    }
}
