package java.lang;

import static java.lang.JFluid1Layout.*;
import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.util.ArrayList;
import java.util.List;
import jdk.internal.misc.Unsafe;

/** The thread table: a thread is found by its id until it has ended, even if several threads share a bucket. */
final class JFluid1ThreadsTest {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int BUCKETS = 1 << 16;

    /** Creates an unstarted thread with a given id. */
    private static Thread thread(long id) {
        Thread thread = new Thread("t" + id);
        U.putLong(thread, JFluid1Threads.TID, id);
        return thread;
    }

    static void threadsInTheSameBucketAreDistinguished() {
        try (TestSession session = new TestSession(10, 1)) {
            List<Thread> threads = new ArrayList<>(); // a reference keeps the threads from being garbage collected
            for (int i = 0; i < 50; i++) {
                threads.add(thread(5 + (long) i * BUCKETS));
                threads.add(thread(6 + (long) i * BUCKETS));
            }
            threads.add(thread(5 + (1L << 40)));
            threads.add(thread(5 + (1L << 32)));
            int number = 0;
            for (Thread it : threads) {
                JFluid1Threads.ThreadInfo info = JFluid1Threads.register(it);
                equal(++number, info.number);
                equal(it.getName(), info.name);
                that(!info.virtual, "a platform thread");
            }
            number = 0;
            for (Thread it : threads) {
                JFluid1Threads.ThreadInfo found = JFluid1Threads.find(JFluid1Threads.idOf(it));
                equal(++number, found == null ? -1 : found.number, it.getName());
            }
            equal(null, JFluid1Threads.find(7));
            equal(null, JFluid1Threads.find(5 + 50L * BUCKETS));
        }
    }

    static void thousandsOfThreadsAreFound() {
        try (TestSession session = new TestSession(10, 1)) {
            int count = 20_000;
            Thread[] threads = new Thread[count];
            for (int i = 0; i < count; i++) {
                threads[i] = thread(1000 + i);
                JFluid1Threads.register(threads[i]);
            }
            for (int i = 0; i < count; i++) {
                JFluid1Threads.ThreadInfo found = JFluid1Threads.find(1000 + i);
                if (found == null || found.number != i + 1) {
                    equal(i + 1, found == null ? -1 : found.number, "thread " + i);
                    return;
                }
            }
            java.lang.ref.Reference.reachabilityFence(threads);
        }
    }

    static void eachNewThreadIsReportedOnce() {
        try (TestSession session = new TestSession(10, 1)) {
            Thread[] threads = {thread(5), thread(6), thread(7)};
            for (Thread it : threads) {
                JFluid1Threads.register(it);
            }
            StringBuilder told = new StringBuilder();
            for (JFluid1Threads.ThreadInfo it = JFluid1Threads.takeThreads(); it != null; it = it.untold) {
                told.append(it.name).append(' ');
            }
            equal("t7 t6 t5 ", told.toString());
            equal(null, JFluid1Threads.takeThreads());
            java.lang.ref.Reference.reachabilityFence(threads);
        }
    }

    static void recordsOfEndedThreadsAreRemoved() {
        try (TestSession session = new TestSession(10, 2)) {
            session.inside(() -> {});
            JFluid1Threads.ThreadInfo self = session.self();
            Thread[] threads = new Thread[60];
            for (int i = 0; i < threads.length; i++) {
                // Three threads per bucket, so that this thread is first, last or in the middle.
                long bucket = i < 30 ? self.tid + BUCKETS : 1_000_000 + i / 3;
                threads[i] = thread(bucket + (long) (i % 30) * BUCKETS);
                JFluid1Threads.register(threads[i]);
            }
            for (int i = 10; i < threads.length; i += 10) { // the thread has ended inside a root call
                JFluid1Threads.find(JFluid1Threads.idOf(threads[i])).active = true;
            }
            long before = JFluid1Threads.heapBytes();
            JFluid1Threads.purge();
            for (int i = 0; i < threads.length; i++) {
                JFluid1Threads.ThreadInfo found = JFluid1Threads.find(JFluid1Threads.idOf(threads[i]));
                equal(i > 0 && i % 10 == 0, found != null, "thread " + i);
            }
            that(session.self() == self, "this one lives");
            that(JFluid1Threads.heapBytes() > before, "six are known now, as none was at the last look");
        }
    }

    /** Without the release, the chunk of the thread would be lost for the session. */
    static void theChunkOfAThreadThatEndedInARootIsReleased() {
        try (TestSession session = new TestSession(10, 2)) {
            JFluid1Threads.ThreadInfo ended = JFluid1Threads.register(thread(5));
            that(JFluid1Ring.room(ended, ended, 3), "it has a chunk");
            equal(CHUNK_BUSY, session.state(0));
            JFluid1Threads.purge();
            equal(CHUNK_FULL, session.state(0));
        }
    }

    /** No thread number is reused: events of the new thread would be attributed to the earlier thread. */
    static void threadsAreNotRecordedWhenNumbersAreUsedUp() {
        try (TestSession session = new TestSession(10, 1)) {
            int most = (1 << THREAD_NUMBER_BITS) - 1;
            JFluid1Session.counters[JFluid1Session.COUNTER_THREADS] = most - 1;
            Thread[] threads = {thread(5), thread(6), thread(7)};
            equal(most, JFluid1Threads.register(threads[0]).number);
            equal(null, JFluid1Threads.register(threads[1]));
            equal(null, JFluid1Threads.register(threads[2]));
            equal(2, JFluid1Session.gaps());
            session.inside(() -> {});
            equal(null, session.self());
            equal(CHUNK_FREE, session.state(0));
            java.lang.ref.Reference.reachabilityFence(threads);
        }
    }

    static void aThreadInASlowPathIsSeen() throws InterruptedException {
        try (TestSession session = new TestSession(10, 2)) {
            session.inside(() -> {});
            Object threads = JFluid1Session.session();
            that(!JFluid1Threads.anyoneInside(threads), "no thread is in a slow path");
            session.self().guard = true;
            that(JFluid1Threads.anyoneInside(threads), "this thread is");
            session.self().guard = false;
        }
    }
}
