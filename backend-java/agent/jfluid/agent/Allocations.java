package jfluid.agent;

import java.lang.instrument.Instrumentation;

/**
 * Object sizes and per-thread allocated bytes as reported by the JVM. Allocated bytes are available only if the target has the module
 * jdk.management.
 */
final class Allocations extends JFluid1Allocations.Gauge {
    private final Instrumentation instrumentation;
    private final Meter meter;
    /** Garbage collector beans; empty if the target does not have the module java.management. */
    private final Object[] collectors;

    Allocations(Instrumentation instrumentation) {
        this.instrumentation = instrumentation;
        Meter found = null;
        try {
            found = new Meter();
            if (found.allocated() < 0) {
                found = null; // counting is switched off (setThreadAllocatedMemoryEnabled)
            }
        } catch (LinkageError | RuntimeException notThere) {
            found = null; // the module is missing, or the JVM does not count
        }
        meter = found;
        collectors = collectors();
        collections();
        sizeOf(this); // links the method before an application thread uses it
    }

    @Override
    public long sizeOf(Object o) {
        return instrumentation.getObjectSize(o);
    }

    @Override
    public long allocated() {
        return meter == null ? -1 : meter.allocated();
    }

    @Override
    public int collections() {
        long all = 0;
        for (int i = 0; i < collectors.length; i++) {
            all += ((java.lang.management.GarbageCollectorMXBean) collectors[i]).getCollectionCount();
        }
        return (int) all;
    }

    /**
     * Returns the beans that count collections. Leaves out the further beans of ZGC and Shenandoah, which count pauses, several per
     * collection.
     */
    private static Object[] collectors() {
        try {
            java.util.List<Object> found = new java.util.ArrayList<>();
            for (java.lang.management.GarbageCollectorMXBean it :
                    java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()) {
                if (!it.getName().endsWith("Pauses")) {
                    found.add(it);
                }
            }
            return found.toArray();
        } catch (LinkageError | RuntimeException notThere) {
            return new Object[0];
        }
    }

    /**
     * Returns [thread number, number of ALLOCATED words written, bytes allocated since the begin of the root call] for each thread inside a
     * root call; null if the JVM does not count allocated bytes.
     */
    Object open() {
        if (meter == null || meter.allocated() < 0) {
            return null; // the JVM does not count, or has stopped counting
        }
        long[] inside = JFluid1Allocations.allocatedBefore();
        Object[] rows = new Object[inside.length / 4];
        for (int i = 0; i < rows.length; i++) {
            int at = i * 4;
            long now = meter.allocated(inside[at]);
            rows[i] = new Object[] {inside[at + 1], inside[at + 2], Math.max(0, now - inside[at + 3])};
        }
        return rows;
    }

    /** Returns the object alignment: the difference between two consecutive object sizes, a power of two from 8 to 256. */
    int alignment() {
        long first = sizeOf(new byte[0]);
        for (int length = 1; length < 1024; length++) {
            long size = sizeOf(new byte[length]);
            if (size > first && first > sizeOf(new byte[0])) {
                return (int) (size - first);
            }
            first = size;
        }
        return 8;
    }

    /** A separate class, since its types may be missing in the target. */
    private static final class Meter {
        private final com.sun.management.ThreadMXBean threads =
                (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();

        long allocated() {
            return threads.getCurrentThreadAllocatedBytes();
        }

        long allocated(long thread) {
            return threads.getThreadAllocatedBytes(thread);
        }
    }
}
