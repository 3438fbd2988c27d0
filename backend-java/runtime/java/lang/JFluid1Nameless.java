package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Release.*;
import static java.lang.JFluid1Requests.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;

/**
 * Calls whose callee no call site names: by reflection, by a method handle, into a hidden class. The client is asked once per member, and
 * each thread that is about to call the member waits for the answer.
 */
public final class JFluid1Nameless {
    private JFluid1Nameless() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    private static final Reflected[] NOTHING = new Reflected[1];
    private static final java.lang.ref.WeakReference<?>[] NO_MEMBERS = new java.lang.ref.WeakReference<?>[1];
    private static Reflected[] reflected = NOTHING;
    /** Recently called members of method handles, keyed by identity hash: a cache for the common case. */
    private static java.lang.ref.WeakReference<?>[] knownMembers = NO_MEMBERS;
    private static boolean followsJdk;
    /** Average size of a Reflected with its selector, bytes. */
    private static final long MEMBER_BYTES = 64;
    private static long membersKnown;

    /** A method that reflection or a method handle has called inside a root call. Its class may be unloaded. */
    static final class Reflected extends java.lang.ref.WeakReference<Class<?>> {
        final int slot;
        final boolean constructor;
        /** Name and descriptor for a method handle; `slot` is then their hash. Otherwise null. */
        final String selector;
        /** Refers to the class, so it is cleared as soon as no thread waits for the answer: otherwise the class could not be unloaded. */
        Request question;
        Reflected chain;

        Reflected(Class<?> owner, int slot, boolean constructor, String selector, Request question, Reflected chain) {
            super(owner);
            this.slot = slot;
            this.constructor = constructor;
            this.selector = selector;
            this.question = question;
            this.chain = chain;
        }

        boolean is(Class<?> owner, int slot, boolean constructor, String selector) {
            return this.slot == slot && get() == owner && this.constructor == constructor
                    && (selector == null ? this.selector == null : selector.equals(this.selector));
        }
    }

    /** This method is small so that it is inlined: JDK code calls through method handles very often, for example to concatenate strings. */
    static boolean isHandleOfInterest(Object handle) {
        Object member = U.getReference(handle, Offsets.HANDLE_MEMBER);
        if (member == null) {
            return false;
        }
        Class<?> owner = (Class<?>) U.getReference(member, Offsets.MEMBER_CLASS);
        if (!followsJdk && U.getReference(owner, Offsets.CLASS_LOADER) == null) {
            return false;
        }
        java.lang.ref.WeakReference<?>[] known = knownMembers;
        java.lang.ref.WeakReference<?> seen = known[System.identityHashCode(member) & (known.length - 1)];
        return seen == null || seen.get() != member;
    }

    static void namelessCall(ThreadInfo ti, Object caller) {
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = true;
        try {
            long t0 = ticks();
            Request request = caller instanceof java.lang.reflect.Executable ? reflection(caller)
                    : caller instanceof java.lang.invoke.MethodHandle        ? handleCall(caller)
                                                                             : definition(caller);
            if (request != null) {
                await(request);
                ThreadInfo w = writer(ti);
                on = enabled && w != null && room(w, ti, 4);
                if (on) {
                    if (virtual) {
                        switchTo(w, ti);
                    }
                    put(w, CONTROL_ADJUST | Math.min(ticks() - t0, TICK_MASK));
                    switchBack(w);
                }
            }
            if (caller instanceof java.lang.invoke.MethodHandle) {
                know(caller); // not called earlier: another thread would then call the member without waiting
            }
        } catch (Throwable t) {
            on = false;
            gap();
            ti.guard = false;
            passOn(t);
        }
        if (on && enabled) {
            if (virtual) {
                ti.virtualActive = true;
            } else {
                ti.active = true;
            }
        }
        ti.guard = false;
    }

