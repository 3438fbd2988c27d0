package jfluid.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;

/** Commands that report on the JVM and on the session, once and periodically, and thread dumps. */
final class Status extends Topic {
    private final Instrumentation instrumentation;
    private final String build;
    private final Link link;
    private final ClassTable classes;
    private final RuntimeLink runtime;
    private final HotSwap hotSwap;
    private final Calibration calibration;
    private final Recording recording;
    private final Sampling sampling;

    Status(Instrumentation instrumentation, String build, Link link, ClassTable classes, RuntimeLink runtime,
            HotSwap hotSwap, Calibration calibration, Recording recording, Sampling sampling) {
        this.instrumentation = instrumentation;
        this.build = build;
        this.link = link;
        this.classes = classes;
        this.runtime = runtime;
        this.hotSwap = hotSwap;
        this.calibration = calibration;
        this.recording = recording;
        this.sampling = sampling;
    }

    @Override
    Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "hello": return hello();
            case "status": return status();
            case "stackTraces": return Stacks.rows(MessagePack.asInt(m[2]));
            default: throw unknown(op);
        }
    }

    private Object hello() {
        calibration.greet();
        return new Object[] {
            build,
            JFluid1Session.clockName(),
            Runtime.version().feature(),
            System.getProperty("java.runtime.version"),
            System.getProperty("java.vm.name"),
            System.getProperty("sun.java.command", ""),
            ProcessHandle.current().pid(),
            ClassTable.loaded(instrumentation).length,
            Main.atStart || HotSwap.hasRedefined,
        };
    }

    private Object status() {
        JFluid1Session.purge();
        List<Object> threads = new ArrayList<>();
        for (JFluid1Threads.ThreadInfo ti = JFluid1Threads.takeThreads(); ti != null;) {
            threads.add(new Object[] {ti.number, ti.tid, ti.name, ti.virtual});
            // Unlinked after the report, so that the record of a live thread does not refer to records of ended threads.
            JFluid1Threads.ThreadInfo next = ti.untold;
            ti.untold = null;
            ti = next;
        }
        hotSwap.dropGone();
        runtime.dropGone();
        Runtime heap = Runtime.getRuntime();
        return new Object[] {Calibration.clockPair(), threads, JFluid1Session.gaps(),
            heap.totalMemory() - heap.freeMemory(), classes.takeGone(), held(), recording.openAllocations(),
            survivors(), classes.takeNewLoaders()};
    }

    /**
     * Returns {@code [collections, untracked objects, [token, born, bytes] of each new object, tokens of dead objects]}, numbers as eight
     * bytes.
     */
    private static Object survivors() {
        Object[] seen = JFluid1Survivors.look();
        return seen == null ? null
                            : new Object[] {seen[0], seen[1], MessagePack.packed((long[]) seen[2]),
                                  MessagePack.packed((long[]) seen[3])};
    }

    /** Returns an estimate of {@code [heap bytes, native bytes]} used by this session. */
    private Object held() {
        long[] targets = hotSwap.bytes();
        return new Object[] {
            JFluid1Session.heapBytes() + classes.heapBytes() + targets[0] + link.heapBytes() + sampling.heapBytes(),
            targets[1] + recording.ownBytes()};
    }
}
