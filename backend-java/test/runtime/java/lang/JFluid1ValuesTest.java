package java.lang;

import static java.lang.JFluid1Layout.*;
import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.lang.invoke.JFluid1Getter;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;

/** Values of root calls: what a path reads, the calls that stand for values of --by, and the words after a slow call. */
final class JFluid1ValuesTest {
    private static final int FIRST_BY = 1000;
    private static final int BY = JFluid1Values.BY;

    enum Level { LOW, HIGH }

    static class Tenant {
        static int counted;
        boolean z = true;
        byte b = -5;
        char c = 'x';
        short s = -300;
        int i = 7;
        long j = 1L << 40;
        float f = 0.1f;
        double d = 1e10;
        Object id = UUID.fromString("0f0e0d0c-0b0a-1234-8765-fedcba987654");
        String text = "acme";
        Object box = 42;
        Level level = Level.HIGH;
        int[] array = new int[3];
        Object nothing;
        Object other = new StringBuilder();
        Class<?> type = Level.class;
        Tenant next;

        Object getterThatThrows() {
            throw new IllegalStateException();
        }

        int getterThatIsSlow() {
            long until = System.nanoTime() + 3_000_000;
            while (System.nanoTime() < until) {
                // busy
            }
            return 5;
        }

        int getterThatCallsTheRoot() {
            JFluid1.rootValue(this, 0);
            JFluid1.rootEntry(1);
            JFluid1.rootExit(1);
            return i;
        }
    }

    static final class Child extends Tenant {}

    /** Paths with these numbers of steps that all start at start 0. */
    private static void paths(int firstBy, int... steps) {
        byte[] starts = new byte[JFluid1Values.PATHS];
        byte[] counts = new byte[JFluid1Values.PATHS];
        for (int i = 0; i < starts.length; i++) {
            boolean is = i < steps.length && steps[i] >= 0;
            starts[i] = (byte) (is ? 0 : -1);
            counts[i] = (byte) (is ? steps[i] : 0);
        }
        JFluid1Values.values(starts, counts, -1, firstBy);
    }

    private static void call(Object argument, Runnable inside) {
        JFluid1.rootValue(argument, 0);
        JFluid1.rootEntry(1);
        inside.run();
        JFluid1.rootExit(1);
    }

    private static void call(Object argument) {
        call(argument, () -> {});
    }

    /** Returns the words about method ids and values, without times: {@code root 1> 1001> 1001< 1<}. */
    private static List<String> told(TestSession session) {
        List<String> told = new ArrayList<>();
        StringBuilder name = new StringBuilder();
        for (long word : session.wordsOf(session.self().number)) {
            long kind = word & KIND_CONTROL;
            long method = word >>> TICK_BITS & 0x3fffff;
            long control = word & ~TICK_MASK;
            if (kind == KIND_ENTER) {
                told.add(method + ">");
            } else if (kind == KIND_EXIT) {
                told.add(method + "<");
            } else if (control == CONTROL_NAME) {
                int at = (int) (word >>> NAME_AT_SHIFT & 0x1ff);
                name.append((char) word);
                if ((char) word == 0) {
                    told.add("name " + (word >>> NAME_CLASS_SHIFT & 0x7fff) + "=" + name.substring(0, at));
                    name.setLength(0);
                }
            } else if (control == CONTROL_VALUE && (word >>> VALUE_SLOT_SHIFT & 31) != SLOT_CALLER) {
                long slot = word >>> VALUE_SLOT_SHIFT & 31;
                told.add(slot == SLOT_DETAILS
                                ? "details"
                                : slot + ":" + (word >>> VALUE_KIND_SHIFT & 7) + ":" + (word & 0xFFFFFFFFL));
            }
        }
        return told;
    }

    private static String last(TestSession session) {
        List<String> all = told(session);
        int at = all.lastIndexOf("details");
        return at < 0 ? "" : String.join(" ", all.subList(at + 1, all.size()));
    }

    private static String text(String text) {
        StringBuilder words = new StringBuilder();
        for (int i = 0; i < text.length(); i += 2) {
            words.append(" 0:0:").append(text.charAt(i) | (i + 1 < text.length() ? text.charAt(i + 1) : 0) << 16);
        }
        return words.substring(1);
    }

