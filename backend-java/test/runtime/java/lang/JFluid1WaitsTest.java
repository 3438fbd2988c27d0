package java.lang;

import static java.lang.JFluid1Layout.*;
import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Wait ids: each pair of class and kind has its own id, until all ids are used. */
final class JFluid1WaitsTest {
    private static final int WAITED_CLASSES = BLOCKED_OTHER - FIRST_WAIT_CLASS;
    private static final int BLOCKED_CLASSES = FIRST_METHOD_BESIDE_WAITS - FIRST_BLOCKED_CLASS;

    /** Arrays of increasing dimensions, each of a different class. */
    private static List<Object> ofDifferentClasses(int count) {
        List<Object> objects = new ArrayList<>();
        for (int dimensions = 1; dimensions <= count; dimensions++) {
            objects.add(java.lang.reflect.Array.newInstance(Thread.class, new int[dimensions]));
        }
        return objects;
    }

    static void sleepAndWhatIsUnknownHaveIdsOfTheirOwn() {
        try (TestSession session = new TestSession(10, 1)) {
            JFluid1Waits.tellWaits();
            equal(WAIT_SLEEPING, JFluid1Waits.waitId(KIND_SLEEPING, null));
            equal(WAIT_PARKED, JFluid1Waits.waitId(KIND_PARKED, null));
            equal(WAIT_OTHER, JFluid1Waits.waitId(KIND_WAITING, null));
            equal(BLOCKED_OTHER, JFluid1Waits.waitId(KIND_BLOCKED, null));
            equal(0, session.requests.size());
        }
    }

    static void aClassHasOneIdForEachKind() {
        try (TestSession session = new TestSession(10, 1)) {
            JFluid1Waits.tellWaits();
            equal(FIRST_WAIT_CLASS, JFluid1Waits.waitId(KIND_WAITING, new Object()));
            equal(FIRST_WAIT_CLASS, JFluid1Waits.waitId(KIND_WAITING, new Object()));
            equal(FIRST_WAIT_CLASS + 1,
                    JFluid1Waits.waitId(KIND_WAITING, Object.class)); // the wait is for the monitor of the class itself
            equal(FIRST_WAIT_CLASS + 2, JFluid1Waits.waitId(KIND_PARKED, new Object()));
            equal(FIRST_WAIT_CLASS + 3, JFluid1Waits.waitId(KIND_WAITING, "text"));
            equal(FIRST_BLOCKED_CLASS, JFluid1Waits.waitId(KIND_BLOCKED, "text"));
            equal(FIRST_BLOCKED_CLASS, JFluid1Waits.waitId(KIND_BLOCKED, "another"));
            List<String> told = new ArrayList<>();
            for (JFluid1Requests.Request it : session.requests) {
                JFluid1Waits.Waited waited = (JFluid1Waits.Waited) it.subject;
                told.add(it.value + " " + waited.kind + " " + waited.itself + " " + waited.named.getName());
            }
            equal(List.of("4 1 false java.lang.Object", "5 1 true java.lang.Object", "6 2 false java.lang.Object",
                          "7 1 false java.lang.String", "129 0 false java.lang.String"),
                    told);
        }
    }

    static void aParkedThreadWaitsForItsBlocker() {
        try (TestSession session = new TestSession(10, 1)) {
            JFluid1Waits.tellWaits();
            int[] id = {0};
            Thread parked = new Thread(() -> {
                java.util.concurrent.locks.LockSupport.setCurrentBlocker("blocker");
                id[0] = JFluid1Waits.waitId(KIND_PARKED, null);
            });
            parked.start();
            try {
                parked.join();
            } catch (InterruptedException never) {
                throw new IllegalStateException(never);
            }
            equal(FIRST_WAIT_CLASS, id[0]);
            equal(String.class, ((JFluid1Waits.Waited) session.requests.get(0).subject).named);
        }
    }

    static void furtherClassesShareOneIdWhenIdsAreUsedUp() {
        try (TestSession session = new TestSession(10, 1)) {
            JFluid1Waits.tellWaits();
            List<Object> objects = ofDifferentClasses(200);
            Set<Integer> waits = new HashSet<>();
            Set<Integer> blocks = new HashSet<>();
            for (Object it : objects) {
                waits.add(JFluid1Waits.waitId(KIND_WAITING, it));
                blocks.add(JFluid1Waits.waitId(KIND_BLOCKED, it));
            }
            equal(WAITED_CLASSES + 1, waits.size());
            that(waits.contains(WAIT_OTHER) && !waits.contains(BLOCKED_OTHER), waits.toString());
            equal(BLOCKED_CLASSES + 1, blocks.size());
            that(blocks.contains(BLOCKED_OTHER) && !blocks.contains(FIRST_METHOD_BESIDE_WAITS), blocks.toString());
            for (int i = 0; i < 200; i++) { // earlier classes keep their ids
                equal(i < WAITED_CLASSES ? FIRST_WAIT_CLASS + i : WAIT_OTHER,
                        JFluid1Waits.waitId(KIND_WAITING, objects.get(i)));
            }
            equal(WAITED_CLASSES + BLOCKED_CLASSES, session.requests.size());
        }
    }
}
