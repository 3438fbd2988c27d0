package java.lang.invoke;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

/** The time stamp counter if this JVM can read it; otherwise the reason why it cannot. */
final class JFluid1TscTest {
    private static final int READINGS = 100_000;

    static void itCanBeReadOnX86WithVersionsThatWereTried() {
        int version = Runtime.version().feature();
        if (version < 21 || version > 27) {
            that(JFluid1Tsc.problem().contains("JDK ".concat(String.valueOf(version))), JFluid1Tsc.problem());
        } else if (System.getProperty("os.arch").equals("amd64")) {
            String problem = JFluid1Tsc.problem();
            that(problem == null || problem.contains("refuses executable memory"), problem);
        }
    }

    static void itNeverRunsBackwards() {
        if (JFluid1Tsc.problem() != null) {
            return;
        }
        long before = JFluid1Tsc.read();
        for (int i = 0; i < READINGS; i++) {
            long now = JFluid1Tsc.read();
            that(now >= before, "it counts up");
            before = now;
        }
    }

    /** Reading the counter preserves registers, in compiled and in interpreted code. */
    static void itLeavesWhatAMethodHasInRegisters() {
        if (JFluid1Tsc.problem() != null) {
            return;
        }
        long sum = 0;
        double product = 1;
        for (int i = 1; i <= READINGS; i++) {
            sum += i + (JFluid1Tsc.read() & 0);
            product *= 1 + 1.0 / i;
        }
        equal(READINGS * (READINGS + 1L) / 2, sum);
        that(Math.abs(product - (READINGS + 1)) < 1e-3, "a register was overwritten");
    }
}
