package java.lang;

import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Threads.*;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import jdk.internal.misc.Unsafe;

/** Threads inside root calls, their stacks and states, for the agent's sampler. No application thread waits for the sampler. */
public final class JFluid1Inside {
    private JFluid1Inside() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** List of threads that have entered a root and are not yet known to the sampler, newest first. Empty without a sampler. */
    private static final Object[] newThreads = new Object[1];
    private static volatile boolean samples;

    /** Thread.getStackTrace0 of a platform thread or mounted virtual thread (JDK 19 and later): a handshake with that thread only. */
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

    /** Initialised only when the first virtual thread is sampled: initialising VirtualThread starts threads of the JDK. */
    private static final class Virtual {
        /** Returns the stack of an unmounted virtual thread; null if the thread is mounted or changes its state. */
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

    /** Returns a handle of a non-public state method of Thread, since a subclass may override getState(). */
    private static MethodHandle state() {
        try {
            return MethodHandles.lookup().findVirtual(
                    Thread.class, "threadState", MethodType.methodType(Thread.State.class));
        } catch (ReflectiveOperationException before19) {
            return ofThread("getState", Thread.State.class);
        }
    }

    /** Returns whether the JVM can dump the stack of one thread without a safepoint. */
    public static boolean stopsOnlyOne() {
        return OF_ONE != null;
    }

    /** Makes {@link #takeNewThreads} return threads that enter a root for the first time. */
    public static void begin() {
        newThreads[0] = null;
        samples = true;
    }

    public static void end() {
        samples = false;
        newThreads[0] = null;
    }

    static void comes(ThreadInfo ti) {
        if (!samples || JFluid1Session.isOurs(ti.thread.get())) {
            return;
        }
        do {
            ti.nextNew = (ThreadInfo) U.getReferenceVolatile(newThreads, OBJECTS_AT);
        } while (!U.compareAndSetReference(newThreads, OBJECTS_AT, ti.nextNew, ti));
    }

    /** Returns the new threads since the last call, linked by {@link ThreadInfo#nextNew}, newest first. */
    public static ThreadInfo takeNewThreads() {
        return (ThreadInfo) U.getAndSetReference(newThreads, OBJECTS_AT, null);
    }

    /** Returns the thread, or null if it has ended. */
    public static Thread thread(ThreadInfo ti) {
        Thread t = ti.thread.get();
        return t == null || !t.isAlive() ? null : t;
    }

    /** Returns whether the thread is inside a root call. Read without a fence; the result may be slightly stale. */
    public static boolean isInside(ThreadInfo ti) {
        return ti.active || ti.virtualActive || ti.untimed > 0;
    }

    /** Returns a number that identifies the thread's current or last root call. It differs between consecutive root calls and threads. */
    public static int call(ThreadInfo ti) {
        return ti.number << 8 ^ (int) ti.rootCalls;
    }

    /** Returns the method id of the row of --by that contains the thread's root call; 0 without such a row. */
    public static int by(ThreadInfo ti) {
        return ti.untimed > 0 ? 0 : ti.by; // a call that is only counted has no row
    }

    /** Returns whether the thread's current root call has this number of samples. Called only by the sampler. */
    public static boolean hasSamples(ThreadInfo ti, int count) {
        return ti.sampledCall == call(ti) && ti.samplesOfCall >= count;
    }

    /** Counts a sample of the thread's current root call. Called only by the sampler. */
    public static void countSample(ThreadInfo ti) {
        int call = call(ti);
        ti.samplesOfCall = ti.sampledCall == call ? ti.samplesOfCall + 1 : 1;
        ti.sampledCall = call;
    }

    /** Returns the next thread of a list of {@link #takeNewThreads} and unlinks it. */
    public static ThreadInfo next(ThreadInfo ti) {
        ThreadInfo next = ti.nextNew;
        ti.nextNew = null;
        return next;
    }

    /**
     * Returns the stack of one thread, innermost frame first; null if it is unavailable now. Stops only that thread if
     * {@link #stopsOnlyOne} returns true, otherwise all threads.
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

    /** Returns the state of a thread as an ordinal of Thread.State. */
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
