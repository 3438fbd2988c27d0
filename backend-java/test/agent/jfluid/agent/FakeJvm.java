package jfluid.agent;

import java.lang.instrument.ClassDefinition;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarFile;

/**
 * Simulates the part of HotSpot that the agent uses. A retransformation passes classes to the transformers in order, starting from their
 * base bytes. At the first class that the fake JVM does not accept, it refuses the whole batch and passes no further class. The classes are
 * real; their redefinitions are only recorded.
 */
final class FakeJvm implements Instrumentation {
    /** Classes in loading order, with their base bytes. */
    private final Map<Class<?>, byte[]> base = new LinkedHashMap<>();
    /** Redefined bytes of classes. */
    private final Map<Class<?>, byte[]> present = new IdentityHashMap<>();
    private final List<ClassFileTransformer> transformers = new ArrayList<>();
    /** Classes that are refused after they were passed to the transformers, unless their bytes are the base bytes. */
    final Set<Class<?>> rejected = new HashSet<>();
    /** Classes that are refused before they are passed to the transformers. JDK 25 does this to a class that it cannot link. */
    final Set<Class<?>> unseen = new HashSet<>();
    final Set<Class<?>> unmodifiable = new HashSet<>();
    /** Error thrown by the next retransformation, once. */
    Error next;
    /** Error thrown at the end of the next retransformation, once. */
    Error nextDone;
    /** Number of retransformations. */
    int calls;
    /** Number of classes in all retransformations. */
    int handed;

    /** Loads a class. */
    Class<?> load(ClassBytes.Loader loader, byte[] bytes) {
        Class<?> c = loader.define(bytes);
        base.put(c, bytes);
        return c;
    }

    void add(Class<?> c, byte[] bytes) {
        base.put(c, bytes);
    }

    void unload(Class<?> c) {
        base.remove(c);
    }

    /** Changes the base bytes, as another agent does. */
    void changeBase(Class<?> c, byte[] bytes) {
        base.put(c, bytes);
    }

    /** Returns the current bytes of a class. */
    byte[] bytesOf(Class<?> c) {
        return present.getOrDefault(c, base.get(c));
    }

    boolean hasOwnCode(Class<?> c) {
        return bytesOf(c) == base.get(c);
    }

    @Override
    public void addTransformer(ClassFileTransformer transformer, boolean canRetransform) {
        transformers.add(transformer);
    }

    @Override
    public void addTransformer(ClassFileTransformer transformer) {
        transformers.add(transformer);
    }

    @Override
    public boolean removeTransformer(ClassFileTransformer transformer) {
        return transformers.remove(transformer);
    }

    @Override
    public void retransformClasses(Class<?>... classes) throws UnmodifiableClassException {
        synchronized (this) {
            calls++;
            handed += classes.length;
        }
        if (next != null) {
            Error thrown = next;
            next = null;
            throw thrown;
        }
        Map<Class<?>, byte[]> made = new IdentityHashMap<>();
        for (Class<?> c : classes) {
            if (unmodifiable.contains(c)) {
                throw new UnmodifiableClassException();
            }
        }
        for (Class<?> c : classes) {
            if (unseen.contains(c)) {
                throw new NoClassDefFoundError("what " + c.getName() + " needs");
            }
            byte[] bytes = base.get(c);
            for (ClassFileTransformer transformer : transformers) {
                byte[] changed = transform(transformer, c, bytes);
                bytes = changed == null ? bytes : changed;
            }
            if (bytes.length < 10) {
                throw new ClassFormatError();
            }
            if (rejected.contains(c) && bytes != base.get(c)) {
                throw new VerifyError(c.getName());
            }
            made.put(c, bytes);
        }
        synchronized (this) {
            present.putAll(made);
        }
        if (nextDone != null) {
            Error thrown = nextDone;
            nextDone = null;
            throw thrown;
        }
    }

    /** Calls a transformer and swallows its exception. */
    private static byte[] transform(ClassFileTransformer transformer, Class<?> c, byte[] bytes) {
        try {
            return transformer.transform(c.getClassLoader(), c.getName().replace('.', '/'), c, null, bytes);
        } catch (Throwable swallowed) {
            return null;
        }
    }

    @Override
    public boolean isModifiableClass(Class<?> c) {
        return !unmodifiable.contains(c);
    }

    @Override
    public Class<?>[] getAllLoadedClasses() {
        return base.keySet().toArray(new Class<?>[0]);
    }

    @Override
    public boolean isRetransformClassesSupported() {
        return true;
    }

    // Unused by the tested classes.

    @Override
    public boolean isRedefineClassesSupported() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void redefineClasses(ClassDefinition... definitions) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Class<?>[] getInitiatedClasses(ClassLoader loader) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long getObjectSize(Object o) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void appendToBootstrapClassLoaderSearch(JarFile jar) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void appendToSystemClassLoaderSearch(JarFile jar) {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean isNativeMethodPrefixSupported() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void setNativeMethodPrefix(ClassFileTransformer transformer, String prefix) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void redefineModule(Module module, Set<Module> reads, Map<String, Set<Module>> exports,
            Map<String, Set<Module>> opens, Set<Class<?>> uses, Map<Class<?>, List<Class<?>>> provides) {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean isModifiableModule(Module module) {
        throw new UnsupportedOperationException();
    }
}
