package jfluid.agent;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Redefinitions in which the JVM refuses some classes: which classes are redefined, and how many redefinition calls are needed. */
final class HotSwapTest {
    private static final byte[] POOL = {1, 0, 1, 'x'};

    /** A JVM with classes `p/C0`, `p/C1`, … that have a method returning 1. */
    private static final class World {
        final FakeJvm jvm = new FakeJvm();
        final ClassTable table = new ClassTable(jvm);
        final RuntimeLink runtime = new RuntimeLink();
        final List<Class<?>> classes = new ArrayList<>();
        /** Names of classes that another agent redefined; a name ends with "!" if the class lost its bodies. */
        final List<String> changed = new ArrayList<>();
        final HotSwap swap = new HotSwap(jvm, table, runtime, new HotSwap.LoadHook() {
            @Override
            public byte[] loading(ClassLoader loader, String name, ProtectionDomain domain, byte[] bytes) {
                return null;
            }

            @Override
            public void changed(Class<?> redefined, boolean unprobed) {
                changed.add(redefined.getName() + (unprobed ? "!" : ""));
            }
        });

        World(int count) {
            swap.open();
            ClassBytes.Loader loader = loader();
            for (int i = 0; i < count; i++) {
                Class<?> c = jvm.load(loader, ClassBytes.withValue("p/C" + i, 1));
                classes.add(c);
                swap.extendPool(table.id(c), HotSwap.crc(jvm.bytesOf(c)), 1, POOL);
            }
        }

        /** Returns a loader that has resolved the probe classes already. On a busy machine, a loader that has not might count as locked. */
        ClassBytes.Loader loader() {
            ClassBytes.Loader loader = new ClassBytes.Loader();
            long until = System.nanoTime() + 10_000_000_000L;
            while (runtime.problemOf(loader) != null && System.nanoTime() < until) {
                Thread.onSpinWait();
            }
            return loader;
        }

        int id(int which) {
            return table.id(classes.get(which));
        }

        /** Returns bodies for these classes that return this number. */
        Map<Integer, TreeMap<Integer, byte[]>> bodies(int number, int... which) {
            Map<Integer, TreeMap<Integer, byte[]>> bodies = new HashMap<>();
            for (int i : which) {
                bodies.put(id(i), new TreeMap<>(Map.of(0, ClassBytes.returning(number, 0))));
            }
            return bodies;
        }

        /** @return class id → reason of the refusal */
        Map<Integer, String> redefine(Swap it) {
            swap.swap(it);
            return swap.conclude(it);
        }

        Map<Integer, String> redefineAll(int number) {
            int[] all = new int[classes.size()];
            Arrays.setAll(all, i -> i);
            return redefine(swap.prepare(bodies(number, all)));
        }

        /** Returns the result of the class's method in the JVM's current bytes. */
        int value(int which) {
            try {
                return (Integer) new ClassBytes.Loader()
                        .define(jvm.bytesOf(classes.get(which)))
                        .getMethod("value")
                        .invoke(null);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }

        /**
         * Checks that the method of each class returns the number, except in classes refused with the reason `why`, which must have their
         * original code.
         */
        void check(int number, Map<Integer, String> refused, String why, int... which) {
            Map<Integer, String> expected = new HashMap<>();
            for (int i : which) {
                expected.put(id(i), why.replace("%", "p.C" + i));
            }
            equal(expected, refused);
            for (int i = 0; i < classes.size(); i++) {
                boolean isRefused = expected.containsKey(id(i));
                equal(isRefused ? 1 : number, value(i), "p.C" + i);
            }
        }
    }

    static void oneCallIsEnoughIfNothingIsRefused() {
        World world = new World(100);
        world.check(5, world.redefineAll(5), "");
        equal(1, world.jvm.calls);
        world.check(6, world.redefineAll(6), "");
        equal(2, world.jvm.calls);
    }

    static void oneRefusedClassTakesTwoMoreCalls() {
        for (int at : new int[] {0, 1, 49, 98, 99}) {
            World world = new World(100);
            world.jvm.rejected.add(world.classes.get(at));
            world.check(5, world.redefineAll(5), "java.lang.VerifyError: %", at);
            equal(3, world.jvm.calls,
                    "culprit " + at); // one call for all classes, one for the refused class, one for the other classes
        }
    }

    static void aFewRefusedClassesTakeTwoCallsEach() {
        World world = new World(100);
        int[] culprits = {3, 14, 15, 92, 65, 35, 89};
        for (int at : culprits) {
            world.jvm.rejected.add(world.classes.get(at));
        }
        world.check(5, world.redefineAll(5), "java.lang.VerifyError: %", culprits);
        equal(1 + 2 * culprits.length, world.jvm.calls);
    }

