package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Release.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/** Slow paths of the probes for tasks (--follow-threads): the table of submitted tasks, and the events written for them. */
public final class JFluid1Tasks {
    private JFluid1Tasks() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** Submitted tasks that have not started; null unless the session follows threads. */
    static HandedOver handedOver;

    @ReservedStackAccess
    static void submit(ThreadInfo ti, HandedOver tasks, Object task) {
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = true;
        try {
            ThreadInfo w = virtual ? carrier() : ti;
            on = w != null && room(w, ti, 5);
            if (on) {
                long token = tasks.put(task);
                if (token != 0) {
                    tell(w, ti, CONTROL_SUBMIT | token);
                }
            }
        } catch (Throwable t) {
            gap();
            ti.guard = false;
            passOn(t);
        }
        goOn(ti, virtual, on);
    }

    /**
     * Removes a task that no thread outside a root call will start.
     *
     * @param ti record of the calling thread, or null
     */
    @ReservedStackAccess
    static void drop(ThreadInfo ti, HandedOver tasks, Object task, boolean latest) {
        if (ti == null || !(ti.active || ti.virtualActive)) {
            dropOutside(ti, tasks, task, latest);
            return;
        }
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = true;
        try {
            long token = tasks.take(task, latest);
            if (token != 0) {
                ThreadInfo w = virtual ? carrier() : ti;
                on = w != null && room(w, ti, 5);
                if (on) {
                    tell(w, ti, CONTROL_DROP | token);
                }
            }
        } catch (Throwable t) {
            gap();
            ti.guard = false;
            passOn(t);
        }
        goOn(ti, virtual, on);
    }

    @ReservedStackAccess
    private static void dropOutside(ThreadInfo known, HandedOver tasks, Object task, boolean latest) {
        ThreadInfo ti = known;
        try {
            long token = tasks.take(task, latest);
            if (token == 0 || !enabled || Points.isCarrier(Thread.currentThread())) {
                return;
            }
            if (ti == null) {
                ti = register(Thread.currentThread());
            }
            if (ti == null) {
                return;
            }
            ti.guard = true;
            ThreadInfo w = ti;
            if (ti.virtual) {
                w = carrier();
            } else {
                own(ti);
            }
            if (w != null && room(w, ti, 5)) {
                switchTo(w, ti);
                put(w, CONTROL_DROP | token);
                switchBack(w);
            }
            if (!ti.virtual) {
                rest(ti);
            }
        } catch (Throwable t) {
            gap(); // DROP may be lost: the client discards its oldest tokens anyway
            if (ti != null) {
                ti.guard = false;
            }
            passOn(t);
        }
        if (ti != null) {
            ti.guard = false;
        }
    }

    /**
     * Writes that this thread leaves the root call now, although calls of the thread are open. If the thread was started inside a root
     * call and has written no event yet, writes instead that the thread is not part of that root call.
     */
    @ReservedStackAccess
    static void letGo(ThreadInfo ti) {
        long started = ti.token;
        ti.token = 0;
        ti.active = false;
        ti.guard = true;
        boolean on = false;
        try {
            on = room(ti, ti, 1);
            if (on) {
                put(ti, started == 0 ? CONTROL_BEGIN : CONTROL_DROP | started);
            }
            ti.site = 0;
        } catch (Throwable t) {
            gap();
            ti.guard = false;
            passOn(t);
        }
        goOn(ti, false, on);
    }

