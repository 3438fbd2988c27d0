package java.lang;

import static java.lang.JFluid1Release.*;

import java.lang.ref.WeakReference;
import java.util.Arrays;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Liveness of recorded objects (--liveness). The rules of {@link JFluid1} apply.
 *
 * For each tracked object, a slot of a table has a weak reference to the object. A TRACK word in the ring has the context in which the
 * object was allocated. The agent's thread scans the table periodically and reports new and dead objects. It only checks whether a
 * reference is cleared and never gets the referent, so that the scan keeps no object alive.
 */
public final class JFluid1Survivors {
    private JFluid1Survivors() {}

    private static final int SLOT_BITS = 16;
    static final int SLOTS = 1 << SLOT_BITS;
    private static final int GENERATIONS = 1 << 9;
    private static final int CLASS_SHIFT = 25;
    /** Size of a Survivor, bytes; 48 with compressed references. */
    private static final long SURVIVOR_BYTES = 72;
    private static final long TABLE_BYTES = SLOTS * 12L;
    private static final Unsafe U = Unsafe.getUnsafe();

    private static final class Survivor extends WeakReference<Object> {
        /** Slot, and number of earlier objects in that slot. */
        int token;
        final long bytes;
        /** Number of garbage collections before the allocation. */
        final int born;
        boolean told;

        Survivor(Object o, long bytes, int born) {
            super(o);
            this.bytes = bytes;
            this.born = born;
        }
    }

    /** Allocating threads take slots; only the agent's thread returns them. */
    private static final class Table {
        static final long TAKEN = U.objectFieldOffset(Table.class, "taken");
        static final long UNTRACKED = U.objectFieldOffset(Table.class, "untracked");
        final Survivor[] slots = new Survivor[SLOTS];
        final short[] generations = new short[SLOTS];
        /** Free slots, as a circular buffer from index `taken` up to `given`. */
        final int[] free = new int[SLOTS];
        volatile long taken;
        volatile long given = SLOTS;
        /** Number of objects that found no free slot. */
        volatile long untracked;
        /** Number of survivors at the last scan. */
        volatile long known;

        Table() {
            for (int i = 0; i < SLOTS; i++) {
                free[i] = i;
            }
        }

        /** Returns whether no slot is free. Checked before a reference is allocated. */
        boolean isFull() {
            return taken == given;
        }

        /** Takes a free slot; -1 if none is free. */
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
            given++; // only the agent's thread writes `given`
        }
    }

    /** Size of one Survivor in this JVM, bytes: subtracted from the thread's allocated bytes. */
    private static long survivorBytes;
    /** Null unless the session tracks liveness. */
    private static volatile Table table;

    /** Starts tracking. Called after the session's begin() and before the probes are installed. */
    static void begin(JFluid1Allocations.Gauge by) {
        U.ensureClassInitialized(Survivor.class);
        Survivor first =
                new Survivor(JFluid1Survivors.class, 0, 0); // links the class before an application thread uses it
        first.clear();
        survivorBytes = by.sizeOf(first);
        table = new Table();
    }

    /** Ends tracking and drops all references. */
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

    /** Tracks an object that the thread has just allocated. Slow: allocates a reference, which is not counted as an allocation. */
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

    /**
     * Puts a Survivor into its slot. If the TRACK word of the object was not written, the next scan treats the object as dead and frees the
     * slot.
     */
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
     * Scans the table for changes since the last scan. Called only by the agent's thread.
     *
     * @return {number of collections, number of objects not tracked because no slot was free, [token, born, bytes] of each new object,
     *         tokens of dead objects}; null unless the session tracks liveness
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
        int end = (int) Math.min(SLOTS, in.taken); // initially slots are taken in ascending order
        for (int slot = 0; slot < end; slot++) {
            long at = JFluid1Memory.OBJECTS_AT + slot * JFluid1Memory.OBJECT_BYTES;
            Survivor it = (Survivor) U.getReferenceAcquire(in.slots, at);
            if (it == null) {
                continue;
            }
            if (refersTo(it, null)) {
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