    static void manyRefusedClassesAreFoundByHalving() {
        World world = new World(256);
        int[] culprits = new int[64];
        Arrays.setAll(culprits, i -> 4 * i);
        for (int at : culprits) {
            world.jvm.rejected.add(world.classes.get(at));
        }
        world.check(5, world.redefineAll(5), "java.lang.VerifyError: %", culprits);
        that(world.jvm.calls <= 1 + 2 * culprits.length + 64, world.jvm.calls + " calls");
        that(world.jvm.handed < 256 * 40,
                world.jvm.handed + " classes in all calls"); // redefining the classes one by one would need 256 * 96
    }

    static void allClassesOfABatchMayBeRefused() {
        World world = new World(40);
        int[] all = new int[40];
        Arrays.setAll(all, i -> i);
        world.jvm.rejected.addAll(world.classes);
        world.check(5, world.redefineAll(5), "java.lang.VerifyError: %", all);
        that(world.jvm.calls <= 3 * 40, world.jvm.calls + " calls");
    }

    /** The JVM refuses the class before it shows the class, so the last class shown is not the refused class. */
    static void aClassRefusedBeforeItIsShownIsFound() {
        for (int at : new int[] {0, 1, 31, 63}) {
            World world = new World(64);
            world.jvm.unseen.add(world.classes.get(at));
            world.check(5, world.redefineAll(5), "java.lang.NoClassDefFoundError: what % needs", at);
            that(world.jvm.calls <= 2 + 2 * 6 + 4, world.jvm.calls + " calls, culprit " + at);
        }
    }

    static void classesRefusedInBothWaysAreFound() {
        World world = new World(64);
        world.jvm.unseen.add(world.classes.get(20));
        world.jvm.rejected.add(world.classes.get(10));
        world.jvm.rejected.add(world.classes.get(30));
        Map<Integer, String> refused = world.redefineAll(5);
        equal(Set.of(world.id(10), world.id(20), world.id(30)), refused.keySet());
        for (int i = 0; i < 64; i++) {
            equal(i == 10 || i == 20 || i == 30 ? 1 : 5, world.value(i), "p.C" + i);
        }
    }