    /** Answers how a field of Tenant is read in objects of the class. */
    private static void field(int path, int step, Class<?> c, String name) {
        try {
            String descriptor = Tenant.class.getDeclaredField(name).getType().descriptorString();
            long offset = JFluid1Getter.offset(Tenant.class, name, descriptor);
            JFluid1Values.field(path, step, c, Tenant.class, offset, descriptor.charAt(0));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static void onlyAnInstanceFieldOfTheClassWithTheExactTypeHasAnOffset() throws ReflectiveOperationException {
        String[][] others = {{"missing", "I"}, {"i", "J"}, {"i", "Ljava/lang/Object;"}, {"text", "Ljava/lang/Object;"},
            {"counted", "I"}, {"type", "Lno/such/Type;"}};
        for (String[] field : others) {
            String found = "found";
            try {
                JFluid1Getter.offset(Tenant.class, field[0], field[1]);
            } catch (ReflectiveOperationException | TypeNotPresentException e) {
                found = "refused";
            }
            equal("refused", found, field[0] + " of type " + field[1]);
        }
        try {
            JFluid1Getter.offset(Child.class, "i", "I");
            throw new AssertionError("the field of a superclass was found");
        } catch (NoSuchFieldException expected) {
            that(JFluid1Getter.offset(Tenant.class, "i", "I") > 0, "the field has an offset");
        }
    }

    static void eachKindOfFieldIsReadAtTheEndOfASlowCall() {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            JFluid1Roots.slowFrom(0);
            String[][] fields = {{"z", "Z", "0:5:4"}, {"b", "B", "0:1:4294967291 0:2:4294967295"},
                {"c", "C", "0:0:120"}, {"s", "S", "0:1:4294966996 0:2:4294967295"}, {"i", "I", "0:1:7 0:2:0"},
                {"j", "J", "0:1:0 0:2:256"}, {"f", "F", text("0.1")}, {"d", "D", text("1.0E10")},
                {"id", "Ljava/lang/Object;", text("0f0e0d0c-0b0a-1234-8765-fedcba987654")},
                {"text", "Ljava/lang/String;", text("acme")}, {"box", "Ljava/lang/Object;", "0:1:42 0:2:0"},
                {"level", "LLevel;", text("HIGH")}, {"array", "[I", "0:7:3"},
                {"nothing", "Ljava/lang/Object;", "0:5:0"}};
            for (String[] field : fields) {
                paths(-1, 1);
                session.self();
                field(0, 0, Child.class, field[0]);
                call(new Child());
                equal(field[2], last(session), field[0]);
            }
            for (String[] field :
                    new String[][] {{"other", "java.lang.StringBuilder"}, {"type", Level.class.getName()}}) {
                paths(-1, 1);
                field(0, 0, Child.class, field[0]);
                call(new Child());
                String[] words = last(session).split(" ");
                equal((field[1].length() + 1) / 2, words.length, field[0]);
                equal("0:6:" + (field[1].charAt(0) | field[1].charAt(1) << 16), words[0], field[0]);
            }
        }
    }

    /** Chains of objects of two classes, and paths that follow the chain and end at a field. */
    static void randomPathsReadTheSameAsReflection() throws ReflectiveOperationException {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            JFluid1Roots.slowFrom(0);
            Random random = new Random(33);
            String[] ends = {"b", "s", "i", "j"};
            for (int n = 0; n < 1_000; n++) {
                Tenant head = null;
                for (int length = random.nextInt(5); length > 0; length--) {
                    Tenant before = random.nextBoolean() ? new Child() : new Tenant();
                    before.b = (byte) random.nextInt();
                    before.s = (short) random.nextInt();
                    before.i = random.nextInt();
                    before.j = random.nextLong();
                    before.next = head;
                    head = before;
                }
                int steps = 1 + random.nextInt(4);
                String end = ends[random.nextInt(ends.length)];
                paths(-1, steps);
                Object expected = head;
                for (int step = 0; step < steps; step++) {
                    String name = step + 1 < steps ? "next" : end;
                    field(0, step, Tenant.class, name);
                    field(0, step, Child.class, name);
                    expected = expected == null ? null : Tenant.class.getDeclaredField(name).get(expected);
                }
                call(head);
                String words = expected == null ? "0:5:0"
                                                : "0:1:" + (((Number) expected).longValue() & 0xFFFFFFFFL)
                                + " 0:2:" + (((Number) expected).longValue() >>> 32);
                equal(words, last(session), "path " + n);
                session.collect();
            }
        }
    }

