package java.lang;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.ref.WeakReference;

/** Class files for older releases, and the methods that stand for methods of newer releases. */
final class JFluid1ReleaseTest {
    private static final String[][] NAMES = {{"getReference", "getObject"}};

    /** A constant pool with an entry of each length, each before the text, and 5 bytes after the pool. */
    private static byte[] classFile(String text) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xCAFEBABE);
        out.writeInt(55);
        out.writeShort(12); // the indices 1 to 11
        out.writeByte(5); // Long, two indices
        out.writeLong(0x0101010101010101L);
        out.writeByte(6); // Double, two indices
        out.writeDouble(1);
        out.writeByte(3); // Integer
        out.writeInt(0x01000C67);
        out.writeByte(7); // Class
        out.writeShort(1);
        out.writeByte(15); // MethodHandle
        out.writeByte(1);
        out.writeShort(1);
        out.writeByte(18); // InvokeDynamic
        out.writeInt(1);
        out.writeByte(1); // Utf8
        out.writeUTF("getReferenceVolatile");
        out.writeByte(1);
        out.writeUTF(text);
        out.writeByte(12); // NameAndType
        out.writeInt(1);
        out.write(new byte[] {1, 2, 3, 4, 5});
        return bytes.toByteArray();
    }

    static void textsOfTheConstantPoolAreReplaced() throws IOException {
        equal(classFile("getObject"), JFluid1Release.renamed(classFile("getReference"), NAMES));
        byte[] other = classFile("getReferences");
        equal(other, JFluid1Release.renamed(other, NAMES));
    }

    static void aClassFileIsUnchangedInThisRelease() throws IOException {
        byte[] bytes = classFile("getReference");
        that(JFluid1Release.adapted(bytes) == bytes, "the same array");
    }

    static void aHiddenClassIsRecognised() {
        Runnable lambda = () -> {};
        that(JFluid1Release.isHidden(lambda.getClass()), "a lambda");
        that(!JFluid1Release.isHidden(String.class), "no class of a file");
        that(!JFluid1Release.isHidden(java.lang.reflect.Array.newInstance(lambda.getClass(), 0).getClass()),
                "no array");
    }

    static void aReferenceIsCompared() {
        Object o = new Object();
        WeakReference<Object> reference = new WeakReference<>(o);
        that(JFluid1Release.refersTo(reference, o), "its object");
        that(!JFluid1Release.refersTo(reference, "x"), "another object");
        that(!JFluid1Release.refersTo(reference, null), "it is not cleared");
        reference.clear();
        that(JFluid1Release.refersTo(reference, null), "it is cleared");
    }
}
