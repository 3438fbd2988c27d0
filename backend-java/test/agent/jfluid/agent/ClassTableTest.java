package jfluid.agent;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.raises;
import static jfluid.check.Check.that;

import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Numbers of classes and loaders: growing tables, hash collisions, unloaded classes. src/base/class-info.ts documents the rows. */
final class ClassTableTest {
    private static final int JDK = 1;
    private static final int HIDDEN = 2;
    private static final int UNMODIFIABLE = 4;
    private static final int UNINITIALISED = 16;
    /** More than twice the initial capacity of the tables. */
    private static final int MANY = 3000;
    private static final long ANSWER_TIMEOUT_NANOS = 10_000_000_000L;

    private static FakeJvm withObject() {
        FakeJvm jvm = new FakeJvm();
        jvm.add(Object.class, new byte[0]);
        return jvm;
    }

    private static Object[][] rows(Object list) {
        return ((List<?>) list).toArray(new Object[0][]);
    }

    /** Returns the rows of new classes, keyed by class name. */
    private static Map<String, Object[]> newClasses(ClassTable table) throws IOException {
        Map<String, Object[]> byName = new HashMap<>();
        for (Object[] row : rows(table.refresh()[1])) {
            equal(8, row.length);
            equal(null, byName.put((String) row[1], row), "twice " + row[1]);
        }
        return byName;
    }

    static void classesAreFoundByTheirNames() throws IOException {
        FakeJvm jvm = withObject();
        jvm.add(String.class, new byte[0]);
        ClassTable table = new ClassTable(jvm);
        List<Object> found = table.named(new Object[] {"java.lang.String", "String", "java.lang.Object"});
        equal(List.of(List.of(table.id(String.class)), List.of(), List.of(table.id(Object.class))), found);
        that(newClasses(table).containsKey("java/lang/String"), "its row is sent later");
    }

    private static Set<Integer> ids(FakeJvm jvm, ClassTable table) {
        Set<Integer> ids = new HashSet<>();
        for (Class<?> c : jvm.getAllLoadedClasses()) {
            ids.add(table.id(c));
        }
        return ids;
    }

    /** Checks that each class has a unique number, keeps that number, and is found by it. */
    private static void checkAll(FakeJvm jvm, ClassTable table) throws IOException {
        Class<?>[] all = jvm.getAllLoadedClasses();
        int[] before = new int[all.length];
        Set<Integer> ids = new HashSet<>();
        for (int i = 0; i < all.length; i++) {
            before[i] = table.id(all[i]);
            ids.add(before[i]);
        }
        equal(all.length, ids.size(), "different numbers");
        table.refresh();
        for (int i = 0; i < all.length; i++) {
            if (table.id(all[i]) != before[i] || table.byId(before[i]) != all[i]) {
                equal(all[i], table.byId(before[i]), "number " + before[i]);
                equal(before[i], table.id(all[i]), all[i].getName());
                return;
            }
        }
    }

    static void thousandsOfNamesAreDistinguished() throws IOException {
        FakeJvm jvm = withObject();
        ClassTable table = new ClassTable(jvm);
        ClassBytes.Loader loader = new ClassBytes.Loader();
        for (int i = 0; i < MANY; i++) {
            jvm.load(loader, ClassBytes.empty("p/C" + i));
        }
        equal(MANY + 1, rows(table.refresh()[1]).length);
        checkAll(jvm, table);
        equal(0, rows(table.refresh()[1]).length, "reported once");
        equal(null, table.byId(MANY + 7));
        equal(null, table.byId(0));
        equal(null, table.byId(-1));
        // One row per class, and two tables of the next power of two.
        equal((MANY + 1) * 48L + 2 * 4096 * 4, table.heapBytes());
    }

