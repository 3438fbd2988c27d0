package java.lang;

import static java.lang.JFluid1Layout.*;
import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Which allocations are recorded, with which class number and size. */
final class JFluid1AllocationsTest {
    private static JFluid1Threads.ThreadInfo thread(int number) {
        return new JFluid1Threads.ThreadInfo(new Thread(), number, number, false);
    }

    private static TestSession session(int words, int every) {
        TestSession session = new TestSession(words, 2);
        JFluid1Allocations.allocations(new JFluid1SurvivorsTest.Gauge(), 8, every, false);
        return session;
    }

    static void everyKindOfArrayHasItsLength() {
        Object[] arrays = {new boolean[3], new byte[3], new char[3], new short[3], new int[3], new long[3],
            new float[3], new double[3], new Object[3], new String[3], new int[3][2]};
        for (Object array : arrays) {
            equal(3, JFluid1Allocations.lengthOf(array), array.getClass().getName());
        }
        equal(0, JFluid1Allocations.lengthOf(new int[0]));
        equal(-1, JFluid1Allocations.lengthOf("text"));
        equal(-1, JFluid1Allocations.lengthOf(int[].class));
    }

    static void theMeanDistanceIsAsConfigured() {
        for (int every : new int[] {2, 10, 300}) {
            try (TestSession session = session(10, every)) {
                long recorded = 0;
                int rounds = 20;
                int calls = 1000 * every;
                Set<Integer> firsts = new HashSet<>();
                for (int number = 1; number <= rounds; number++) {
                    JFluid1Threads.ThreadInfo ti = thread(number);
                    int before = 0;
                    int last = -1;
                    for (int i = 0; i < calls; i++) {
                        if (!JFluid1Allocations.isPassedOver(ti)) {
                            before++;
                            that(last < 0 || i - last <= 2 * every - 1, "a distance of " + (i - last));
                            if (last < 0) {
                                firsts.add(i);
                                that(i < every, "the first after " + i);
                            }
                            last = i;
                        }
                    }
                    recorded += before;
                }
                double mean = (double) rounds * calls / recorded;
                that(Math.abs(mean / every - 1) < 0.05, "1 of " + mean + " instead of " + every);
                that(firsts.size() > Math.min(every, rounds) / 2, "threads begin at " + firsts);
            }
        }
    }

    static void theSameThreadRecordsTheSameInEveryRun() {
        try (TestSession session = session(10, 7)) {
            List<Integer> runs = new ArrayList<>();
            for (int run = 0; run < 2; run++) {
                JFluid1Threads.ThreadInfo ti = thread(5);
                for (int i = 0; i < 1000; i++) {
                    if (!JFluid1Allocations.isPassedOver(ti)) {
                        runs.add(i);
                    }
                }
            }
            equal(runs.subList(0, runs.size() / 2), runs.subList(runs.size() / 2, runs.size()));
        }
    }

    static void theNameOfAClassIsWrittenOnce() {
        try (TestSession session = session(200, 1)) {
            session.inside(() -> {
                JFluid1.allocatedArray(new String[3]);
                JFluid1.allocatedArray(new String[4]);
            });
            String name = "[Ljava.lang.String;\nbootstrap";
            StringBuilder expected = new StringBuilder("adjust root 1>0");
            for (int i = 0; i < name.length(); i++) {
                expected.append(" name:").append(1L << NAME_CLASS_SHIFT | (long) i << NAME_AT_SHIFT | name.charAt(i));
            }
            long base = JFluid1Memory.OBJECTS_AT;
            long each = JFluid1Memory.OBJECT_BYTES;
            long three = base + 3 * each + 7 & ~7L;
            long four = base + 4 * each + 7 & ~7L;
            expected.append(" 1>0 1<" + three + " 1>" + three + " 1<" + (three + four) + " allocated:0"
                    + " 1<" + (three + four));
            equal(expected.toString(), session.written());
        }
    }

    static void bytesAllocatedToNumberAClassAreNotTheProgramsBytes() {
        try (TestSession session = session(200, 1)) {
            JFluid1SurvivorsTest.Gauge gauge = (JFluid1SurvivorsTest.Gauge) JFluid1Allocations.gauge;
            gauge.allocatedBySizeOf = 1000;
            session.inside(() -> {
                JFluid1.allocatedObject(new Object());
                gauge.allocated += 16;
            });
            equal(1016L, gauge.allocated);
            that(session.written().endsWith(" 1<48 allocated:16 1<48"), session.written());
        }
    }

    static void arraysOfPrimitivesHaveTheBytesOfTheirElements() {
        try (TestSession session = session(400, 1)) {
            Object[] arrays = {new boolean[5], new char[5], new float[5], new double[5], new byte[5], new short[5],
                new int[5], new long[5]};
            int[] bytes = {1, 2, 4, 8, 1, 2, 4, 8};
            session.inside(() -> {
                for (int i = 0; i < arrays.length; i++) {
                    long before = session.self().executed;
                    JFluid1.allocatedPrimitives(5, 4 + i);
                    long took = session.self().executed - before;
                    long header =
                            JFluid1Memory
                                    .BYTES_AT; // a minimum: larger for 8-byte elements if class pointers are not compressed
                    long least = header + 5L * bytes[i];
                    that(took >= least && took <= least + 8 + 7 && took % 8 == 0, arrays[i].getClass() + " " + took);
                    equal(arrays[i].getClass(), JFluid1Allocations.PRIMITIVE_ARRAYS[4 + i]);
                }
            });
        }
    }

