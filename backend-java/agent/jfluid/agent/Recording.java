package jfluid.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

/** Commands of recording: "configure", "enable", "go". Owns the buffer. */
final class Recording extends Topic {
    private final Instrumentation instrumentation;
    private final Link link;
    private final ClassLoading loading;
    private final Calibration calibration;
    private final Sampling sampling;
    /** Whether the client is on another machine, so that no memory is shared. */
    private final boolean elsewhere;
    /** Latch that delays main() in a JVM started by jfluid. */
    private final CountDownLatch go;
    /** The event buffer. Read by all threads. */
    private volatile Ring ring;
    private boolean enabled;
    /** The user's profiler, or null. */
    private Profiling profiling;
    /** Null unless the session counts allocations. */
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
                        (Boolean) m[9], (Boolean) m[10], (Boolean) m[11], (Boolean) m[12]);
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
                ring.client().meet();
                JFluid1Session.enable();
                enabled = true;
                return null;
            case "go":
                sampling.begin(); // called first, since it creates a thread, which may fail
                JFluid1Session.open();
                go.countDown();
                return null;
            case "reclaim": return JFluid1Ring.reclaim();
            default: throw unknown(op);
        }
    }

    private Object configure(String path, int chunkBytes, int chunkCount, int chunksAt, String perfPath,
            long safepointAt, Object[] follow, boolean counts, boolean waits, boolean trees, boolean started)
            throws IOException {
        long chunksEnd = chunksAt + (long) chunkBytes * chunkCount;
        ring = elsewhere ? Ring.mirrored(Main.peer(path), Main.option(path, "token"), chunkBytes, chunkCount, chunksAt)
                         : Ring.map(Path.of(path), trees ? chunksEnd + JFluid1Trees.BYTES : chunksEnd);
        calibration.openPauses(perfPath, safepointAt);
        ring.begin(chunkBytes, chunkCount, chunksAt, link.waker, counts, trees ? chunksEnd : 0);
        if (started) {
            JFluid1Client.waitLonger();
        }
        if (follow.length > 0) {
            follow(follow);
        }
        if (waits) {
            JFluid1Waits.tellWaits();
        }
        Object[] pairs = calibration.firstPairs();
        return new Object[] {pairs[0], pairs[1], calibration.knowsPauses()};
    }

    /** Loads the JDK classes that submit and run tasks, so that they can have probes. */
    private static void follow(Object[] classNames) {
        for (Object name : classNames) {
            try {
                Class.forName((String) name, false, null);
            } catch (ClassNotFoundException otherJdk) {
                // The client lists names of several JDK releases; a missing class is expected.
            }
        }
        JFluid1Tasks.follow();
    }

    /** Returns whether the buffer exists. Thread-safe. */
    boolean hasBuffer() {
        return ring != null;
    }

    /** Returns the client; null before the buffer exists. */
    ClientProcess client() {
        Ring it = ring;
        return it == null ? null : it.client();
    }

    /** Returns whether "enable" was executed, so that threads may wait for the client. */
    boolean isEnabled() {
        return enabled;
    }

    /** Returns whether the client is on another machine and has timed out. */
    boolean isUnheard() {
        return ring != null && ring.isUnheard();
    }

    /** Checks the client if a waiting application thread has requested it. */
    void hear() {
        if (ring != null && JFluid1Client.isCheckRequested() && JFluid1Session.isEnabled()) {
            ring.client().checkAlive();
        }
    }

    /** Releases the buffer after the end of recording. @return result of {@link Ring#letGo}; true without a buffer */
    boolean letGo() {
        boolean released = ring == null || ring.letGo();
        ring = null;
        return released;
    }

    /**
     * @param released result of {@link #letGo}
     * @return exception of the user's profiler, or null
     */
    String endProfiler(boolean released) {
        if (profiling == null) {
            return null;
        }
        profiling.end(released);
        return profiling.failure();
    }

    /** Returns {@link Allocations#open}: bytes allocated by threads inside root calls; or null. */
    Object openAllocations() {
        return allocations == null ? null : allocations.open();
    }

    /** Returns the size of the buffer, bytes, if it is in the JVM's own memory; otherwise 0. */
    long ownBytes() {
        return ring == null ? 0 : ring.ownBytes();
    }
}