    static void numbersInTheSameBucketAreDistinguished() throws IOException {
        FakeJvm jvm = withObject();
        ClassTable table = new ClassTable(jvm);
        ClassBytes.Loader loader = new ClassBytes.Loader();
        for (int i = 0; i < 5; i++) {
            Class<?> c = jvm.load(loader, ClassBytes.empty("p/C" + i));
            int last = table.id(c);
            for (int id = last; (last + 1 - id) % 1024 != 0;) { // loads classes until the next number is 1024 higher
                last = table.announced(loader, "p/Announced" + last);
            }
        }
        checkAll(jvm, table);
    }

    static void theSameNameInThousandsOfLoadersIsDistinguished() throws IOException {
        FakeJvm jvm = withObject();
        ClassTable table = new ClassTable(jvm);
        byte[] bytes = ClassBytes.empty("p/Same");
        for (int i = 0; i < MANY / 2; i++) {
            jvm.load(new ClassBytes.Loader(), bytes);
        }
        Object[] delta = table.refresh();
        equal(MANY / 2 + 1, rows(delta[1]).length);
        equal(MANY / 2 + 2, rows(delta[0]).length, "their loaders, app and platform");
        Set<Object> loaders = new HashSet<>();
        for (Object[] row : rows(delta[1])) {
            loaders.add(row[2]);
        }
        equal(MANY / 2 + 1, loaders.size(), "each class has a loader of its own");
        checkAll(jvm, table);
    }

    /** "Aa" and "BB" have equal hashes, so all concatenations of n of them have equal hashes. */
    static void namesWithTheSameHashAreDistinguished() throws IOException {
        FakeJvm jvm = withObject();
        ClassTable table = new ClassTable(jvm);
        ClassBytes.Loader loader = new ClassBytes.Loader();
        for (int bits = 0; bits < 1 << 9; bits++) {
            StringBuilder name = new StringBuilder();
            for (int i = 0; i < 9; i++) {
                name.append((bits >> i & 1) == 0 ? "Aa" : "BB");
            }
            jvm.load(loader, ClassBytes.empty(name.toString()));
        }
        checkAll(jvm, table);
    }

    static void aRowSaysWhatTheClassIs() throws IOException {
        FakeJvm jvm = withObject();
        ClassTable table = new ClassTable(jvm);
        ClassBytes.Loader loader = new ClassBytes.Loader();
        Class<?> parent = jvm.load(loader, ClassBytes.empty("p/Parent"));
        Class<?> child = jvm.load(loader, new ClassBytes("p/Child", "p/Parent").done());
        jvm.add(Runnable.class, new byte[0]);
        jvm.add(Thread.class, new byte[0]);
        jvm.add(int.class, new byte[0]);
        jvm.add(String[].class, new byte[0]);
        jvm.unmodifiable.add(parent);
        Object[] delta = table.refresh();
        Map<String, Object[]> byName = new HashMap<>();
        for (Object[] row : rows(delta[1])) {
            byName.put((String) row[1], row);
        }
        equal(Set.of("java/lang/Object", "java/lang/Runnable", "java/lang/Thread", "p/Parent", "p/Child"),
                byName.keySet());
        int loaderId = table.loaderId(loader);
        equal(new Object[] {table.id(child), "p/Child", loaderId, table.id(parent), new int[0], child.getModifiers(),
                  UNINITIALISED, 0},
                byName.get("p/Child"));
        equal(new Object[] {table.id(parent), "p/Parent", loaderId, table.id(Object.class), new int[0],
                  parent.getModifiers(), UNINITIALISED | UNMODIFIABLE, 0},
                byName.get("p/Parent"));
        equal(new Object[] {table.id(Thread.class), "java/lang/Thread", 0, table.id(Object.class),
                  new int[] {table.id(Runnable.class)}, Thread.class.getModifiers(), JDK, 0},
                byName.get("java/lang/Thread"));
        equal(0, byName.get("java/lang/Object")[3], "it has no superclass");
        String loaderName = ClassBytes.Loader.class.getName() + "@" + loaderId;
        equal(new Object[] {loaderId, loaderName, table.loaderId(loader.getParent())}, lastOf(delta[0]));
    }

