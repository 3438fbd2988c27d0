package jfluid.agent;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.lang.module.ResolvedModule;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import jdk.internal.misc.Unsafe;

/**
 * Numbers classes and loaders. Both are held weakly, so that classes can be unloaded. Used only by the agent's thread.
 * src/base/class-info.ts documents the rows.
 */
final class ClassTable {
    /**
     * Prefix of accessor classes: up to JDK 21, reflection generates one class per frequently called method, in the application's loader.
     */
    static final String ACCESSOR = "jdk.internal.reflect.Generated";

    private static final int JDK = 1;
    private static final int HIDDEN = 2;
    private static final int UNMODIFIABLE = 4;
    private static final int OURS = 8;
    private static final int UNINITIALISED = 16;

    /**
     * A class and its number. A number is not reused within a session. The hash is the hash of the name, which String caches. Identity hash
     * codes are unsuitable: with -XX:hashCode=2 all of them are equal.
     */
    private static final class Ref extends WeakReference<Class<?>> {
        final int id;
        private final int hash;
        /** Next entries of the bucket in byClass and in byId. */
        Ref chain;
        Ref idChain;

        Ref(Class<?> c, int id, ReferenceQueue<Class<?>> gone) {
            super(c, gone);
            this.id = id;
            hash = c.getName().hashCode();
        }
    }

    private static final long REF_BYTES = 48;

    private static final class Loader {
        final int id;
        /** Numbers, by name, of classes that the load hook has announced and the JVM has not defined yet. */
        final Map<String, Integer> coming = new HashMap<>();

        Loader(int id) {
            this.id = id;
        }
    }

    private final Instrumentation instrumentation;
    /**
     * Hash chains by name hash and by number, in two tables of equal size. One row per loaded class; two maps would need three
     * times the memory.
     */
    private Ref[] byClass = new Ref[1 << 10];
    private Ref[] byId = new Ref[1 << 10];
    private int known;
    private final ReferenceQueue<Class<?>> unloaded = new ReferenceQueue<>();
    private final PerLoader<Loader> loaders = new PerLoader<>();
    private final Set<Integer> coming = new HashSet<>();
    private final WeakHashMap<Module, Boolean> jdkModules = new WeakHashMap<>();
    private List<Object> newLoaders = new ArrayList<>();
    /** Rows not yet sent to the client, by number. */
    private Map<Integer, Object> newClasses = new LinkedHashMap<>();
    private int lastId;
    private int lastLoader;

    ClassTable(Instrumentation instrumentation) {
        this.instrumentation = instrumentation;
    }

    /** Returns the loaded classes; none in a JVM that is ending. */
    static Class<?>[] loaded(Instrumentation instrumentation) {
        Class<?>[] all = instrumentation.getAllLoadedClasses();
        return all == null ? new Class<?>[0] : all;
    }

    /** Returns {@code [new loaders, new classes]} since the last call. */
    Object[] refresh() throws IOException {
        Class<?>[] all = loaded(instrumentation);
        if (all.length == 0) {
            throw new IOException("the JVM is ending");
        }
        for (Class<?> c : all) {
            if (!c.isArray() && !c.isPrimitive()) {
                id(c);
            }
        }
        return takeNew();
    }

    private Object[] takeNew() {
        Object[] delta = {takeNewLoaders(), new ArrayList<>(newClasses.values())};
        newClasses = new LinkedHashMap<>();
        return delta;
    }

    /** Returns the rows of loaders that no answer has contained. */
    List<Object> takeNewLoaders() {
        List<Object> taken = newLoaders;
        newLoaders = new ArrayList<>();
        return taken;
    }

    /**
     * Like {@link #refresh}, for the loaded classes with these names and all their supertypes.
     *
     * @param names last parts of class names; parts are separated by any of {@code . / $}
     */
    Object[] find(Object[] names) throws IOException {
        Class<?>[] all = loaded(instrumentation);
        if (all.length == 0) {
            throw new IOException("the JVM is ending");
        }
        for (Class<?> c : all) {
            // The name first: for 18,000 classes, isArray and isPrimitive take 6 ms in the interpreter.
            if (isNamed(c.getName(), names) && !c.isArray() && !c.isPrimitive()) {
                id(c);
            }
        }
        return takeNew();
    }

