package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Requests.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Tasks.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ReservedStackAccess;

/** Behind the probes where threads wait (--mode locks): what is written of a wait, and the classes waited for. */
public final class JFluid1Waits {
    private JFluid1Waits() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** A monitor that was taken in less was not waited for, as far as can be told. */
    private static final long SHORTEST_WAIT_NANOS = 1_000;
    /** What threads wait for, by class: a hash table. Null unless waits are told apart. */
    static Waited[] waited;
    /** [0] classes waited for, [1] classes blocked on. */
    private static final int[] waitedCount = new int[2];
    /** Ticks that a thread must have waited for a monitor: the JVM takes one that is free in less. */
    private static long shortestWait;

    /** Bits of an object's header; 001 is a monitor that is free and that nobody has waited for lately. */
    static final long LOCK_BITS = 7;
    static final long UNLOCKED = 1;
    static final long MONITOR_BITS = 3;
    static final long INFLATED = 2;

    static void lockTaken(ThreadInfo ti) {
        long now = ticks();
        Object lock = ti.wanted;
        ti.wanted = null;
        // Left by a monitorenter whose second probe could not run, it would be held by others, or nobody.
        if (now - ti.lockSince >= shortestWait && Thread.holdsLock(lock)) {
            try {
                lockAwaited(ti, lock, ti.lockSince, now);
            } catch (StackOverflowError full) {
                // The monitor is held, perhaps without a handler to leave it: better untold.
            }
        }
    }

    @ReservedStackAccess
    private static void lockAwaited(ThreadInfo ti, Object lock, long since, long now) {
        if (!(ti.active || ti.virtualActive)) {
            return;
        }
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = true;
        try {
            long id = (long) waitId(KIND_BLOCKED, lock) << TICK_BITS;
            ThreadInfo w = virtual ? carrier() : ti;
            on = w != null && room(w, ti, 8);
            if (on) {
                boolean calling = ti.siteAt == ti.next;
                if (virtual) {
                    switchTo(w, ti);
                }
                eventAt(w, KIND_ENTER | id, since);
                eventAt(w, KIND_EXIT | id, now);
                switchBack(w);
                if (calling) {
                    ti.siteAt = ti.next; // it is the callee that has waited
                }
            }
        } catch (Throwable t) {
            gap(); // a Thread.stop() is not passed on from here: the monitor is held, perhaps without a handler to leave it
        }
        goOn(ti, virtual, on);
    }

    /** Called by the call that said so last: no event came in between. */
    static void monitorTaken(Object lock, int target) {
        ThreadInfo ti = current();
        if (ti == null || ti.called != target || ti.calledAt != ti.next) {
            return;
        }
        long now = ticks();
        ti.called = 0;
        if (now - ti.calledTicks >= shortestWait) {
            lockAwaited(ti, lock, ti.calledTicks, now);
        }
    }

    @DontInline
    @ReservedStackAccess
    static void tellWait(ThreadInfo ti, long event, Object on, int kind) {
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean isOn = true;
        try {
            if (event == KIND_ENTER) {
                ti.waitId = waitId(kind, on);
            }
            ThreadInfo w = virtual ? carrier() : ti;
            isOn = w != null && room(w, ti, 6);
            if (isOn) {
                boolean calling = ti.siteAt == ti.next;
                if (virtual) {
                    switchTo(w, ti);
                }
                event(w, ti, event | (long) ti.waitId << TICK_BITS);
                switchBack(w);
                if (calling) {
                    ti.siteAt = ti.next;
                }
            }
        } catch (Throwable t) {
            gap();
            ti.guard = false;
            passOn(t);
        }
        goOn(ti, virtual, isOn);
    }

    /** A class that is waited for: of a monitor, or of what a thread is parked for. The client is told its name once. */
    public static final class Waited extends java.lang.ref.WeakReference<Class<?>> {
        public final int kind;
        /** It is the class itself that is waited for, not an instance. */
        public final boolean itself;
        public final int id;
        /** Until it has been told. */
        public Class<?> named;
        Waited chain;

        Waited(Class<?> c, int kind, boolean itself, int id) {
            super(c);
            this.kind = kind;
            this.itself = itself;
            this.id = id;
            this.named = c;
        }
    }

    /** The id of waiting for this. Calls nothing of the object. With the guard on. */
    static int waitId(int kind, Object on) {
        if (kind == KIND_SLEEPING) {
            return WAIT_SLEEPING;
        }
        Object target = on;
        if (kind == KIND_PARKED && target == null && Points.BLOCKER >= 0) {
            target = U.getReference(Thread.currentThread(), Points.BLOCKER);
        }
        if (target == null) {
            return kind == KIND_PARKED ? WAIT_PARKED : kind == KIND_BLOCKED ? BLOCKED_OTHER : WAIT_OTHER;
        }
        boolean itself = target instanceof Class;
        Class<?> c = itself ? (Class<?>) target : target.getClass();
        Waited[] table = waited;
        if (table == null) {
            return WAIT_OTHER;
        }
        long at = OBJECTS_AT + (System.identityHashCode(c) & (table.length - 1)) * OBJECT_BYTES;
        while (true) {
            Waited head = (Waited) U.getReferenceVolatile(table, at);
            for (Waited it = head; it != null; it = it.chain) {
                if (it.kind == kind && it.itself == itself && it.refersTo(c)) {
                    return it.id;
                }
            }
            boolean blocked = kind == KIND_BLOCKED;
            int first = blocked ? FIRST_BLOCKED_CLASS : FIRST_WAIT_CLASS;
            int end = blocked ? FIRST_METHOD_BESIDE_WAITS : BLOCKED_OTHER;
            long count = INTS_AT + (blocked ? 4L : 0L);
            int known = U.getIntVolatile(waitedCount, count);
            if (first + known >= end) {
                return blocked ? BLOCKED_OTHER : WAIT_OTHER;
            }
            // Made before it is taken: with no memory for it, nobody gets this id.
            Waited made = new Waited(c, kind, itself, first + known);
            Request request = new Request(Request.WAITED_CLASS, made.id, made, null);
            made.chain = head;
            if (U.compareAndSetInt(waitedCount, count, known, known + 1)) {
                while (!U.compareAndSetReference(table, at, made.chain, made)) {
                    made.chain = (Waited) U.getReferenceVolatile(table, at); // the same class twice at once has two ids
                }
                post(request);
                return made.id;
            }
        }
    }

    /** From now on, waits are told. Between begin() and the code that has the probes. */
    public static void tellWaits() {
        U.ensureClassInitialized(Points.class);
        U.ensureClassInitialized(Waited.class);
        U.ensureClassInitialized(Threads.class);
        waitedCount[0] = waitedCount[1] = 0;
        long nanos = System.nanoTime();
        long ticks = ticks();
        long passed;
        do {
            passed = System.nanoTime() - nanos;
        } while (passed < 1_000_000);
        shortestWait = Math.max(1, (ticks() - ticks) * SHORTEST_WAIT_NANOS / passed);
        waited = new Waited[64];
    }
}
