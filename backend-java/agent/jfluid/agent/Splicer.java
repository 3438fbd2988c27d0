package jfluid.agent;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.SortedMap;

/**
 * Splices new method bodies and appended constant pool entries into a class file (report, section 4.1; JVMS 4.1). Copies everything else
 * unchanged. This is the only class file code of the agent. The reference in TypeScript is {@code spliceClass} in src/classfile.
 */
final class Splicer {
    private Splicer() {}

    private static final int UTF8 = 1;
    private static final int LONG = 5;
    private static final int DOUBLE = 6;
    /** Size of a constant by its tag (JVMS 4.4), including the tag; for Utf8 without the characters. 0 for an unknown tag. */
    private static final byte[] SIZES = {0, 3, 0, 5, 5, 9, 9, 3, 3, 5, 5, 5, 5, 0, 0, 4, 3, 5, 5, 3, 3};

    /**
     * @param base        the class file
     * @param poolEntries number of constant pool slots of `pool`
     * @param pool        raw entries to append
     * @param bodies      contents of the Code attribute by method index
     */
    static byte[] splice(byte[] base, int poolEntries, byte[] pool, SortedMap<Integer, byte[]> bodies) {
        int count = u2(base, 8);
        int poolEnd = 10;
        boolean[] isCode = new boolean[count]; // the name may be in the pool more than once
        for (int i = 1; i < count; i++) {
            int tag = base[poolEnd];
            isCode[i] = tag == UTF8 && u2(base, poolEnd + 1) == 4 && base[poolEnd + 3] == 'C'
                    && base[poolEnd + 4] == 'o' && base[poolEnd + 5] == 'd' && base[poolEnd + 6] == 'e';
            poolEnd = afterConstant(base, poolEnd);
            i += tag == LONG || tag == DOUBLE ? 1 : 0; // long and double take two slots
        }
        if (count + poolEntries > 65535) {
            throw new IllegalArgumentException("constant pool would exceed 65535 entries");
        }
        int size = base.length + pool.length;
        for (byte[] body : bodies.values()) {
            size += body.length;
        }
        Out out = new Out(size);
        out.copy(base, 0, 8);
        out.u2(count + poolEntries);
        out.copy(base, 10, poolEnd);
        out.copy(pool, 0, pool.length);

        int at = poolEnd + 6;
        at += 2 + 2 * u2(base, at);
        int fields = u2(base, at);
        at += 2;
        for (int f = 0; f < fields; f++) {
            at = afterMember(base, at);
        }
        int copied = poolEnd;
        int methods = u2(base, at);
        at += 2;
        for (int m = 0; m < methods; m++) {
            byte[] body = bodies.get(m);
            if (body == null) {
                at = afterMember(base, at);
                continue;
            }
            int attributes = u2(base, at + 6);
            at += 8;
            for (int a = 0; a < attributes; a++) {
                int length = u4(base, at + 2);
                if (isCode[u2(base, at)]) {
                    out.copy(base, copied, at + 2);
                    out.u4(body.length);
                    out.copy(body, 0, body.length);
                    copied = at + 6 + length;
                }
                at += 6 + length;
            }
        }
        out.copy(base, copied, base.length);
        return out.done();
    }

    /** Returns the class name in a class file, with slashes; null if the class file is malformed, which the JVM reports. */
    static String nameIn(byte[] classFile) {
        try {
            int[] offsets = new int[u2(classFile, 8)];
            int at = 10;
            for (int i = 1; i < offsets.length; i++) {
                offsets[i] = at;
                int tag = classFile[at];
                at = afterConstant(classFile, at);
                i += tag == LONG || tag == DOUBLE ? 1 : 0;
            }
            int thisClass = offsets[u2(classFile, at + 2)];
            int name = offsets[u2(classFile, thisClass + 1)] + 1;
            return new DataInputStream(new ByteArrayInputStream(classFile, name, 2 + u2(classFile, name))).readUTF();
        } catch (IOException | RuntimeException malformed) {
            return null;
        }
    }

    private static int afterConstant(byte[] b, int at) {
        int tag = b[at] & 0xff;
        int size = tag < SIZES.length ? SIZES[tag] : 0;
        if (size == 0) {
            throw new IllegalArgumentException("constant pool tag " + tag);
        }
        return at + size + (tag == UTF8 ? u2(b, at + 1) : 0);
    }

    private static int afterMember(byte[] b, int start) {
        int attributes = u2(b, start + 6);
        int at = start + 8;
        for (int a = 0; a < attributes; a++) {
            at += 6 + u4(b, at + 2);
        }
        return at;
    }

    private static int u2(byte[] b, int at) {
        return (b[at] & 0xff) << 8 | b[at + 1] & 0xff;
    }

    private static int u4(byte[] b, int at) {
        return u2(b, at) << 16 | u2(b, at + 2);
    }

    private static final class Out {
        private final byte[] bytes;
        private int at;

        Out(int capacity) {
            bytes = new byte[capacity];
        }

        void copy(byte[] from, int start, int end) {
            System.arraycopy(from, start, bytes, at, end - start);
            at += end - start;
        }

        void u2(int v) {
            bytes[at++] = (byte) (v >> 8);
            bytes[at++] = (byte) v;
        }

        void u4(int v) {
            u2(v >>> 16);
            u2(v);
        }

        byte[] done() {
            return at == bytes.length ? bytes : java.util.Arrays.copyOf(bytes, at);
        }
    }
}
