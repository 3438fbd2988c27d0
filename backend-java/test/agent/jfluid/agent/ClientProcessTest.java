package jfluid.agent;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import jdk.internal.misc.Unsafe;

/** State of the client's thread in /proc. In this test, the client's thread is a thread of this JVM with a name that is hard to parse. */
final class ClientProcessTest {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int START_FIELD = 22;

    /** A thread that waits or computes until it is released. */
    private static final class Client implements AutoCloseable {
        final long ring = U.allocateMemory(JFluid1Layout.RING_STATES);
        private final CountDownLatch ready = new CountDownLatch(1);
        private volatile boolean works;
        private volatile boolean over;
        private volatile Path self;
        private final Thread thread = new Thread("x) R 1 (Z) ") {
            @Override
            public void run() {
                Thread.currentThread().setName(getName()); // sets the name in the operating system
                try {
                    self = Path.of("/proc").resolve(Files.readSymbolicLink(Path.of("/proc/thread-self")));
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
                ready.countDown();
                while (!over) {
                    if (!works) {
                        java.util.concurrent.locks.LockSupport.parkNanos(1_000_000_000L);
                    }
                }
            }
        };

        Client() throws IOException, InterruptedException {
            thread.start();
            ready.await();
            String stat = Files.readString(self.resolve("stat"));
            that(stat.contains("(x) R 1 (Z) )"), stat);
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            U.setMemory(ring, JFluid1Layout.RING_STATES, (byte) 0);
            U.putInt(ring + JFluid1Layout.RING_READER_PROCESS, Integer.parseInt(self.getName(1).toString()));
            U.putInt(ring + JFluid1Layout.RING_READER_THREAD, Integer.parseInt(self.getFileName().toString()));
            U.putInt(ring + JFluid1Layout.RING_READER_SINCE, Integer.parseInt(fields[START_FIELD - 3]));
        }

        /** Returns whether the condition becomes true within a few seconds. */
        static boolean becomes(java.util.function.BooleanSupplier what) {
            long until = System.nanoTime() + 10_000_000_000L;
            do {
                if (what.getAsBoolean()) {
                    return true;
                }
                Thread.onSpinWait();
            } while (System.nanoTime() < until);
            return false;
        }

        void work(boolean on) {
            works = on;
            java.util.concurrent.locks.LockSupport.unpark(thread);
        }

        @Override
        public void close() throws InterruptedException {
            over = true;
            work(false);
            thread.join();
            U.freeMemory(ring);
        }
    }

    static void aRunningThreadWantsAProcessorAndAParkedOneDoesNot() throws Exception {
        try (Client client = new Client()) {
            ClientProcess process = new ClientProcess(client.ring, false);
            that(Client.becomes(() -> !process.wantsProcessor()), "it waits");
            client.work(true);
            that(Client.becomes(process::wantsProcessor), "it works");
        }
    }

    static void aReusedThreadIdIsNotTheClient() throws Exception {
        try (Client client = new Client()) {
            client.work(true);
            ClientProcess process = new ClientProcess(client.ring, false);
            that(Client.becomes(process::wantsProcessor), "it works");
            U.putInt(client.ring + JFluid1Layout.RING_READER_SINCE, 1);
            that(!process.wantsProcessor(), "it has begun at another time");
            that(!process.isStopped(), "of another nothing is known");
        }
    }

    static void aHeartbeatIsSeenOnce() throws Exception {
        try (Client client = new Client()) {
            ClientProcess process = new ClientProcess(client.ring, false);
            U.putInt(client.ring + JFluid1Layout.RING_HEARTBEAT, 5);
            equal(5, process.beat());
            that(process.beats(), "the first look");
            that(!process.beats(), "it has not moved since");
            that(!process.isStopped(), "it only waits");
        }
    }

    static void theReasonOfAnEndIsInTheRing() throws Exception {
        try (Client client = new Client()) {
            ClientProcess process = new ClientProcess(client.ring, false);
            U.putInt(client.ring + JFluid1Layout.RING_ENDED, JFluid1Layout.ENDED_STOPPED);
            equal("the client was stopped or killed", process.whyEnded());
            U.putInt(client.ring + JFluid1Layout.RING_ENDED, JFluid1Layout.ENDED_SILENT);
            equal("the client did not answer for 10 s", process.whyEnded());
            equal("no message from the client for some seconds", new ClientProcess(client.ring, true).whyEnded());
            process.tellDismissed();
            equal(JFluid1Layout.ENDED_DISMISSED, U.getInt(client.ring + JFluid1Layout.RING_ENDED));
        }
    }
}