    static void aClassIsReportedOnceAndItsValueIsNotReadUntilTheAnswer() {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            JFluid1Roots.slowFrom(0);
            paths(-1, 2);
            Tenant tenant = new Tenant();
            tenant.next = new Child();
            call(tenant);
            call(tenant);
            equal("0:5:1", last(session), "not read yet");
            equal(1, session.requests.size());
            equal(JFluid1Requests.Request.VALUE_CLASS, session.requests.get(0).kind);
            equal(Tenant.class, session.requests.get(0).subject);
            field(0, 0, Tenant.class, "next");
            call(tenant);
            equal(2, session.requests.size());
            equal(Child.class, session.requests.get(1).subject);
            equal(1, JFluid1Values.stepOf(session.requests.get(1).value));
            JFluid1Values.unreadable(0, 1, Child.class, JFluid1Values.NO_MEMBER);
            call(tenant);
            equal("0:5:2", last(session), "not readable");
            field(0, 1, Child.class, "i");
            call(tenant);
            equal("0:1:7 0:2:0", last(session));
            call(null);
            equal("0:5:0", last(session), "null on the path");
            JFluid1.rootEntry(1);
            JFluid1.rootExit(1);
            equal("0:5:3", last(session), "a root without the argument");
        }
    }

    static void theValueOfByIsACallDirectlyInsideTheRootWithTheSameTimes() {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            paths(FIRST_BY, -1, -1, -1, -1, 0);
            call("/orders", () -> call("inner"));
            call("/orders");
            call("/search");
            call(null);
            equal(List.of("name 1=/orders", "1>", "1001>", "1>", "1<", "1001<", "1<", "1>", "1001>", "1001<", "1<",
                          "name 2=/search", "1>", "1002>", "1002<", "1<", "1>", "1066>", "1066<", "1<"),
                    told(session));
            long[] words = session.wordsOf(session.self().number);
            for (int i = 1; i < words.length; i++) {
                long before = words[i - 1] >>> TICK_BITS & 0x3fffff;
                boolean pair = before == 1 && (words[i] >>> TICK_BITS & 0x3fffff) > FIRST_BY;
                if (pair && (words[i] & KIND_CONTROL) == KIND_ENTER) {
                    equal(words[i - 1] & TICK_MASK, words[i] & TICK_MASK, "times of word " + i);
                }
            }
            equal(0, session.self().by);
        }
    }

    static void valuesBeyondTheFirstSixtyFourAreOther() {
        try (TestSession session = new TestSession(8_000, 3, false)) {
            session.ready(1);
            paths(FIRST_BY, -1, -1, -1, -1, 0);
            for (int i = 0; i < 70; i++) {
                JFluid1.rootValue((long) i, 'J' << 8);
                JFluid1.rootEntry(1);
                JFluid1.rootExit(1);
            }
            List<String> told = told(session);
            equal(6L, told.stream().filter("1000>" ::equals).count());
            that(told.contains("name 64=63"), "the name of the last value");
            that(!told.contains("name 65=64"), "no further name");
        }
    }

    static void aLongTextIsCutAndTextsWithEqualBeginningsAreOneValue() {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            paths(FIRST_BY, -1, -1, -1, -1, 0);
            String begin = "x".repeat(127);
            call(begin + "abc");
            call(begin + "def");
            call(begin + "g");
            equal(List.of("name 1=" + begin + "\u2026", "1>", "1001>", "1001<", "1<", "1>", "1001>", "1001<", "1<",
                          "name 2=" + begin + "g", "1>", "1002>", "1002<", "1<"),
                    told(session));
        }
    }

    static void threadsThatLearnTheSameValuesAgreeOnTheirNumbers() throws InterruptedException {
        try (TestSession session = new TestSession(20_000, 12, false)) {
            session.ready(1);
            paths(FIRST_BY, -1, -1, -1, -1, 0);
            Thread[] threads = new Thread[4];
            Set<String> pairs = java.util.Collections.synchronizedSet(new HashSet<>());
            for (int t = 0; t < threads.length; t++) {
                int seed = t;
                threads[t] = new Thread(() -> {
                    Random random = new Random(seed);
                    for (int i = 0; i < 2_000; i++) {
                        String value = "v" + random.nextInt(60);
                        call(value, () -> pairs.add(value + " " + JFluid1Threads.current().by));
                    }
                });
                threads[t].start();
            }
            for (Thread it : threads) {
                it.join();
            }
            equal(60, pairs.size());
        }
    }

    private static void getter(int path, Class<?> c, Class<?> holder, String name, String descriptor)
            throws ReflectiveOperationException {
        java.lang.invoke.MethodHandle handle = JFluid1Getter.of(holder, name, descriptor);
        JFluid1Values.warmUp(handle, 150);
        JFluid1Values.getter(path, 0, c, holder, name + descriptor, handle);
    }

    static void aGetterThatThrowsIsCountedAndTheSecondSlowCallSwitchesAGetterOffForAllClasses()
            throws ReflectiveOperationException {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            JFluid1Roots.slowFrom(0);
            paths(FIRST_BY, 1, 1, 1, -1, 1);
            getter(0, Child.class, Tenant.class, "getterThatThrows", "()Ljava/lang/Object;");
            for (int path : new int[] {1, BY}) {
                getter(path, Child.class, Tenant.class, "getterThatIsSlow", "()I");
                getter(path, Tenant.class, Tenant.class, "getterThatIsSlow", "()I");
            }
            getter(2, Child.class, Tenant.class, "getterThatCallsTheRoot", "()I");
            field(0, 0, Tenant.class, "i");
            field(2, 0, Tenant.class, "i");
            call(new Child());
            equal("0:5:6 1:1:5 1:2:0 2:1:7 2:2:0", last(session), "after the first slow call");
            long[] counts = JFluid1Values.counts();
            equal(4L, counts[0]);
            that(counts[1] >= counts[2] && counts[2] >= 3_000_000, "time of getters " + counts[1] + " " + counts[2]);
            that(counts[3] >= 2, "slow calls of --show and --by: " + counts[3]); // the machine may be busy
            equal(1L, counts[4], "exceptions");
            equal(4, JFluid1Values.switchedOff().size(), "two paths, two classes");
            call(new Tenant());
            equal("0:1:7 0:2:0 1:5:7 2:1:7 2:2:0", last(session));
            that(told(session).contains("1068>"), "the row of calls without the value");
            equal(2L, session.self().rootCalls, "the root call of the getter does not count");
        }
    }

    static final class Gate {
        private final java.util.concurrent.CountDownLatch inside = new java.util.concurrent.CountDownLatch(1);
        private final java.util.concurrent.CountDownLatch open = new java.util.concurrent.CountDownLatch(1);

        int pass() throws InterruptedException {
            inside.countDown();
            open.await();
            return 5;
        }

        /** Waits until a thread is in the getter, and then for longer than the duration of a slow call. */
        void awaitSlow() throws InterruptedException {
            inside.await();
            long until = System.nanoTime() + 2_000_000;
            while (System.nanoTime() < until) {
                Thread.onSpinWait();
            }
        }
    }

    static void slowCallsThatOverlapCountAsOneAndTheSecondWithinTenSecondsIsTheLast() {
        long second = 1_000_000_000;
        JFluid1Values.Getter getter = new JFluid1Values.Getter(Tenant.class, "getter()I", null);
        getter.slow(second, 2_000_000);
        getter.slow(second + 1_000_000, 2_000_000);
        getter.slow(second + 1_500_000, 3_000_000);
        equal(0L, getter.slowNanos, "one pause makes three calls slow");
        getter.slow(12 * second, 2_000_000);
        equal(0L, getter.slowNanos, "more than 10 s later");
        getter.slow(13 * second, 3_000_000);
        equal(3_000_000L, getter.slowNanos);
    }

    static void aThreadDoesNotCallAGetterWhileACallOfAnotherThreadIsSlow()
            throws ReflectiveOperationException, InterruptedException {
        try (TestSession session = new TestSession(4_000, 6, false)) {
            session.ready(1);
            JFluid1Roots.slowFrom(0);
            paths(-1, 1);
            getter(0, Gate.class, Gate.class, "pass", "()I");
            Gate gate = new Gate();
            Thread thread = new Thread(() -> call(gate));
            thread.start();
            gate.awaitSlow();
            call(gate); // would wait for ever in the getter
            equal("0:5:7", last(session));
            gate.open.countDown();
            thread.join();
            call(gate);
            equal("0:1:5 0:2:0", last(session), "after the slow call");
        }
    }

    static final class Plain {
        int one() {
            return 1;
        }
    }

    /** Returns a new class that the JVM can unload. */
    private static Class<?> newClass() throws ReflectiveOperationException, java.io.IOException {
        try (java.io.InputStream in = JFluid1ValuesTest.class.getResourceAsStream("JFluid1ValuesTest$Plain.class")) {
            return java.lang.invoke.MethodHandles.lookup().defineHiddenClass(in.readAllBytes(), false).lookupClass();
        }
    }

    private static Object newObject(Class<?> c) throws ReflectiveOperationException {
        java.lang.reflect.Constructor<?> of = c.getDeclaredConstructor();
        of.setAccessible(true);
        return of.newInstance();
    }

    static void objectsOfTooManyClassesHaveARowAndAllocateNothing()
            throws ReflectiveOperationException, java.io.IOException {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            paths(FIRST_BY, -1, -1, -1, -1, 1);
            List<Object> objects = new ArrayList<>();
            for (int i = 0; i < 65; i++) {
                objects.add(newObject(newClass()));
                call(objects.get(i));
            }
            call(objects.get(63));
            equal("1065", lastRow(session), "class 64, before the answer");
            call(objects.get(64));
            equal("1069", lastRow(session), "class 65");
            equal(64, session.requests.size());
            com.sun.management.ThreadMXBean threads =
                    (com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean();
            Object last = objects.get(64);
            Runnable nothing = () -> {};
            call(last, nothing);
            threads.getCurrentThreadAllocatedBytes();
            long before = threads.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < 200; i++) {
                call(last, nothing);
            }
            long bytes = threads.getCurrentThreadAllocatedBytes() - before;
            that(bytes < 200 * 8, "bytes of 200 calls: " + bytes);
            Object[] row = JFluid1Values.tooManyClasses().get(0);
            equal(List.of(BY, 0, 203L), List.of(row));
        }
    }

    private static String lastRow(TestSession session) {
        List<String> all = told(session);
        return all.get(all.size() - 2).replace("<", "");
    }

    static void aGetterDoesNotKeepItsClassLoaded() throws ReflectiveOperationException, java.io.IOException {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            JFluid1Roots.slowFrom(0);
            paths(-1, 1);
            java.lang.ref.WeakReference<Class<?>> kept = callOfNewClass();
            equal("0:1:1 0:2:0", last(session));
            for (int i = 0; i < 20 && !kept.refersTo(null); i++) {
                System.gc();
            }
            that(kept.refersTo(null), "the class is unloaded");
        }
    }

    private static java.lang.ref.WeakReference<Class<?>> callOfNewClass()
            throws ReflectiveOperationException, java.io.IOException {
        Class<?> c = newClass();
        getter(0, c, c, "one", "()I");
        Object object = newObject(c);
        System.gc(); // the class keeps the handle
        call(object);
        return new java.lang.ref.WeakReference<>(c);
    }

    static void aPathWhoseValuesAreAllNamesOfClassesIsReported() {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            paths(FIRST_BY, 0, -1, -1, -1, 0);
            call(null);
            equal(List.of(), JFluid1Values.named());
            call(new Tenant());
            equal(List.of(0, BY), JFluid1Values.named());
            call("text");
            equal(List.of(), JFluid1Values.named());
        }
    }

    static void theResultAndTheExceptionAreValuesOfASlowCall() {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            JFluid1Roots.slowFrom(0);
            JFluid1Values.values(new byte[] {0, 1, -1, -1, 2}, new byte[5], 1, FIRST_BY);
            JFluid1.rootEntry(1);
            JFluid1.rootEntry(1);
            JFluid1.rootValue(1.5, 'D' << 8 | 8); // the result of an inner call
            JFluid1.rootExit(1);
            JFluid1.rootValue("ok", 8);
            JFluid1.rootExit(1);
            equal("0:0:" + ('o' | 'k' << 16) + " 1:5:3", last(session));
            JFluid1.rootEntry(1);
            JFluid1.rootThrown(new IllegalStateException(), 1);
            equal("0:5:3", last(session).split(" ")[0]);
            equal("1:6:" + ('j' | 'a' << 16), last(session).split(" ")[1]);
            equal("[1>, 1066>, 1>, 1<, 1066<, 1<]", told(session).subList(0, 6).toString());
            JFluid1.rootEntry(1);
            JFluid1.rootExit(1);
            equal("0:5:3 1:5:3", last(session), "values of the former call");
        }
    }

    private static void holdsNothing(TestSession session) {
        JFluid1Values.Captured values = session.self().values;
        equal(List.of(),
                List.of(values.starts, values.objects)
                        .stream()
                        .flatMap(java.util.Arrays::stream)
                        .filter(it -> it != null)
                        .toList());
        equal(null, values.object);
    }

    static void aCallThatEndsWithoutRecordingKeepsNoObject() {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            JFluid1Roots.slowFrom(0);
            JFluid1Values.values(new byte[] {0, 1, 2, -1, -1}, new byte[5], 2, -1);
            for (boolean throwing : new boolean[] {false, true}) {
                call("first");
                JFluid1.rootValue("argument", 0);
                JFluid1.rootEntry(1);
                JFluid1.rootValue("result", 1 | JFluid1Values.RETURNED);
                session.self().active = false; // as after a gap
                if (throwing) {
                    JFluid1.rootThrown(new IllegalStateException(), 1);
                } else {
                    JFluid1.rootExit(1);
                }
                holdsNothing(session);
            }
            JFluid1.rootValue("argument", 0);
            JFluid1.rootEntry(101); // a root of another session: the highest id is 100
            holdsNothing(session);
        }
    }

    static void aLongTextIsNotKeptDuringTheCall() {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            paths(-1, 0);
            call("first");
            call("x".repeat(1_000), () -> equal("x".repeat(127) + "\u2026", session.self().values.objects[0]));
            holdsNothing(session);
        }
    }

    static void anExceptionEndsTheRowAndTheRootAtTheSameTime() {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            JFluid1Roots.slowFrom(0);
            JFluid1Values.values(new byte[] {0, -1, -1, -1, 0}, new byte[5], 1, FIRST_BY);
            JFluid1.rootValue("/orders", 0);
            JFluid1.rootEntry(1);
            JFluid1.rootThrown(new IllegalStateException(), 1);
            long[] ends = java.util.Arrays.stream(session.wordsOf(session.self().number))
                                  .filter(word -> (word & KIND_CONTROL) == KIND_EXIT)
                                  .toArray();
            equal(2, ends.length);
            equal(ends[0] & TICK_MASK, ends[1] & TICK_MASK);
        }
    }

    static void ofMoreThanTwoHundredSlowCallsASecondTheValuesAreDroppedAndCounted() {
        try (TestSession session = new TestSession(8_000, 3, false)) {
            session.ready(1);
            JFluid1Roots.slowFrom(0);
            paths(FIRST_BY, -1, -1, -1, -1, 0);
            for (int i = 0; i < 300; i++) {
                call("one");
            }
            equal(0L, JFluid1Values.counts()[5], "without --show nothing is dropped");
            paths(-1, 0);
            long begun = System.nanoTime();
            for (int i = 0; i < 1_000; i++) {
                call("one");
            }
            long windows = ((System.nanoTime() - begun) >> 30) + 2;
            long dropped = JFluid1Values.counts()[5];
            that(dropped >= 1_000 - 200 * windows && dropped < 1_000, "dropped " + dropped);
        }
    }

    static void anUntimedCallKeepsNoArgument() {
        try (TestSession session = new TestSession(4_000, 3, false)) {
            session.ready(1);
            paths(FIRST_BY, -1, -1, -1, -1, 0);
            JFluid1Roots.timeOneOf(1 << 20);
            call("first");
            call("second");
            call("third");
            equal(null, session.self().values.starts[0]);
        }
    }

    static void aSessionThatEndsWhileAGetterRunsIsNotWrittenTo() throws ReflectiveOperationException {
        TestSession[] sessions = new TestSession[2];
        sessions[0] = new TestSession(4_000, 3, false);
        sessions[0].ready(1);
        paths(FIRST_BY, -1, -1, -1, -1, 1);
        JFluid1Values.getter(BY, 0, Ending.class, Ending.class, "end()I", JFluid1Getter.of(Ending.class, "end", "()I"));
        call(new Ending(() -> {
            JFluid1Session.disable();
            JFluid1Session.end(true);
            sessions[1] = new TestSession(4_000, 3, false);
        }));
        try (TestSession after = sessions[1]) {
            equal(null, after.self());
        }
    }

    static final class Ending {
        private final Runnable does;

        Ending(Runnable does) {
            this.does = does;
        }

        int end() {
            does.run();
            return 1;
        }
    }
}
