package jfluid.agent;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import jdk.internal.misc.Unsafe;

/**
 * The mapped event buffer of one session, drawn in src/events/ring-layout.ts: who may unmap it, and when.
 * A store into memory that is not mapped any more ends the JVM, so a ring is held from here for as long as
 * it is mapped (the collector would unmap it), and stays mapped while a thread may be on its way through a
 * probe. The next session lets go of those that were kept.
 */
final class Ring {
    /** How long threads get to leave the runtime. */
    private static final long LEAVING_NANOS = 2_000_000_000L;
    /** How long to look whether those of an earlier session have left. */
    private static final long INSIDE_TIMEOUT_NANOS = 20_000_000L;
    /** A probe is never deeper in a stack: a few frames of ours, and those of a wake-up. */
    private static final int DEEPEST_FRAME = 12;
    private static final int TRIES = 20;

    private static final List<Ring> mapped = new ArrayList<>();

    /**
     * Above DEFAULT_MMAP_THRESHOLD_MAX of glibc, 32 MiB: memory of that size is mapped, and given back to the system when it is freed. A
     * smaller one an arena keeps, another one for each session's thread. What is not touched is not there.
     */
    private static final long MAPPED_BYTES = (32L << 20) + (64 << 10);
    private static final Unsafe U = Unsafe.getUnsafe();

    private final long address;
    /** Null where it is the JVM's own memory, which does not count as the application's direct memory. */
    private final MappedByteBuffer mapping;
    /** Of the JVM's own memory. */
    private final long ownBytes;
    private final Reader reader;
    /** Null where the client sees the same memory. */
    private Feeder feeder;
    /** The session's table of threads: which of them are in a slow path. */
    private Object threads;

    private Ring(MappedByteBuffer mapping) {
        this.mapping = mapping;
        address = JFluid1Memory.address(mapping);
        ownBytes = 0;
        reader = new Reader(address, false);
    }

    private Ring(long address, long bytes) {
        mapping = null;
        this.address = address;
        ownBytes = bytes;
        reader = new Reader(address, true);
    }

    Reader reader() {
        return reader;
    }

