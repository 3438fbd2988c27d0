package jfluid.agent;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import jdk.internal.misc.Unsafe;

/** The sampler counts samples that exceed its limits, and drops threads that have ended. */
final class InsideSamplerTest {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int CHUNKS = 256;
    private static final int CHUNK_BYTES = 256;
    private static final int CHUNKS_AT = JFluid1Layout.RING_STATES + 4096;
    private static final int THREADS = 100;
    private static final int ROOT = 1;
    /** Indices in the result of {@link InsideSampler#takeAll}. */
    private static final int NEW_FRAMES = 0;
    private static final int NEW_STACKS = 1;
    private static final int SAMPLES = 2;
    private static final int TAKEN = 4;
    private static final int DROPPED = 6;
    private static final int STACK_BYTES = 8;
    private static final int SAMPLE_BYTES = 36;

    /** A session with a sampler whose thread is not started. */
    private static final class Session implements AutoCloseable {
        private final long ring = U.allocateMemory(CHUNKS_AT + CHUNKS * CHUNK_BYTES);
        final InsideSampler sampler = new InsideSampler(new String[] {"p.C", "root"});
        private final JFluid1Threads.ThreadInfo self;

        Session() {
            U.setMemory(ring, CHUNKS_AT + CHUNKS * CHUNK_BYTES, (byte) 0);
            JFluid1Session.begin(ring, CHUNK_BYTES, CHUNKS, CHUNKS_AT, () -> {}, true, 0);
            JFluid1Session.methods(ROOT);
            JFluid1Session.ready(ROOT);
            JFluid1Session.enable();
            JFluid1Session.open();
            JFluid1Inside.begin();
            JFluid1.countRootEntry(ROOT);
            sampler.lookRound();
            self = sampler.threads.get(0);
        }

        /** Simulates a stack below the root, outermost method first. */
        void take(String... methods) {
            StackTraceElement[] trace = new StackTraceElement[methods.length + 1];
            trace[methods.length] = new StackTraceElement("p.C", "root", null, -1);
            for (int i = 0; i < methods.length; i++) {
                trace[methods.length - 1 - i] = new StackTraceElement("p.C", methods[i], null, -1);
            }
            sampler.take(self, trace, 0, 0, 1);
        }

        Object[] all() {
            return (Object[]) sampler.takeAll(-1, 0);
        }

        @Override
        public void close() {
            JFluid1.countRootExit(0, ROOT);
            JFluid1Inside.end();
            JFluid1Session.disable();
            JFluid1Session.end(true);
            U.freeMemory(ring);
        }
    }

    static void samplesBeyondThoseThatAreKeptAreCountedAndThereIsRoomAgain() {
        try (Session session = new Session()) {
            for (int i = 0; i < InsideSampler.MAX_SAMPLES + 5; i++) {
                session.take("work");
            }
            Object[] all = session.all();
            equal((long) InsideSampler.MAX_SAMPLES, all[TAKEN]);
            equal(5L, all[DROPPED]);
            equal(InsideSampler.MAX_SAMPLES * SAMPLE_BYTES, ((byte[]) all[SAMPLES]).length);
            session.take("work");
            all = session.all();
            equal(InsideSampler.MAX_SAMPLES + 1L, all[TAKEN]);
            equal(5L, all[DROPPED]);
            equal(SAMPLE_BYTES, ((byte[]) all[SAMPLES]).length);
        }
    }

    static void aRootCallWithAValueHasAFrameOfTheValueBelowTheRoot() {
        try (Session session = new Session()) {
            StackTraceElement root = new StackTraceElement("p.C", "root", null, -1);
            session.sampler.take(session.self, new StackTraceElement[] {root}, 70, 0, 1);
            List<?> frames = (List<?>) session.all()[NEW_FRAMES];
            equal(2, frames.size());
            equal("", ((Object[]) frames.get(1))[0]);
            equal("by#70", ((Object[]) frames.get(1))[1]);
        }
    }

    static void thereAreMoreTicksUntilThereAreSamplesEnoughAndForFifteenSecondsAtMost() {
        equal(2, InsideSampler.timesAt(0, 0));
        equal(2, InsideSampler.timesAt(199, 14_000_000_000L));
        equal(1, InsideSampler.timesAt(200, 0));
        equal(1, InsideSampler.timesAt(0, 15_000_000_000L));
    }

    static void aSampleWithAFrameForWhichThereIsNoRoomIsCountedAndOthersGoOn() {
        try (Session session = new Session()) {
            int frames = 0;
            for (int i = 1; i < InsideSampler.MAX_FRAMES + 3; i++) { // the root is a frame, too
                session.take("m" + i);
                if (i % InsideSampler.MAX_SAMPLES == 0) {
                    frames += ((List<?>) session.all()[NEW_FRAMES]).size();
                }
            }
            session.take("m1");
            Object[] all = session.all();
            equal(InsideSampler.MAX_FRAMES, frames + ((List<?>) all[NEW_FRAMES]).size());
            equal(3L, all[DROPPED]);
            equal((long) InsideSampler.MAX_FRAMES, all[TAKEN]); // the accepted samples
        }
    }

    static void aSampleWithAStackForWhichThereIsNoRoomIsCountedAndOthersGoOn() {
        try (Session session = new Session()) {
            int side = 512; // 1 + side + side * side exceeds the limit
            long stacks = 0;
            for (int i = 0; i < side; i++) {
                for (int j = 0; j < side; j++) {
                    session.take("a" + i, "b" + j);
                }
                stacks += ((byte[]) session.all()[NEW_STACKS]).length / STACK_BYTES;
            }
            equal((long) InsideSampler.MAX_STACKS, stacks);
            long before = (long) session.all()[DROPPED];
            that(before > 0 && before <= side + 1, before + " are dropped");
            session.take("a0", "b0");
            Object[] all = session.all();
            equal(before, all[DROPPED]);
            equal(SAMPLE_BYTES, ((byte[]) all[SAMPLES]).length);
        }
    }

    static void aThreadThatEndsInsideARootIsForgotten() throws InterruptedException {
        try (Session session = new Session()) {
            CountDownLatch inside = new CountDownLatch(THREADS);
            CountDownLatch die = new CountDownLatch(1);
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                Thread one = new Thread(() -> {
                    JFluid1.countRootEntry(ROOT); // without an exit: the thread ends inside the root call
                    inside.countDown();
                    try {
                        die.await();
                    } catch (InterruptedException end) {
                        throw new AssertionError(end);
                    }
                });
                one.start();
                threads.add(one);
            }
            inside.await();
            session.sampler.lookRound();
            equal(THREADS + 1, session.sampler.threads.size());
            die.countDown();
            for (Thread one : threads) {
                one.join();
            }
            session.sampler.lookRound();
            equal(1, session.sampler.threads.size());
            equal(0L, session.all()[DROPPED]);
        }
    }

    static void aSlowCallWithEnoughSamplesIsPreferredNoLonger() {
        try (Session session = new Session()) {
            JFluid1Roots.slowFrom(0, false);
            JFluid1.countRootExit(0, ROOT);
            JFluid1.countRootEntry(ROOT);
            session.sampler.lookRound();
            for (int i = 0; i < InsideSampler.ENOUGH_OF_CALL; i++) {
                equal(1, session.sampler.slowFirst());
                session.take("m");
            }
            equal(0, session.sampler.slowFirst());
            JFluid1.countRootExit(0, ROOT);
            JFluid1.countRootEntry(ROOT);
            equal(1, session.sampler.slowFirst());
        }
    }
}
