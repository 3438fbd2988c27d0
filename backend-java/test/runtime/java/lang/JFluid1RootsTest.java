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

    /** Returns what follows the last details. */
    private static String told(TestSession session, String details) {
        String written = session.written();
        that(written.contains(details), written);
        return written.substring(written.lastIndexOf(details) + details.length());
    }

    static void theCallerOfTheRootIsTold() {
        try (TestSession session = new TestSession(1_000, 3, false)) {
            session.ready(1);
            JFluid1Roots.slowFrom(0);
            call(1, () -> {});
            StringBuilder name = new StringBuilder();
            for (long word : session.wordsOf(session.self().number)) {
                boolean isValue = (word & ~JFluid1Layout.TICK_MASK) == JFluid1Layout.CONTROL_VALUE;
                if (isValue
                        && (word & JFluid1Layout.TICK_MASK) >>> JFluid1Layout.VALUE_SLOT_SHIFT
                                == JFluid1Layout.SLOT_CALLER) {
                    name.append((char) word).append((char) (word >>> 16));
                }
            }
            // The runtime and its tests have the same prefix, so the first other class is the runner of the tests.
            that(name.toString().startsWith("jfluid.check."), name.toString());
        }
    }

    static void detailsFollowACallThatIsSlowAndBeganWithAThreshold() {
        String details = " value:" + ((long) JFluid1Layout.SLOT_DETAILS << JFluid1Layout.VALUE_SLOT_SHIFT);
        try (TestSession session = new TestSession(1_000, 3, false)) {
            session.ready(1, 2);
            call(1, () -> JFluid1Roots.slowFrom(0)); // began without a threshold
            equal(0, session.written().split(details, -1).length - 1);
            call(1, () -> call(2, () -> {})); // the inner call is not outermost
            equal("", told(session, details).replaceAll(" value:\\d+", ""));
            Throwable thrown = new RuntimeException();
            JFluid1.rootEntry(1);
            JFluid1.rootThrown(thrown, 1);
            equal("", told(session, details).replaceAll(" value:\\d+", ""));
            equal(2, session.written().split(details, -1).length - 1);
            JFluid1Roots.slowFrom(Long.MAX_VALUE / 2);
            call(1, () -> {});
            equal(2, session.written().split(details, -1).length - 1);
        }
    }

    static void theClassOfTheExceptionPrecedesTheExitOfTheOutermostRoot() {
        try (TestSession session = new TestSession(1_000, 3, false)) {
            session.ready(1, 2);
            throwThrough(new IllegalStateException());
            String first = session.written();
            that(first.contains(" threw:0 1<"), first);
            equal(IllegalStateException.class.getName().length(), first.split(" name:", -1).length - 1);
            throwThrough(new ArithmeticException());
            throwThrough(new IllegalStateException());
            String all = session.written();
            that(all.indexOf("threw:1") > 0 && all.lastIndexOf("threw:0") > all.indexOf("threw:1"), all);
            equal(3, all.split(" threw:", -1).length - 1);
        }
    }

    /** Writes calls until fewer than this number of words fit into the thread's chunk. */
    private static void fill(TestSession session, int words) {
        JFluid1Threads.ThreadInfo self = session.self();
        while (self.next + words * JFluid1Layout.EVENT_BYTES <= self.limit) {
            JFluid1.methodEntry(2);
            JFluid1.methodExit(2);
        }
    }

    static void theNameOfAnExceptionForWhichTheRingHasNoRoomIsToldLater() {
        try (TestSession session = new TestSession(100, 2, false)) {
            session.ready(1, 2);
            session.state(1, JFluid1Layout.CHUNK_BUSY);
            JFluid1.rootEntry(1);
            fill(session, 20);
            JFluid1.rootThrown(new IllegalStateException(), 1);
            String first = session.written();
            that(first.contains(" threw:0 1<") && !first.contains(" name:"), first);
            session.state(1, JFluid1Layout.CHUNK_FREE);
            throwThrough(new IllegalStateException());
            String all = session.written();
            equal(IllegalStateException.class.getName().length(), all.split(" name:", -1).length - 1);
            throwThrough(new IllegalStateException());
            equal(all.split(" name:", -1).length, session.written().split(" name:", -1).length);
        }
    }

    static void detailsForWhichTheRingHasNoRoomAreLostAndTheThreadDoesNotWait() {
        try (TestSession session = new TestSession(100, 1, false)) {
            session.ready(1, 2);
            JFluid1Roots.slowFrom(0);
            JFluid1.rootEntry(1);
            fill(session, 4);
            JFluid1.rootExit(1); // a wait would end in a gap
            equal(0, session.header(JFluid1Layout.RING_GAPS));
            that(!session.written().contains(" value:"), session.written());
            that(!session.self().active, "outside");
        }
    }

    static void aCallThatIsOnlyCountedHasNoRowAndIsNotSlow() {
        try (TestSession session = new TestSession(1_000, 3, false)) {
            session.ready(1);
            JFluid1Roots.slowFrom(0);
            call(1, () -> {});
            JFluid1Roots.timeOneOf(1_000_000);
            call(1, () -> {}); // uses the first random number
            session.self().by = 7; // as left by a call that a gap has ended
            call(1, () -> {
                equal(0, JFluid1Inside.by(session.self()));
                equal(Long.MAX_VALUE, session.self().rootSince);
            });
            equal(0, JFluid1Inside.by(session.self()));
        }
    }

    static void aClassOfTheApplicationWithTwoDollarSignsIsACaller() {
        that(!JFluid1Caller.isGlue("p.Orders$$anonfun$1"), "Scala");
        that(!JFluid1Caller.isGlue("p.A$$B"), "a name of the application");
        for (String name : new String[] {"p.S$$EnhancerBySpringCGLIB$$1f", "p.S$$SpringCGLIB$$0", "p.S$$FastClass$$1",
                 "p.S$HibernateProxy$x", "com.sun.proxy.$Proxy1", "jdk.proxy2.$Proxy3"}) {
            that(JFluid1Caller.isGlue(name), name);
        }
    }

    /** An exception leaves the inner root 2, and then the outermost root 1. */
    private static void throwThrough(Throwable thrown) {
        JFluid1.rootEntry(1);
        JFluid1.rootEntry(2);
        JFluid1.rootThrown(thrown, 2);
        JFluid1.rootThrown(thrown, 1);
    }

    static void classesOfExceptionsAboveTheLimitShareANumber() throws Exception {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1, 2);
            byte[] bytes = Throwing.class.getResourceAsStream("JFluid1RootsTest$Throwing.class").readAllBytes();
            for (int i = 0; i <= JFluid1Layout.MAX_THROWN; i++) {
                Class<?> own = java.lang.invoke.MethodHandles.lookup().defineHiddenClass(bytes, false).lookupClass();
                throwThrough((Throwable) own.getDeclaredConstructor().newInstance());
            }
            that(session.written().contains("threw:" + JFluid1Layout.MAX_THROWN), session.written());
        }
    }

    public static final class Throwing extends RuntimeException {
        public Throwing() {}
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
