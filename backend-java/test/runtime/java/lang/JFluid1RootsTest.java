package java.lang;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

/** How a root opens the graph, and how a clock is stopped meanwhile. */
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
            JFluid1.countRootEntry(101); // methods go up to 100
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
}