    /** Asks about a Method or Constructor. @return the request to wait for; null if it has been answered */
    private static Request reflection(Object executable) {
        boolean constructor = executable instanceof java.lang.reflect.Constructor;
        Class<?> owner =
                (Class<?>) U.getReference(executable, constructor ? Offsets.CONSTRUCTOR_CLASS : Offsets.METHOD_CLASS);
        int slot = U.getInt(executable, constructor ? Offsets.CONSTRUCTOR_SLOT : Offsets.METHOD_SLOT);
        // Reflection creates instances of lambda classes; hidden classes cannot be instrumented.
        return isHidden(owner) ? null : question(owner, slot, constructor, null, executable);
    }

    /** Asks about the member of a method handle. The member is identified by its name, since each look-up creates a new MemberName. */
    private static Request handleCall(Object handle) {
        Object member = U.getReference(handle, Offsets.HANDLE_MEMBER);
        Class<?> owner = (Class<?>) U.getReference(member, Offsets.MEMBER_CLASS);
        boolean isCalled = (U.getInt(member, Offsets.MEMBER_FLAGS) & MEMBER_IS_METHOD_OR_CONSTRUCTOR) != 0;
        if (!isCalled || isHidden(owner)) {
            return null;
        }
        String name = (String) U.getReference(member, Offsets.MEMBER_NAME);
        String selector = name.concat(descriptor(U.getReference(member, Offsets.MEMBER_TYPE)));
        return question(owner, selector.hashCode(), false, selector, owner);
    }

    private static void know(Object handle) {
        Object member = U.getReference(handle, Offsets.HANDLE_MEMBER);
        java.lang.ref.WeakReference<?>[] known = knownMembers;
        known[System.identityHashCode(member) & (known.length - 1)] = new java.lang.ref.WeakReference<>(member);
    }

    /** Asks about a hidden class. Ignores classes generated by the JDK: their callees become known in other ways. */
    private static Request definition(Object definer) {
        java.lang.invoke.MethodHandles.Lookup lookup =
                (java.lang.invoke.MethodHandles.Lookup) U.getReference(definer, Definers.LOOKUP);
        Class<?> host = lookup.lookupClass();
        if (!followsJdk && U.getReference(host, Offsets.CLASS_LOADER) == null) {
            return null;
        }
        String name = (String) U.getReference(definer, Definers.NAME);
        if (name.contains("$$Lambda") || name.endsWith("String$$StringConcat") || name.endsWith("$$InjectedInvoker")) {
            return null;
        }
        Request request = new Request(Request.HIDDEN_CLASS, 0, host, U.getReference(definer, Definers.BYTES));
        post(request);
        return request;
    }

    /** Offsets of fields of Lookup.ClassDefiner. JDK 17 and JDK 25 have different classes. */
    static final class Definers {
        private static final String DEFINER = "java.lang.invoke.MethodHandles$Lookup$ClassDefiner";
        static final long LOOKUP = Offsets.at(DEFINER, "lookup");
        static final long NAME = name();
        static final long BYTES = Offsets.at(DEFINER, "bytes");

        private static long name() {
            try {
                return Offsets.at(DEFINER, "internalName");
            } catch (InternalError older) {
                return Offsets.at(DEFINER, "name");
            }
        }
    }

    /** Returns the descriptor of a MemberName's type: a MethodType, a descriptor, or {result, parameters}. */
    static String descriptor(Object type) {
        if (type instanceof java.lang.invoke.MethodType) {
            return ((java.lang.invoke.MethodType) type).toMethodDescriptorString();
        }
        if (type instanceof String) {
            return (String) type;
        }
        Object[] both = (Object[]) type;
        StringBuilder text = new StringBuilder("(");
        for (Class<?> parameter : (Class<?>[]) both[1]) {
            text.append(JFluid1Release.descriptor(parameter));
        }
        return text.append(')').append(JFluid1Release.descriptor((Class<?>) both[0])).toString();
    }

    /** Flags of MethodHandleNatives.Constants. A handle may also refer to a field. */
    private static final int MEMBER_IS_METHOD_OR_CONSTRUCTOR = 0x30000;

