package jfluid.agent;

import java.io.IOException;

/** Read-only commands: loaded classes, their bytes, and the JVM's internal data about them. */
final class Classes extends Topic implements AutoCloseable {
    private final ClassTable classes;
    private final HotSwap hotSwap;
    private final VmMemory memory = new VmMemory();

    Classes(ClassTable classes, HotSwap hotSwap) {
        this.classes = classes;
        this.hotSwap = hotSwap;
    }

    @Override
    Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "loadedClasses": return classes.refresh();
            case "findClasses": return classes.find((Object[]) m[2]);
            case "classBytes": return hotSwap.read(MessagePack.ints(m[2]));
            case "vmLibrary": return memory.library();
            case "mirrorWords": return VmMemory.mirrorWords(classes, MessagePack.asInt(m[2]), MessagePack.ints(m[3]));
            case "peek": return memory.peek(MessagePack.asInt(m[2]), (byte[]) m[3]);
            default: throw unknown(op);
        }
    }

    @Override
    public void close() throws IOException {
        memory.close();
    }
}
