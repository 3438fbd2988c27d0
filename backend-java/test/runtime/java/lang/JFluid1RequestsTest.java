package java.lang;

import static java.lang.JFluid1Layout.*;
import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

/** Requests of threads, and the timeouts of their waits. */
final class JFluid1RequestsTest {
    private static final long MS = 1_000_000L;

    static void aFirstCallAsksAndLaterOnesDoNot() {
        try (TestSession session = new TestSession(100, 1)) {
            session.inside(() -> {
                for (int i = 0; i < 3; i++) {
                    JFluid1.countEntry(7);
                    JFluid1.countExit(0, 7);
                }
            });
            equal(1, session.requests.size());
            equal(JFluid1Requests.Request.FIRST_INVOCATION, session.requests.get(0).kind);
            equal(7, session.requests.get(0).value);
            equal("adjust root 1>0 adjust 7>0 7<0 7>0 7<0 7>0 7<0 1<0", session.written());
            equal(0, JFluid1Session.gaps());
        }
    }

    static void aSecondThreadWaitsForTheAnswerToTheFirst() throws InterruptedException {
        try (TestSession session = new TestSession(100, 4)) {
            session.ready(1);
            session.answers = false;
            Thread[] threads = new Thread[3];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(() -> {
                    JFluid1.countRootEntry(1);
                    JFluid1.countEntry(7);
                    JFluid1.countExit(0, 7);
                    JFluid1.countRootExit(0, 1);
                });
                threads[i].start();
            }
            while (JFluid1Session.counters[JFluid1Session.COUNTER_WAITING] < threads.length) {
                session.beat();
                Thread.onSpinWait();
            }
            JFluid1Requests.Request only = JFluid1Requests.takeRequests();
            equal(null, only.next);
            equal(JFluid1Session.PENDING, JFluid1Session.state[7]);
            JFluid1Session.ready(7);
            for (Thread it : threads) {
                it.join();
            }
            for (int writer = 1; writer <= threads.length; writer++) {
                equal("adjust root 1>0 adjust 7>0 7<0 1<0", TestSession.text(session.wordsOf(writer)));
            }
            equal(0, JFluid1Session.gaps());
        }
    }

    /** Each timeout halves the next timeout, so all timeouts together are two seconds. */
    static void eachUnansweredWaitHalvesTheNext() {
        try (TestSession session = new TestSession(100, 1)) {
            session.answers = false;
            session.live();
            long[] waits = new long[2];
            session.inside(() -> {
                for (int i = 0; i < waits.length; i++) {
                    long before = System.nanoTime();
                    JFluid1.countEntry(7 + i);
                    waits[i] = System.nanoTime() - before;
                    JFluid1.countExit(0, 7 + i);
                }
            });
            that(waits[0] >= 1000 * MS && waits[0] < 2500 * MS, "the first: " + waits[0] / MS + " ms");
            that(waits[1] >= 500 * MS && waits[1] < 950 * MS, "the second: " + waits[1] / MS + " ms");
            equal(JFluid1Session.LATE, JFluid1Session.state[7]);
            equal(JFluid1Session.LATE, JFluid1Session.state[8]);
            equal(2, JFluid1Session.gaps());
            that(JFluid1Session.isEnabled(), "the session has not ended");
            that(session.written().contains("7>0 7<0"), "late methods are recorded: " + session.written());
        }
    }

    static void inAJvmThatTheClientHasStartedAFirstCallWaitsLongerThanElsewhere() {
        try (TestSession session = new TestSession(100, 1)) {
            session.answers = false;
            session.live();
            JFluid1Client.waitLonger();
            Thread answering = new Thread(() -> {
                while (JFluid1Session.state[7] != JFluid1Session.PENDING) {
                    Thread.onSpinWait();
                }
                long until = System.nanoTime() + 3 * JFluid1Client.ANSWER_TIMEOUT_NANOS / 2;
                while (System.nanoTime() < until) {
                    Thread.yield();
                }
                JFluid1Session.ready(7);
            });
            answering.start();
            session.inside(() -> {
                JFluid1.countEntry(7);
                JFluid1.countExit(0, 7);
            });
            equal(JFluid1Session.READY, JFluid1Session.state[7]);
            equal(0, JFluid1Session.gaps());
        }
        try (TestSession session = new TestSession(100, 1)) {
            equal(JFluid1Client.ANSWER_TIMEOUT_NANOS, JFluid1Client.answerTimeout());
        }
    }

    /** In a JVM that the client has started: the client does not answer while it waits for the redefinition. */
    static void aFirstCallDoesNotWaitForARedefinitionThatWaitsForItsLock() {
        try (TestSession session = new TestSession(100, 1)) {
            session.answers = false;
            session.live();
            JFluid1Client.waitLonger();
            Object lock = new Object();
            Thread swap = new Thread(() -> {
                JFluid1Session.swapping(true);
                synchronized (lock) {
                    JFluid1Session.swapping(false);
                }
            });
            long[] waited = new long[1];
            session.inside(() -> {
                synchronized (lock) {
                    swap.start();
                    while (swap.getState() != Thread.State.BLOCKED) {
                        Thread.onSpinWait();
                    }
                    long before = System.nanoTime();
                    JFluid1.countEntry(7);
                    waited[0] = System.nanoTime() - before;
                    JFluid1.countExit(0, 7);
                }
            });
            that(waited[0] >= 1200 * MS && waited[0] < 4000 * MS, "waited " + waited[0] / MS + " ms");
            equal(JFluid1Session.LATE, JFluid1Session.state[7]);
            equal(1, JFluid1Session.gaps());
        }
    }

    static void questionsComeOutNewestFirst() {
        try (TestSession session = new TestSession(100, 1)) {
            session.answers = false;
            for (int i = 0; i < 3; i++) {
                JFluid1Requests.post(new JFluid1Requests.Request(JFluid1Requests.Request.CHANGED_CLASS, i, null, null));
            }
            JFluid1Requests.Request first = JFluid1Requests.takeRequests();
            equal(2, first.value);
            equal(1, first.next.value);
            equal(0, first.next.next.value);
            equal(null, first.next.next.next);
            equal(null, JFluid1Requests.takeRequests());
        }
    }

    /** The thread in the load hook may hold a lock that the redefinition waits for. */
    static void aLoadHookWaits250MsWhileARedefinitionRuns() throws InterruptedException {
        try (TestSession session = new TestSession(100, 1)) {
            session.answers = false;
            Thread swapping = new Thread(() -> JFluid1Session.swapping(true));
            swapping.start();
            swapping.join();
            session.live();
            long before = System.nanoTime();
            JFluid1Requests.Request request =
                    new JFluid1Requests.Request(JFluid1Requests.Request.CLASS_LOADING, 0, null, null);
            that(!JFluid1Requests.await(request), "no answer");
            long waited = System.nanoTime() - before;
            that(waited >= 250 * MS && waited < 900 * MS, "waited " + waited / MS + " ms");
            that(request.abandoned, "an answer is of no use any more");
            equal(1, JFluid1Session.gaps());
            that(!JFluid1Requests.await(request), "the next thread does not wait at all");
            that(System.nanoTime() - before - waited < 200 * MS, "it has waited again");
        }
    }
}
