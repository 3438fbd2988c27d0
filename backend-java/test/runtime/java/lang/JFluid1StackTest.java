package java.lang;

import static java.lang.JFluid1Layout.*;
import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.util.ArrayList;
import java.util.List;

/** StackOverflowErrors that end instrumented methods, and probes on a nearly full stack. */
final class JFluid1StackTest {
    /** Ids of methods with probes; method 1 is the root that TestSession.inside() calls. */
    private static final int ROOT = 1;
    private static final int OUTER = 2;
    private static final int INNER = 3;
    private static final int STACK = 256 << 10;
    /** Number of call depths near the end of the stack that a test checks one by one. */
    private static final int NEAR = 150;

    static void anErrorIsReportedByTheFirstMethodWithRoom() {
        try (TestSession session = new TestSession(100, 1)) {
            StackOverflowError error = new StackOverflowError();
            session.inside(() -> leave(error, 10, 11, 12, 13));
            equal("overflow:10", overflows(session));
        }
    }

    static void anotherErrorIsReportedAsWell() {
        try (TestSession session = new TestSession(100, 1)) {
            StackOverflowError first = new StackOverflowError();
            StackOverflowError second = new StackOverflowError();
            session.inside(() -> {
                leave(first, 10, 11);
                leave(second, 12, 13);
                leave(first, 14); // only the hash of the latest error is kept
            });
            equal("overflow:10 overflow:12 overflow:14", overflows(session));
        }
    }

    static void otherErrorsAreNotReported() {
        try (TestSession session = new TestSession(100, 1)) {
            session.inside(() -> {
                JFluid1.countThrown(new OutOfMemoryError(), 0, 10);
                JFluid1.countThrown(new StackOverflowError() {}, 0, 11);
            });
            equal("", overflows(session));
        }
    }

    static void outsideOfRootsNothingIsReported() {
        try (TestSession session = new TestSession(100, 1)) {
            session.inside(() -> {});
            leave(new StackOverflowError(), 10);
            equal("", overflows(session));
        }
    }

    /** Sets the number of methods that an error has ended, as if these methods had too little stack to report the error. */
    static void methodsOneTwoFourAndEightTry() {
        for (int left = 0; left < 17; left++) {
            try (TestSession session = new TestSession(100, 1)) {
                StackOverflowError error = new StackOverflowError();
                int before = left;
                session.inside(() -> {
                    session.self().overflow = System.identityHashCode(error);
                    session.self().overflowPassed = before;
                    leave(error, 10);
                });
                boolean tries = List.of(1, 2, 4, 8, 16).contains(left + 1);
                equal(tries ? "overflow:10" : "", overflows(session), "method " + (left + 1));
            }
        }
    }

    static void theOutermostRootAlwaysTries() {
        for (int left = 0; left < 17; left++) {
            for (boolean counts : new boolean[] {false, true}) {
                try (TestSession session = new TestSession(100, 1)) {
                    session.ready(ROOT);
                    StackOverflowError error = new StackOverflowError();
                    JFluid1.countRootEntry(ROOT);
                    session.self().overflow = System.identityHashCode(error);
                    session.self().overflowPassed = left;
                    Throwable thrown =
                            counts ? JFluid1.countRootThrown(error, 0, ROOT) : JFluid1.rootThrown(error, ROOT);
                    that(thrown == error, "it is handed through");
                    equal("overflow:1", overflows(session), "method " + (left + 1));
                    that(!session.self().active, "outside");
                }
            }
        }
    }

    /** Two methods near the end of the stack have too little space to report the error; the root has enough. */
    static void anErrorThatLeavesARootIsReportedOnce() throws InterruptedException {
        try (TestSession session = new TestSession(100_000, 1)) {
            session.ready(ROOT, OUTER, INNER);
            onSmallStack(() -> {
                session.inside(() -> {}); // registers the thread
                for (int calls : nearTheEnd()) {
                    int before = overflowCount(session);
                    boolean left = root(() -> deep(calls, JFluid1StackTest::outer));
                    int reported = overflowCount(session) - before;
                    equal(left ? 1 : 0, reported, "after " + calls + " calls");
                }
            });
        }
    }