    /**
     * Returns the numbers of the loaded classes with these names, one list per name. The rows of new classes are in the next answer of
     * {@link #refresh}.
     */
    List<Object> named(Object[] names) {
        Map<Object, List<Object>> byName = new HashMap<>();
        List<Object> lists = new ArrayList<>();
        for (Object name : names) {
            List<Object> list = byName.get(name);
            if (list == null) {
                list = new ArrayList<>();
                byName.put(name, list);
            }
            lists.add(list);
        }
        for (Class<?> c : loaded(instrumentation)) {
            List<Object> list = byName.get(c.getName());
            if (list != null && !JFluid1Release.isHidden(c)) {
                list.add(id(c));
            }
        }
        return lists;
    }

    private static boolean isNamed(String name, Object[] names) {
        for (Object it : names) {
            if (endsWith(name, (String) it)) {
                return true;
            }
        }
        return false;
    }

    /**
     * Returns whether a name ends with these parts. The number of a hidden class, after a slash, is not a part. Called for thousands of
     * classes, so it allocates nothing.
     */
    private static boolean endsWith(String name, String end) {
        int number = name.lastIndexOf('/');
        int at = (number < 0 ? name.length() : number) - end.length();
        if (at < 0 || at > 0 && !isSeparator(name.charAt(at - 1))) {
            return false;
        }
        for (int i = end.length() - 1; i >= 0; i--) {
            char c = name.charAt(at + i);
            char wanted = end.charAt(i);
            if (c != wanted && !(isSeparator(c) && isSeparator(wanted))) {
                return false;
            }
        }
        return true;
    }

    private static boolean isSeparator(char c) {
        return c == '.' || c == '/' || c == '$';
    }

    /**
     * Returns {@code [classes, loaders]}: numbers of classes that have been unloaded since the last call, or will never be defined because
     * their loader has been collected, and numbers of collected loaders. No later row has any of these numbers.
     */
    Object[] takeGone() {
        List<Object> gone = new ArrayList<>();
        List<Object> goneLoaders = new ArrayList<>();
        for (Ref ref = (Ref) unloaded.poll(); ref != null; ref = (Ref) unloaded.poll()) {
            remove(ref);
            newClasses.remove(ref.id);
            gone.add(ref.id);
        }
        for (Loader loader : loaders.takeGone()) {
            goneLoaders.add(loader.id);
            for (int id : loader.coming.values()) {
                coming.remove(id);
                gone.add(id);
            }
        }
        return new Object[] {gone, goneLoaders};
    }

    /** Returns the class, or null if it has been unloaded or was never defined. */
    Class<?> byId(int id) {
        Ref ref = byId[id & byId.length - 1];
        while (ref != null && ref.id != id) {
            ref = ref.idChain;
        }
        return ref == null ? null : ref.get();
    }

    /** Returns the heap bytes of the rows. */
    long heapBytes() {
        return known * REF_BYTES + (long) (byClass.length + byId.length) * Integer.BYTES;
    }

    private Ref find(Class<?> c) {
        Ref ref = byClass[c.getName().hashCode() & byClass.length - 1];
        while (ref != null && !JFluid1Release.refersTo(ref, c)) {
            ref = ref.chain;
        }
        return ref;
    }

    private void add(Ref ref) {
        if (++known > byClass.length) {
            Ref[] old = byClass;
            byClass = new Ref[old.length * 2];
            byId = new Ref[old.length * 2];
            for (Ref head : old) {
                for (Ref next; head != null; head = next) {
                    next = head.chain;
                    link(head);
                }
            }
        }
        link(ref);
    }

    private void link(Ref ref) {
        int at = ref.hash & byClass.length - 1;
        ref.chain = byClass[at];
        byClass[at] = ref;
        int idAt = ref.id & byId.length - 1;
        ref.idChain = byId[idAt];
        byId[idAt] = ref;
    }

    private void remove(Ref gone) {
        known--;
        int at = gone.hash & byClass.length - 1;
        if (byClass[at] == gone) {
            byClass[at] = gone.chain;
        }
        for (Ref ref = byClass[at]; ref != null; ref = ref.chain) {
            if (ref.chain == gone) {
                ref.chain = gone.chain;
            }
        }
        int idAt = gone.id & byId.length - 1;
        if (byId[idAt] == gone) {
            byId[idAt] = gone.idChain;
        }
        for (Ref ref = byId[idAt]; ref != null; ref = ref.idChain) {
            if (ref.idChain == gone) {
                ref.idChain = gone.idChain;
            }
        }
    }

    /** Like {@link #byId}, but for a class that has only been announced so far, first adds the loaded classes to the table. */
    Class<?> find(int id) {
        if (coming.contains(id)) {
            for (Class<?> loaded : loaded(instrumentation)) {
                if (!loaded.isArray() && !loaded.isPrimitive()) {
                    id(loaded);
                }
            }
        }
        return byId(id);
    }

