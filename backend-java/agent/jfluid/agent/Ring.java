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
 * The mapped event buffer of one session (src/events/ring-layout.ts), and its unmapping. A store to unmapped memory crashes the JVM. So
 * a ring is strongly referenced while it is mapped (the garbage collector would unmap it), and stays mapped while any thread may be in a
 * probe. The next session releases rings that were kept.
 */
final class Ring {
    /** Timeout for threads to leave the runtime. */
    private static final long LEAVING_TIMEOUT_NANOS = 2_000_000_000L;
    /** Timeout for threads of earlier sessions to leave the runtime. */
    private static final long INSIDE_TIMEOUT_NANOS = 20_000_000L;
    /** Maximum depth of a probe's frame from the top of the stack: a few runtime frames and the frames of a wake-up. */
    private static final int DEEPEST_FRAME = 12;
    private static final int TRIES = 20;

    private static final List<Ring> mapped = new ArrayList<>();

    /**
     * Size of an allocation that glibc maps and unmaps: above its DEFAULT_MMAP_THRESHOLD_MAX of 32 MiB. A smaller allocation would stay in
     * an arena after its release, one arena per session's thread. Untouched pages use no memory.
     */
    private static final long MAPPED_BYTES = (32L << 20) + (64 << 10);
    private static final Unsafe U = Unsafe.getUnsafe();

    private final long address;
    /** The client's file; null if the buffer is native memory, which does not count as the application's direct memory. */
    private final MappedByteBuffer mapping;
    /** Size of native memory, bytes. */
    private final long ownBytes;
    private final ClientProcess client;
    /** Sends the buffer to a client on another machine; otherwise null. */
    private Feeder feeder;
    /** The session's table of threads. */
    private Object threads;

    private Ring(MappedByteBuffer mapping) {
        this.mapping = mapping;
        address = JFluid1Memory.address(mapping);
        ownBytes = 0;
        client = new ClientProcess(address, false);
    }

    private Ring(long address, long bytes) {
        mapping = null;
        this.address = address;
        ownBytes = bytes;
        client = new ClientProcess(address, true);
    }

    ClientProcess client() {
        return client;
    }

    static Ring map(Path path, long bytes) throws IOException {
        releaseKept();
        try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return kept(new Ring(file.map(FileChannel.MapMode.READ_WRITE, 0, bytes)));
        }
    }

    /** Creates a ring in native memory and sends its contents to the client at address `client`. */
    static Ring mirrored(InetSocketAddress client, String token, int chunkBytes, int chunkCount, int chunksAt)
            throws IOException {
        releaseKept();
        Ring ring = kept(own(chunksAt + (long) chunkBytes * chunkCount));
        boolean fed = false;
        try {
            ring.feeder = new Feeder(client, token, ring.address, chunkBytes, chunkCount, chunksAt);
            ring.feeder.start(); // fails if no thread can be created
            fed = true;
            return ring;
        } catch (OutOfMemoryError none) { // for example, no direct memory is free; the feeder needs a little
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

    /** Returns the native memory of the ring, bytes; 0 if it is the client's file. */
    long ownBytes() {
        return feeder == null ? 0 : ownBytes + feeder.ownBytes();
    }

    /** Returns whether the client is on another machine and has timed out. */
    boolean isUnheard() {
        return feeder != null && feeder.isSilent();
    }

    /** @param treesAt address of the trees; 0 for none */
    void begin(int chunkBytes, int chunkCount, int chunksAt, Runnable wake, boolean counts, long treesAt) {
        threads = JFluid1Session.begin(address, chunkBytes, chunkCount, chunksAt, wake, counts, treesAt);
    }

    /**
     * Ends the use of the ring after {@link JFluid1Session#disable}.
     *
     * @return false if a thread did not leave the runtime, or if memory was too short to check this: the ring then stays mapped
     *     for now
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

    /** Releases rings kept by earlier sessions. Called while no session records, or while no thread is in a probe. */
    private static void releaseKept() {
        synchronized (mapped) {
            // While any thread is in a probe, all rings are kept, since stacks do not show which ring a thread uses.
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

    /** Returns whether no thread writes events, now or later. */
    private boolean everybodyLeaves() {
        // A thread that read `enabled` before disable() may become active after disable(). Once no thread is in a probe, no thread can
        // become active, so the second check is final. The stack of a virtual thread cannot be dumped; in the time between the two checks
        // such a thread reaches the point where it sets its guard.
        if (!nobodyInside(List.of(this), LEAVING_TIMEOUT_NANOS)) {
            return false;
        }
        JFluid1Session.disable();
        if (JFluid1Threads.sawVirtualThreads()) {
            Pause.nanos(50_000_000L);
        }
        return nobodyInside(List.of(this), LEAVING_TIMEOUT_NANOS);
    }

    /** Waits until no stack of a platform thread contains a probe and no virtual thread is in a slow path. */
    private static boolean nobodyInside(List<Ring> rings, long nanos) {
        long until = System.nanoTime() + nanos;
        do {
            boolean inside = false;
            for (Ring ring : rings) {
                inside |= ring.threads != null && JFluid1Threads.anyoneInside(ring.threads);
            }
            Stacks all = Stacks.take();
            for (int t = 0; t < all.threads.length; t++) {
                // An abandoned agent thread may still write; the current thread does not.
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
            // The Attach Listener in Wake writes no events. It may be waiting for this session.
            if (name.startsWith("java.lang.JFluid1") && !name.equals("java.lang.JFluid1$Wake")) {
                return true;
            }
        }
        return false;
    }
}
