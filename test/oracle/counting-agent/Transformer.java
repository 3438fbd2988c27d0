package counting;

import java.lang.instrument.ClassFileTransformer;
import java.lang.module.ResolvedModule;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.objectweb.asm.AnnotationVisitor;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Inserts calls of {@link Recorder} into every method of every class. */
final class Transformer implements ClassFileTransformer {
    private final String rootClass;
    private final String rootMethod;
    private final boolean jdk;
    private final Set<Module> jdkModules = new HashSet<>();
    private final List<String> names = new ArrayList<>();
    private final List<String> failures = new ArrayList<>();

    Transformer(String root, boolean jdk) {
        this.jdk = jdk;
        rootClass = root.substring(0, root.lastIndexOf('.')).replace('.', '/');
        rootMethod = root.substring(root.lastIndexOf('.') + 1);
        for (ResolvedModule it : ModuleLayer.boot().configuration().modules()) {
            if (it.reference().location().map(uri -> "jrt".equals(uri.getScheme())).orElse(false)) {
                jdkModules.add(ModuleLayer.boot().findModule(it.name()).orElseThrow());
            }
        }
    }

    /** Loads all classes that a transformation needs, so that no transformation loads a class. */
    void warmUp() {
        try (var in = Transformer.class.getResourceAsStream("Transformer.class")) {
            byte[] bytes = in.readAllBytes();
            rewrite("counting/Transformer", bytes);
            rewrite("counting/CountingMethod", CountingMethod.class.getResourceAsStream("CountingMethod.class").readAllBytes());
        } catch (java.io.IOException problem) {
            throw new java.io.UncheckedIOException(problem);
        }
        names.clear();
    }

    @Override
    public byte[] transform(
        Module module, ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        Recorder.suspend(); // JDK calls made by the agent itself must not be counted
        try {
            return name == null || !isCounted(module, loader, name) ? null : rewrite(name, bytes);
        } catch (Throwable problem) {
            synchronized (this) {
                failures.add(name.replace('/', '.') + " " + problem);
            }
            return null;
        } finally {
            Recorder.unsuspend();
        }
    }

    private boolean isCounted(Module module, ClassLoader loader, String name) {
        if (name.startsWith("counting/") || name.startsWith("org/objectweb/asm/")) return false;
        // The JDK generates dynamic proxies, and no source code names them.
        if (isProxy(name)) return false;
        // Accessors that reflection generates, and classes of the instrumentation itself.
        if (name.startsWith("jdk/internal/reflect/Generated")) return false;
        if (name.startsWith("sun/instrument/") || name.startsWith("java/lang/instrument/")) return false;
        return jdk || loader != null && !jdkModules.contains(module);
    }

    /** Uses no regular expression, since its classes would be loaded here and never be shown to the transformer. */
    private static boolean isProxy(String name) {
        int at = name.lastIndexOf("$Proxy");
        if (at < 0 || at + 6 == name.length()) return false;
        for (int i = at + 6; i < name.length(); i++) if (name.charAt(i) < '0' || name.charAt(i) > '9') return false;
        return true;
    }

    private byte[] rewrite(String name, byte[] bytes) {
        ClassReader reader = new ClassReader(bytes);
        // Keeps the constant pool, so that methods without changes can be copied.
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(new CountingClass(writer, name, hasEmptyFinalizer(reader)), ClassReader.EXPAND_FRAMES);
        return writer.toByteArray();
    }

    /** Returns whether the class has a finalize() that consists only of a return. */
    private static boolean hasEmptyFinalizer(ClassReader reader) {
        boolean[] seen = new boolean[2];
        reader.accept(
            new ClassVisitor(Opcodes.ASM9) {
                @Override
                public MethodVisitor visitMethod(int access, String method, String descriptor, String s, String[] e) {
                    if (!method.equals("finalize") || !descriptor.equals("()V")) return null;
                    return new MethodVisitor(Opcodes.ASM9) {
                        @Override
                        public void visitInsn(int opcode) {
                            seen[opcode == Opcodes.RETURN ? 0 : 1] = true;
                        }

                        @Override
                        public void visitVarInsn(int opcode, int local) {
                            seen[1] = true;
                        }

                        @Override
                        public void visitFieldInsn(int opcode, String owner, String field, String type) {
                            seen[1] = true;
                        }

                        @Override
                        public void visitMethodInsn(int opcode, String owner, String callee, String type, boolean i) {
                            seen[1] = true;
                        }
                    };
                }
            },
            ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
        return seen[0] && !seen[1];
    }

    private synchronized int add(String name) {
        names.add(name);
        return names.size() - 1;
    }

    synchronized int methods() {
        return names.size();
    }

    synchronized String nameOf(int id) {
        return names.get(id);
    }

    synchronized List<String> failures() {
        return List.copyOf(failures);
    }

    /** Called when a method is found to have the annotation. */
    private void intrinsic(int id) {
        synchronized (this) {
            names.set(id, "i" + names.get(id).substring(1));
        }
    }

    private final class CountingClass extends ClassVisitor {
        private final String name;
        private final boolean emptyFinalizer;
        private int version;

        CountingClass(ClassVisitor next, String name, boolean emptyFinalizer) {
            super(Opcodes.ASM9, next);
            this.name = name;
            this.emptyFinalizer = emptyFinalizer;
        }

        @Override
        public void visit(int version, int access, String name, String signature, String above, String[] interfaces) {
            this.version = version & 0xffff;
            super.visit(version, access, name, signature, above, interfaces);
        }

        @Override
        public MethodVisitor visitMethod(
            int access, String method, String descriptor, String signature, String[] exceptions) {
            MethodVisitor next = super.visitMethod(access, method, descriptor, signature, exceptions);
            if ((access & (Opcodes.ACC_ABSTRACT | Opcodes.ACC_NATIVE)) != 0) return next;
            // Every constructor calls this empty constructor.
            if (name.equals("java/lang/Object") && method.equals("<init>")) return next;
            // HotSpot registers objects whose finalize() is not empty, and code of the agent would make an empty finalize() non-empty.
            if (method.equals("finalize") && emptyFinalizer) return next;
            int id = add("- " + name.replace('/', '.') + "." + method + descriptor);
            boolean root = name.equals(rootClass) && (method.equals(rootMethod) || (method + descriptor).equals(rootMethod));
            return new CountingMethod(next, access, method, descriptor, version, id, root) {
                @Override
                public AnnotationVisitor visitAnnotation(String type, boolean visible) {
                    if (type.equals("Ljdk/internal/vm/annotation/IntrinsicCandidate;")) intrinsic(id);
                    return super.visitAnnotation(type, visible);
                }
            };
        }
    }
}