    /**
     * Called where a thread outside root calls is about to run `task`. If the task was submitted inside a root call, the thread enters that
     * root call.
     */
    @ReservedStackAccess
    static void takeUp(ThreadInfo known, HandedOver tasks, Object task, boolean working) {
        ThreadInfo ti = known;
        try {
            if (!enabled || ti != null && ti.guard || Points.isCarrier(Thread.currentThread())) {
                return;
            }
            long token = tasks.take(task, false);
            if (token == 0) {
                return;
            }
            if (ti == null) {
                ti = register(Thread.currentThread());
            }
            if (ti == null) {
                return;
            }
            ti.guard = true;
            ti.token = 0;
            ti.by = 0;
            ti.rootSince = Long.MAX_VALUE; // the root call of the task is not the thread's own
            ti.site = 0; // the stored call site did not call the task
            ThreadInfo w = ti;
            if (ti.virtual) {
                w = carrier();
            } else {
                own(ti);
            }
            if (w != null && room(w, ti, 5)) {
                switchTo(w, ti);
                put(w, CONTROL_BEGIN | token);
                switchBack(w);
                ti.nesting = 1;
                ti.working = working;
                if (ti.virtual) {
                    ti.virtualActive = enabled;
                } else {
                    ti.active = enabled;
                }
            }
            ti.guard = false;
        } catch (Throwable t) {
            gap();
            if (ti != null) {
                ti.guard = false;
                ti.active = ti.virtualActive = false;
            }
            passOn(t);
        }
    }

    /** JDK classes and field offsets. Looked up by name, since they differ between releases. */
    static final class Points {
        static final Class<?> CARRIER = find("jdk.internal.misc.CarrierThread");
        static final Class<?> VIRTUAL_THREAD = find("java.lang.VirtualThread");
        static final Class<?> BOUND_VIRTUAL_THREAD = find("java.lang.ThreadBuilders$BoundVirtualThread");
        /** Offset of the field with the first task of a worker; -1 on a JDK without that field. */
        static final long FIRST_TASK = field("java.util.concurrent.ThreadPoolExecutor$Worker", "firstTask");
        /** Offset of the status field of a fork/join task. A negative status means completed or cancelled. */
        static final long STATUS = field("java.util.concurrent.ForkJoinTask", "status");
        /** Offset of the field with the object that a parked thread waits for; the field may be null. */
        static final long BLOCKER = field("java.lang.Thread", "parkBlocker");
        /** Offset of the field with the Runnable of a new thread: in Thread up to JDK 18, in a holder object in later releases. */
        private static final long TARGET = field("java.lang.Thread", "target");
        private static final long HOLDER = field("java.lang.Thread", "holder");
        private static final long HOLDER_TASK = field("java.lang.Thread$FieldHolder", "task");
        private static final Class<?> WORKER = find("java.util.concurrent.ThreadPoolExecutor$Worker");
        private static final long CLASS_LOADER = U.objectFieldOffset(Class.class, "classLoader");
        private static final Object SCHEDULER_BASE;
        private static final long SCHEDULER;

        static {
            Object base = null;
            long offset = -1;
            try {
                if (VIRTUAL_THREAD != null) {
                    java.lang.reflect.Field field = VIRTUAL_THREAD.getDeclaredField("DEFAULT_SCHEDULER");
                    base = U.staticFieldBase(field);
                    offset = U.staticFieldOffset(field);
                }
            } catch (NoSuchFieldException otherJdk) {
                // Entries of the scheduler are then treated as tasks that no thread starts.
            }
            SCHEDULER_BASE = base;
            SCHEDULER = offset;
        }

        private static Class<?> find(String name) {
            try {
                return Class.forName(name, false, null);
            } catch (ClassNotFoundException otherJdk) {
                return null;
            }
        }

        private static long field(String owner, String name) {
            Class<?> c = find(owner);
            try {
                return c == null ? -1 : U.objectFieldOffset(c, name);
            } catch (InternalError otherJdk) {
                return -1;
            }
        }

        static boolean isCarrier(Thread t) {
            return t.getClass() == CARRIER;
        }

        /**
         * Returns false for JDK threads that serve all tasks: carriers, pool workers, timers.
         * An application's subclass of such a thread is a worker, too.
         */
        static boolean isFollowed(Thread t) {
            Class<?> c = t.getClass();
            if (c == VIRTUAL_THREAD || c == BOUND_VIRTUAL_THREAD) {
                return true;
            }
            boolean own = c != Thread.class && U.getReference(c, CLASS_LOADER) == null;
            return !own && !(t instanceof java.util.concurrent.ForkJoinWorkerThread) && !isWorker(t);
        }

