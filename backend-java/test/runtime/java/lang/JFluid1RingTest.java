package java.lang;

import static java.lang.JFluid1Layout.*;
import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.util.ArrayList;
import java.util.List;

/** Chunks are taken in turn, filled, returned and reused; no event is lost or duplicated. */
final class JFluid1RingTest {
    private static final long MS = 1_000_000L;

    static void aCallIsWrittenBetweenItsRootsEvents() {
        try (TestSession session = new TestSession(100, 2)) {
            session.ready(1, 2);
            JFluid1.countRootEntry(1);
            JFluid1.countCall(10);
            JFluid1.countEntry(2);
            JFluid1.countResume(2);
            JFluid1.countExit(5, 2);
            JFluid1.countRootExit(2, 1);
            equal("adjust root 1>0 2>10 2!10 2<15 1<17", session.written());
            equal(1, session.writer(0));
            equal(0, session.sequence(0));
            equal(CHUNK_IDLE, session.state(0));
            equal(CHUNK_FREE, session.state(1));
        }
    }

    static void outsideOfRootsNothingIsWritten() {
        try (TestSession session = new TestSession(100, 2)) {
            session.ready(1, 2);
            JFluid1.countEntry(2);
            JFluid1.countExit(5, 2);
            equal(null, session.self());
            session.inside(() -> {});
            JFluid1.countEntry(2);
            JFluid1.countExit(5, 2);
            JFluid1.countResume(2);
            equal("adjust root 1>0 1<0", session.written());
        }
    }

    static void whereNoThreadWaitsEachCallOfARootIsWrittenOrAGap() {
        try (TestSession session = new TestSession(10, 2)) {
            session.ready(1);
            JFluid1Ring.neverWait();
            for (int i = 0; i < 100; i++) {
                session.inside(() -> {});
            }
            int written = session.written().split("1>", -1).length - 1;
            that(written > 0 && written < 100, written + " of 100 are written");
            equal(100, written + JFluid1Session.gaps());
        }
    }

    static void theRingWrapsManyTimesAndLosesNothing() {
        for (int chunks : new int[] {2, 3, 5}) {
            try (TestSession session = new TestSession(10, chunks)) {
                session.ready(2);
                StringBuilder expected = new StringBuilder();
                session.inside(() -> {
                    for (int i = 0; i < 200; i++) {
                        JFluid1.countCall(1);
                        JFluid1.countEntry(2);
                        session.collect();
                        JFluid1.countExit(1, 2);
                        session.collect();
                        expected.append(" 2>").append(2 * i + 1).append(" 2<").append(2 * i + 2);
                    }
                });
                String told = session.written().replace("adjust ", "");
                equal("root 1>0" + expected + " 1<400", told, chunks + " chunks");
                equal(0, JFluid1Session.gaps());
            }
        }
    }

    /** The search for a free chunk begins after the chunk taken last. */
    static void chunksAreTakenInTurn() {
        try (TestSession session = new TestSession(10, 4)) {
            session.ready(2);
            List<Integer> order = new ArrayList<>();
            session.inside(() -> {
                int last = -1;
                for (int i = 0; i < 300; i++) {
                    JFluid1.countEntry(2);
                    JFluid1.countExit(1, 2);
                    session.collect();
                    if (session.self().chunk != last) {
                        last = session.self().chunk;
                        order.add(last);
                    }
                }
            });
            that(order.size() > 60, order.size() + " chunks");
            for (int i = 0; i < order.size(); i++) {
                equal(i % 4, order.get(i), "chunk number " + i);
            }
            String told = session.written().replace("adjust ", "");
            equal(1 + 1 + 600 + 1, told.split(" ").length);
            equal(order.size(), session.self().sequence);
        }
    }

    static void aChunkInUseIsSkipped() {
        try (TestSession session = new TestSession(10, 3)) {
            session.state(0, CHUNK_BUSY);
            session.state(1, CHUNK_FULL);
            session.inside(() -> equal(2, session.self().chunk));
            equal(CHUNK_BUSY, session.state(0));
            equal(CHUNK_FULL, session.state(1));
        }
    }

    /** 2^40 ticks do not fit into a word: an EPOCH has the high bits. */
    static void timesBeyond40BitsHaveAnEpoch() {
        try (TestSession session = new TestSession(100, 2)) {
            session.ready(2);
            session.inside(() -> {
                session.self().executed = TICK_MASK;
                JFluid1.countEntry(2);
                JFluid1.countExit(1, 2);
                session.self().executed = (5L << TICK_BITS) + 7;
                JFluid1.countEntry(2);
                JFluid1.countExit(0, 2);
            });
            equal("adjust root 1>0 2>" + TICK_MASK + " epoch:1 2<0 epoch:5 2>7 2<7 1<7", session.written());
            equal(0L, session.epoch(0));
        }
        try (TestSession session = new TestSession(8, 2)) {
            session.ready(2);
            session.inside(() -> {
                session.self().executed = (3L << TICK_BITS) + 1;
                for (int i = 0; i < 3; i++) {
                    JFluid1.countEntry(2);
                    JFluid1.countExit(0, 2);
                }
            });
            equal(3L, session.epoch(1)); // the second chunk needs no EPOCH
            equal("adjust root 1>0 epoch:3 2>1 2<1 2>1 2<1 adjust 2>1 2<1 1<1", session.written());
        }
    }