    int announced(ClassLoader loader, String name) {
        Map<String, Integer> known = loader(loader).coming;
        Integer id = known.get(name);
        if (id == null) {
            id = ++lastId;
            coming.add(id);
            known.put(name, id);
        }
        return id;
    }

    int id(Class<?> c) {
        Ref known = find(c);
        if (known != null) {
            return known.id;
        }
        String name = c.getName();
        ClassLoader loader = c.getClassLoader();
        boolean hidden = JFluid1Release.isHidden(c);
        Integer announced = hidden ? null : loader(loader).coming.remove(name.replace('.', '/'));
        if (announced != null) {
            coming.remove(announced);
        }
        int id = announced != null ? announced : ++lastId;
        add(new Ref(c, id, unloaded));
        Class<?> parent = c.getSuperclass();
        Class<?>[] interfaces = c.getInterfaces();
        int[] interfaceIds = new int[interfaces.length];
        for (int i = 0; i < interfaces.length; i++) {
            interfaceIds[i] = id(interfaces[i]);
        }
        // Dynamic proxies and accessors of reflection are generated by the JDK in any loader: they count as
        // JDK code, not as application code.
        boolean generated = java.lang.reflect.Proxy.isProxyClass(c) || name.startsWith(ACCESSOR);
        int flags = isJdk(c.getModule()) || generated ? JDK : 0;
        int host = 0;
        if (hidden) {
            flags |= HIDDEN;
            Class<?> nestHost = c.getNestHost();
            host = nestHost == c ? 0 : id(nestHost);
        }
        if (!hidden && Unsafe.getUnsafe().shouldBeInitialized(c)) {
            flags |= UNINITIALISED;
        }
        if (!instrumentation.isModifiableClass(c)) {
            flags |= UNMODIFIABLE;
        }
        if (isOurs(c, name)) {
            flags |= OURS;
        }
        String internal = hidden ? name.substring(0, name.lastIndexOf('/')).replace('.', '/') + "+"
                        + name.substring(name.lastIndexOf('/') + 1)
                                 : name.replace('.', '/');
        newClasses.put(id,
                new Object[] {id, internal, loaderId(loader), parent == null ? 0 : id(parent), interfaceIds,
                    c.getModifiers(), flags, host});
        return id;
    }

    private static boolean isOurs(Class<?> c, String name) {
        return c.getClassLoader() == ClassTable.class.getClassLoader() || name.equals("jfluid.Boot")
                || name.startsWith("jfluid.Boot$") || name.startsWith("java.lang.JFluid1")
                || name.startsWith("java.lang.invoke.JFluid1");
    }

    int loaderId(ClassLoader loader) {
        return loader(loader).id;
    }

    /**
     * Returns the row of a loader. Uses no lambda and no string concatenation by invokedynamic: C2 inlines this code into {@link #id}, and
     * if such call sites inline JDK code with probes, C2 of JDK 17 may crash (with {@code --jdk --mode alloc}).
     */
    private Loader loader(ClassLoader loader) {
        Loader known = loaders.get(loader);
        if (known != null) {
            return known;
        }
        Loader fresh = new Loader(loader == null ? 0 : ++lastLoader);
        loaders.put(loader, fresh);
        if (loader == null) {
            return fresh;
        }
        String name;
        if (loader == ClassLoader.getSystemClassLoader()) {
            name = "app";
        } else if (loader == ClassLoader.getPlatformClassLoader()) {
            name = "platform";
        } else {
            // Does not call toString() or getName(), which may be application code.
            String given = JFluid1Memory.nameOf(loader);
            name = loader.getClass().getName() + (given == null ? "" : " '" + given + "'") + "@" + fresh.id;
        }
        newLoaders.add(new Object[] {fresh.id, name, loaderId(loader.getParent())});
        return fresh;
    }

    /**
     * Returns whether a module belongs to the JDK. Decided by location (jrt:), not by loader: jdk.compiler is in the application loader.
     */
    boolean isJdk(Module module) {
        if (!module.isNamed()) {
            return false;
        }
        Boolean known = jdkModules.get(module);
        if (known == null) {
            known = module == Object.class.getModule() || isOfImage(module);
            jdkModules.put(module, known);
        }
        return known;
    }

    private static boolean isOfImage(Module module) {
        ResolvedModule resolved = module.getLayer() == null
                ? null
                : module.getLayer().configuration().findModule(module.getName()).orElse(null);
        URI location = resolved == null ? null : resolved.reference().location().orElse(null);
        return location != null && "jrt".equals(location.getScheme());
    }
}
