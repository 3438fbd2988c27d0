package java.lang;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.util.HashSet;
import java.util.Set;

/** Samples are taken every N bytecodes, report the right frames, and write only the changes since the previous sample. */
final class JFluid1SamplesTest {
    private static TestSession session(int words, int every, int random) {
        TestSession session = new TestSession(words, 2);
        JFluid1Samples.everyBytecodes(every, random);
        session.ready(1, 2, 3, 4);
        return session;
    }

    /** Returns the events without times of entries and without ADJUST. */
    private static String written(TestSession session) {
        return session.written().replace("adjust ", "").replaceAll("(\\d+>)\\d+", "$1");
    }

    static void aSampleIsDueAfterSoManyBytecodes() {
        try (TestSession session = session(100, 10, 0)) {
            JFluid1Samples.Stack s = JFluid1Samples.rootEntry(1);
            JFluid1Samples.check(s, 9);
            equal("", written(session));
            JFluid1Samples.check(s, 1);
            JFluid1Samples.check(s, 10);
            JFluid1Samples.count(s, 25);
            JFluid1Samples.check(s, 1);
            JFluid1Samples.rootExit(s, 1);
            equal("1> sample:10 sample:10 sample:26", written(session));
            that(!session.self().active, "outside");
        }
    }

    static void onlyChangesAreWritten() {
        try (TestSession session = session(100, 1, 0)) {
            JFluid1Samples.Stack s = JFluid1Samples.rootEntry(1);
            JFluid1Samples.methodEntry(2);
            JFluid1Samples.methodEntry(3);
            JFluid1Samples.check(s, 1);
            JFluid1Samples.methodExit(s, 3);
            JFluid1Samples.methodEntry(4);
            JFluid1Samples.check(s, 1);
            JFluid1Samples.methodExit(s, 4);
            JFluid1Samples.methodExit(s, 2);
            JFluid1Samples.check(s, 1);
            JFluid1Samples.methodEntry(2); // another call of the same method
            JFluid1Samples.check(s, 1);
            JFluid1Samples.rootExit(s, 1);
            equal("1> 2> 3> sample:1 unwind:1 4> sample:1 unwind:2 sample:1 2> sample:1", written(session));
        }
    }

    static void aLeafIsOnTheStackOnlyWhenASampleIsDue() {
        try (TestSession session = session(100, 5, 0)) {
            JFluid1Samples.Stack s = JFluid1Samples.rootEntry(1);
            JFluid1Samples.leaf(4, 3);
            equal(1, s.depth);
            JFluid1Samples.quiet(1, 4);
            equal(1, s.depth);
            JFluid1Samples.check(s, 5);
            JFluid1Samples.rootExit(s, 1);
            equal("1> 4> sample:5 unwind:1 sample:5", written(session));
        }
    }

    static void framesWithoutAnExitEndWithTheirCaller() {
        try (TestSession session = session(100, 1000, 0)) {
            JFluid1Samples.Stack s = JFluid1Samples.rootEntry(1);
            JFluid1Samples.methodEntry(2);
            JFluid1Samples.methodEntry(3);
            JFluid1Samples.methodEntry(4);
            JFluid1Samples.methodResume(s, 2);
            equal(2, s.depth);
            JFluid1Samples.methodEntry(3);
            JFluid1Samples.methodExit(s, 2);
            equal(1, s.depth);
            JFluid1Samples.methodExit(s, 4); // method 4 is not on the stack
            equal(1, s.depth);
            JFluid1Samples.rootExit(s, 1);
            equal(0, s.depth);
        }
    }

    static void theStackGrowsWithItsDepth() {
        try (TestSession session = session(2000, 1000, 0)) {
            JFluid1Samples.Stack s = JFluid1Samples.rootEntry(1);
            for (int i = 0; i < 1000; i++) {
                that(JFluid1Samples.methodEntry(2 + i % 2) == s, "recorded");
            }
            equal(1001, s.depth);
            JFluid1Samples.check(s, 1000);
            String told = written(session);
            equal(1001 + 1, told.split(" ").length);
            that(told.startsWith("1> 2> 3> 2> 3> "), told.substring(0, 60));
            for (int i = 999; i >= 0; i--) {
                JFluid1Samples.methodExit(s, 2 + i % 2);
            }
            equal(1, s.depth);
            JFluid1Samples.rootExit(s, 1);
        }
    }

    static void distancesAreReproducibleAndHaveTheRightMean() {
        try (TestSession session = session(10, 100, 50)) {
            JFluid1Samples.Stack a = new JFluid1Samples.Stack(session.self());
            JFluid1Samples.Stack b = new JFluid1Samples.Stack(session.self());
            long sum = 0;
            Set<Integer> seen = new HashSet<>();
            for (int i = 0; i < 10_000; i++) {
                a.next(100);
                b.next(100);
                equal(a.left, b.left);
                that(a.left >= 100 && a.left < 150, "a distance of " + a.left);
                sum += a.left;
                seen.add(a.left);
            }
            equal(50, seen.size());
            that(Math.abs(sum / 10_000.0 - 124.5) < 1, "on average " + sum / 10_000.0);
            a.next(Integer.MAX_VALUE);
            equal(Integer.MAX_VALUE, a.left);
        }
    }
}
