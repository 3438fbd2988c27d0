package java.lang;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

/** How a root opens the graph, how a clock is stopped meanwhile, and roots that are timed while nothing has probes. */
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

    private static void call(int root) {
        JFluid1.rootEntry(root);
        JFluid1.rootExit(root);
    }

    /** Calls of a root, as bareTimes() has them; -1 if it has none. */
    private static long calls(int root) {
        long[] all = JFluid1Roots.bareTimes();
        for (int i = 0; i < all.length; i += 3) {
            if (all[i] == root) {
                that(all[i + 2] >= 0, "time runs forward");
                return all[i + 1];
            }
        }
        return -1;
    }

    static void rootsAreTimedWhileTheGraphIsClosed() {
        try (TestSession session = new TestSession(100, 1, false)) {
            session.ready(1, 2);
            call(1);
            String before = session.written().replaceAll("[<>]\\d+", "");
            equal("adjust root 1 1", before);
            JFluid1Roots.closeRoots();
            for (int i = 0; i < 5; i++) {
                call(1);
            }
            JFluid1.rootEntry(2);
            call(1); // within another
            JFluid1.rootExit(2);
            equal(5L, calls(1));
            equal(1L, calls(2));
            JFluid1Session.open();
            JFluid1Roots.timesBare = false;
            call(1);
            equal(5L, calls(1));
            equal(before + " root 1 1", session.written().replaceAll("[<>]\\d+", ""));
        }
    }

    static void aCallThatOverlapsAClosingIsNotSummed() {
        try (TestSession session = new TestSession(100, 1, false)) {
            session.ready(1);
            JFluid1Roots.closeRoots();
            JFluid1.rootEntry(1);
            JFluid1Roots.closeRoots();
            JFluid1.rootExit(1);
            equal(-1L, calls(1));
            call(1);
            equal(1L, calls(1));
        }
    }

    static void atMost32RootsAreSummed() {
        try (TestSession session = new TestSession(100, 1, false)) {
            JFluid1Roots.closeRoots();
            for (int round = 0; round < 2; round++) {
                for (int root = 1; root <= 50; root++) {
                    call(root);
                }
            }
            for (int root = 1; root <= 50; root++) {
                equal(root <= 32 ? 2L : -1L, calls(root), "root " + root);
            }
        }
    }
}
