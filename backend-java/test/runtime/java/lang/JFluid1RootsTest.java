package java.lang;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

/** Begin and end of root calls, and suspension of the clock. */
final class JFluid1RootsTest {
    static void anInnerRootIsACallLikeAnyOther() {
        try (TestSession session = new TestSession(100, 1)) {
            session.ready(1, 2);
            session.inside(() -> {
                JFluid1.countRootEntry(2);
                JFluid1.countRootExit(5, 2);
                that(session.self().active, "still inside");
            });
            equal("adjust root 1>0 2>0 2<5 1<5", session.written());
            that(!session.self().active, "outside");
        }
    }

    static void aRootOfAnotherSessionOpensNothing() {
        try (TestSession session = new TestSession(100, 1)) {
            JFluid1.countRootEntry(101); // the highest id is 100
            equal(null, session.self());
            JFluid1.countRootExit(0, 101);
        }
    }

    static void aThreadOfTheAgentIsNotRecorded() throws InterruptedException {
        try (TestSession session = new TestSession(100, 1)) {
            session.ready(1);
            Thread ours = new JFluid1Guest("ours") {
                @Override
                public void run() {
                    JFluid1.countRootEntry(1);
                    JFluid1.countRootExit(0, 1);
                }
            };
            ours.start();
            ours.join();
            equal(null, JFluid1Threads.find(JFluid1Threads.idOf(ours)));
        }
    }

    static void aStoppedClockIsWritten() {
        try (TestSession session = new TestSession(100, 1)) {
            session.ready(2);
            equal(null, JFluid1Roots.suspend());
            session.inside(() -> {
                JFluid1Threads.ThreadInfo suspended = JFluid1Roots.suspend();
                that(suspended == session.self(), "its clock ran");
                JFluid1.countEntry(2);
                JFluid1.countExit(9, 2);
                equal(null, JFluid1Roots.suspend(), "it is stopped already");
                JFluid1Roots.resume(suspended);
                JFluid1.countEntry(2);
                JFluid1.countExit(0, 2);
            });
            equal("adjust root 1>0 suspend:0 resume:0 2>0 2<0 1<0", session.written());
        }
    }

    private static void call(int id, Runnable inside) {
        JFluid1.rootEntry(id);
        inside.run();
        JFluid1.rootExit(id);
    }

    /** Returns the number of timed calls of method 1, counted by their entry events. */
    private static int timedCalls(TestSession session) {
        return session.written().split("1>", -1).length - 1;
    }

    static void ofAHotRootFewCallsAreTimedAndAllAreCounted() {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1, 2);
            call(1, () -> {});
            JFluid1Roots.timeOneOf(64);
            for (int i = 0; i < 10_000; i++) {
                // A root inside a root call is not an outermost call, timed or not.
                call(1, () -> call(2, () -> {}));
            }
            equal(10_001L, JFluid1Roots.calls());
            int timed = timedCalls(session);
            that(timed > 10_000 / 64 / 2 && timed < 10_000 / 64 * 2, timed + " of 10,000 are timed");
        }
    }

    static void aCallThatIsOnlyCountedIsInsideUntilItsEndHoweverItEnds() {
        try (TestSession session = new TestSession(1_000, 3, false)) {
            session.ready(1, 2);
            call(1, () -> {});
            JFluid1Roots.timeOneOf(1_000_000);
            call(1, () -> {}); // uses the first random number
            Throwable thrown = new RuntimeException("as it was");
            call(1, () -> {
                that(!session.self().active && JFluid1Inside.isInside(session.self()), "inside, and not timed");
                JFluid1.rootEntry(2);
                equal(thrown, JFluid1.rootThrown(thrown, 2));
                that(JFluid1Inside.isInside(session.self()), "still inside");
            });
            that(!JFluid1Inside.isInside(session.self()), "outside");
            equal(3L, JFluid1Roots.calls());
        }
    }

    static void ofThreadsWithOneCallEachFewAreTimed() throws InterruptedException {
        try (TestSession session = new TestSession(100, 250, false)) {
            session.ready(1);
            JFluid1Roots.timeOneOf(4);
            int[] timed = {0};
            for (int i = 0; i < 200; i++) {
                Thread one = new Thread(() -> call(1, () -> timed[0] += session.self().active ? 1 : 0));
                one.start();
                one.join();
            }
            equal(200L, JFluid1Roots.calls());
            that(timed[0] > 20 && timed[0] < 90, timed[0] + " of 200 are timed");
        }
    }

    static void callsOfThreadsThatHaveEndedAreCounted() throws InterruptedException {
        try (TestSession session = new TestSession(100, 3, false)) {
            session.ready(1);
            Thread other = new Thread(() -> call(1, () -> {}));
            other.start();
            other.join();
            JFluid1Session.purge();
            JFluid1Session.purge();
            equal(1L, JFluid1Roots.calls());
        }
        try (TestSession session = new TestSession(100, 3, false)) {
            equal(0L, JFluid1Roots.calls());
        }
    }

    static void eachCallIsTimedInTheNextSession() {
        try (TestSession session = new TestSession(100, 3, false)) {
            JFluid1Roots.timeOneOf(64);
        }
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            for (int i = 0; i < 200; i++) {
                call(1, () -> {});
            }
            equal(200, timedCalls(session));
        }
    }
}