    /** Each further redefinition call would cost the application a full garbage collection. */
    static void thereIsNoRetryWithoutMetaspace() {
        World world = new World(10);
        world.jvm.next = new OutOfMemoryError("Metaspace");
        Swap it = world.swap.prepare(world.bodies(5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
        Map<Integer, String> refused = world.redefine(it);
        equal(10, refused.size());
        equal(Set.of(HotSwap.NO_METASPACE), Set.copyOf(refused.values()));
        equal(1, world.jvm.calls);
        that(it.isOutOfMetaspace, "the session is to end");
    }

    static void metaspaceIsRecognisedByTheMessage() {
        that(HotSwap.isMetaspace(new OutOfMemoryError("Metaspace")), "Metaspace");
        that(HotSwap.isMetaspace(new OutOfMemoryError("Compressed class space")), "Compressed class space");
        that(HotSwap.isMetaspace(new OutOfMemoryError()), "without words, while the heap has room");
        that(!HotSwap.isMetaspace(new OutOfMemoryError("Java heap space")), "Java heap space");
    }

    static void aClassWithChangedBytesIsRefused() {
        World world = new World(2);
        world.jvm.changeBase(world.classes.get(0), ClassBytes.withValue("p/C0", 2));
        Map<Integer, String> refused = world.redefineAll(5);
        equal(Map.of(world.id(0), "its bytes have changed since it was analysed"), refused);
        equal(2, world.value(0), "what the other agent has made of it stays");
        equal(5, world.value(1));
    }

    static void unknownClassesAreRefused() {
        World world = new World(1);
        Class<?> unknown = world.jvm.load(new ClassBytes.Loader(), ClassBytes.withValue("p/Unknown", 1));
        TreeMap<Integer, byte[]> body = new TreeMap<>(Map.of(0, ClassBytes.returning(5, 0)));
        Swap it = world.swap.prepare(Map.of(77_777, body, world.table.id(unknown), body));
        equal(0, it.batch.size());
        equal(Map.of(77_777, "the class is no longer loaded", world.table.id(unknown),
                      "its constant pool was not extended"),
                world.swap.conclude(it));
    }

    static void newBodiesAreAddedToThoseOfTheClass() throws Exception {
        World world = new World(0);
        ClassBytes two = new ClassBytes("p/Two");
        int code = two.utf8("Code");
        int type = two.utf8("()I");
        two.method(two.utf8("a"), type, ClassBytes.attribute(code, ClassBytes.returning(1, 0)));
        two.method(two.utf8("b"), type, ClassBytes.attribute(code, ClassBytes.returning(2, 0)));
        byte[] base = two.done();
        Class<?> c = world.jvm.load(world.loader(), base);
        int id = world.table.id(c);
        world.swap.extendPool(id, HotSwap.crc(base), 1, POOL);
        TreeMap<Integer, byte[]> a = new TreeMap<>(Map.of(0, ClassBytes.returning(11, 3)));
        TreeMap<Integer, byte[]> b = new TreeMap<>(Map.of(1, ClassBytes.returning(12, 0)));
        equal(Map.of(), world.redefine(world.swap.prepare(Map.of(id, a))));
        equal(Splicer.splice(base, 1, POOL, a), world.jvm.bytesOf(c));
        world.swap.extendPool(id, HotSwap.crc(base), 1, POOL); // extending the pool by the same entries drops no body
        equal(Map.of(), world.redefine(world.swap.prepare(Map.of(id, b))));
        TreeMap<Integer, byte[]> both = new TreeMap<>(a);
        both.putAll(b);
        equal(Splicer.splice(base, 1, POOL, both), world.jvm.bytesOf(c));
        // An empty body restores the method's original code.
        equal(Map.of(), world.redefine(world.swap.prepare(Map.of(id, new TreeMap<>(Map.of(0, new byte[0]))))));
        equal(Splicer.splice(base, 1, POOL, b), world.jvm.bytesOf(c));
        // The base has changed: bodies for the old base are dropped.
        world.swap.extendPool(id, HotSwap.crc(base) + 1, 1, POOL);
        world.jvm.retransformClasses(c);
        equal(base, world.jvm.bytesOf(c));
    }

    static void aRefusedBodyKeepsTheEarlierOne() {
        World world = new World(2);
        world.redefineAll(5);
        world.jvm.next = new InternalError("once");
        world.jvm.rejected.add(world.classes.get(1));
        Map<Integer, String> refused = world.redefineAll(6);
        equal(Set.of(world.id(1)), refused.keySet());
        world.jvm.rejected.clear();
        equal(6, world.value(0));
        equal(5, world.value(1));
    }

    static void bodiesSurviveARedefinitionByAnotherAgent() throws Exception {
        World world = new World(2);
        world.redefineAll(5);
        Thread other = new Thread(() -> {
            try {
                world.jvm.retransformClasses(world.classes.get(0));
                world.jvm.changeBase(world.classes.get(1), ClassBytes.withValue("p/C1", 2));
                world.jvm.retransformClasses(world.classes.get(1));
            } catch (java.lang.instrument.UnmodifiableClassException e) {
                throw new IllegalStateException(e);
            }
        });
        other.start();
        other.join();
        equal(5, world.value(0));
        equal(2, world.value(1));
        equal(List.of("p.C0", "p.C1!"), world.changed);
    }

    static void everyClassGetsItsOwnCodeBack() {
        World world = new World(40);
        world.jvm.rejected.add(world.classes.get(7));
        world.redefineAll(5);
        int before = world.jvm.calls;
        equal(new int[] {39, 0, 0}, world.swap.restore()); // 7 classes had no bodies
        equal(before + 1, world.jvm.calls);
        for (Class<?> c : world.classes) {
            that(world.jvm.hasOwnCode(c), c.getName());
        }
        equal(new long[] {0, 0}, world.swap.bytes());
        that(world.swap.close(), "the JVM lets go of the transformer");
    }

    static void aClassWithBodiesThatHasRefusedOthersIsRestored() {
        World world = new World(2);
        world.redefineAll(5);
        world.jvm.rejected.add(world.classes.get(1));
        world.redefineAll(6);
        world.jvm.rejected.clear();
        equal(new int[] {2, 0, 0}, world.swap.restore());
    }

    static void aClassIsRestoredIfItsRedefinitionEndedInWantOfMemory() {
        World world = new World(3);
        world.jvm.nextDone = new OutOfMemoryError("Java heap space");
        world.redefineAll(5);
        equal(5, world.value(0));
        equal(new int[] {3, 0, 0}, world.swap.restore());
        equal(1, world.value(0));
    }

    /** A class that the JVM has refused before is unchanged and is not redefined again. */
    static void onlyClassesOfTheCallThatEndedInWantOfMemoryAreRestored() {
        World world = new World(4);
        world.jvm.rejected.add(world.classes.get(1));
        world.jvm.nextDone = new OutOfMemoryError("Java heap space"); // thrown in the call for the other classes
        Swap it = world.swap.prepare(world.bodies(5, 0, 1, 2, 3));
        equal(4, world.redefine(it).size());
        equal(3, world.jvm.calls); // one call for all classes, one for the refused class, one for the other classes
        for (int i = 0; i < 4; i++) {
            equal(i == 1, it.isRefused(world.classes.get(i)), "p.C" + i);
        }
        equal(new int[] {3, 0, 0}, world.swap.restore());
        for (Class<?> c : world.classes) {
            that(world.jvm.hasOwnCode(c), c.getName());
        }
    }

    static void aClassIsRestoredIfTheJvmHasFailedAfterItsRedefinition() {
        World world = new World(1);
        world.jvm.nextDone = new InternalError("once");
        equal(Map.of(world.id(0), "java.lang.InternalError: once"), world.redefineAll(5));
        equal(5, world.value(0));
        equal(new int[] {1, 0, 0}, world.swap.restore());
        equal(1, world.value(0));
    }

    static void aClassThatCannotBeRestoredIsCounted() {
        World world = new World(10);
        world.redefineAll(5);
        world.jvm.unseen.add(world.classes.get(3));
        equal(new int[] {9, 1, 0}, world.swap.restore());
        for (int i = 0; i < 10; i++) {
            equal(i != 3, world.jvm.hasOwnCode(world.classes.get(i)), "p.C" + i);
        }
    }

    static void restoringIsRepeatedAfterOutOfMemory() {
        World world = new World(10);
        world.redefineAll(5);
        world.jvm.next = new OutOfMemoryError("Java heap space");
        jfluid.check.Check.raises(OutOfMemoryError.class, world.swap::restore);
        equal(new int[] {10, 0, 0}, world.swap.restore());
        for (Class<?> c : world.classes) {
            that(world.jvm.hasOwnCode(c), c.getName());
        }
    }

    static void bytesAreReadWithoutRedefiningAnything() throws Exception {
        World world = new World(4);
        Class<?> initialised = Class.forName("p.C0", true, world.classes.get(0).getClassLoader());
        that(initialised == world.classes.get(0), "the others are not initialised, and so are read by another thread");
        world.jvm.unmodifiable.add(world.classes.get(2));
        world.redefineAll(5);
        byte[][] before = {world.jvm.bytesOf(world.classes.get(0)), world.jvm.bytesOf(world.classes.get(1))};
        List<Object> read = world.swap.read(new int[] {world.id(0), world.id(1), world.id(2), 77_777, world.id(3)});
        equal(ClassBytes.withValue("p/C0", 1), read.get(0));
        equal(ClassBytes.withValue("p/C1", 1), read.get(1));
        equal(null, read.get(2));
        equal(null, read.get(3));
        equal(ClassBytes.withValue("p/C3", 1), read.get(4));
        for (int i = 0; i < 2; i++) {
            that(world.jvm.bytesOf(world.classes.get(i)) == before[i], "p.C" + i + " was redefined");
        }
        equal(List.of(), world.changed);
    }

    static void aClassMayBeDefinedWithBodies() {
        World world = new World(0);
        ClassBytes.Loader loader = new ClassBytes.Loader();
        byte[] base = ClassBytes.withValue("p/Coming", 1);
        TreeMap<Integer, byte[]> body = new TreeMap<>(Map.of(0, ClassBytes.returning(5, 0)));
        equal(Splicer.splice(base, 1, POOL, body), world.swap.defineWith(loader, "p/Coming", base, 1, POOL, body));
        that(world.swap.isComing(loader, "p/Coming"), "it is to be defined with them");
        that(!world.swap.isComing(loader, "p/Other"), "of another nothing is known");
        Class<?> c = world.jvm.load(loader, base);
        equal(new int[] {1, 0, 0}, world.swap.restore());
        that(world.jvm.hasOwnCode(c), "own code");
        that(!world.swap.isComing(loader, "p/Coming"), "the session is over");
    }

    static void aClassDefinedWithoutItsBodiesIsForgotten() {
        World world = new World(0);
        ClassBytes.Loader loader = new ClassBytes.Loader();
        TreeMap<Integer, byte[]> body = new TreeMap<>(Map.of(0, ClassBytes.returning(5, 0)));
        world.swap.defineWith(loader, "p/Coming", ClassBytes.withValue("p/Coming", 1), 1, POOL, body);
        that(world.swap.bytes()[1] > 0, "its bodies are kept outside of the heap");
        world.swap.dropLoading(loader, "p/Coming");
        that(!world.swap.isComing(loader, "p/Coming"), "it is not coming");
        equal(new int[] {0, 0, 0}, world.swap.restore());
    }
}