        private static boolean isWorker(Thread t) {
            Object task = null;
            if (TARGET >= 0) {
                task = U.getReference(t, TARGET);
            } else if (HOLDER >= 0 && HOLDER_TASK >= 0) {
                Object holder = U.getReference(t, HOLDER);
                task = holder == null ? null : U.getReference(holder, HOLDER_TASK);
            }
            return task != null && task.getClass() == WORKER;
        }

        /** Returns whether `pool` is the scheduler of virtual threads. Does not initialise VirtualThread. */
        static boolean isScheduler(Object pool) {
            return SCHEDULER >= 0 && pool == U.getReferenceVolatile(SCHEDULER_BASE, SCHEDULER);
        }
    }

    /** One submission of a task. */
    private static final class Ticket {
        /** 0 if a thread outside root calls submitted the task. */
        final long token;
        Ticket next;

        Ticket(long token) {
            this.token = token;
        }
    }

    /** A task and its submissions, oldest first. A task may be submitted many times: a lambda without captures is a single object. */
    private static final class Waiting extends java.lang.ref.WeakReference<Object> {
        final int hash;
        Ticket first;
        Ticket last;
        Waiting chain;

        Waiting(Object task, int hash) {
            super(task);
            this.hash = hash;
        }
    }

    /**
     * Submitted tasks that have not started, keyed by identity. Tasks are held weakly. At most {@link #MAX_SUBMISSIONS} submissions are
     * kept; a further submission is not followed and counts as a gap.
     *
     * Striped spin locks protect the table. While a lock is held, a few instructions run, without a call that could block or reach a probe.
     * The wait for a lock is bounded. Application code never holds one of these locks.
     */
    static final class HandedOver {
        private static final int MAX_SUBMISSIONS = 1 << 16;
        private static final int BUCKETS = 1 << 14;
        private static final int STRIPES = 1 << 8;
        /** Ints per cache line. Each stripe's lock has its own cache line. */
        private static final int LINE = 16;
        private static final long SPIN_TIMEOUT_NANOS = 50_000_000L;
        private static final int SPINS = 200;
        private static final long[] tokens = new long[1];

        private final Waiting[] buckets = new Waiting[BUCKETS];
        private final int[] locks = new int[STRIPES * LINE];
        private final int[] count = new int[1];

        /** Returns a token: never 0, and unique while this class is loaded. */
        static long nextToken() {
            return (U.getAndAddLong(tokens, LONGS_AT, 1) + 1) & TICK_MASK;
        }

        boolean isEmpty() {
            return U.getIntVolatile(count, INTS_AT) <= 0;
        }

        /** @return the token of the submission; 0 if it cannot be followed */
        long put(Object task) {
            if (U.getIntVolatile(count, INTS_AT) >= MAX_SUBMISSIONS) {
                gap();
                return 0;
            }
            long token = nextToken();
            if (add(task, token, true)) {
                return token;
            }
            gap();
            return 0;
        }

        /**
         * Adds a submission by a thread outside root calls, if the task is in the table already. This keeps the submissions of a
         * task complete: they are removed in the order in which they were added.
         */
        void putForeign(Object task) {
            try {
                boolean isKnown = buckets[System.identityHashCode(task) & (BUCKETS - 1)] != null;
                if (isKnown && U.getIntVolatile(count, INTS_AT) < MAX_SUBMISSIONS) {
                    add(task, 0, false);
                }
            } catch (Throwable t) {
                gap();
                passOn(t);
            }
        }

