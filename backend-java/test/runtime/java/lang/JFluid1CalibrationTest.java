package java.lang;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

/** The cost of a probe, measured by a thread of jfluid while a session records. Method 1 is a root. */
final class JFluid1CalibrationTest {
    private static final int ROOT = 1;
    private static final long NANOS = 1_000_000;

    private static final class Measuring extends JFluid1Guest {
        private final long[][] results = new long[3][];

        Measuring() {
            super("measuring");
        }

        @Override
        public void run() {
            for (int i = 0; i < results.length; i++) {
                results[i] = JFluid1Calibration.calibrate(NANOS, 1);
            }
        }
    }

    private static long[][] measured() throws InterruptedException {
        Measuring measuring = new Measuring();
        measuring.start();
        measuring.join();
        return measuring.results;
    }

    static void aMeasurementHasResultsAndWritesNoEvent() throws InterruptedException {
        try (TestSession session = new TestSession(100, 3, false)) {
            session.ready(ROOT);
            long[][] all = measured();
            for (long[] one : all) {
                that(one[0] > 0 && one[0] < Integer.MAX_VALUE, "t_I " + one[0]);
                that(one[1] >= 0 && one[1] < Integer.MAX_VALUE, "t_O " + one[1]);
                that(one[4] > 0, "a clock read takes " + one[4]);
            }
            JFluid1.rootEntry(ROOT);
            JFluid1.rootExit(ROOT);
            String written = session.written().replaceAll("(?<=[<>!])\\d+|adjust|epoch:\\d+|root|thread:\\d+", "");
            equal("1> 1<", written.replaceAll(" +", " ").trim());
            equal(0, JFluid1Session.gaps());
        }
    }

    static void theThreadGetsOneNumberAndIsNotSampled() throws InterruptedException {
        try (TestSession session = new TestSession(100, 3, false)) {
            session.ready(ROOT);
            JFluid1Inside.begin();
            try {
                measured();
                that(JFluid1Inside.takeNewThreads() == null, "a thread of jfluid is sampled");
                JFluid1.rootEntry(ROOT);
                JFluid1.rootExit(ROOT);
                JFluid1Threads.ThreadInfo own = JFluid1Inside.takeNewThreads();
                that(own == session.self(), "the thread with the root is sampled");
                equal(2, own.number); // the measuring thread has number 1
            } finally {
                JFluid1Inside.end();
            }
        }
    }
}
