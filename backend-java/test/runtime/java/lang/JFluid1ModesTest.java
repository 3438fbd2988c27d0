package java.lang;

import static java.lang.JFluid1Modes.*;
import static jfluid.check.Check.equal;

/** Methods switched on and off without a redefinition. Method 1 is a root, methods 2 and 3 are not. */
final class JFluid1ModesTest {
    private static final int ROOT = 1;

    private static byte[] modes(int... ofTwoAndThree) {
        return new byte[] {OFF, OFF, (byte) ofTwoAndThree[0], (byte) ofTwoAndThree[1]};
    }

    private static void call(int id, Runnable inside) {
        JFluid1.switchedEntry(id);
        inside.run();
        JFluid1.switchedExit(id);
    }

    private static void root(Runnable inside) {
        JFluid1.rootEntry(ROOT);
        inside.run();
        JFluid1.rootExit(ROOT);
    }

    private static void nothing() {}

    /** Returns the events without times. */
    private static String written(TestSession session) {
        return session.written().replaceAll("(?<=[<>!])\\d+", "").replaceAll("(?:adjust|epoch:\\d+|root) ?", "").trim();
    }

    private static TestSession session() {
        TestSession session = new TestSession(100, 3, false);
        session.ready(1, 2, 3);
        return session;
    }

    static void onlyWhatIsTimedIsWritten() {
        try (TestSession session = session()) {
            set(modes(TIME, OFF));
            root(() -> call(2, () -> call(3, JFluid1ModesTest::nothing)));
            equal("1> 2> 2< 1<", written(session));
        }
    }

    static void allIsOffAtFirst() {
        try (TestSession session = session()) {
            root(() -> call(2, JFluid1ModesTest::nothing));
            equal("1> 1<", written(session));
        }
    }

    static void callsOutsideRootsAreNotTimed() {
        try (TestSession session = session()) {
            set(modes(TIME, COUNT));
            call(2, () -> call(3, JFluid1ModesTest::nothing));
            root(JFluid1ModesTest::nothing);
            equal("1> 1<", written(session));
            equal(0L, counts()[3]);
        }
    }

    static void whatIsSwitchedOnTellsFromTheNextCallOfARootOn() {
        try (TestSession session = session()) {
            root(() -> {
                set(modes(TIME, OFF));
                call(2, JFluid1ModesTest::nothing);
            });
            root(() -> call(2, JFluid1ModesTest::nothing));
            equal("1> 1< 1> 2> 2< 1<", written(session));
        }
    }

    static void whatIsSwitchedOffTellsNothingMoreButItsEnd() {
        try (TestSession session = session()) {
            set(modes(TIME, OFF));
            root(() -> {
                call(2, () -> set(modes(OFF, OFF)));
                JFluid1.switchedEntry(2);
            });
            root(() -> call(2, JFluid1ModesTest::nothing));
            equal("1> 2> 2< 1< 1> 1<", written(session));
        }
    }

    static void callsAreCountedAlsoOfThreadsThatHaveEnded() throws InterruptedException {
        try (TestSession session = session()) {
            set(modes(OFF, COUNT));
            Runnable twice = () -> root(() -> {
                call(3, JFluid1ModesTest::nothing);
                call(3, JFluid1ModesTest::nothing);
            });
            Thread other = new Thread(twice);
            other.start();
            other.join();
            equal(2L, counts()[3]);
            JFluid1Session.purge();
            JFluid1Session.purge();
            equal(2L, counts()[3]);
            twice.run();
            equal(4L, counts()[3]);
            equal(0L, counts()[2]);
        }
    }

    static void whatIsReturnedIsPassedOn() {
        try (TestSession session = session()) {
            set(modes(TIME, OFF));
            root(() -> {
                for (int id = 2; id <= 3; id++) {
                    JFluid1.switchedEntry(id);
                    equal(Integer.MIN_VALUE, JFluid1.switchedExit(Integer.MIN_VALUE, id));
                    JFluid1.switchedEntry(id);
                    equal(Long.MIN_VALUE + 1, JFluid1.switchedExit(Long.MIN_VALUE + 1, id));
                    JFluid1.switchedEntry(id);
                    equal(-0.0f, JFluid1.switchedExit(-0.0f, id));
                    JFluid1.switchedEntry(id);
                    equal(Double.MIN_VALUE, JFluid1.switchedExit(Double.MIN_VALUE, id));
                    JFluid1.switchedEntry(id);
                    equal("this", JFluid1.switchedExit((Object) "this", id));
                }
            });
            equal("1> 2> 2< 2> 2< 2> 2< 2> 2< 2> 2< 1<", written(session));
        }
    }

    static void whatIsThrownIsPassedOn() {
        try (TestSession session = session()) {
            set(modes(TIME, OFF));
            RuntimeException thrown = new RuntimeException("as it was");
            root(() -> {
                JFluid1.switchedEntry(2);
                equal(thrown, JFluid1.switchedThrown(thrown, 2));
                equal(thrown, JFluid1.switchedThrown(thrown, 3));
            });
            equal("1> 2> 2< 1<", written(session));
        }
    }

    static void anotherSessionBeginsWithNothing() {
        try (TestSession session = session()) {
            set(modes(TIME, COUNT));
        }
        try (TestSession session = session()) {
            root(() -> call(2, JFluid1ModesTest::nothing));
            equal("1> 1<", written(session));
            equal(0, counts().length);
        }
    }
}
