package java.lang;

import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

import java.util.Iterator;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The method that called an outermost root, read from the stack at the end of a slow call. With a hundred frames below it, this takes 10 to
 * 20 µs and allocates 1 KB, so it is done at most {@link #MAX_PER_SECOND} times a second.
 */
final class JFluid1Caller {
    private JFluid1Caller() {}

    private static final int MAX_PER_SECOND = 20;
    /** Maximum number of frames that are searched. */
    private static final int MAX_FRAMES = 40;
    private static final int WARM_UP_CALLS = 3;
    private static final StackWalker WALKER = StackWalker.getInstance();
    private static final CallerOf CALLER_OF = new CallerOf();
    /** Number of callers read in the current second, approximately: threads that count at the same time may lose a count. */
    private static int count;
    private static long second;

    /** Finds the caller of the innermost method that is not of jfluid. A class, since a lambda would be made at its first use. */
    private static final class CallerOf implements Function<Stream<StackWalker.StackFrame>, String> {
        @Override
        public String apply(Stream<StackWalker.StackFrame> frames) {
            Iterator<StackWalker.StackFrame> all = frames.iterator();
            boolean isAboveRoot = false;
            for (int i = 0; i < MAX_FRAMES && all.hasNext(); i++) {
                StackWalker.StackFrame frame = all.next();
                String name = frame.getClassName();
                if (isAboveRoot && !isGlue(name)) {
                    return name.concat(".").concat(frame.getMethodName());
                }
                isAboveRoot |= !name.startsWith("java.lang.JFluid1");
            }
            return null;
        }
    }

    /**
     * Returns whether a class only passes calls on: reflection, method handles, proxies, generated subclasses. "$$" alone is no sign:
     * Scala has it in names of classes with code of the application.
     */
    static boolean isGlue(String name) {
        return name.startsWith("java.lang.reflect.") || name.startsWith("jdk.internal.reflect.")
                || name.startsWith("java.lang.invoke.") || name.startsWith("jdk.proxy") || name.contains(".$Proxy")
                || name.contains("$$EnhancerBy") || name.contains("$$SpringCGLIB$$") || name.contains("$$FastClass")
                || name.contains("$HibernateProxy$");
    }

    /** Loads the classes of the JDK that are needed. Called by the agent's thread, so that no application thread loads them. */
    static void warmUp() {
        for (int i = 0; i < WARM_UP_CALLS; i++) {
            WALKER.walk(CALLER_OF);
        }
    }

    /** Returns class and method of the caller; null if it is unknown. Called by the root's probe, outside the reserved stack. */
    static String read(ThreadInfo ti) {
        long now = System.nanoTime() >> 30; // 1.07 s
        if (now != second) {
            second = now;
            count = 0;
        }
        if (count++ >= MAX_PER_SECOND) {
            return null;
        }
        ThreadInfo[] session = table;
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        String caller = null;
        try {
            caller = WALKER.walk(CALLER_OF);
        } catch (Throwable t) {
            // The stack or the heap has too little space: the caller of this call stays unknown.
            ti.guard = false;
            passOn(t);
        }
        goOn(ti, virtual, table == session);
        return caller;
    }
}
