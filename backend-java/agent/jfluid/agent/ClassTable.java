package jfluid.agent;

import java.lang.instrument.Instrumentation;
import java.lang.ref.WeakReference;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * Gives numbers to classes and loaders, holding both weakly: a class unloads when its loader goes.
 * Used by the agent's thread only. The rows are src/base/class-info.ts.
 */
final class ClassTable {
    private static final int JDK = 1;
    private static final int HIDDEN = 2;
    private static final int UNMODIFIABLE = 4;
    private static final int OURS = 8;

    /** A class that the load hook has announced and the JVM has not defined yet. */
    private record Coming(ClassLoader loader, String name) {
        @Override
        public boolean equals(Object o) {
            return o instanceof Coming c && c.loader == loader && c.name.equals(name);
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(loader) * 31 + name.hashCode();
        }
    }

    private final Instrumentation instrumentation;
    private final WeakHashMap<Class<?>, Integer> ids = new WeakHashMap<>();
    private final ArrayList<WeakReference<Class<?>>> byId = new ArrayList<>();
    private final Map<Coming, Integer> coming = new HashMap<>();
    private final WeakHashMap<ClassLoader, Integer> loaderIds = new WeakHashMap<>();
    private final WeakHashMap<Module, Boolean> jdkModules = new WeakHashMap<>();
    private List<Object> newLoaders = new ArrayList<>();
    private List<Object> newClasses = new ArrayList<>();
    private int loaders;

    ClassTable(Instrumentation instrumentation) {
        this.instrumentation = instrumentation;
        byId.add(null);
    }

    /** {@code [new loaders, new classes]} since the last call. */
    Object[] refresh() {
        for (Class<?> c : instrumentation.getAllLoadedClasses()) {
            if (!c.isArray() && !c.isPrimitive()) {
                id(c);
            }
        }
        Object[] delta = {newLoaders, newClasses};
        newLoaders = new ArrayList<>();
        newClasses = new ArrayList<>();
        return delta;
    }

    /** The class, or null if it has been unloaded or was never defined. */
    Class<?> byId(int id) {
        if (id <= 0 || id >= byId.size()) {
            return null;
        }
        WeakReference<Class<?>> ref = byId.get(id);
        return ref == null ? null : ref.get();
    }

    /** The same after looking through the loaded classes once, for one that was announced. */
    Class<?> find(int id) {
        Class<?> c = byId(id);
        if (c == null && id > 0 && id < byId.size() && byId.get(id) == null) {
            for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
                if (!loaded.isArray() && !loaded.isPrimitive()) {
                    id(loaded);
                }
            }
            c = byId(id);
        }
        return c;
    }

    int announced(ClassLoader loader, String name) {
        return coming.computeIfAbsent(new Coming(loader, name), k -> {
            byId.add(null);
            return byId.size() - 1;
        });
    }

    int id(Class<?> c) {
        Integer known = ids.get(c);
        if (known != null) {
            return known;
        }
        String name = c.getName();
        ClassLoader loader = c.getClassLoader();
        boolean hidden = c.isHidden();
        Integer announced = hidden ? null : coming.remove(new Coming(loader, name.replace('.', '/')));
        int id;
        if (announced != null) {
            id = announced;
            byId.set(id, new WeakReference<>(c));
        } else {
            id = byId.size();
            byId.add(new WeakReference<>(c));
        }
        ids.put(c, id);
        Class<?> parent = c.getSuperclass();
        Class<?>[] interfaces = c.getInterfaces();
        int[] interfaceIds = new int[interfaces.length];
        for (int i = 0; i < interfaces.length; i++) {
            interfaceIds[i] = id(interfaces[i]);
        }
        // A dynamic proxy is the JDK's doing wherever it lies: transparent, not application code.
        int flags = isJdk(c.getModule()) || java.lang.reflect.Proxy.isProxyClass(c) ? JDK : 0;
        int host = 0;
        if (hidden) {
            flags |= HIDDEN;
            Class<?> nestHost = c.getNestHost();
            host = nestHost == c ? 0 : id(nestHost);
        }
        if (!instrumentation.isModifiableClass(c)) {
            flags |= UNMODIFIABLE;
        }
        if (isOurs(c, name)) {
            flags |= OURS;
        }
        String internal = hidden
                ? name.substring(0, name.lastIndexOf('/')).replace('.', '/') + "+" + name.substring(name.lastIndexOf('/') + 1)
                : name.replace('.', '/');
        newClasses.add(new Object[] {
            id, internal, loaderId(loader), parent == null ? 0 : id(parent), interfaceIds, c.getModifiers(), flags, host
        });
        return id;
    }

    private static boolean isOurs(Class<?> c, String name) {
        return c.getClassLoader() == ClassTable.class.getClassLoader()
                || name.equals("jfluid.Boot")
                || name.startsWith("jfluid.Boot$")
                || name.startsWith("java.lang.JFluid1");
    }

    int loaderId(ClassLoader loader) {
        if (loader == null) {
            return 0;
        }
        Integer known = loaderIds.get(loader);
        if (known != null) {
            return known;
        }
        int id = ++loaders;
        loaderIds.put(loader, id);
        String name;
        if (loader == ClassLoader.getSystemClassLoader()) {
            name = "app";
        } else if (loader == ClassLoader.getPlatformClassLoader()) {
            name = "platform";
        } else {
            // Neither toString() nor getName(): they may be the application's code.
            String given = JFluid1.nameOf(loader);
            name = loader.getClass().getName() + (given == null ? "" : " '" + given + "'") + "@" + id;
        }
        ClassLoader parent = loader.getParent();
        newLoaders.add(new Object[] {id, name, loaderId(parent)});
        return id;
    }

    /** "JDK class" is a matter of location (jrt:), not of loader: jdk.compiler is on the app loader. */
    boolean isJdk(Module module) {
        if (!module.isNamed()) {
            return false;
        }
        Boolean known = jdkModules.get(module);
        if (known == null) {
            known = module == Object.class.getModule()
                    || module.getLayer() != null
                            && module.getLayer().configuration().findModule(module.getName())
                                    .flatMap(m -> m.reference().location())
                                    .map(URI::getScheme)
                                    .map("jrt"::equals)
                                    .orElse(false);
            jdkModules.put(module, known);
        }
        return known;
    }
}