    private static Object[] lastOf(Object list) {
        Object[][] rows = rows(list);
        for (Object[] row : rows) {
            if (((String) row[1]).startsWith(ClassBytes.Loader.class.getName())) {
                return row;
            }
        }
        return null;
    }

    static void loadersHaveTheirNames() throws IOException {
        FakeJvm jvm = withObject();
        ClassTable table = new ClassTable(jvm);
        ClassLoader named = new ClassLoader("the name", ClassLoader.getPlatformClassLoader()) {
            @Override
            public String toString() {
                throw new AssertionError("the application's code");
            }

            @Override
            public boolean equals(Object o) {
                throw new AssertionError("the application's code");
            }

            @Override
            public int hashCode() {
                throw new AssertionError("the application's code");
            }
        };
        int app = table.loaderId(ClassLoader.getSystemClassLoader());
        int platform = table.loaderId(ClassLoader.getPlatformClassLoader());
        int its = table.loaderId(named);
        Object[][] rows = rows(table.refresh()[0]);
        equal(3, rows.length);
        Map<Object, Object[]> byId = new HashMap<>();
        for (Object[] row : rows) {
            byId.put(row[0], row);
        }
        equal(new Object[] {app, "app", platform}, byId.get(app));
        equal(new Object[] {platform, "platform", 0}, byId.get(platform));
        equal(new Object[] {its, named.getClass().getName() + " 'the name'@" + its, platform}, byId.get(its));
        equal(0, table.loaderId(null), "the bootstrap loader");
    }

    static void proxiesAndLambdasAreRecognised() throws IOException {
        FakeJvm jvm = withObject();
        ClassTable table = new ClassTable(jvm);
        Object proxy = java.lang.reflect.Proxy.newProxyInstance(
                ClassTableTest.class.getClassLoader(), new Class<?>[] {Runnable.class}, (p, m, a) -> null);
        int unused = 5;
        Runnable lambda = () -> System.out.println(unused);
        jvm.add(proxy.getClass(), new byte[0]);
        jvm.add(lambda.getClass(), new byte[0]);
        Map<String, Object[]> byName = newClasses(table);
        Object[] proxyRow = byName.get(proxy.getClass().getName().replace('.', '/'));
        equal(JDK, (Integer) proxyRow[6] & JDK);
        String name = lambda.getClass().getName(); // p.Host$$Lambda/0x123
        int slash = name.lastIndexOf('/');
        Object[] hidden = byName.get(name.substring(0, slash).replace('.', '/') + "+" + name.substring(slash + 1));
        equal(HIDDEN, (Integer) hidden[6] & (JDK | HIDDEN | UNINITIALISED));
        equal(table.id(ClassTableTest.class), hidden[7], "its host");
    }

    static void anAnnouncedClassKeepsItsNumber() throws IOException {
        FakeJvm jvm = withObject();
        ClassTable table = new ClassTable(jvm);
        ClassBytes.Loader loader = new ClassBytes.Loader();
        ClassBytes.Loader other = new ClassBytes.Loader();
        int announced = table.announced(loader, "p/Coming");
        equal(announced, table.announced(loader, "p/Coming"), "asked for twice");
        that(announced != table.announced(other, "p/Coming"), "another loader's is another class");
        equal(null, table.byId(announced));
        equal(null, table.find(announced));
        Class<?> c = jvm.load(loader, ClassBytes.empty("p/Coming"));
        equal(c, table.find(announced));
        equal(announced, table.id(c));
        equal(announced, newClasses(table).get("p/Coming")[0]);
    }

