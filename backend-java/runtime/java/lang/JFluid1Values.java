package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Release.*;
import static java.lang.JFluid1Requests.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Roots.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Stack.*;
import static java.lang.JFluid1Threads.*;

import java.lang.invoke.MethodHandle;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Values of outermost root calls that the user has named (--show, --by): an argument, `this`, the result or the exception of the root, and
 * fields and getters of it.
 *
 * A probe before {@link JFluid1#rootEntry} stores the arguments in the thread's record. The values are read from them before the root
 * call begins, so reading them adds nothing to its time. A field is read by its offset. The client finds the offset from the class file,
 * after a thread has met an object of that class; until then the value is not read. No thread waits for the client.
 *
 * Values of --show are written after the root call, if it is slow. The value of --by is a call directly inside the root call, of a pseudo
 * method with a number of its own per value, so that the value is written in eight bytes.
 */
public final class JFluid1Values {
    private JFluid1Values() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** Number of the path of --by. Smaller numbers are paths of --show. */
    public static final int BY = 4;
    public static final int PATHS = BY + 1;
    private static final int MAX_STEPS = 4;
    private static final int MAX_CLASSES = 64;
    private static final int MAX_VALUES = 64;
    private static final int MAX_LENGTH = 128;
    private static final int MAX_DETAILS_PER_SECOND = 200;
    private static final long SLOW_GETTER_NANOS = 1_000_000L;
    /**
     * Number of calls of a getter that need much stack: early calls initialize the classes that the getter uses. The check takes 2,048
     * calls.
     */
    private static final int EARLY_CALLS = 100;
    /** Time after a slow call in which a second slow call switches the getter off. */
    private static final long SECOND_CALL_NANOS = 10_000_000_000L;
    /** Added to the number of a start by the probe that stores a result. */
    static final int RETURNED = 8;
    private static final int START_MASK = RETURNED - 1;
    private static final int START_KIND_SHIFT = 8;

    /** Numbers of the pseudo methods of --by, counted from the first. 1 to MAX_VALUES are values. */
    private static final int BY_OTHER = 0;
    private static final int BY_NOT_READ = MAX_VALUES + 1;
    private static final int BY_NONE = MAX_VALUES + 2;
    private static final int BY_UNREADABLE = MAX_VALUES + 3;
    private static final int BY_SWITCHED_OFF = MAX_VALUES + 4;
    private static final int BY_TOO_MANY = MAX_VALUES + 5;

    /** Kinds of values. */
    private static final char NONE = 0;
    private static final char NULL = 'n';
    private static final char NOT_READ = '?';
    private static final char UNREADABLE = '!';
    private static final char THREW = 't';
    private static final char SWITCHED_OFF = 'o';
    private static final char TOO_MANY = 'm';
    private static final char OBJECT = 'L';
    private static final char TEXT = '"';
    private static final char CLASS = 'K';
    private static final char LENGTH = '[';
    // A primitive value has the kind of its type: Z, C, D, F, or J for all integers.

    /** Kinds of VALUE words. */
    static final long WORD_TEXT = 0;
    private static final long WORD_LONG = 1;
    private static final long WORD_CONSTANT = 5;
    private static final long WORD_CLASS = 6;
    private static final long WORD_LENGTH = 7;

    /** How a step is read. */
    private static final int ASKED = 0;
    public static final int FIELD = 1;
    public static final int GETTER = 2;
    public static final int NEEDS_GETTERS = 3;
    public static final int NO_MEMBER = 4;
    private static final int TOO_MANY_CLASSES = 5;

    /** How a step is read for the objects of one class. */
    public static final class Step extends java.lang.ref.WeakReference<Class<?>> {
        final int how;
        final long offset;
        /** Type of the field, as in its descriptor. */
        final char type;
        final Getter getter;

        Step(Class<?> c, int how, long offset, char type, Getter getter) {
            super(c);
            this.how = how;
            this.offset = offset;
            this.type = type;
            this.getter = getter;
        }
    }

    /** Step for all classes that have no space in a table. */
    private static final Step NO_SPACE = new Step(null, TOO_MANY_CLASSES, 0, OBJECT, null);

    /** A method that runs code, for all steps that call it. Does not keep its class loaded, see {@link Handles}. */
    static final class Getter extends java.lang.ref.WeakReference<Class<?>> {
        /** Name and descriptor. */
        final String member;
        final java.lang.ref.WeakReference<MethodHandle> handle;
        /** Duration of the call for which the getter was switched off; 0 while it is on. */
        volatile long slowNanos;
        /** End of a slow call, as System.nanoTime; 0 for none. */
        volatile long slowAt;
        /** Number of calls so far, at most EARLY_CALLS; a concurrent call may be missing. */
        int early;
        /** Begin of a call that runs now, as System.nanoTime; 0 for none. Of concurrent calls, usually the first. */
        long since;

        Getter(Class<?> holder, String member, MethodHandle handle) {
            super(holder);
            this.member = member;
            this.handle = new java.lang.ref.WeakReference<>(handle);
        }

        /** Returns whether the getter must not be called now. */
        boolean isOff(long now) {
            if (slowNanos > 0) {
                return true;
            }
            long begun = U.getLongOpaque(this, SINCE);
            return begun != 0 && now - begun > SLOW_GETTER_NANOS;
        }

        /**
         * Called after a slow call. A pause of the JVM makes all calls slow that run at that time. So calls that overlap count as one call,
         * and only the second slow call switches the getter off.
         */
        void slow(long begun, long nanos) {
            long first = slowAt;
            if (first == 0 || begun - first > SECOND_CALL_NANOS) {
                slowAt = begun + nanos | 1;
            } else if (begun - first >= 0) {
                slowNanos = nanos;
            }
        }
    }

    private static final long SINCE = U.objectFieldOffset(Getter.class, "since");

    /** Handles of getters. A handle keeps its class loaded. So the class itself holds the handle. */
    static final class Handles extends ClassValue<java.util.ArrayList<MethodHandle>> {
        @Override
        protected java.util.ArrayList<MethodHandle> computeValue(Class<?> holder) {
            return new java.util.ArrayList<>();
        }
    }

    /** A value of --by. */
    static final class Value {
        final int hash;
        final char kind;
        final long bits;
        final String text;
        /** 1 once a thread has begun to write the name. */
        int told;

        Value(int hash, char kind, long bits, String text) {
            this.hash = hash;
            this.kind = kind;
            this.bits = bits;
            this.text = text;
        }
    }

    /** The paths of the session. */
    static final class Wanted {
        /** Per path: the number of its start, -1 for no such path; and the number of its steps. */
        final byte[] starts;
        final byte[] steps;
        /** Number of the start that is the exception; -1 for none. */
        final int thrown;
        /** First method id of the values of --by; -1 without --by. */
        final int firstBy;
        /** Whether there is a path of --show. */
        final boolean shows;
        /** Per path and step: the classes met. */
        final Step[][] tables = new Step[PATHS * MAX_STEPS][];
        /** Per path and step: number of values that were not read, since the table of classes is full. */
        final long[] tooMany = new long[PATHS * MAX_STEPS];
        /** Per path: whether it has ended at an object that has only the name of its class (NAMED), or at another object (SHOWN). */
        final byte[] ends = new byte[PATHS];
        /** Used only by threads of the agent, which lock the list. */
        final java.util.ArrayList<Getter> getters = new java.util.ArrayList<>();
        final Handles handles = new Handles();
        /** Values of --by in the order of their first use, and their hashes. */
        final Value[] values = new Value[MAX_VALUES];
        final int[] hashes = new int[MAX_VALUES];
        final int[] known = new int[1];
        /** Details written in the current second, approximately. */
        final int[] details = new int[1];
        long second;
        /** Number of slow calls whose values were not written. */
        final int[] dropped = new int[1];
        /** Calls of getters by threads that have ended; changed only by the agent's thread. */
        final long[] ended = new long[COUNTS];

        Wanted(byte[] starts, byte[] steps, int thrown, int firstBy) {
            this.starts = starts;
            this.steps = steps;
            this.thrown = thrown;
            this.firstBy = firstBy;
            boolean any = false;
            for (int p = 0; p < BY; p++) {
                any |= starts[p] >= 0;
            }
            shows = any;
            for (int i = 0; i < tables.length; i++) {
                tables[i] = NOTHING_MET;
            }
        }
    }

    private static final Step[] NOTHING_MET = new Step[0];
    private static final byte SHOWN = 1;
    private static final byte NAMED = 2;
    /** Numbers in {@link Captured#counts}: calls of getters, their nanoseconds, the longest, slow calls, calls that threw. */
    private static final int COUNTS = 5;
    private static final int CALLS = 0;
    private static final int NANOS = 1;
    private static final int LONGEST = 2;
    private static final int SLOW = 3;
    private static final int THREWS = 4;

    /** Values of a thread: what the probes have stored, and the values of its current root call. */
    static final class Captured {
        final Object[] starts = new Object[PATHS];
        final long[] startBits = new long[PATHS];
        final char[] startKinds = new char[PATHS];
        final Object[] objects = new Object[BY];
        final long[] bits = new long[BY];
        final char[] kinds = new char[BY];
        /** Result of the latest {@link #read}. */
        char kind;
        long number;
        Object object;
        /** Whether the stack is known to have space for a getter in the current root call. */
        boolean hasRoom;
        /** Number of the current value of --by, and the value itself if it has a name. */
        int by = BY_NONE;
        Value value;
        final long[] counts = new long[COUNTS];

        void forgetStarts() {
            for (int i = 0; i < PATHS; i++) {
                starts[i] = null;
                startKinds[i] = NONE;
            }
        }

        void forget() {
            for (int i = 0; i < BY; i++) {
                objects[i] = null;
                kinds[i] = NONE;
            }
        }
    }

    /** Estimated heap bytes of a thread's values. */
    private static final long CAPTURED_BYTES = 360;
    /** Estimated heap bytes of a step and of its getter. */
    private static final long STEP_BYTES = 160;
    /** Null without values. */
    static Wanted wanted;

    // ---- the session; called by the agent's thread ----

    /**
     * Begins reading values. Called before roots have probes.
     *
     * @param starts per path: number of its start; -1 for no path
     * @param steps  per path: number of its steps
     * @param thrown number of the start that is the exception; -1 for none
     * @param firstBy first of the method ids of --by; -1 without --by
     */
    public static void values(byte[] starts, byte[] steps, int thrown, int firstBy) {
        for (Class<?> c : new Class<?>[] {Step.class, Getter.class, Handles.class, Value.class, Captured.class,
                 Enum.class, java.util.UUID.class}) {
            U.ensureClassInitialized(c);
        }
        new Captured().forget();
        wanted = new Wanted(starts.clone(), steps.clone(), thrown, firstBy);
    }

    static void end() {
        Wanted w = wanted;
        wanted = null;
        if (w == null) {
            return;
        }
        synchronized (w.getters) {
            for (Getter it : w.getters) {
                Class<?> holder = it.get();
                if (holder != null) {
                    w.handles.remove(holder);
                }
            }
            w.getters.clear();
        }
    }

    /**
     * Publishes how to read a field.
     *
     * @param c      the class of the objects
     * @param holder the class that declares the field; c or a superclass
     * @param offset of the field, see JFluid1Getter
     * @param type   first character of the field's descriptor
     */
    public static void field(int path, int step, Class<?> c, Class<?> holder, long offset, char type) {
        if (!holder.isAssignableFrom(c) || "ZBCSIJFDL[".indexOf(type) < 0) {
            throw new IllegalArgumentException(holder.getName());
        }
        publish(path, step, new Step(c, FIELD, offset, type == '[' ? OBJECT : type, null));
    }

    /**
     * Publishes how to call a getter.
     *
     * @param holder the class that declares the method
     * @param member name and descriptor of the method
     * @param handle of type (Object)Object
     */
    public static void getter(int path, int step, Class<?> c, Class<?> holder, String member, MethodHandle handle) {
        Wanted w = wanted;
        Getter getter = w == null ? null : getterOf(w, holder, member, handle);
        if (getter != null) {
            publish(path, step, new Step(c, GETTER, 0, OBJECT, getter));
        }
    }

    /** Returns null if the session has ended. */
    private static Getter getterOf(Wanted w, Class<?> holder, String member, MethodHandle handle) {
        synchronized (w.getters) {
            if (wanted != w) {
                return null;
            }
            for (int i = w.getters.size(); --i >= 0;) {
                Getter it = w.getters.get(i);
                if (refersTo(it, null)) {
                    w.getters.remove(i); // its class was unloaded
                } else if (refersTo(it, holder) && it.member.equals(member)) {
                    return it;
                }
            }
            Getter made = new Getter(holder, member, handle);
            w.handles.get(holder).add(handle);
            w.getters.add(made);
            return made;
        }
    }

    /** Returns the path and the step of a VALUE_CLASS request. */
    public static int pathOf(int value) {
        return value / MAX_STEPS;
    }

    public static int stepOf(int value) {
        return value % MAX_STEPS;
    }

    /** Publishes that the step cannot be read. */
    public static void unreadable(int path, int step, Class<?> c, int how) {
        publish(path, step, new Step(c, how, 0, OBJECT, null));
    }

    private static void publish(int path, int step, Step put) {
        Wanted w = wanted;
        if (w != null) {
            add(w, path * MAX_STEPS + step, put);
        }
    }

    /** Adds or replaces the step of a class. @return the step of the class; NO_SPACE if there are too many classes */
    private static Step add(Wanted w, int table, Step put) {
        Class<?> c = put.get();
        long at = OBJECTS_AT + table * OBJECT_BYTES;
        while (true) {
            Step[] old = (Step[]) U.getReferenceVolatile(w.tables, at);
            Step[] grown = new Step[old.length + 1];
            int count = 0;
            for (Step it : old) {
                if (refersTo(it, c)) {
                    if (put.how == ASKED) {
                        return it; // another thread was first
                    }
                } else if (!refersTo(it, null)) {
                    grown[count++] = it;
                }
            }
            if (count == MAX_CLASSES) {
                return NO_SPACE;
            }
            grown[count++] = put;
            Step[] all = count == grown.length ? grown : java.util.Arrays.copyOf(grown, count);
            if (U.compareAndSetReference(w.tables, at, old, all)) {
                return put;
            }
        }
    }

    /**
     * Makes the JVM generate the code of a getter's handle now, see {@link JFluid1Session}. Calls it without an object, so that no code of
     * the application runs.
     */
    public static void warmUp(MethodHandle getter, int calls) {
        for (int i = 0; i < calls; i++) {
            try {
                called(getter, null);
            } catch (Throwable expected) {
                // the NullPointerException of a call without an object
            }
        }
    }

    /** Adds the counts of a thread that has ended. */
    static void forget(ThreadInfo ti) {
        Captured c = ti.values;
        Wanted w = wanted;
        if (c != null && w != null) {
            sum(w.ended, c.counts);
            ti.values = null;
        }
    }

    private static void sum(long[] into, long[] counts) {
        for (int i = 0; i < COUNTS; i++) {
            into[i] = i == LONGEST ? Math.max(into[i], counts[i]) : into[i] + counts[i];
        }
    }

    /** Returns the counts of calls of getters, and as last number the number of slow calls without values. */
    public static long[] counts() {
        long[] all = new long[COUNTS + 1];
        Wanted w = wanted;
        if (w == null) {
            return all;
        }
        sum(all, w.ended);
        for (ThreadInfo head : table) {
            for (ThreadInfo ti = head; ti != null; ti = ti.chain) {
                if (ti.values != null) {
                    sum(all, ti.values.counts);
                }
            }
        }
        all[COUNTS] = w.dropped[0];
        return all;
    }

    /** Returns path, step, class and nanoseconds of each getter that is switched off. */
    public static java.util.List<Object[]> switchedOff() {
        java.util.List<Object[]> off = new java.util.ArrayList<>();
        Wanted w = wanted;
        for (int i = 0; w != null && i < w.tables.length; i++) {
            for (Step it : (Step[]) U.getReferenceVolatile(w.tables, OBJECTS_AT + i * OBJECT_BYTES)) {
                Class<?> c = it.get();
                if (it.getter != null && it.getter.slowNanos > 0 && c != null) {
                    off.add(new Object[] {pathOf(i), stepOf(i), c, it.getter.slowNanos});
                }
            }
        }
        return off;
    }

    /** Returns path, step and number of values that were not read, for each step with objects of more than MAX_CLASSES classes. */
    public static java.util.List<Object[]> tooManyClasses() {
        java.util.List<Object[]> all = new java.util.ArrayList<>();
        Wanted w = wanted;
        for (int i = 0; w != null && i < w.tooMany.length; i++) {
            long values = U.getLongVolatile(w.tooMany, LONGS_AT + 8L * i);
            if (values > 0) {
                all.add(new Object[] {pathOf(i), stepOf(i), values});
            }
        }
        return all;
    }

    /** Returns the paths whose values are all names of classes, since their objects have no text that can be read. */
    public static java.util.List<Object> named() {
        java.util.List<Object> all = new java.util.ArrayList<>();
        Wanted w = wanted;
        for (int p = 0; w != null && p < PATHS; p++) {
            if (w.ends[p] == NAMED) {
                all.add(p);
            }
        }
        return all;
    }

    static long heapBytes() {
        Wanted w = wanted;
        if (w == null) {
            return 0;
        }
        long steps = 0;
        for (Step[] met : w.tables) {
            steps += met.length;
        }
        return MAX_VALUES * 400L + steps * STEP_BYTES;
    }

    static long bytesOfThread() {
        return wanted == null ? 0 : CAPTURED_BYTES;
    }

    // ---- probes, see JFluid1 ----

    /** Stores an object at which a path starts. @param start number of the start, plus RETURNED for a result */
    static void store(Object object, int start) {
        Captured c = storesNow(start);
        if (c != null) {
            c.starts[start & START_MASK] = object;
            c.startKinds[start & START_MASK] = OBJECT;
        }
    }

    /** Stores a primitive value. @param start as for an object, plus the kind at START_KIND_SHIFT */
    static void store(long bits, int start) {
        Captured c = storesNow(start);
        if (c != null) {
            c.startBits[start & START_MASK] = bits;
            c.startKinds[start & START_MASK] = (char) (start >> START_KIND_SHIFT);
        }
    }

    /**
     * Returns where the thread stores a start; null if it stores none: inside a root call, or for a result not at the end of the outermost.
     */
    private static Captured storesNow(int start) {
        if (wanted == null || !open) {
            return null;
        }
        ThreadInfo ti = current();
        if (ti == null) {
            return (start & RETURNED) == 0 ? begin() : null;
        }
        boolean inside = ti.active || ti.virtualActive;
        if ((start & RETURNED) != 0) {
            return inside && ti.nesting <= 1 ? ti.values : null;
        }
        if (inside || ti.guard || ti.untimed > 0) {
            return null;
        }
        return ti.values;
    }

    /** Registers a thread without a record. */
    @DontInline
    private static Captured begin() {
        needsRoom();
        return register();
    }

    @ReservedStackAccess
    private static Captured register() {
        try {
            ThreadInfo ti = isOurs(Thread.currentThread()) ? null : registerOutside();
            return ti == null ? null : ti.values;
        } catch (Throwable t) {
            passOn(t); // for example an OutOfMemoryError: this root call has no values
            return null;
        }
    }

    /** Returns the space for the values of a new thread; null without values. */
    static Captured ofNewThread() {
        return wanted == null ? null : new Captured();
    }

    // ---- reading ----

    /**
     * Reads all values before an outermost root call. Runs without the reserved stack: a getter may use much stack, and the JVM would throw
     * a StackOverflowError later.
     *
     * @return whether the session is still the same
     */
    @DontInline
    static boolean capture(ThreadInfo ti, int id) {
        Wanted w = wanted;
        Captured c = ti == null ? null : ti.values;
        if (w == null || c == null || ti.guard) {
            return true;
        }
        if (isOfAnother(id)) {
            c.forgetStarts();
            return true;
        }
        ThreadInfo[] session = table;
        ti.guard = true;
        try {
            c.forget();
            c.hasRoom = false;
            c.value = null;
            c.by = BY_UNREADABLE;
            for (int p = 0; p < BY; p++) {
                if (w.starts[p] >= 0) {
                    keep(w, c, p);
                }
            }
            if (w.starts[BY] >= 0) {
                read(w, c, BY);
                c.by = numberOf(w, c);
            }
        } catch (Throwable t) {
            drop(c);
            ti.guard = false;
            passOn(t);
        }
        c.object = null;
        c.forgetStarts();
        ti.guard = false;
        return table == session;
    }

    private static void keep(Wanted w, Captured c, int path) {
        read(w, c, path);
        c.kinds[path] = c.kind;
        c.bits[path] = c.number;
        c.objects[path] = c.object == null ? null : cut((String) c.object); // a long text is not kept during the call
    }

    /** Follows a path from its start, and leaves the value in the fields of c. */
    private static void read(Wanted w, Captured c, int path) {
        int start = w.starts[path];
        c.object = null;
        c.number = 0;
        char kind = c.startKinds[start];
        if (kind != OBJECT) {
            c.kind = kind;
            c.number = c.startBits[start];
            return;
        }
        Object o = c.starts[start];
        int steps = w.steps[path];
        for (int i = 0; i < steps; i++) {
            if (o == null) {
                c.kind = NULL;
                return;
            }
            Step step = stepOf(w, path * MAX_STEPS + i, o.getClass());
            if (step == null) {
                c.kind = UNREADABLE; // an array has no members
                return;
            }
            if (step.how == FIELD) {
                if (step.type != OBJECT) {
                    readPrimitive(c, o, step);
                    if (i + 1 < steps) {
                        c.kind = UNREADABLE; // a primitive value has no members
                    }
                    return;
                }
                o = U.getReference(o, step.offset);
            } else if (step.how == GETTER) {
                o = get(c, step.getter, o);
                if (c.kind != OBJECT) {
                    return;
                }
            } else {
                c.kind = step.how == ASKED ? NOT_READ : step.how == TOO_MANY_CLASSES ? TOO_MANY : UNREADABLE;
                return;
            }
        }
        if (o == null) {
            c.kind = NULL;
            return;
        }
        byte end = finish(c, o) ? SHOWN : NAMED;
        if ((w.ends[path] & end) != end) {
            w.ends[path] |= end;
        }
    }

    /** Calls a getter. @return its result if c.kind is OBJECT; otherwise c.kind says why there is no result */
    private static Object get(Captured c, Getter getter, Object o) {
        long begun = System.nanoTime();
        if (getter.isOff(begun)) {
            c.kind = SWITCHED_OFF;
            return null;
        }
        MethodHandle handle = getter.handle.get();
        if (handle == null || getter.early < EARLY_CALLS && !c.hasRoom && !hasRoomForGetter()) {
            c.kind = NOT_READ; // the session has ended, or the stack is almost full
            return null;
        }
        c.hasRoom = true;
        if (getter.early < EARLY_CALLS) {
            getter.early++;
        }
        boolean first = U.getLongOpaque(getter, SINCE) == 0;
        if (first) {
            U.putLongOpaque(getter, SINCE, begun | 1);
        }
        c.kind = THREW;
        Object result = null;
        try {
            result = called(handle, o);
            c.kind = OBJECT;
        } catch (Throwable t) {
            passOn(t);
        } finally {
            if (first) {
                U.putLongOpaque(getter, SINCE, 0);
            }
            count(c, getter, begun);
        }
        return result;
    }

    private static Object called(MethodHandle getter, Object o) throws Throwable {
        return (Object) getter.invokeExact(o);
    }

    private static void count(Captured c, Getter getter, long begun) {
        long nanos = System.nanoTime() - begun;
        long[] counts = c.counts;
        counts[CALLS]++;
        counts[NANOS] += nanos;
        counts[LONGEST] = Math.max(counts[LONGEST], nanos);
        if (c.kind == THREW) {
            counts[THREWS]++;
        }
        if (nanos > SLOW_GETTER_NANOS) {
            counts[SLOW]++;
            getter.slow(begun, nanos);
        }
    }

    private static Step stepOf(Wanted w, int table, Class<?> c) {
        for (Step it : (Step[]) U.getReferenceAcquire(w.tables, OBJECTS_AT + table * OBJECT_BYTES)) {
            if (refersTo(it, c)) {
                return it;
            }
        }
        return meet(w, table, c);
    }

    /** Called for the first object of a class. Asks the client, and does not wait for its answer. */
    @DontInline
    private static Step meet(Wanted w, int table, Class<?> c) {
        if (c.isArray()) {
            return null;
        }
        Step known = NO_SPACE;
        if (hasSpace(w, table)) {
            Step asked = new Step(c, ASKED, 0, OBJECT, null);
            Request request = new Request(Request.VALUE_CLASS, table, c, null);
            known = add(w, table, asked);
            if (known == asked) {
                post(request);
            }
        }
        if (known == NO_SPACE) {
            U.getAndAddLong(w.tooMany, LONGS_AT + 8L * table, 1);
        }
        return known;
    }

    /** Returns whether a class can be added. Allocates nothing, since each later value of a full table calls this method. */
    private static boolean hasSpace(Wanted w, int table) {
        Step[] met = (Step[]) U.getReferenceAcquire(w.tables, OBJECTS_AT + table * OBJECT_BYTES);
        if (met.length < MAX_CLASSES) {
            return true;
        }
        for (Step it : met) {
            if (refersTo(it, null)) {
                return true; // its class was unloaded
            }
        }
        return false;
    }

    private static void readPrimitive(Captured c, Object o, Step step) {
        char kind = 'J';
        switch (step.type) {
            case 'Z':
                kind = 'Z';
                c.number = U.getBoolean(o, step.offset) ? 1 : 0;
                break;
            case 'C':
                kind = 'C';
                c.number = U.getChar(o, step.offset);
                break;
            case 'B': c.number = U.getByte(o, step.offset); break;
            case 'S': c.number = U.getShort(o, step.offset); break;
            case 'I': c.number = U.getInt(o, step.offset); break;
            case 'J': c.number = U.getLong(o, step.offset); break;
            case 'F':
                kind = 'F';
                c.number = Double.doubleToRawLongBits(U.getFloat(o, step.offset));
                break;
            default:
                kind = 'D';
                c.number = Double.doubleToRawLongBits(U.getDouble(o, step.offset));
                break;
        }
        c.kind = kind;
    }

    /** Takes the value of an object at the end of a path. @return false if the value is only the name of the object's class */
    private static boolean finish(Captured c, Object o) {
        if (o instanceof String) {
            c.kind = TEXT;
            c.object = o;
        } else if (o instanceof Integer || o instanceof Long || o instanceof Short || o instanceof Byte) {
            c.kind = 'J';
            c.number = ((Number) o).longValue();
        } else if (o instanceof Boolean) {
            c.kind = 'Z';
            c.number = (Boolean) o ? 1 : 0;
        } else if (o instanceof Character) {
            c.kind = 'C';
            c.number = (Character) o;
        } else if (o instanceof Double || o instanceof Float) {
            c.kind = o instanceof Double ? 'D' : 'F';
            c.number = Double.doubleToRawLongBits(((Number) o).doubleValue());
        } else if (o instanceof java.util.UUID) {
            c.kind = TEXT;
            c.object = textOf((java.util.UUID) o);
        } else if (o instanceof Enum) {
            c.kind = TEXT;
            c.object = ((Enum<?>) o).name();
        } else if (o instanceof Class) {
            c.kind = CLASS;
            c.object = ((Class<?>) o).getName();
        } else if (o.getClass().isArray()) {
            c.kind = LENGTH;
            c.number = JFluid1Allocations.lengthOf(o);
        } else {
            c.kind = CLASS;
            c.object = o.getClass().getName();
            return false;
        }
        return true;
    }

    /** Does not call toString, which may have probes. */
    @SuppressWarnings("deprecation")
    private static String textOf(java.util.UUID id) {
        byte[] text = new byte[36];
        long high = id.getMostSignificantBits();
        long low = id.getLeastSignificantBits();
        int digit = 0;
        for (int i = 0; i < text.length; i++) {
            if (i == 8 || i == 13 || i == 18 || i == 23) {
                text[i] = '-';
                continue;
            }
            int nibble = (int) ((digit < 16 ? high : low) >>> 60 - (digit & 15) * 4) & 15;
            text[i] = (byte) (nibble < 10 ? '0' + nibble : 'a' + nibble - 10);
            digit++;
        }
        return new String(text, 0);
    }

    // ---- --by ----

    /** Returns the number of the value in c. Sets c.value if the value has a name. */
    private static int numberOf(Wanted w, Captured c) {
        switch (c.kind) {
            case NONE:
            case NULL: return BY_NONE;
            case NOT_READ: return BY_NOT_READ;
            case UNREADABLE:
            case THREW: return BY_UNREADABLE;
            case SWITCHED_OFF: return BY_SWITCHED_OFF;
            case TOO_MANY: return BY_TOO_MANY;
            default: break;
        }
        String text = (String) c.object;
        int hash = text == null ? Long.hashCode(c.number) ^ c.kind : hashOf(text);
        int known = U.getIntAcquire(w.known, INTS_AT);
        int[] hashes = w.hashes;
        for (int i = 0; i < known; i++) {
            if (hashes[i] == hash && is(w.values[i], c.kind, c.number, text)) {
                c.value = w.values[i];
                return i + 1;
            }
        }
        return known == MAX_VALUES ? BY_OTHER : learn(w, c, hash, text);
    }

    /** Adds a value, unless another thread has added it. */
    @DontInline
    private static int learn(Wanted w, Captured c, int hash, String text) {
        Value made = new Value(hash, c.kind, c.number, text == null ? textOf(c.kind, c.number) : cut(text));
        for (int i = 0; i < MAX_VALUES; i++) {
            long at = OBJECTS_AT + i * OBJECT_BYTES;
            Value there = (Value) U.getReferenceVolatile(w.values, at);
            if (there == null && U.compareAndSetReference(w.values, at, null, made)) {
                there = made;
            } else if (there == null) {
                there = (Value) U.getReferenceVolatile(w.values, at);
            }
            if (U.getIntVolatile(w.known, INTS_AT) == i) {
                w.hashes[i] = there.hash; // every thread that passes writes the same hash
                U.compareAndSetInt(w.known, INTS_AT, i, i + 1);
            }
            if (there == made || there.hash == hash && is(there, c.kind, c.number, text)) {
                c.value = there;
                return i + 1;
            }
        }
        return BY_OTHER;
    }

    private static boolean is(Value value, char kind, long bits, String text) {
        if (value.kind != kind || value.bits != bits) {
            return false;
        }
        if (text == null || text.length() <= MAX_LENGTH) {
            return text == null || value.text.equals(text);
        }
        return value.text.length() == MAX_LENGTH && value.text.regionMatches(0, text, 0, MAX_LENGTH - 1);
    }

    private static int hashOf(String text) {
        if (text.length() <= MAX_LENGTH) {
            return text.hashCode();
        }
        int hash = 0;
        for (int i = 0; i < MAX_LENGTH - 1; i++) {
            hash = 31 * hash + text.charAt(i);
        }
        return hash;
    }

    private static String cut(String text) {
        return text.length() <= MAX_LENGTH ? text : text.substring(0, MAX_LENGTH - 1).concat("\u2026");
    }

    private static String textOf(char kind, long bits) {
        switch (kind) {
            case 'Z': return bits != 0 ? "true" : "false";
            case 'C': return String.valueOf((char) bits);
            case 'D': return Double.toString(Double.longBitsToDouble(bits));
            case 'F': return Float.toString((float) Double.longBitsToDouble(bits));
            case LENGTH: return "[".concat(Long.toString(bits)).concat("]");
            default: return Long.toString(bits);
        }
    }

    /** Returns the method id of the value of --by of the root call that begins now; 0 without --by. */
    static int byOf(ThreadInfo ti) {
        Wanted w = wanted;
        if (w == null || w.firstBy < 0) {
            return 0;
        }
        Captured c = ti.values;
        return w.firstBy + (c == null ? BY_NONE : c.by);
    }

    /** Returns the number of words for the name of the value, if no thread has written it yet. */
    static int wordsOfName(ThreadInfo ti) {
        Value value = ti.values == null ? null : ti.values.value;
        return value == null || value.told != 0 ? 0 : value.text.length() + 1;
    }

    /** Writes the name of the value. Two threads may both write it. */
    static void tellName(ThreadInfo w, ThreadInfo ti) {
        Value value = ti.values.value;
        value.told = 1;
        long id = (long) ti.values.by << NAME_CLASS_SHIFT;
        int length = value.text.length();
        for (int i = 0; i < length; i++) {
            put(w, CONTROL_NAME | id | i << NAME_AT_SHIFT | value.text.charAt(i));
        }
        put(w, CONTROL_NAME | id | length << NAME_AT_SHIFT);
    }

    /** Writes the ends of the value's call and of the outermost root call, with the same time. */
    @DontInline
    static void leave(ThreadInfo ti, int id) {
        long inner = KIND_EXIT | (long) ti.by << TICK_BITS;
        ti.by = 0;
        long delta = ticks() - ti.base;
        long at = ti.next;
        if (at + EVENT_BYTES >= ti.limit || delta >>> TICK_BITS != 0) {
            try {
                appendTwo(ti, inner, KIND_EXIT | (long) id << TICK_BITS);
            } catch (StackOverflowError told) {
                // See JFluid1Ring.appendExit.
            }
            return;
        }
        U.putLongRelease(null, at, inner | delta);
        U.putLongRelease(null, at + EVENT_BYTES, KIND_EXIT | (long) id << TICK_BITS | delta);
        ti.next = at + 2 * EVENT_BYTES;
    }

    /** Like {@link #leave}, for a virtual thread. */
    @DontInline
    static void leaveVirtual(ThreadInfo ti, int id) {
        long inner = KIND_EXIT | (long) ti.by << TICK_BITS;
        ti.by = 0;
        try {
            appendTwo(ti, inner, KIND_EXIT | (long) id << TICK_BITS);
        } catch (StackOverflowError told) {
            // See JFluid1Ring.appendExit.
        }
    }

    /**
     * Writes the ends of the value's call, if there is one, and of the outermost root call with a time in the past. If the thread has to
     * take another chunk, the words have the time of writing: a wait for the chunk is then charged to no method.
     */
    @DontInline
    static void leaveAt(ThreadInfo ti, int id, long ticks) {
        long inner = ti.by == 0 ? 0 : KIND_EXIT | (long) ti.by << TICK_BITS;
        long outer = KIND_EXIT | (long) id << TICK_BITS;
        ti.by = 0;
        try {
            if (!appendAt(ti, inner, outer, ticks)) {
                if (inner != 0) {
                    appendTwo(ti, inner, outer);
                } else if (ti.virtual) {
                    virtualEvent(ti, outer);
                } else {
                    appendExit(ti, outer);
                }
            }
        } catch (StackOverflowError told) {
            // See JFluid1Ring.appendExit.
        }
    }

    @ReservedStackAccess
    private static boolean appendAt(ThreadInfo ti, long inner, long outer, long ticks) {
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.called = ti.site = 0; // see JFluid1Ring.appendVirtual
        ti.guard = true;
        boolean fits = false;
        try {
            ThreadInfo w = virtual ? carrier() : ti;
            fits = enabled && w != null && w.next + (MAX_WORDS + 1) * EVENT_BYTES <= w.limit;
            if (fits) {
                if (virtual) {
                    switchTo(w, ti);
                }
                if (inner != 0) {
                    eventAt(w, inner, ticks);
                }
                eventAt(w, outer, ticks);
                switchBack(w);
            }
        } catch (Throwable t) {
            gap();
        }
        goOn(ti, virtual, true);
        return fits;
    }

    @ReservedStackAccess
    static void appendTwo(ThreadInfo ti, long first, long second) {
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.called = ti.site = 0; // see JFluid1Ring.appendVirtual
        ti.guard = true;
        boolean on = false;
        try {
            ThreadInfo w = virtual ? carrier() : ti;
            if (w != null && room(w, ti, MAX_WORDS + 1)) {
                if (virtual) {
                    switchTo(w, ti);
                }
                twoEvents(w, ti, first, second);
                switchBack(w);
                on = true;
            }
        } catch (Throwable t) {
            gap();
        }
        goOn(ti, virtual, on);
    }

    // ---- --show ----

    /** Stores the exception that ends the outermost root call. */
    static void keepThrown(ThreadInfo ti, Throwable thrown) {
        Captured c = ti.values;
        Wanted w = wanted;
        if (c != null && w != null && w.thrown >= 0) {
            c.starts[w.thrown] = thrown;
            c.startKinds[w.thrown] = OBJECT;
        }
    }

    /** Drops the values of a root call that has ended. */
    static void drop(Captured c) {
        c.object = null;
        c.forget();
        c.forgetStarts();
    }

    /**
     * Reads the values that start at the result or at the exception of the outermost root call that has just ended.
     *
     * @return whether the session is still the same
     */
    static boolean captureEnd(ThreadInfo ti) {
        Captured c = ti.values;
        Wanted w = wanted;
        if (w == null) {
            return false;
        }
        ThreadInfo[] session = table;
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        try {
            c.hasRoom = false;
            for (int p = 0; p < BY; p++) {
                if (w.starts[p] >= 0 && c.startKinds[w.starts[p]] != NONE) {
                    keep(w, c, p);
                }
                if (c.kinds[p] == 'D' || c.kinds[p] == 'F') {
                    c.objects[p] = textOf(c.kinds[p], c.bits[p]); // the same text as in a row of --by
                    c.kinds[p] = TEXT;
                }
            }
        } catch (Throwable t) {
            drop(c);
            ti.guard = false;
            passOn(t);
        }
        boolean same = table == session;
        goOn(ti, virtual, same);
        return same;
    }

    /** Returns whether the values of a slow call are written: at most MAX_DETAILS_PER_SECOND. */
    static boolean mayTell() {
        Wanted w = wanted;
        if (w == null || !w.shows) {
            return false;
        }
        long second = System.nanoTime() >> 30; // 1.07 s
        if (w.second != second) {
            w.second = second;
            w.details[0] = 0;
        }
        if (U.getAndAddInt(w.details, INTS_AT, 1) < MAX_DETAILS_PER_SECOND) {
            return true;
        }
        U.getAndAddInt(w.dropped, INTS_AT, 1);
        return false;
    }

    /** Counts a slow call whose values are not written because the ring has no room. */
    static void lose(boolean tellsValues) {
        Wanted w = wanted;
        if (tellsValues && w != null) {
            U.getAndAddInt(w.dropped, INTS_AT, 1);
        }
    }

    /** Returns the number of words that {@link #tellShown} writes at most. */
    static int wordsOfShown(ThreadInfo ti) {
        Wanted w = wanted;
        int words = 0;
        for (int p = 0; w != null && p < BY; p++) {
            if (w.starts[p] >= 0) {
                String text = (String) ti.values.objects[p];
                words += text == null ? 2 : wordsOf(text);
            }
        }
        return words;
    }

    /** Returns the number of words of a text at most; 0 for null. */
    static int wordsOf(String text) {
        return text == null ? 0 : Math.min(MAX_LENGTH, text.length()) / 2 + 1;
    }

    /** Writes the values of the root call that has just ended. The caller has made room. */
    static void tellShown(ThreadInfo w, Captured c) {
        Wanted wanted = JFluid1Values.wanted;
        for (int p = 0; wanted != null && p < BY; p++) {
            if (wanted.starts[p] >= 0) {
                tellValue(w, p, c.kinds[p], c.bits[p], (String) c.objects[p]);
            }
        }
    }

    private static void tellValue(ThreadInfo w, int slot, char kind, long bits, String text) {
        switch (kind) {
            case TEXT: tellText(w, slot, WORD_TEXT, text); break;
            case CLASS: tellText(w, slot, WORD_CLASS, text); break;
            case 'C': tellWord(w, slot, WORD_TEXT, bits); break;
            case 'Z': tellWord(w, slot, WORD_CONSTANT, bits != 0 ? 4 : 5); break;
            case 'J': tellLong(w, slot, bits); break;
            case LENGTH: tellWord(w, slot, WORD_LENGTH, bits); break;
            case NULL: tellWord(w, slot, WORD_CONSTANT, 0); break;
            case NOT_READ: tellWord(w, slot, WORD_CONSTANT, 1); break;
            case UNREADABLE: tellWord(w, slot, WORD_CONSTANT, 2); break;
            case THREW: tellWord(w, slot, WORD_CONSTANT, 6); break;
            case SWITCHED_OFF: tellWord(w, slot, WORD_CONSTANT, 7); break;
            case TOO_MANY: tellWord(w, slot, WORD_CONSTANT, 8); break;
            default: tellWord(w, slot, WORD_CONSTANT, 3); break;
        }
    }

    private static void tellWord(ThreadInfo w, int slot, long kind, long data) {
        put(w, CONTROL_VALUE | (long) slot << VALUE_SLOT_SHIFT | kind << VALUE_KIND_SHIFT | data);
    }

    private static void tellLong(ThreadInfo w, int slot, long bits) {
        tellWord(w, slot, WORD_LONG, bits & 0xFFFFFFFFL);
        tellWord(w, slot, WORD_LONG + 1, bits >>> 32);
    }

    /** Writes the parts of a text. The caller has made room for {@link #wordsOf}. */
    static void tellText(ThreadInfo w, int slot, long kind, String text) {
        int length = Math.min(MAX_LENGTH, text.length());
        for (int i = 0; i == 0 || i < length; i += 2) {
            tellWord(w, slot, kind, unit(text, i) | (long) unit(text, i + 1) << 16);
        }
    }

    private static char unit(String text, int at) {
        return at >= text.length()                                   ? 0
                : at == MAX_LENGTH - 1 && text.length() > MAX_LENGTH ? '\u2026'
                                                                     : text.charAt(at);
    }
}