        @ReservedStackAccess
        private boolean add(Object task, long token, boolean always) {
            int hash = System.identityHashCode(task);
            // Allocated before the lock is taken: an allocation may wait for the garbage collector.
            Ticket ticket = new Ticket(token);
            Waiting made = always ? new Waiting(task, hash) : null;
            if (!lock(hash)) {
                return false;
            }
            int at = hash & (BUCKETS - 1);
            Waiting found = buckets[at];
            while (found != null && !(found.hash == hash && refersTo(found, task))) {
                found = found.chain;
            }
            if (found == null && made != null) {
                made.chain = buckets[at];
                buckets[at] = made;
                made.first = made.last = ticket;
            } else if (found != null) {
                found.last.next = ticket;
                found.last = ticket;
            }
            unlock(hash);
            if (found != null || made != null) {
                U.getAndAddInt(count, INTS_AT, 1);
            }
            return true;
        }

        /**
         * Removes a submission of the task.
         *
         * @param latest whether to remove the newest submission in place of the oldest
         * @return the token of the removed submission; 0 if the task has no submission
         */
        @ReservedStackAccess
        long take(Object task, boolean latest) {
            int hash = System.identityHashCode(task);
            if (!lock(hash)) {
                gap();
                return 0;
            }
            int at = hash & (BUCKETS - 1);
            Waiting before = null;
            Waiting found = buckets[at];
            while (found != null && !(found.hash == hash && refersTo(found, task))) {
                before = found;
                found = found.chain;
            }
            Ticket taken = null;
            if (found != null) {
                taken = latest ? takeLast(found) : takeFirst(found);
                if (found.first == null) {
                    unlink(at, before, found);
                }
            }
            unlock(hash);
            if (taken == null) {
                return 0;
            }
            U.getAndAddInt(count, INTS_AT, -1);
            return taken.token;
        }

        private static Ticket takeFirst(Waiting from) {
            Ticket taken = from.first;
            from.first = taken.next;
            return taken;
        }

        private static Ticket takeLast(Waiting from) {
            Ticket taken = from.last;
            if (from.first == taken) {
                from.first = null;
                return taken;
            }
            Ticket left = from.first;
            while (left.next != taken) {
                left = left.next;
            }
            left.next = null;
            from.last = left;
            return taken;
        }

        private void unlink(int at, Waiting before, Waiting out) {
            if (before == null) {
                buckets[at] = out.chain;
            } else {
                before.chain = out.chain;
            }
        }

        /** Drops tasks that have been garbage collected. Called only by the agent's thread. */
        void purge() {
            if (isEmpty()) {
                return;
            }
            for (int at = 0; at < BUCKETS; at++) {
                if (buckets[at] == null || !lock(at)) {
                    continue;
                }
                int gone = 0;
                Waiting before = null;
                for (Waiting w = buckets[at]; w != null; w = w.chain) {
                    if (refersTo(w, null)) {
                        for (Ticket t = w.first; t != null; t = t.next) {
                            gone++;
                        }
                        unlink(at, before, w);
                    } else {
                        before = w;
                    }
                }
                unlock(at);
                U.getAndAddInt(count, INTS_AT, -gone);
            }
        }

        private long lockAt(int hash) {
            return INTS_AT + (hash & (STRIPES - 1)) * LINE * 4L;
        }

        private boolean lock(int hash) {
            long at = lockAt(hash);
            for (int i = 0; i < SPINS; i++) {
                if (U.compareAndSetInt(locks, at, 0, 1)) {
                    return true;
                }
                Thread.onSpinWait();
            }
            long since = System.nanoTime();
            while (!U.compareAndSetInt(locks, at, 0, 1)) {
                if (System.nanoTime() - since > SPIN_TIMEOUT_NANOS) {
                    return false;
                }
                Threads.yieldProcessor();
            }
            return true;
        }

        private void unlock(int hash) {
            U.putIntRelease(locks, lockAt(hash), 0);
        }
    }

    /** Starts following tasks and threads. Called after begin() and before the probes are installed. */
    public static void follow() {
        U.ensureClassInitialized(Threads.class);
        U.ensureClassInitialized(Points.class);
        U.ensureClassInitialized(Waiting.class);
        U.ensureClassInitialized(Ticket.class);
        handedOver = new HandedOver();
    }
}
