package jfluid.agent;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Builds a class file constant by constant, for tests that must know each byte. */
final class ClassBytes {
    private static final int ACC_PUBLIC = 0x0001;
    private static final int ACC_STATIC = 0x0008;
    private static final int ACC_SUPER = 0x0020;
    private static final int ACC_ABSTRACT = 0x0400;

    private final ByteArrayOutputStream pool = new ByteArrayOutputStream();
    private final DataOutputStream constants = new DataOutputStream(pool);
    private int count = 1;
    private final List<byte[]> fields = new ArrayList<>();
    private final List<byte[]> methods = new ArrayList<>();
    private final List<byte[]> attributes = new ArrayList<>();
    private final int self;
    private final int parent;

    interface Writing {
        void to(DataOutputStream out) throws IOException;
    }

    ClassBytes(String internalName) {
        this(internalName, "java/lang/Object");
    }

    ClassBytes(String internalName, String parentName) {
        self = reference(7, utf8(internalName));
        parent = reference(7, utf8(parentName));
    }

    private static byte[] written(Writing writing) {
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            writing.to(new DataOutputStream(bytes));
            return bytes.toByteArray();
        } catch (IOException never) {
            throw new IllegalStateException(never);
        }
    }

    /** @return the constant's index */
    int constant(int slots, Writing writing) {
        byte[] entry = written(writing);
        pool.write(entry, 0, entry.length);
        count += slots;
        return count - slots;
    }

    int utf8(String text) {
        return constant(1, out -> {
            out.writeByte(1);
            out.writeUTF(text);
        });
    }

    /** A constant of one 16-bit index: 7 class, 8 string, 16 method type, 19 module, 20 package. */
    int reference(int tag, int index) {
        return constant(1, out -> {
            out.writeByte(tag);
            out.writeShort(index);
        });
    }

    /** A constant of 32 bits, or of two 16-bit indices: 3 to 4, 9 to 12, 17, 18. */
    int pair(int tag, int bits) {
        return constant(1, out -> {
            out.writeByte(tag);
            out.writeInt(bits);
        });
    }

    /** A constant with two slots: 5 long, 6 double. */
    int wide(int tag, long bits) {
        return constant(2, out -> {
            out.writeByte(tag);
            out.writeLong(bits);
        });
    }

    int methodHandle(int kind, int index) {
        return constant(1, out -> {
            out.writeByte(15);
            out.writeByte(kind);
            out.writeShort(index);
        });
    }

    int count() {
        return count;
    }

    static byte[] attribute(int name, byte[] content) {
        return written(out -> {
            out.writeShort(name);
            out.writeInt(content.length);
            out.write(content);
        });
    }

    void field(int name, int type, byte[]... its) {
        fields.add(member(ACC_STATIC, name, type, its));
    }

    void method(int name, int type, byte[]... its) {
        methods.add(member(ACC_PUBLIC | ACC_STATIC, name, type, its));
    }

    void abstractMethod(int name, int type, byte[]... its) {
        methods.add(member(ACC_PUBLIC | ACC_ABSTRACT, name, type, its));
    }

    void attribute(byte[] its) {
        attributes.add(its);
    }

    private static byte[] member(int access, int name, int type, byte[]... its) {
        return written(out -> {
            out.writeShort(access);
            out.writeShort(name);
            out.writeShort(type);
            out.writeShort(its.length);
            for (byte[] attribute : its) {
                out.write(attribute);
            }
        });
    }

    /** Returns the contents of a Code attribute: `nops` nop instructions, then a return of this number. */
    static byte[] returning(int number, int nops) {
        return written(out -> {
            out.writeShort(1); // max_stack
            out.writeShort(0); // max_locals
            out.writeInt(nops + 4);
            out.write(new byte[nops]);
            out.writeByte(0x11); // sipush
            out.writeShort(number);
            out.writeByte(0xac); // ireturn
            out.writeShort(0); // no handlers
            out.writeShort(0); // no attributes
        });
    }

    byte[] done() {
        boolean isAbstract = methods.stream().anyMatch(it -> (it[0] & ACC_ABSTRACT >> 8) != 0);
        return written(out -> {
            out.writeInt(0xcafebabe);
            out.writeInt(55);
            out.writeShort(count);
            out.write(pool.toByteArray());
            out.writeShort(ACC_PUBLIC | ACC_SUPER | (isAbstract ? ACC_ABSTRACT : 0));
            out.writeShort(self);
            out.writeShort(parent);
            out.writeShort(0); // interfaces
            for (List<byte[]> members : List.of(fields, methods, attributes)) {
                out.writeShort(members.size());
                for (byte[] member : members) {
                    out.write(member);
                }
            }
        });
    }

    /** A class without members. */
    static byte[] empty(String internalName) {
        return new ClassBytes(internalName).done();
    }

    /** A class with `static int value()`, which returns this number. */
    static byte[] withValue(String internalName, int number) {
        ClassBytes it = new ClassBytes(internalName);
        int code = it.utf8("Code");
        it.method(it.utf8("value"), it.utf8("()I"), attribute(code, returning(number, 0)));
        return it.done();
    }

    /** A loader without children that defines classes; the classes are unloaded together with the loader. */
    static final class Loader extends ClassLoader {
        Loader() {
            super(Loader.class.getClassLoader());
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }
}