    static Ring map(Path path, long bytes) throws IOException {
        releaseKept();
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return kept(new Ring(file.map(FileChannel.MapMode.READ_WRITE, 0, bytes)));
        }
    }

    /** One in the JVM's own memory, which is sent to the client at that address. */
    static Ring mirrored(InetSocketAddress client, String token, int chunkBytes, int chunkCount, int chunksAt)
            throws IOException {
        releaseKept();
        Ring ring = kept(own(chunksAt + (long) chunkBytes * chunkCount));
        boolean fed = false;
        try {
            ring.feeder = new Feeder(client, token, ring.address, chunkBytes, chunkCount, chunksAt);
            ring.feeder.start(); // there may be no thread to be had
            fed = true;
            return ring;
        } catch (OutOfMemoryError none) { // of the application's direct memory, say, which it needs a little of
            throw noMemory(ring.ownBytes, none);
        } finally {
            if (!fed) {
                if (ring.feeder != null) {
                    ring.feeder.finish();
                }
                ring.unmap();
            }
        }
    }

    private static Ring own(long bytes) throws IOException {
        long address;
        try {
            address = U.allocateMemory(Math.max(bytes, MAPPED_BYTES));
        } catch (OutOfMemoryError none) {
            throw noMemory(bytes, none);
        }
        U.setMemory(address, bytes, (byte) 0);
        return new Ring(address, bytes);
    }

    private static IOException noMemory(long bytes, OutOfMemoryError none) {
        return new IOException("no memory for an event buffer of " + (bytes >> 20) + " MiB: " + none.getMessage());
    }

    private static Ring kept(Ring ring) {
        synchronized (mapped) {
            mapped.add(ring);
        }
        return ring;
    }

    /** What it takes of the JVM's memory; 0 where it is the client's file. */
    long ownBytes() {
        return feeder == null ? 0 : ownBytes + feeder.ownBytes();
    }

    /** Whether it is sent to a client of which nothing has come for too long. */
    boolean isUnheard() {
        return feeder != null && feeder.isSilent();
    }

    /** @param treesAt 0 where there are no trees */
    void begin(int chunkBytes, int chunkCount, int chunksAt, Runnable wake, boolean counts, long treesAt) {
        threads = JFluid1Session.begin(address, chunkBytes, chunkCount, chunksAt, wake, counts, treesAt);
    }

    /**
     * Ends the use of the ring after {@link JFluid1Session#disable}.
     *
     * @return false if a thread would not leave the runtime, or there was no memory to see that: then the
     *     mapping stays for now
     */
    boolean letGo() {
        for (int tries = 1; tries <= TRIES; tries++) {
            try {
                boolean gone = everybodyLeaves();
                if (feeder != null) {
                    feeder.finish();
                }
                JFluid1Session.end(gone);
                if (gone) {
                    unmap();
                    releaseKept();
                }
                return gone;
            } catch (OutOfMemoryError full) {
                Pause.nanos(100_000_000L);
            }
        }
        JFluid1Session.end(false);
        return false;
    }

    /** Lets go of what earlier sessions had to keep. While nothing is recorded, or nobody is in a probe. */
    private static void releaseKept() {
        synchronized (mapped) {
            // One whose threads are still there keeps the others, too: stacks do not tell them apart.
            if (mapped.isEmpty() || !nobodyInside(mapped, INSIDE_TIMEOUT_NANOS)) {
                return;
            }
            while (!mapped.isEmpty()) {
                mapped.get(0).unmap();
            }
        }
    }

    private void unmap() {
        synchronized (mapped) {
            if (mapped.remove(this)) {
                if (mapping == null) {
                    U.freeMemory(address);
                } else {
                    JFluid1Memory.unmap(mapping);
                }
            }
        }
    }

    /** Whether no thread writes events, and none will. */
    private boolean everybodyLeaves() {
        // A thread that read `enabled` just before may have become active again just after disable():
        // once it is out, nobody can, and the second look is final. The stack of a virtual thread cannot
        // be looked at, so between the two it gets time to take the few steps to its guard.
        if (!nobodyInside(List.of(this), LEAVING_NANOS)) {
            return false;
        }
        JFluid1Session.disable();
        if (JFluid1Threads.sawVirtualThreads()) {
            Pause.nanos(50_000_000L);
        }
        return nobodyInside(List.of(this), LEAVING_NANOS);
    }

    /** Waits until no platform thread's stack shows a probe and no virtual one is in a slow path. */
    private static boolean nobodyInside(List<Ring> rings, long nanos) {
        long until = System.nanoTime() + nanos;
        do {
            boolean inside = false;
            for (Ring ring : rings) {
                inside |= ring.threads != null && JFluid1Threads.anyoneInside(ring.threads);
            }
            Stacks all = Stacks.take();
            for (int t = 0; t < all.threads.length; t++) {
                // One of ours that the session has left behind may yet write; the present one does not.
                boolean isOther = all.threads[t] != Thread.currentThread();
                inside |= isOther && all.traces[t] != null && isInside(all.traces[t]);
            }
            if (!inside) {
                return true;
            }
            Pause.nanos(2_000_000L);
        } while (System.nanoTime() < until);
        return false;
    }

    private static boolean isInside(StackTraceElement[] trace) {
        for (int i = 0; i < trace.length && i < DEEPEST_FRAME; i++) {
            String name = trace[i].getClassName();
            // The Attach Listener's thread in Wake writes no events. It may be waiting for this very session.
            if (name.startsWith("java.lang.JFluid1") && !name.equals("java.lang.JFluid1$Wake")) {
                return true;
            }
        }
        return false;
    }
}