    static void aPastEventHasItsEpoch() {
        try (TestSession session = new TestSession(100, 1)) {
            session.inside(() -> {
                JFluid1Threads.ThreadInfo self = session.self();
                JFluid1Ring.eventAt(self, KIND_ENTER | 9L << TICK_BITS, (2L << TICK_BITS) + 3);
                JFluid1Ring.eventAt(self, KIND_EXIT | 9L << TICK_BITS, 4);
            });
            equal("adjust root 1>0 epoch:2 9>3 epoch:0 9<4 1<0", session.written());
        }
    }

    static void anIdleChunkIsReused() {
        try (TestSession session = new TestSession(100, 2)) {
            session.inside(() -> {});
            equal(CHUNK_IDLE, session.state(0));
            session.inside(() -> equal(CHUNK_BUSY, session.state(0)));
            equal("adjust root 1>0 1<0 root 1>0 1<0", session.written());
        }
    }

    static void aReclaimedChunkIsReplaced() {
        try (TestSession session = new TestSession(100, 2)) {
            session.inside(() -> {});
            equal(1, JFluid1Ring.reclaim());
            equal(CHUNK_FULL, session.state(0));
            equal(0, JFluid1Ring.reclaim());
            session.inside(() -> equal(1, session.self().chunk));
            equal(1, session.sequence(1));
            equal("adjust root 1>0 1<0 adjust root 1>0 1<0", session.written());
        }
    }

    /** Another thread owns the chunk now and is outside root calls, so the chunk's state is the same as before. */
    static void anIdleChunkOfAnotherThreadIsNotTaken() {
        try (TestSession session = new TestSession(100, 2)) {
            session.inside(() -> {});
            JFluid1Threads.ThreadInfo other = JFluid1Threads.register(new Thread());
            JFluid1Ring.reclaim();
            session.free(0);
            session.state(1, CHUNK_FULL);
            that(JFluid1Ring.room(other, other, 3), "it gets the chunk");
            equal(0, other.chunk);
            JFluid1Ring.rest(other);
            session.state(1, CHUNK_FREE);
            session.inside(() -> equal(1, session.self().chunk));
            equal(CHUNK_IDLE, session.state(0));
            equal(other.number, session.writer(0));
        }
    }

    static void aWaitingThreadGetsTheNextFreeChunk() throws InterruptedException {
        try (TestSession session = new TestSession(8, 2)) {
            session.ready(2);
            session.state(1, CHUNK_BUSY);
            Thread client = new Thread(() -> {
                while (session.header(RING_STARVING) == 0) {
                    Thread.onSpinWait();
                }
                session.free(1);
            });
            client.start();
            session.inside(() -> {
                for (int i = 0; i < 4; i++) {
                    JFluid1.countEntry(2);
                    JFluid1.countExit(1, 2);
                }
            });
            client.join();
            equal("adjust root 1>0 2>0 2<1 2>1 2<2 2>2 adjust 2<3 2>3 2<4 1<4", session.written());
            equal(0, JFluid1Session.gaps());
            equal(0, JFluid1Session.counters[JFluid1Session.COUNTER_STARVING]);
            equal(0, JFluid1Session.counters[JFluid1Session.COUNTER_WAITING]);
        }
    }

    static void aSilentClientIsWaitedForOnceUntilItIsHeardAgain() {
        try (TestSession session = new TestSession(8, 1)) {
            session.ready(2);
            Runnable fills = () -> {
                for (int i = 0; i < 4; i++) {
                    JFluid1.countEntry(2);
                    JFluid1.countExit(1, 2);
                }
            };
            long before = System.nanoTime();
            session.inside(fills);
            long waited = System.nanoTime() - before;
            that(waited >= 200 * MS && waited < 3000 * MS, "waited " + waited / MS + " ms");
            equal(1, JFluid1Session.gaps());
            // If this thread gets no processor, its wait times out before it has counted enough silence.
            long shortest = Long.MAX_VALUE;
            for (int i = 0; i < 5; i++) {
                before = System.nanoTime();
                session.inside(fills);
                shortest = Math.min(shortest, System.nanoTime() - before);
            }
            that(shortest < 100 * MS, "the next calls waited " + shortest / MS + " ms");
            that(JFluid1Session.isEnabled(), "the session has not ended");
            equal(0, session.header(RING_ENDED));
            session.beat();
            session.collect();
            session.inside(() -> {});
            that(session.written().endsWith("root 1>3 1<3"), session.written());
        }
    }

    static void aThreadWaitsOneSecondForAFreeChunk() {
        try (TestSession session = new TestSession(8, 2)) {
            session.ready(2);
            session.state(1, CHUNK_BUSY); // its thread never leaves the root call
            session.live();
            long before = System.nanoTime();
            session.inside(() -> {
                for (int i = 0; i < 4; i++) {
                    JFluid1.countEntry(2);
                    JFluid1.countExit(1, 2);
                }
                that(!session.self().active, "this call of the root is not recorded any more");
            });
            long waited = System.nanoTime() - before;
            that(waited >= 1000 * MS && waited < 3000 * MS, "waited " + waited / MS + " ms");
            equal(1, JFluid1Session.gaps());
            equal(1, session.header(RING_GAPS));
            that(JFluid1Session.isEnabled(), "the session has not ended");
            session.collect();
            session.inside(() -> {});
            that(session.written().endsWith("root 1>3 1<3"), session.written());
        }
    }

    static void nothingIsWrittenAfterTheSession() {
        try (TestSession session = new TestSession(100, 1)) {
            session.ready(2);
            JFluid1.countRootEntry(1);
            JFluid1Session.disable();
            JFluid1.countEntry(2);
            JFluid1.countExit(1, 2);
            JFluid1.countRootExit(1, 1);
            JFluid1.countRootEntry(1);
            equal("adjust root", session.written().substring(0, 11));
            that(!session.written().contains("2>"), session.written());
        }
    }
}