    static final class Offsets {
        /** The field is read directly: a call of getClassLoader() by jfluid could be recorded as a call of the program. */
        static final long CLASS_LOADER = U.objectFieldOffset(Class.class, "classLoader");
        static final long METHOD_CLASS = U.objectFieldOffset(java.lang.reflect.Method.class, "clazz");
        static final long METHOD_SLOT = U.objectFieldOffset(java.lang.reflect.Method.class, "slot");
        static final long CONSTRUCTOR_CLASS = U.objectFieldOffset(java.lang.reflect.Constructor.class, "clazz");
        static final long CONSTRUCTOR_SLOT = U.objectFieldOffset(java.lang.reflect.Constructor.class, "slot");
        static final long HANDLE_MEMBER = at("java.lang.invoke.DirectMethodHandle", "member");
        static final long MEMBER_CLASS = at("java.lang.invoke.MemberName", "clazz");
        static final long MEMBER_NAME = at("java.lang.invoke.MemberName", "name");
        static final long MEMBER_FLAGS = at("java.lang.invoke.MemberName", "flags");
        static final long MEMBER_TYPE = at("java.lang.invoke.MemberName", "type");

        /** @throws InternalError if the class does not have the field */
        static long at(String className, String field) {
            try {
                return U.objectFieldOffset(Class.forName(className, false, null), field);
            } catch (ClassNotFoundException e) {
                throw new ExceptionInInitializerError(e);
            }
        }
    }

    /** @return the request of this thread or an earlier request for the same member; null if it has been answered */
    private static Request question(Class<?> owner, int slot, boolean constructor, String selector, Object subject) {
        Reflected[] set = reflected;
        int index = (System.identityHashCode(owner) * 31 + slot) & (set.length - 1);
        long at = OBJECTS_AT + (long) index * OBJECT_BYTES;
        Request own = null;
        while (true) {
            Reflected head = (Reflected) U.getReferenceVolatile(set, at);
            for (Reflected r = head; r != null; r = r.chain) {
                if (r.is(owner, slot, constructor, selector)) {
                    Request asked = r.question;
                    return asked == null || asked.isOver() ? null : asked;
                }
            }
            if (own == null) {
                own = new Request(Request.REFLECTION, 0, subject, selector);
            }
            Reflected met = new Reflected(owner, slot, constructor, selector, own, head);
            if (U.compareAndSetReference(set, at, head, met)) {
                post(own);
                return own;
            }
        }
    }

    /** Sets whether calls of JDK methods through method handles are recorded. */
    public static void followJdk(boolean on) {
        followsJdk = on;
    }

    static void begin() {
        reflected = new Reflected[1024];
        knownMembers = new java.lang.ref.WeakReference<?>[1024];
    }

    static void end() {
        reflected = NOTHING;
        NOTHING[0] = null;
        knownMembers = NO_MEMBERS;
        NO_MEMBERS[0] = null;
    }

    static long heapBytes() {
        return ((long) reflected.length + knownMembers.length) * OBJECT_BYTES + membersKnown * MEMBER_BYTES;
    }

    /** Drops records of unloaded classes, and answered requests. Called only by the agent's thread. */
    static void purge() {
        Reflected[] in = reflected;
        long known = 0;
        for (int i = 0; i < in.length; i++) {
            long at = OBJECTS_AT + i * OBJECT_BYTES;
            Reflected head = (Reflected) U.getReferenceVolatile(in, at);
            while (head != null && refersTo(head, null)) {
                U.compareAndSetReference(in, at, head, head.chain);
                head = (Reflected) U.getReferenceVolatile(in, at);
            }
            for (Reflected before = head; before != null; before = before.chain) {
                known++;
                Request asked = before.question;
                if (asked != null && asked.isOver()) {
                    before.question = null;
                }
                while (before.chain != null && refersTo(before.chain, null)) {
                    before.chain = before.chain.chain;
                }
            }
        }
        membersKnown = known;
    }
}