    static void unloadedClassesAreReportedOnce() throws IOException {
        FakeJvm jvm = withObject();
        ClassTable table = new ClassTable(jvm);
        List<WeakReference<Object>> loaders = new ArrayList<>();
        Set<Integer> gone = new HashSet<>();
        Set<Integer> goneLoaders = new HashSet<>();
        ClassBytes.Loader stays = new ClassBytes.Loader();
        for (int i = 0; i < 1500; i++) { // half of all classes stay, some in each hash chain
            jvm.load(stays, ClassBytes.empty("p/C" + i));
        }
        Set<Integer> staying = ids(jvm, table);
        for (int i = 0; i < 3; i++) {
            ClassBytes.Loader loader = new ClassBytes.Loader();
            loaders.add(new WeakReference<>(loader));
            for (int j = 0; j < 500; j++) {
                Class<?> c = jvm.load(loader, ClassBytes.empty("p/C" + j));
                gone.add(table.id(c));
                jvm.unload(c);
            }
            gone.add(table.announced(loader, "p/NeverDefined"));
            goneLoaders.add(table.loaderId(loader));
        }
        table.refresh();
        awaitGone(loaders);
        Set<Integer> told = new HashSet<>();
        Set<Integer> toldLoaders = new HashSet<>();
        long until = System.nanoTime() + ANSWER_TIMEOUT_NANOS;
        while (told.size() < gone.size() && System.nanoTime() < until) { // references are enqueued with a delay
            Object[] now = table.takeGone();
            for (Object id : (List<?>) now[0]) {
                that(told.add((Integer) id), "reported twice: " + id);
            }
            for (Object id : (List<?>) now[1]) {
                that(toldLoaders.add((Integer) id), "loader reported twice: " + id);
            }
            Thread.onSpinWait();
        }
        equal(gone, told);
        equal(goneLoaders, toldLoaders);
        for (int id : gone) {
            equal(null, table.byId(id));
        }
        equal(staying, ids(jvm, table), "the others keep their numbers");
        checkAll(jvm, table);
        Class<?> late = jvm.load(stays, ClassBytes.empty("p/Late"));
        that(!gone.contains(table.id(late)), "no number is given twice");
    }

    private static void awaitGone(List<WeakReference<Object>> references) {
        long until = System.nanoTime() + ANSWER_TIMEOUT_NANOS;
        while (references.stream().anyMatch(it -> it.get() != null)) {
            that(System.nanoTime() < until, "not collected after 10 s");
            if (System.nanoTime() >= until) {
                return;
            }
            System.gc();
        }
    }

    static void classesAreFoundByTheEndOfTheirNames() throws IOException {
        FakeJvm jvm = withObject();
        ClassTable table = new ClassTable(jvm);
        ClassBytes.Loader loader = new ClassBytes.Loader();
        jvm.load(loader, ClassBytes.empty("p/Parent"));
        jvm.load(loader, new ClassBytes("p/q/Shop", "p/Parent").done());
        jvm.load(loader, ClassBytes.empty("p/q/MyShop"));
        jvm.load(loader, ClassBytes.empty("p/q/Shop$Cart"));
        jvm.load(loader, ClassBytes.empty("Shop"));
        equal(Set.of("java/lang/Object", "p/Parent", "p/q/Shop", "Shop"), found(table, "Shop"), "and what they extend");
        equal(Set.of(), found(table, "Shop"), "each is told once");
        equal(Set.of("p/q/Shop$Cart"), found(table, "q.Shop.Cart"), "any separator");
        equal(Set.of(), found(table, "hop"), "whole parts of names");
        equal(Set.of("p/q/MyShop"), found(table, "Nothing", "p.q.MyShop"), "any of several");
        raises(IOException.class, () -> new ClassTable(new FakeJvm()).find(new Object[] {"Shop"}));
    }

    private static Set<Object> found(ClassTable table, Object... names) throws IOException {
        Set<Object> found = new HashSet<>();
        for (Object[] row : rows(table.find(names)[1])) {
            found.add(row[1]);
        }
        return found;
    }

    static void aJvmThatIsEndingIsAnError() {
        raises(IOException.class, () -> new ClassTable(new FakeJvm()).refresh());
    }
}
