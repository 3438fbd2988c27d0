package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Release.*;
import static java.lang.JFluid1Requests.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Tasks.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ReservedStackAccess;

/** Slow paths of the probes for waits (--mode locks): events of waits, and the table of classes waited for. */
public final class JFluid1Waits {
    private JFluid1Waits() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** Minimum time of a recorded wait for a monitor, ns. Entering an uncontended monitor may take as long. */
    private static final long MIN_RECORDED_WAIT_NANOS = 1_000;
    /** Hash table of the classes of objects that threads wait for. Null unless the session records waits. */
    static Waited[] waited;
    /** [0] number of classes of objects waited for, [1] number of classes of monitors blocked on. */
    private static final int[] waitedCount = new int[2];
    /** MIN_RECORDED_WAIT_NANOS in ticks. */
    private static long shortestWait;

    /** Bits of an object's header. 001 is a free monitor without recent contention. */
    static final long LOCK_BITS = 7;
    static final long UNLOCKED = 1;
    static final long MONITOR_BITS = 3;
    static final long INFLATED = 2;

    static void lockTaken(ThreadInfo ti) {
        long now = ticks();
        Object lock = ti.wanted;
        ti.wanted = null;
        // If the second probe of an earlier monitorenter could not run, `wanted` is stale, and this thread does not hold the lock.
        if (now - ti.lockSince >= shortestWait && Thread.holdsLock(lock)) {
            try {
                lockAwaited(ti, lock, ti.lockSince, now);
            } catch (StackOverflowError full) {
                // Not rethrown: the monitor is held, possibly without a handler that would exit it. The wait is not recorded.
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
                    ti.siteAt = ti.next; // the wait belongs to the callee, so its call site stays valid
                }
            }
        } catch (Throwable t) {
            gap(); // a ThreadDeath is not rethrown here: the monitor is held, possibly without a handler that would exit it
        }
        goOn(ti, virtual, on);
    }

    /** Records the wait of a synchronized callee if calling() was the thread's previous probe. */
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

    /**
     * Class of an object that threads wait for: a monitor, or the blocker of a parked thread. The name of the class is reported to the
     * client once.
     */
    public static final class Waited extends java.lang.ref.WeakReference<Class<?>> {
        public final int kind;
        /** Whether threads wait for the monitor of the Class object, not of an instance. */
        public final boolean itself;
        public final int id;
        /** The class, until its name has been reported. */
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

    /** Returns the wait id for an object. Calls no method of the object. Precondition: the thread's guard is set. */
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
                if (it.kind == kind && it.itself == itself && refersTo(it, c)) {
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
            // Allocated before the id is taken: if the allocation fails, the id stays unused.
            Waited made = new Waited(c, kind, itself, first + known);
            Request request = new Request(Request.WAITED_CLASS, made.id, made, null);
            made.chain = head;
            if (U.compareAndSetInt(waitedCount, count, known, known + 1)) {
                while (!U.compareAndSetReference(table, at, made.chain, made)) {
                    made.chain = (Waited) U.getReferenceVolatile(
                            table, at); // a class that two threads add concurrently has two ids
                }
                post(request);
                return made.id;
            }
        }
    }

    /** Starts recording waits. Called after begin() and before the probes are installed. */
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
        shortestWait = Math.max(1, (ticks() - ticks) * MIN_RECORDED_WAIT_NANOS / passed);
        waited = new Waited[64];
    }
}