    static void allDimensionsOfAnArrayAreCounted() {
        try (TestSession session = session(2000, 1)) {
            session.inside(() -> JFluid1.allocatedArrays(new int[2][3][4], 3));
            equal(1 + 2 + 6, enters(session));
        }
        try (TestSession session = session(2000, 1)) {
            session.inside(() -> JFluid1.allocatedArrays(new int[2][0][4], 3));
            equal(1 + 2, enters(session));
        }
        try (TestSession session = session(2000, 1)) {
            session.inside(
                    () -> JFluid1.allocatedArrays(new int[2][3][4], 2)); // simulates multianewarray with two sizes
            equal(1 + 2, enters(session));
        }
    }

    /** The filled dimensions of Array.newInstance(Class, int[]) end at an empty array or at null. */
    static void theDimensionsFilledByReflectionAreFound() {
        Object[][] cases = {{new int[2][3][4], 1 + 2 + 6}, {new int[0][3], 1}, {new int[2][0][4], 1 + 2},
            {new int[2][], 1}, {new int[3], 1}, {new String[2][2], 1 + 2}};
        for (Object[] it : cases) {
            try (TestSession session = session(2000, 1)) {
                session.inside(() -> JFluid1.allocatedArraysOf(it[0]));
                equal(it[1], enters(session), it[0].getClass().getName());
            }
        }
    }

    private static int enters(TestSession session) {
        int count = -1; // -1 leaves out the event of the root
        for (long word : session.wordsOf(session.self().number)) {
            count += (word & KIND_CONTROL) == KIND_ENTER ? 1 : 0;
        }
        return count;
    }

    /** More classes than the table has buckets. */
    static void thousandsOfClassesHaveNumbersOfTheirOwn() {
        List<Class<?>> classes = new ArrayList<>();
        Class<?>[] elements = {int.class, long.class, byte.class, Object.class, String.class, Thread.class, Class.class,
            Integer.class, Long.class, List.class, Set.class, Runnable.class, Character.class, Double.class,
            Float.class, Short.class, Byte.class, Boolean.class, Number.class, Math.class, System.class, Process.class,
            Runtime.class, Error.class, Exception.class};
        for (Class<?> element : elements) {
            Class<?> c = element;
            for (int dimensions = 1; dimensions <= 200; dimensions++) {
                c = java.lang.reflect.Array.newInstance(c, 0).getClass();
                classes.add(c);
            }
        }
        try (TestSession session = session(400_000, 1)) {
            session.inside(() -> {
                JFluid1Threads.ThreadInfo self = session.self();
                for (Class<?> c : classes) {
                    equal(null, JFluid1Allocations.known(c), c.getName());
                    self.next = self.limit - 400_000L * EVENT_BYTES; // the names would fill the ring
                    JFluid1Allocations.learn(self, c, null);
                }
                for (int i = 0; i < classes.size(); i++) {
                    JFluid1Allocations.Allocated known = JFluid1Allocations.known(classes.get(i));
                    if (known == null || known.id != i + 1) {
                        equal(i + 1, known == null ? -1 : known.id, classes.get(i).getName());
                        return;
                    }
                }
            });
            JFluid1Session.purge();
            that(JFluid1Allocations.heapBytes() > 5000 * 80, JFluid1Allocations.heapBytes() + " bytes");
        }
    }

    static void namesContainTheLoader() {
        equal("java.lang.String\nbootstrap", JFluid1Allocations.nameOf(String.class));
        equal("[I\nbootstrap", JFluid1Allocations.nameOf(int[].class));
        Runnable lambda = () -> {};
        equal("java.lang.JFluid1AllocationsTest$$Lambda\nbootstrap", JFluid1Allocations.nameOf(lambda.getClass()));
        Class<?> deep = int.class;
        for (int i = 0; i < 255; i++) {
            deep = java.lang.reflect.Array.newInstance(deep, 0).getClass();
        }
        that(JFluid1Allocations.nameOf(deep).length() <= LONGEST_NAME, "names fit into their words");
    }

    static void cachedBoxesAreNotAllocated() {
        for (int i = -200; i < 200; i++) {
            equal(Integer.valueOf(i) == Integer.valueOf(i), JFluid1Allocations.Values.isCached(Integer.valueOf(i)),
                    "int " + i);
            equal(Long.valueOf(i) == Long.valueOf(i), JFluid1Allocations.Values.isCached(Long.valueOf(i)), "long " + i);
            Short s = (short) i;
            equal(s == Short.valueOf((short) i), JFluid1Allocations.Values.isCached(s), "short " + i);
        }
        for (char c = 0; c < 300; c++) {
            equal(Character.valueOf(c) == Character.valueOf(c), JFluid1Allocations.Values.isCached(c),
                    "char " + (int) c);
        }
        that(JFluid1Allocations.Values.isCached((byte) -128) && JFluid1Allocations.Values.isCached(true),
                "all of them are");
        that(!JFluid1Allocations.Values.isCached(1.0) && !JFluid1Allocations.Values.isCached(1f), "none of them is");
    }

    static void allocatedBytesAreWrittenWhenTheRootEnds() {
        try (TestSession session = session(100, 1)) {
            JFluid1SurvivorsTest.Gauge gauge = (JFluid1SurvivorsTest.Gauge) JFluid1Allocations.gauge;
            gauge.allocated = 1000;
            session.inside(() -> {
                gauge.allocated = 1500;
                JFluid1Allocations.notItsOwn(session.self(), 100);
            });
            equal("adjust root 1>0 allocated:400 1<0", session.written());
            session.inside(() -> gauge.allocated += 2 * TICK_MASK + 5); // more bytes than fit into a word
            that(session.written().endsWith(" allocated:" + TICK_MASK + " allocated:" + TICK_MASK + " allocated:5 1<0"),
                    session.written());
            session.inside(() -> gauge.allocated = -1); // the JVM has stopped counting
            that(session.written().endsWith(" root 1>0 1<0"), session.written());
        }
    }
}
