package jfluid.agent;

import java.io.IOException;
import java.lang.invoke.JFluid1Getter;
import java.lang.invoke.MethodHandle;
import java.util.List;

/** Commands of values of root calls (--show, --by): the paths, how their steps are read, and counts. */
final class Values extends Topic {
    /** Number of calls after which the JVM has generated all code for a handle, see JFluid1Session. */
    private static final int HANDLE_CALLS = 150;

    private final ClassTable classes;

    Values(ClassTable classes) {
        this.classes = classes;
    }

    @Override
    Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "values": begin((Object[]) m[2], MessagePack.asInt(m[3]), MessagePack.asInt(m[4])); return null;
            case "valueStep": return step(m);
            case "valueCounts": return counts();
            default: throw unknown(op);
        }
    }

    private static void begin(Object[] paths, int firstBy, int thrown) {
        byte[] starts = new byte[JFluid1Values.PATHS];
        byte[] steps = new byte[JFluid1Values.PATHS];
        for (int i = 0; i < starts.length; i++) {
            Object[] path = i < paths.length ? (Object[]) paths[i] : null;
            starts[i] = path == null ? -1 : (byte) MessagePack.asInt(path[0]);
            steps[i] = path == null ? 0 : (byte) MessagePack.asInt(path[1]);
        }
        JFluid1Values.values(starts, steps, thrown, firstBy);
    }

    /**
     * @param m path, step, class, how, class that declares the member, name, descriptor
     * @return whether the class is still loaded
     */
    private boolean step(Object[] m) throws IOException {
        int path = MessagePack.asInt(m[2]);
        int step = MessagePack.asInt(m[3]);
        Class<?> c = classes.byId(MessagePack.asInt(m[4]));
        int how = MessagePack.asInt(m[5]);
        if (c == null) {
            return false;
        }
        if (how == JFluid1Values.NEEDS_GETTERS || how == JFluid1Values.NO_MEMBER) {
            JFluid1Values.unreadable(path, step, c, how);
            return true;
        }
        Class<?> holder = classes.byId(MessagePack.asInt(m[6]));
        String name = (String) m[7];
        String descriptor = (String) m[8];
        if (holder == null) {
            throw new IOException("unknown class of " + name);
        }
        Linker linker = new Linker(how, holder, name, descriptor);
        linker.start();
        if (!BoundedJoin.awaitShortly(linker) || linker.problem != null) {
            String problem = linker.problem;
            throw new IOException(problem == null ? "a class loader did not answer" : problem);
        }
        if (how == JFluid1Values.FIELD) {
            JFluid1Values.field(path, step, c, holder, linker.offset, descriptor.charAt(0));
        } else {
            JFluid1Values.getter(path, step, c, holder, name.concat(descriptor), linker.handle);
        }
        return true;
    }

    /**
     * Finds a member of exactly this name and type. A thread of its own, since it may ask a class loader of the application for the type.
     * Calls the handle of a getter often enough.
     */
    private static final class Linker extends GuestThread {
        private final int how;
        private final Class<?> holder;
        private final String name;
        private final String descriptor;
        /** Null without a problem. */
        volatile String problem;
        long offset;
        MethodHandle handle;

        Linker(int how, Class<?> holder, String name, String descriptor) {
            super("jfluid-link");
            this.how = how;
            this.holder = holder;
            this.name = name;
            this.descriptor = descriptor;
        }

        @Override
        public void run() {
            try {
                if (how == JFluid1Values.FIELD) {
                    offset = JFluid1Getter.offset(holder, name, descriptor);
                } else {
                    handle = JFluid1Getter.of(holder, name, descriptor);
                    JFluid1Values.warmUp(handle, HANDLE_CALLS);
                }
            } catch (Throwable e) { // a class loader of the application may throw anything
                problem = e.toString();
            }
        }
    }

    private Object[] counts() {
        long[] counts = JFluid1Values.counts();
        Object[] all = new Object[counts.length + 3];
        for (int i = 0; i < counts.length; i++) {
            all[i] = counts[i];
        }
        List<Object[]> off = JFluid1Values.switchedOff();
        for (Object[] row : off) {
            row[2] = classes.id((Class<?>) row[2]);
        }
        all[counts.length] = off.toArray();
        all[counts.length + 1] = JFluid1Values.tooManyClasses().toArray();
        all[counts.length + 2] = JFluid1Values.named().toArray();
        return all;
    }
}
