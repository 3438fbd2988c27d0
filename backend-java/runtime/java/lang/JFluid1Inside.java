package java.lang;

import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Threads.*;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import jdk.internal.misc.Unsafe;

/** Threads that are inside a root, for a sampler beside them: which they are, and what they are doing. No thread waits for it. */
public final class JFluid1Inside {
    private JFluid1Inside() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** Threads that have entered a root and that the sampler has not taken over, newest first; empty where none samples. */
    private static final Object[] comers = new Object[1];
    private static volatile boolean samples;

    /** Of a platform thread, or a virtual one that is mounted (JDK 19 and later): a handshake that stops no other thread. */
    private static final MethodHandle OF_ONE = ofThread("getStackTrace0", Object.class);
    private static final MethodHandle STATE = state();

    private static MethodHandle ofThread(String name, Class<?> result) {
        try {
            return MethodHandles.privateLookupIn(Thread.class, MethodHandles.lookup())
                    .findSpecial(Thread.class, name, MethodType.methodType(result), Thread.class);
        } catch (ReflectiveOperationException otherJdk) {
            return null;
        }
    }

    /** Not before there is one: their class starts threads of its own when it is initialised. */
    private static final class Virtual {
        /** Of one that is not mounted; null where it is, or is between two states. */
        static final MethodHandle STACK = stackOfVirtual();

        private static MethodHandle stackOfVirtual() {
            try {
                Class<?> virtual = Class.forName("java.lang.VirtualThread");
                return MethodHandles.privateLookupIn(virtual, MethodHandles.lookup())
                        .findSpecial(
                                virtual, "tryGetStackTrace", MethodType.methodType(StackTraceElement[].class), virtual)
                        .asType(MethodType.methodType(StackTraceElement[].class, Thread.class));
            } catch (ReflectiveOperationException otherJdk) {
                return null;
            }
        }
    }

    /** Not getState(), which a subclass may override; a virtual thread has its own. */
    private static MethodHandle state() {
        try {
            return MethodHandles.lookup().findVirtual(
                    Thread.class, "threadState", MethodType.methodType(Thread.State.class));
        } catch (ReflectiveOperationException before19) {
            return ofThread("getState", Thread.State.class);
        }
    }

    /** Whether the stack of one thread can be had without a safepoint. */
    public static boolean stopsOnlyOne() {
        return OF_ONE != null;
    }

    /** From now on {@link #takeComers} tells of threads that enter a root for the first time. */
    public static void begin() {
        comers[0] = null;
        samples = true;
    }

    public static void end() {
        samples = false;
        comers[0] = null;
    }

    static void comes(ThreadInfo ti) {
        if (!samples) {
            return;
        }
        do {
            ti.comer = (ThreadInfo) U.getReferenceVolatile(comers, OBJECTS_AT);
        } while (!U.compareAndSetReference(comers, OBJECTS_AT, ti.comer, ti));
    }

    /** Threads since the last call, linked by {@link ThreadInfo#comer}, newest first. */
    public static ThreadInfo takeComers() {
        return (ThreadInfo) U.getAndSetReference(comers, OBJECTS_AT, null);
    }

    /** The thread, if it lives. */
    public static Thread thread(ThreadInfo ti) {
        Thread t = ti.thread.get();
        return t == null || !t.isAlive() ? null : t;
    }

    /** Whether it is inside a root now. Read without a fence: a sampler that is a little late is no harm. */
    public static boolean isInside(ThreadInfo ti) {
        return ti.active || ti.virtualActive || ti.untimed > 0;
    }

    /** Which of its calls of roots it is in, or was last: another number than that of its call before, or of the thread before. */
    public static int call(ThreadInfo ti) {
        return ti.number << 8 ^ (int) ti.rootCalls;
    }

    /** The next thread of a chain of {@link #takeComers}, which is undone. */
    public static ThreadInfo next(ThreadInfo ti) {
        ThreadInfo next = ti.comer;
        ti.comer = null;
        return next;
    }

    /**
     * The stack of one thread, its innermost frame first; null where it cannot be had now. Stops that thread alone, only where
     * {@link #stopsOnlyOne}.
     */
    public static StackTraceElement[] stack(Thread t) {
        try {
            StackTraceElement[] found = OF_ONE == null ? null : (StackTraceElement[]) (Object) OF_ONE.invokeExact(t);
            boolean isUnmounted = (found == null || found.length == 0) && JFluid1Threads.isVirtual(t);
            return isUnmounted && Virtual.STACK != null ? (StackTraceElement[]) Virtual.STACK.invokeExact(t) : found;
        } catch (Error e) {
            throw e;
        } catch (Throwable t2) {
            return null;
        }
    }

    /** As Thread.State has it. */
    public static int state(Thread t) {
        try {
            return STATE == null ? 0 : ((Thread.State) STATE.invokeExact(t)).ordinal();
        } catch (Error e) {
            throw e;
        } catch (Throwable none) {
            return 0;
        }
    }
}
