package java.lang;

import static java.lang.JFluid1Layout.*;
import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import jdk.internal.misc.Unsafe;

/** The states of methods and the counters of a session; each session resets them. */
final class JFluid1SessionTest {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int YIELDS = 150;
    private static final int SESSIONS = 3;

    static void statesOfMethodsGrowWithTheirNumbers() {
        try (TestSession session = new TestSession(10, 1)) {
            session.ready(5);
            JFluid1Session.methods(1_000_000);
            equal(JFluid1Session.READY, JFluid1Session.state[5]);
            equal(JFluid1Session.NEW, JFluid1Session.state[1_000_000]);
            that(!JFluid1Session.isReady(1_000_000), "it was not asked for");
            that(JFluid1Session.isReady(100_000_000), "of old code: nothing is to be asked");
            that(!JFluid1Session.isOfAnother(1_000_000) && JFluid1Session.isOfAnother(1_000_001),
                    "ids of this session");
            JFluid1Session.methods(7);
            that(!JFluid1Session.isOfAnother(1_000_000), "they do not become fewer");
            JFluid1Session.ready(1_000_000);
            that(JFluid1Session.isReady(1_000_000), "it is ready");
        }
        try (TestSession session = new TestSession(10, 1)) {
            that(JFluid1Session.state.length > 1_000_000, "old code may ask of its ids");
            equal(JFluid1Session.NEW, JFluid1Session.state[5]);
            that(JFluid1Session.isOfAnother(101), "its ids are not of this session");
        }
    }

    static void gapsAreCountedHereAndInTheRing() {
        try (TestSession session = new TestSession(10, 1)) {
            equal(0, JFluid1Session.gaps());
            JFluid1Session.gap();
            JFluid1Session.gap();
            equal(2, JFluid1Session.gaps());
            equal(2, session.header(RING_GAPS));
        }
        JFluid1Session.gap(); // counts a gap without a ring
    }

    static void withoutAClientRootsStayClosed() {
        try (TestSession session = new TestSession(10, 1)) {
            JFluid1Session.disable();
            JFluid1Session.open();
            that(!JFluid1Session.isOpen(), "not enabled");
            JFluid1Session.enable();
            that(!JFluid1Session.isOpen(), "not opened");
            JFluid1Session.open();
            that(JFluid1Session.isOpen(), "both");
        }
        that(!JFluid1Session.isOpen() && !JFluid1Session.isEnabled(), "over");
    }

    static void onlyTheRedefiningThreadEndsARedefinition() throws InterruptedException {
        try (TestSession session = new TestSession(10, 1)) {
            Thread other = new Thread(() -> JFluid1Session.swapping(true));
            other.start();
            other.join();
            that(JFluid1Session.swapping, "it runs");
            JFluid1Session.swapping(false); // called by a redefinition of an earlier session
            that(JFluid1Session.swapping, "it still runs");
            JFluid1Session.swapping(true);
            JFluid1Session.swapping(false);
            that(!JFluid1Session.swapping, "over");
        }
    }

    /** Each Thread.yield() lasts until all other threads have run. */
    static void beginningASessionDoesNotYieldManyTimes() throws InterruptedException {
        try (TestSession session = new TestSession(10, 1)) {
            equal(0, JFluid1Session.gaps()); // all classes are loaded
        }
        boolean[] over = new boolean[1];
        Thread[] busy = new Thread[4 * Runtime.getRuntime().availableProcessors()];
        for (int i = 0; i < busy.length; i++) {
            busy[i] = new Thread(() -> {
                while (!U.getBooleanVolatile(over, Unsafe.ARRAY_BOOLEAN_BASE_OFFSET)) {
                    Thread.onSpinWait();
                }
            });
            busy[i].start();
        }
        try {
            long begun = System.nanoTime();
            for (int i = 0; i < YIELDS; i++) {
                Thread.yield();
            }
            long yielding = System.nanoTime() - begun;
            begun = System.nanoTime();
            for (int i = 0; i < SESSIONS; i++) {
                new TestSession(10, 1).close();
            }
            long beginning = (System.nanoTime() - begun) / SESSIONS;
            // Some schedulers make yield() return at once.
            that(yielding < 200_000_000L || beginning < yielding / 2,
                    beginning / 1000 + " us for a session, " + yielding / 1000 + " us for " + YIELDS + " yields");
        } finally {
            U.putBooleanVolatile(over, Unsafe.ARRAY_BOOLEAN_BASE_OFFSET, true);
            for (Thread one : busy) {
                one.join();
            }
        }
    }
}
