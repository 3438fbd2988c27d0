package java.lang;

import java.lang.ref.WeakReference;
import java.util.Arrays;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Which of the recorded objects are still alive (--liveness), with the rules of {@link JFluid1}, beside which it lives.
 *
 * An object that is followed has a place in a table, where a weak reference knows it, and the ring says by TRACK in what
 * context it was made. The agent's thread looks at the table now and then, and tells what has come and what has gone. It
 * asks whether a reference is empty and never for what is in it: nothing is kept alive by being looked at.
 */
public final class JFluid1Survivors {
    private JFluid1Survivors() {}

    private static final int SLOT_BITS = 16;
    static final int SLOTS = 1 << SLOT_BITS;
    private static final int GENERATIONS = 1 << 9;
    private static final int CLASS_SHIFT = 25;
    /** A reference with its fields; 48 where references are compressed. */
    private static final long SURVIVOR_BYTES = 72;
    private static final long TABLE_BYTES = SLOTS * 12L;
    private static final Unsafe U = Unsafe.getUnsafe();

    private static final class Survivor extends WeakReference<Object> {
        /** Its place, and how many were there before it. */
        int token;
        final long bytes;
        /** How many collections there had been. */
        final int born;
        boolean told;

        Survivor(Object o, long bytes, int born) {
            super(o);
            this.bytes = bytes;
            this.born = born;
        }
    }

    /** Places are taken by whoever allocates, and given back by the agent's thread only. */
    private static final class Table {
        static final long TAKEN = U.objectFieldOffset(Table.class, "taken");
        static final long UNTRACKED = U.objectFieldOffset(Table.class, "untracked");
        final Survivor[] slots = new Survivor[SLOTS];
        final short[] generations = new short[SLOTS];
        /** A ring of free places: from `taken` up to `given`. */
        final int[] free = new int[SLOTS];
        volatile long taken;
        volatile long given = SLOTS;
        /** Objects for which there was no place. */
        volatile long untracked;
        /** Survivors there were at the last look. */
        volatile long known;

        Table() {
            for (int i = 0; i < SLOTS; i++) {
                free[i] = i;
            }
        }

        /** So that no reference is made for nothing: most often there is none while there is none. */
        boolean isFull() {
            return taken == given;
        }

        /** -1 if all are taken. */
        int take() {
            while (true) {
                long at = taken;
                if (at == given) {
                    return -1;
                }
                int slot = free[(int) at & SLOTS - 1];
                if (U.compareAndSetLong(this, TAKEN, at, at + 1)) {
                    return slot;
                }
            }
        }

        void give(int slot) {
            free[(int) given & SLOTS - 1] = slot;
            given++; // one thread does
        }
    }

    /** Of one reference, as the JVM lays it out: what a thread allocates for us. */
    private static long survivorBytes;
    /** Null but for a session that looks who survives. */
    private static volatile Table table;

    /** Between begin() and the code that has the probes. */
    static void begin(JFluid1Allocations.Gauge by) {
        U.ensureClassInitialized(Survivor.class);
        Survivor first = new Survivor(JFluid1Survivors.class, 0, 0); // linked before a thread of the application comes
        first.clear();
        survivorBytes = by.sizeOf(first);
        table = new Table();
    }

    /** The references are garbage from here on. */
    static void end() {
        table = null;
    }

    static boolean follows() {
        return table != null;
    }

    static long heapBytes() {
        Table in = table;
        return in == null ? 0 : TABLE_BYTES + in.known * SURVIVOR_BYTES;
    }

    /** The thread is where it has allocated this. Slow: allocates a reference, which nobody counts. */
    @ReservedStackAccess
    static void follow(JFluid1Threads.ThreadInfo ti, int classId, Object o, long bytes) {
        Table in = table;
        if (in == null || !(ti.active || ti.virtualActive)) {
            return;
        }
        boolean virtual = !ti.active;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = JFluid1Session.isEnabled();
        Survivor made = null;
        int slot = -1;
        try {
            if (on) {
                if (!in.isFull()) {
                    made = new Survivor(o, bytes, JFluid1Allocations.collections());
                    JFluid1Allocations.notItsOwn(ti, survivorBytes);
                    slot = in.take();
                }
                if (slot < 0) {
                    U.getAndAddLong(in, Table.UNTRACKED, 1);
                } else {
                    made.token = slot << 9 | in.generations[slot]++ & GENERATIONS - 1;
                    on = JFluid1Ring.tell(
                            ti, virtual, JFluid1Layout.CONTROL_TRACK | (long) classId << CLASS_SHIFT | made.token);
                }
            }
        } catch (Throwable t) {
            JFluid1Session.gap();
            on = JFluid1Session.isEnabled();
            ti.guard = false;
            give(in, slot, made, false);
            JFluid1Session.passOn(t);
        }
        give(in, slot, made, on);
        ti.guard = false;
        if (on && JFluid1Session.isEnabled()) {
            if (virtual) {
                ti.virtualActive = true;
            } else {
                ti.active = true;
            }
        }
    }

    /** What was not told of is found dead at the next look, and its place is free again. */
    private static void give(Table in, int slot, Survivor made, boolean told) {
        if (slot < 0) {
            return;
        }
        if (!told) {
            made.clear();
        }
        U.putReferenceRelease(in.slots, JFluid1Memory.OBJECTS_AT + slot * JFluid1Memory.OBJECT_BYTES, made);
    }

    /**
     * What has changed since the last look; the agent's thread only.
     *
     * @return {collections so far, objects that were not followed for want of a place, since the session began,
     *         [token, born, bytes] one after the other, tokens of those that have died}; null if nobody follows
     */
    public static Object[] look() {
        Table in = table;
        if (in == null) {
            return null;
        }
        long[] came = new long[48];
        int cameCount = 0;
        long[] went = new long[16];
        int wentCount = 0;
        long known = 0;
        int end = (int) Math.min(SLOTS, in.taken); // at first they are taken in their order
        for (int slot = 0; slot < end; slot++) {
            long at = JFluid1Memory.OBJECTS_AT + slot * JFluid1Memory.OBJECT_BYTES;
            Survivor it = (Survivor) U.getReferenceAcquire(in.slots, at);
            if (it == null) {
                continue;
            }
            if (it.refersTo(null)) {
                if (it.told) {
                    if (wentCount == went.length) {
                        went = Arrays.copyOf(went, wentCount * 2);
                    }
                    went[wentCount++] = it.token;
                }
                U.putReferenceRelease(in.slots, at, null);
                in.give(slot);
                continue;
            }
            known++;
            if (!it.told) {
                it.told = true;
                if (cameCount + 3 > came.length) {
                    came = Arrays.copyOf(came, cameCount * 2);
                }
                came[cameCount++] = it.token;
                came[cameCount++] = it.born;
                came[cameCount++] = it.bytes;
            }
        }
        in.known = known;
        return new Object[] {JFluid1Allocations.collections(), in.untracked, Arrays.copyOf(came, cameCount),
            Arrays.copyOf(went, wentCount)};
    }
}