    /** Each of these probes takes a slow path, since the chunk is full. */
    static void whatFailsAtItsEntryIsNotWritten() throws InterruptedException {
        forEachCallNearTheEnd(KIND_ENTER, true, () -> JFluid1.countEntry(INNER));
        forEachCallNearTheEnd(KIND_ENTER, true, () -> JFluid1.countLeaf(0, INNER));
        forEachCallNearTheEnd(KIND_ENTER, true, () -> JFluid1.methodEntry(INNER));
    }

    static void exitsAndHandlersThatHaveWrittenDoNotThrow() throws InterruptedException {
        forEachCallNearTheEnd(KIND_EXIT, false, () -> JFluid1.countExit(0, INNER));
        forEachCallNearTheEnd(KIND_EXIT, true, () -> JFluid1.countLeaf(0, INNER)); // an entry and an exit in one probe
        forEachCallNearTheEnd(KIND_EXIT, false, () -> JFluid1.methodExit(INNER));
        forEachCallNearTheEnd(KIND_CATCH, false, () -> JFluid1.countResume(INNER));
        forEachCallNearTheEnd(KIND_CATCH, false, () -> JFluid1.methodResume(INNER));
    }

    static void aMethodThatIsSwitchedEndsWhereItHasBegun() throws InterruptedException {
        try (TestSession session = new TestSession(100, 4, false)) {
            session.ready(ROOT, INNER);
            int[] written = new int[1];
            onSmallStack(() -> {
                endsWhereItHasBegun(); // the thread is outside root calls
                for (byte mode : new byte[] {JFluid1Modes.OFF, JFluid1Modes.COUNT, JFluid1Modes.TIME}) {
                    byte[] modes = new byte[INNER + 1];
                    modes[INNER] = mode;
                    JFluid1Modes.set(modes);
                    JFluid1.rootEntry(ROOT);
                    endsWhereItHasBegun();
                    JFluid1.rootExit(ROOT);
                }
                for (int i = 0; i < 20_000; i++) { // runs until the code is compiled
                    JFluid1.switchedEntry(INNER);
                    JFluid1.switchedExit(i, INNER);
                }
                endsWhereItHasBegun();
                JFluid1.rootEntry(ROOT);
                for (int calls : nearTheEnd()) {
                    session.collect();
                    int begun = count(session, KIND_ENTER, INNER);
                    int left = count(session, KIND_EXIT, INNER);
                    boolean[] has = new boolean[2];
                    runs(calls, () -> {
                        JFluid1.switchedEntry(INNER);
                        has[0] = true;
                        has[1] = JFluid1.switchedExit(calls, INNER) == calls;
                    });
                    equal(has[0], has[1]);
                    begun = count(session, KIND_ENTER, INNER) - begun;
                    equal(begun, count(session, KIND_EXIT, INNER) - left);
                    equal(has[0] ? 1 : 0, begun);
                    written[0] += begun;
                }
                JFluid1.rootExit(ROOT);
            });
            that(written[0] > 0, "some have room");
        }
    }

    private static void endsWhereItHasBegun() {
        int ended = 0;
        for (int calls : nearTheEnd()) {
            boolean[] has = new boolean[2];
            runs(calls, () -> {
                JFluid1.switchedEntry(INNER);
                has[0] = true;
                has[1] = JFluid1.switchedExit((long) calls, INNER) == calls;
            });
            equal(has[0], has[1]);
            ended += has[1] ? 1 : 0;
        }
        that(ended > 0, "some have room");
    }

    static void aRootThatFailsLeavesItsThreadOutside() throws InterruptedException {
        try (TestSession session = new TestSession(10_000, 1)) {
            session.ready(ROOT);
            onSmallStack(() -> {
                session.inside(() -> {}); // registers the thread
                for (int calls : nearTheEnd()) {
                    boolean began = runs(calls, () -> JFluid1.countRootEntry(ROOT));
                    equal(began, session.self().active, "after " + calls + " calls");
                    JFluid1Roots.leaveGraph(session.self());
                }
            });
            equal(0, JFluid1Session.gaps());
        }
    }

