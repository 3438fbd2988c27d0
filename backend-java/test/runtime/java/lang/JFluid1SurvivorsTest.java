package java.lang;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.util.HashSet;
import java.util.Set;

/** Tracking of recorded objects: each scan reports new and dead objects, and slots are reused. */
final class JFluid1SurvivorsTest {
    private static final int GENERATION_BITS = 9;
    private static final int SLOTS = JFluid1Survivors.SLOTS;
    private static final long ANSWER_TIMEOUT_NANOS = 20_000_000_000L;

    static final class Gauge extends JFluid1Allocations.Gauge {
        int collections;
        long allocated;
        /** Bytes that sizeOf() itself allocates. */
        long allocatedBySizeOf;

        @Override
        public long sizeOf(Object o) {
            allocated += allocatedBySizeOf;
            return 48;
        }

        @Override
        public long allocated() {
            return allocated;
        }

        @Override
        public int collections() {
            return collections;
        }
    }

    private static final class Following implements AutoCloseable {
        final TestSession session;
        final Gauge gauge = new Gauge();

        Following(int words) {
            session = new TestSession(words, 2);
            JFluid1Allocations.allocations(gauge, 8, 1, true);
            session.ready(1);
            JFluid1.countRootEntry(1);
        }

        void follow(Object o, long bytes) {
            JFluid1Survivors.follow(session.self(), 3, o, bytes);
        }

        /** Returns the reported new objects: for each, token, number of garbage collections before its allocation, bytes. */
        long[] came() {
            return (long[]) JFluid1Survivors.look()[2];
        }

        /** Waits for this number of dead objects and returns their tokens. */
        Set<Long> awaitGone(int count) {
            Set<Long> gone = new HashSet<>();
            long until = System.nanoTime() + ANSWER_TIMEOUT_NANOS;
            while (gone.size() < count && System.nanoTime() < until) {
                System.gc();
                for (long token : (long[]) JFluid1Survivors.look()[3]) {
                    that(gone.add(token), "reported twice: " + token);
                }
            }
            equal(count, gone.size());
            return gone;
        }

        @Override
        public void close() {
            JFluid1.countRootExit(0, 1);
            session.close();
        }
    }

    static void birthsAndDeathsAreReportedOnce() {
        try (Following it = new Following(100)) {
            Object stays = new Object();
            Object goes = new Object();
            it.follow(stays, 16);
            it.gauge.collections = 4;
            it.follow(goes, 32);
            Object[] look = JFluid1Survivors.look();
            equal(4, look[0]);
            equal(0L, look[1]);
            long second = 1L << GENERATION_BITS;
            equal(new long[] {0, 0, 16, second, 4, 32}, look[2]);
            equal(new long[0], look[3]);
            equal(new long[0], it.came());
            String tracks = it.session.written();
            equal("adjust root 1>0 track:" + (3L << 25) + " track:" + (3L << 25 | second), tracks);
            goes = null;
            equal(Set.of(second), it.awaitGone(1));
            // The slot is reused only after all other free slots, and with another token.
            it.follow(new Object(), 8);
            equal(2 * second, it.came()[0]);
            java.lang.ref.Reference.reachabilityFence(stays);
        }
    }

    static void anObjectThatDiesBeforeTheFirstLookIsNotReported() {
        try (Following it = new Following(100)) {
            it.follow(new Object(), 16);
            long until = System.nanoTime() + ANSWER_TIMEOUT_NANOS;
            boolean free = false;
            long[] came = {};
            while (!free && System.nanoTime() < until) {
                System.gc();
                Object[] look = JFluid1Survivors.look();
                came = (long[]) look[2];
                equal(new long[0], look[3]);
                free = came.length == 0;
            }
            that(free, "it is still there");
        }
    }

    static void allSlotsAreUsedAndReused() {
        try (Following it = new Following(3 * SLOTS)) {
            for (int round = 0; round < 3; round++) {
                Object[] alive = new Object[SLOTS];
                for (int i = 0; i < SLOTS; i++) {
                    alive[i] = new Object();
                    it.follow(alive[i], 16);
                }
                it.follow("one too many", 16);
                Object[] look = JFluid1Survivors.look();
                equal((long) round + 1, look[1], "without a place");
                long[] came = (long[]) look[2];
                equal(3 * SLOTS, came.length);
                Set<Long> tokens = new HashSet<>();
                for (int i = 0; i < came.length; i += 3) {
                    tokens.add(came[i] >> GENERATION_BITS);
                    if ((came[i] & (1 << GENERATION_BITS) - 1) != round) {
                        equal((long) round, came[i] & (1 << GENERATION_BITS) - 1, "generation");
                        return;
                    }
                }
                equal(SLOTS, tokens.size(), "each place once");
                java.lang.ref.Reference.reachabilityFence(alive);
                alive = null;
                it.awaitGone(SLOTS);
            }
            equal(0, JFluid1Session.gaps());
        }
    }

    static void nothingIsFollowedWithoutASession() {
        equal(null, JFluid1Survivors.look());
        that(!JFluid1Survivors.follows(), "no table");
        equal(0L, JFluid1Survivors.heapBytes());
    }
}
