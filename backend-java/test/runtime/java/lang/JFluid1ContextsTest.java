package java.lang;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.util.ArrayList;
import java.util.List;

/** A thread's tree for a user's profiler, and the thread's reports to the profiler. */
final class JFluid1ContextsTest {
    /** Requests a report every `granularity` bytecodes and records the context of the thread. */
    private static final class Reporter extends JFluid1Contexts.Reporter {
        final List<String> reports = new ArrayList<>();
        final int granularity;
        JFluid1Contexts.Context root;

        Reporter(int granularity) {
            this.granularity = granularity;
        }

        @Override
        public int register(Thread thread, JFluid1Contexts.Context root) {
            this.root = root;
            return granularity;
        }

        @Override
        public int report(JFluid1Contexts.Context root, JFluid1Contexts.Context current) {
            reports.add(path(current));
            return granularity;
        }
    }

    private static String path(JFluid1Contexts.Context context) {
        return context.caller == null ? "" : path(context.caller) + "/" + context.id;
    }

    /** Returns a context as {@code 1:1x5(2:3x7 )}: method id, calls, bytecodes, callees in the order of their ids. */
    private static String show(JFluid1Contexts.Context context) {
        List<JFluid1Contexts.Context> callees = new ArrayList<>();
        for (JFluid1Contexts.Context c = context.callees; c != null; c = c.next) {
            callees.add(c);
        }
        callees.sort((a, b) -> a.id - b.id);
        StringBuilder text = new StringBuilder();
        for (JFluid1Contexts.Context c : callees) {
            text.append(c.id + ":" + c.calls + "x" + c.executed + "(" + show(c) + ")");
        }
        return text.toString();
    }

    private static void call(int id, int executed, Runnable body) {
        JFluid1.countEntry(id);
        body.run();
        JFluid1.countExit(executed, id);
    }

    static void theTreeHasCallsAndBytecodesByContext() {
        try (TestSession session = new TestSession(1000, 1)) {
            session.ready(2, 3);
            Reporter reporter = new Reporter(1_000_000);
            JFluid1Contexts.reportTo(reporter);
            session.inside(() -> {
                for (int i = 0; i < 3; i++) {
                    call(2, 10, () -> call(3, 1, () -> {}));
                    call(3, 100, () -> {});
                }
            });
            equal("1:1x0(2:3x30(3:3x3())3:3x300())", show(reporter.root));
            equal(List.of(), reporter.reports);
        }
    }

    static void aFrameWithoutAnExitEndsWithItsCaller() {
        try (TestSession session = new TestSession(1000, 1)) {
            session.ready(2, 3, 4);
            Reporter reporter = new Reporter(1_000_000);
            JFluid1Contexts.reportTo(reporter);
            session.inside(() -> {
                JFluid1.countEntry(2);
                JFluid1.countEntry(3);
                JFluid1.countEntry(4); // no exit event
                JFluid1.countExit(7, 2);
                call(4, 5, () -> {});
                JFluid1.countExit(9, 4); // an exit without an entry
                call(3, 1, () -> {});
            });
            equal("1:1x0(2:1x7(3:1x0(4:1x0()))3:1x1()4:1x5())", show(reporter.root));
        }
    }

    static void aThreadReportsWhenItsBytecodesAreUsedUp() {
        try (TestSession session = new TestSession(1000, 1)) {
            session.ready(2, 3);
            Reporter reporter = new Reporter(10);
            JFluid1Contexts.reportTo(reporter);
            session.inside(() -> call(2, 4, () -> {
                for (int i = 0; i < 5; i++) {
                    call(3, 4, () -> {});
                }
            }));
            equal(List.of("/1/2/3", "/1/2"), reporter.reports); // reports after 12 and after 24 bytecodes
            that(session.written().endsWith("2<24 1<24"), "a report is no event: " + session.written());
        }
    }

    static void aRemovedReporterEndsTheTree() {
        try (TestSession session = new TestSession(1000, 1)) {
            session.ready(2);
            Reporter reporter = new Reporter(1);
            JFluid1Contexts.reportTo(reporter);
            session.inside(() -> {
                JFluid1Contexts.stopReporting(new Reporter(1));
                call(2, 4, () -> {});
                JFluid1Contexts.stopReporting(reporter);
                call(2, 4, () -> {});
                call(2, 4, () -> {});
            });
            equal(List.of("/1/2"), reporter.reports);
            equal(null, session.self().contexts);
        }
    }
}