    /** @param isEntry whether the probe must write its event if it returns; false if the event may be lost */
    private static void forEachCallNearTheEnd(long kind, boolean isEntry, Runnable probe) throws InterruptedException {
        try (TestSession session = new TestSession(100, 4)) {
            session.ready(ROOT, INNER);
            int[] written = new int[1];
            onSmallStack(() -> session.inside(() -> {
                JFluid1Threads.ThreadInfo self = session.self();
                for (int calls : nearTheEnd()) {
                    session.collect();
                    int before = count(session, kind, INNER);
                    boolean ended = runs(calls, () -> {
                        self.limit = self.next;
                        probe.run();
                    });
                    int events = count(session, kind, INNER) - before;
                    boolean holds = isEntry ? events == (ended ? 1 : 0) : ended || events == 0;
                    that(holds,
                            "after " + calls + " calls " + events + " events, and it " + (ended ? "ended" : "threw"));
                    written[0] += events;
                    self.active = true; // restores the state also after a lost event
                }
            }));
            that(written[0] > 0, "some have room");
        }
    }

    /** Simulates an error that ends these methods. */
    private static void leave(StackOverflowError error, int... methods) {
        for (int method : methods) {
            that(JFluid1.countThrown(error, 0, method) == error, "it is handed through");
        }
    }

    private static String overflows(TestSession session) {
        List<String> told = new ArrayList<>(List.of(session.written().split(" ")));
        told.removeIf(word -> !word.startsWith("overflow:"));
        return String.join(" ", told);
    }

    private static int overflowCount(TestSession session) {
        String told = overflows(session);
        return told.isEmpty() ? 0 : told.split(" ").length;
    }

    private static int count(TestSession session, long kind, int method) {
        int count = 0;
        for (long word : session.wordsOf(session.self().number)) {
            boolean isControl = (kind & KIND_CONTROL) == KIND_CONTROL;
            long event = kind | (isControl ? method : (long) method << TICK_BITS);
            count += (isControl ? word : word & ~TICK_MASK) == event ? 1 : 0;
        }
        return count;
    }

    /** @return whether an error has ended the method */
    private static boolean root(Runnable body) {
        JFluid1.countRootEntry(ROOT);
        try {
            body.run();
        } catch (StackOverflowError end) {
            JFluid1.countRootThrown(end, 0, ROOT);
            return true;
        }
        JFluid1.countRootExit(0, ROOT);
        return false;
    }

    private static void outer() {
        JFluid1.countEntry(OUTER);
        try {
            inner();
        } catch (StackOverflowError end) {
            JFluid1.countThrown(end, 0, OUTER);
            throw end;
        }
        JFluid1.countExit(0, OUTER);
    }

    private static void inner() {
        JFluid1.countEntry(INNER);
        try {
            deep(Integer.MAX_VALUE, () -> {});
        } catch (StackOverflowError end) {
            JFluid1.countThrown(end, 0, INNER);
            throw end;
        }
        JFluid1.countExit(0, INNER);
    }

    private static int deepest;

    private static int deep(int calls, Runnable body) {
        deepest = calls;
        if (calls == 0) {
            body.run();
            return 0;
        }
        return deep(calls - 1, body) + 1;
    }

    /** @return false on a stack overflow */
    private static boolean runs(int calls, Runnable body) {
        try {
            deep(calls, body);
            return true;
        } catch (StackOverflowError end) {
            return false;
        }
    }

    /** Returns the numbers of nested calls of deep() with which the stack is nearly full. */
    private static int[] nearTheEnd() {
        for (int i = 0; i < 2000; i++) {
            runs(300, () -> {}); // compiled, so that the depth is constant
        }
        runs(Integer.MAX_VALUE, () -> {});
        int end = Integer.MAX_VALUE - deepest;
        int[] calls = new int[NEAR];
        for (int i = 0; i < NEAR; i++) {
            calls[i] = end - NEAR + i;
        }
        return calls;
    }

    private static void onSmallStack(Runnable body) throws InterruptedException {
        Throwable[] failure = new Throwable[1];
        Thread thread = new Thread(null, body, "small", STACK);
        thread.setUncaughtExceptionHandler((dead, thrown) -> failure[0] = thrown);
        thread.start();
        thread.join();
        equal(null, failure[0]);
    }
}
