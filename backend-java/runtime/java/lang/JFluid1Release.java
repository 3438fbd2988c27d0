package java.lang;

import java.lang.ref.Reference;

/**
 * What differs between the supported releases of the JDK, for runtime and agent. The fields that decide are constants of an initialised
 * class, so the compilers drop the code of the other releases.
 *
 * <pre>
 * since  change                                                                source         in older releases
 *    12  Unsafe.getReference and similar methods are no longer called getObject  JDK-8207146  the names are replaced, see {@link #adapted}
 *    12  Class.descriptorString()                                                JDK-8202473  {@link #descriptor}
 *    15  a lambda class is a hidden class, not an anonymous class of the JVM     JEP 371      {@link #isHidden}
 *    15  Lookup.ClassDefiner defines hidden classes                              JEP 371      {@link #HAS_HIDDEN_CLASSES}
 *    16  Reference.refersTo                                                      JDK-8188055  {@link #refersTo}
 *    16  UNIX sockets                                                            JEP 380      {@link #HAS_UNIX_SOCKETS}: JFluid1Pipes
 *    17  Unsafe.invokeCleaner in jdk.internal.misc; absent from 11, not looked up in 12 to 16 {@link #unmap}
 * </pre>
 */
public final class JFluid1Release {
    private JFluid1Release() {}

    private static final int FEATURE = Runtime.version().feature();

    static final boolean HAS_HIDDEN_CLASSES = FEATURE >= 15;
    private static final boolean HAS_REFERS_TO = FEATURE >= 16;
    private static final boolean HAS_INVOKE_CLEANER = FEATURE >= 17;
    /** Otherwise the agent connects by named pipes. */
    public static final boolean HAS_UNIX_SOCKETS = FEATURE >= 16;

    /** Methods of jdk.internal.misc.Unsafe that the runtime calls, each with its name up to JDK 11. */
    private static final String[][] UNSAFE_NAMES = {
        {"getReference", "getObject"},
        {"getReferenceVolatile", "getObjectVolatile"},
        {"getReferenceAcquire", "getObjectAcquire"},
        {"putReferenceRelease", "putObjectRelease"},
        {"compareAndSetReference", "compareAndSetObject"},
        {"getAndSetReference", "getAndSetObject"},
    };

    /** Returns the class file of a runtime class with the method names of this release. */
    public static byte[] adapted(byte[] classFile) {
        return FEATURE >= 12 ? classFile : renamed(classFile, UNSAFE_NAMES);
    }

    /**
     * Replaces texts of the constant pool.
     *
     * @param names pairs of the old and the new text
     */
    static byte[] renamed(byte[] classFile, String[][] names) {
        java.nio.ByteBuffer from = java.nio.ByteBuffer.wrap(classFile);
        // A class file has at most one entry per text, and no new name is longer than the old name.
        java.nio.ByteBuffer to = java.nio.ByteBuffer.allocate(classFile.length);
        int entries = from.getShort(8) & 0xFFFF;
        copy(from, to, 10);
        for (int i = 1; i < entries; i++) {
            int tag = from.get(from.position());
            if (tag == 1) {
                byte[] text = new byte[from.getShort(from.position() + 1) & 0xFFFF];
                from.position(from.position() + 3);
                from.get(text);
                byte[] name = nameFor(text, names);
                to.put((byte) 1).putShort((short) name.length).put(name);
            } else {
                copy(from, to, 1 + contentBytes(tag));
                i += tag == 5 || tag == 6 ? 1 : 0; // a long or a double takes two indices
            }
        }
        copy(from, to, from.remaining());
        return java.util.Arrays.copyOf(to.array(), to.position());
    }

    private static void copy(java.nio.ByteBuffer from, java.nio.ByteBuffer to, int bytes) {
        byte[] part = new byte[bytes];
        from.get(part);
        to.put(part);
    }

    private static byte[] nameFor(byte[] text, String[][] names) {
        String old = new String(text, java.nio.charset.StandardCharsets.ISO_8859_1);
        for (String[] pair : names) {
            if (pair[0].equals(old)) {
                return pair[1].getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
            }
        }
        return text;
    }

    /** Length of a constant pool entry without its tag (JVMS 4.4), for all tags but Utf8. */
    private static int contentBytes(int tag) {
        switch (tag) {
            case 5: // Long
            case 6: // Double
                return 8;
            case 7: // Class
            case 8: // String
            case 16: // MethodType
            case 19: // Module
            case 20: // Package
                return 2;
            case 15: // MethodHandle
                return 3;
            default: return 4;
        }
    }

    /** Returns whether the class is a hidden class, or an anonymous class of the JVM. Only the name of such a class contains a slash. */
    public static boolean isHidden(Class<?> c) {
        return HAS_HIDDEN_CLASSES ? c.isHidden() : c.getName().indexOf('/') >= 0 && !c.isArray();
    }

    /** Returns whether the reference refers to the object; null stands for a cleared reference. */
    public static boolean refersTo(Reference<?> reference, Object o) {
        return HAS_REFERS_TO ? cast(reference).refersTo(o) : reference.get() == o;
    }

    @SuppressWarnings("unchecked")
    private static Reference<Object> cast(Reference<?> reference) {
        return (Reference<Object>) reference;
    }

    /** Unmaps the buffer. */
    static void unmap(java.nio.ByteBuffer mapped) {
        if (HAS_INVOKE_CLEANER) {
            jdk.internal.misc.Unsafe.getUnsafe().invokeCleaner(mapped);
        } else {
            OldCleaner.clean(mapped);
        }
    }

    /** Calls of DirectBuffer.cleaner().clean(). Found at the begin of a session, since memory may be short at its end. */
    static final class OldCleaner {
        private static final java.lang.reflect.Method CLEANER = method("sun.nio.ch.DirectBuffer", "cleaner");
        private static final java.lang.reflect.Method CLEAN = method("jdk.internal.ref.Cleaner", "clean");

        private static java.lang.reflect.Method method(String owner, String name) {
            try {
                return Class.forName(owner, true, null).getMethod(name);
            } catch (ReflectiveOperationException otherJdk) {
                throw new ExceptionInInitializerError(otherJdk);
            }
        }

        static void clean(java.nio.ByteBuffer mapped) {
            try {
                CLEAN.invoke(CLEANER.invoke(mapped));
            } catch (ReflectiveOperationException failed) {
                throw new IllegalStateException(failed);
            }
        }
    }

    /** Initialises the classes that only this release needs. */
    static void begin() {
        if (!HAS_INVOKE_CLEANER) {
            jdk.internal.misc.Unsafe.getUnsafe().ensureClassInitialized(OldCleaner.class);
        }
    }

    /** Returns the descriptor of the class, such as "[I" or "Ljava/lang/String;". */
    public static String descriptor(Class<?> c) {
        return FEATURE >= 12 ? c.descriptorString()
                             : java.lang.invoke.MethodType.methodType(c).toMethodDescriptorString().substring(2);
    }
}
