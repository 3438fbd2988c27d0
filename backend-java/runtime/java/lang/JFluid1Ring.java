package java.lang;

import static java.lang.JFluid1Client.*;
import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Requests.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Stack.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ReservedStackAccess;

/**
 * Writes words and events to the chunks of the ring. Virtual threads write to the chunk of their carrier.
 * A thread without a free chunk waits here for the client.
 */
public final class JFluid1Ring {
    private JFluid1Ring() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    static long ring;
    static long states;
    private static long chunks;
    private static int chunkBytes;
    static int chunkCount;
    private static int claimHint;
    /** Whether a thread that finds no free chunk does not wait, and continues without recording until its next root call. */
    private static boolean neverWaits;
    /** System.nanoTime() until which threads that never wait do not search for a chunk. */
    private static long fullUntil;
    private static final long FULL_RETRY_DELAY_NANOS = 1_000_000;

    static void begin(long address, int bytesPerChunk, int chunkTotal, int chunksAt) {
        ring = address;
        states = address + RING_STATES;
        chunks = address + chunksAt;
        chunkBytes = bytesPerChunk;
        chunkCount = chunkTotal;
        claimHint = 0;
        neverWaits = false;
        fullUntil = System.nanoTime();
    }

    /** Makes threads of this session never wait for the client. */
    public static void neverWait() {
        neverWaits = true;
    }

    /** Ends the session. No thread writes to the ring from now on. */
    static void end() {
        ring = states = chunks = 0;
        chunkCount = 0;
    }

    /** Marks the thread as outside root calls until its next root call. The agent may take its chunk. */
    static void rest(ThreadInfo ti) {
        ti.active = false;
        int chunk = ti.chunk;
        if (chunk >= 0) {
            ti.resting = true;
            U.putIntRelease(null, states + chunk * 4L, CHUNK_IDLE);
        }
    }

    /** Writes the entry event of a call. The event has the number of executed bytecodes in place of a time. */
    static void countedEntry(ThreadInfo ti, long word) {
        long delta = ti.executed - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            appendEntry(ti, word);
            return;
        }
        U.putLongRelease(null, at, word | delta);
        ti.next = at + EVENT_BYTES;
    }

    /** Writes the end of a root call whose calls are in the thread's tree, see {@link JFluid1Trees}. */
    static void tellEnd(ThreadInfo ti, int id) {
        ti.record = 0;
        countedEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
    }

    /** Writes an event other than an entry, with the number of executed bytecodes. */
    static void countedEvent(ThreadInfo ti, long word) {
        long delta = ti.executed - ti.base;
        long at = ti.next;
        if (at >= ti.limit || delta >>> TICK_BITS != 0) {
            appendExit(ti, word);
            return;
        }
        U.putLongRelease(null, at, word | delta);
        ti.next = at + EVENT_BYTES;
    }

    static final long MOST_TICKS = TICK_MASK;
    /** Maximum number of words for one event of a virtual thread, including the words that identify the thread. */
    static final int MAX_WORDS = 5;
    /** Operand of UNWIND: all frames. */
    static final long ALL_FRAMES = TICK_MASK;

    /** Returns an ENTER word without a time. */
    static long enter(int id) {
        return KIND_ENTER | (long) id << TICK_BITS;
    }

    /** Returns the writer for a thread: the thread itself, which then owns its chunk, or its carrier. Null after the end of the session. */
    static ThreadInfo writer(ThreadInfo ti) {
        if (ti.virtual) {
            return carrier();
        }
        own(ti);
        return ti;
    }

    /** Writes one word. Slow path. */
    static boolean tell(ThreadInfo ti, boolean virtual, long word) {
        ThreadInfo w = virtual ? carrier() : ti;
        if (w == null || !room(w, ti, 4)) {
            return false;
        }
        if (virtual) {
            switchTo(w, ti);
        }
        put(w, word);
        switchBack(w);
        return true;
    }

    /**
     * Appends an event if the hot path could not, since the chunk was full or the epoch of the clock changed. Not inlined: in C2 code it
     * would enlarge the frames of the program's methods and make these methods use the reserved stack as well.
     */
    @DontInline
    @ReservedStackAccess
    static void append(ThreadInfo ti, long word) {
        ti.active = false;
        ti.guard = true;
        try {
            if (room(ti, ti, 3)) {
                event(ti, ti, word);
                ti.active = enabled;
            }
        } catch (Throwable t) {
            gap(); // the thread stays inactive until its next root call; the client closes its open frames
            ti.guard = false;
            passOn(t);
        }
        ti.guard = false;
    }

    /** Appends the event of a method entry. Throws if the stack has too little space; the call has then not been counted. */
    @DontInline
    static void appendEntry(ThreadInfo ti, long word) {
        needsRoom();
        append(ti, word);
    }

    /**
     * Appends an event other than an entry. Never throws: a method that has ended normally, or a handler, must not fail because of jfluid.
     */
    @DontInline
    static void appendExit(ThreadInfo ti, long word) {
        try {
            append(ti, word);
        } catch (StackOverflowError told) {
            // The JVM throws this error after append has ended on the reserved stack. A failure inside append is counted as a gap. If
            // append cannot be called, the event is lost and the client closes the frame at the exit of a caller.
        }
    }

    /** Like append, for a word without a time. Works for virtual threads, too. */
    @DontInline
    @ReservedStackAccess
    static void appendUntimed(ThreadInfo ti, long word) {
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = false;
        try {
            on = tell(ti, virtual, word);
        } catch (Throwable t) {
            gap();
            ti.guard = false;
            passOn(t);
        }
        goOn(ti, virtual, on);
    }

    // ---- chunks ----

    /** Writes one word. The caller has called {@link #room}. */
    static void put(ThreadInfo w, long word) {
        long at = w.next;
        U.putLongRelease(null, at, word);
        w.next = at + EVENT_BYTES;
        if (w.siteAt == at && (word & KIND_CONTROL) == KIND_CONTROL) {
            w.siteAt = w.next; // a control word may be written between a call site and the entry of its callee
        }
    }

    /** Writes an event of `ti` with the current time. The caller has called {@link #room} for three words. */
    static void event(ThreadInfo w, ThreadInfo ti, long word) {
        long now = clock(ti) - start;
        long base = start + (now & ~TICK_MASK);
        if (base != w.base) {
            w.base = base;
            put(w, CONTROL_EPOCH | now >>> TICK_BITS);
        }
        put(w, word | now & TICK_MASK);
    }

    /**
     * Makes sure that `words` words fit into the writer's chunk; takes a new chunk if the space is too small. If no chunk is free, the
     * thread waits for the client and records the wait, so that no event is lost and the wait is charged to no method. While {@link
     * JFluid1Client#isLost} reports that the client hangs, no thread waits.
     *
     * If more threads are inside root calls than the ring has chunks, the client has no chunk to return. The wait is therefore bounded:
     * after a timeout, the rest of this root call is not recorded, and a gap is counted. The owners of the chunks may be waiting for a lock
     * of the waiting thread.
     *
     * @param ti the thread whose events are written: the writer itself, or a virtual thread mounted on the writer
     */
    static boolean room(ThreadInfo w, ThreadInfo ti, int words) {
        if (w.next + (long) words * EVENT_BYTES <= w.limit) {
            return enabled;
        }
        if (!enabled) {
            return false;
        }
        long t0 = ticks();
        boolean calling = w.siteAt == w.next;
        if (w.chunk >= 0) {
            U.putIntRelease(null, states + w.chunk * 4L, CHUNK_FULL);
            w.chunk = -1;
            w.next = w.limit = 0;
        }
        if (neverWaits || isSilent()) {
            long now = System.nanoTime();
            if (fullUntil - now > 0 || !claim(w)) {
                if (fullUntil - now <= 0) {
                    fullUntil = now + FULL_RETRY_DELAY_NANOS;
                    reclaim(); // frees chunks for other threads, after the client has read them
                }
                gap();
                return false;
            }
        } else if ((isTurnOver(w) || !claim(w)) && !awaitChunk(w)) {
            return false;
        }
        if (calling) {
            w.siteAt = w.next;
        }
        if (ti != w) {
            switchTo(w, ti);
        }
        put(w, CONTROL_ADJUST | Math.min(ticks() - t0, TICK_MASK));
        if (ti == w) {
            sayOrigin(w, ti); // the first event of a new thread always reaches this line
        }
        return true;
    }

    /**
     * Like {@link #room}, for words without a time that may be lost: does not wait. If no chunk is free, the writer keeps its chunk.
     */
    static boolean roomAtOnce(ThreadInfo w, int words) {
        if (!enabled || w.next + (long) words * EVENT_BYTES <= w.limit) {
            return enabled;
        }
        if (CHUNK_EVENTS + (long) words * EVENT_BYTES > chunkBytes || !any(CHUNK_FREE) || isTurnOver(w)) {
            return false;
        }
        if (w.chunk >= 0) {
            U.putIntRelease(null, states + w.chunk * 4L, CHUNK_FULL);
            w.chunk = -1;
            w.next = w.limit = 0;
        }
        return claim(w); // false if other threads were faster
    }

    /**
     * Returns whether the thread must leave the next chunk to waiting threads. Waiting threads have priority once the running threads
     * together have taken as many chunks as the ring has.
     */
    private static boolean isTurnOver(ThreadInfo w) {
        return (long) ++w.taken * counters[COUNTER_STARVING] > chunkCount;
    }

    /** Waits until a chunk is free and takes that chunk. Yields at least once to threads that are already waiting. */
    private static boolean awaitChunk(ThreadInfo w) {
        U.getAndAddInt(null, ring + RING_STARVING, 1);
        waiting(1);
        starving(1);
        long since = System.nanoTime();
        long lastCheck = since;
        long lastBeat = since;
        long silence = 0;
        int beat = U.getIntVolatile(null, ring + RING_HEARTBEAT);
        boolean claimed = false;
        try {
            // Short-lived threads may release chunks faster than a busy client makes the agent reclaim chunks.
            reclaim();
            while (enabled && !claimed) {
                long nanos = chunkPause(lastCheck - since);
                park(nanos);
                claimed = claim(w);
                long now = System.nanoTime();
                int seen = U.getIntVolatile(null, ring + RING_HEARTBEAT);
                silence = seen == beat ? silence + Math.min(now - lastCheck, longestGap(nanos)) : 0;
                lastBeat = seen == beat ? lastBeat : now;
                beat = seen;
                lastCheck = now;
                if (!claimed && isLost(silence, lastBeat, now)) {
                    isSilentSince(seen);
                }
                if (!claimed
                        && (isSilent() || now - since > ANSWER_TIMEOUT_NANOS
                                || now - since > SILENT_CLIENT_TIMEOUT_NANOS
                                        && !any(CHUNK_FULL))) { // the client will return a full chunk soon
                    gap();
                    break;
                }
            }
        } finally {
            waiting(-1);
            starving(-1);
            w.taken = 0;
            repay();
        }
        return claimed;
    }

    /**
     * Returns the time to sleep before the next search for a chunk, ns. All waiting threads together search once per
     * {@link JFluid1Client#CHUNK_PAUSE_PER_WAITER_NANOS}, so that dozens of waiting threads do not take the processors from the client.
     * Reading a full ring takes the client about as long as the longest of these pauses. A thread that has waited for long searches more
     * often.
     */
    private static long chunkPause(long waited) {
        long all = Math.min(
                Math.max(1, counters[COUNTER_STARVING]) * CHUNK_PAUSE_PER_WAITER_NANOS, MAX_SHARED_PAUSE_NANOS);
        return waited > LONG_WAIT_NANOS ? Math.max(MIN_PAUSE_NANOS, all >> 2) : all;
    }

    private static boolean any(int wanted) {
        for (int c = 0; c < chunkCount; c++) {
            if (U.getIntVolatile(null, states + c * 4L) == wanted) {
                return true;
            }
        }
        return false;
    }

    private static boolean claim(ThreadInfo w) {
        int count = chunkCount;
        int from = claimHint;
        for (int i = 0; i < count; i++) {
            int c = from + i < count ? from + i : from + i - count;
            long at = states + c * 4L;
            if (U.getIntVolatile(null, at) == CHUNK_FREE && U.compareAndSetInt(null, at, CHUNK_FREE, CHUNK_BUSY)) {
                claimHint = c + 1 < count ? c + 1 : 0;
                long chunk = chunks + (long) c * chunkBytes;
                long epoch = clock(w) - start >>> TICK_BITS;
                w.base = start + (epoch << TICK_BITS);
                U.putInt(null, chunk + CHUNK_SEQUENCE, w.sequence);
                U.putLong(null, chunk + CHUNK_EPOCH, epoch);
                U.putIntRelease(null, chunk + CHUNK_WRITER, w.number);
                w.sequence++;
                w.lastThread = w.number;
                w.resting = false;
                w.chunk = c;
                w.next = chunk + CHUNK_EVENTS;
                w.limit = chunk + chunkBytes;
                return true;
            }
        }
        return false;
    }

    /**
     * Makes sure that the writer owns its chunk. The agent may have reclaimed an idle chunk, and by now another thread may own that chunk,
     * in state BUSY or IDLE; the header of the chunk names the owner. The chunk of a carrier stays BUSY from its first virtual thread on.
     */
    static void own(ThreadInfo w) {
        int c = w.chunk;
        if (c < 0 || !w.resting) {
            return; // never released: the chunk of a carrier, or a chunk left BUSY by a failed root call
        }
        w.resting = false;
        long at = states + c * 4L;
        for (int tries = 0; tries < 10_000 && enabled && isMine(w, c); tries++) {
            int state = U.getIntVolatile(null, at);
            if (state == CHUNK_FREE || state == CHUNK_FULL) {
                break;
            }
            if (state == CHUNK_IDLE && U.compareAndSetInt(null, at, CHUNK_IDLE, CHUNK_BUSY)) {
                if (isMine(w, c)) {
                    return;
                }
                U.putIntRelease(null, at, CHUNK_IDLE); // the owner has changed: undoes the change of the state
                break;
            }
            Thread.onSpinWait(); // BUSY: another thread holds the chunk briefly, and will release it
        }
        w.chunk = -1;
        w.next = w.limit = 0;
    }

    static boolean isMine(ThreadInfo w, int c) {
        long chunk = chunks + (long) c * chunkBytes;
        return U.getIntVolatile(null, chunk + CHUNK_WRITER) == w.number
                && U.getIntVolatile(null, chunk + CHUNK_SEQUENCE) == w.sequence - 1;
    }

    /** Begins a new segment if the thread has written to another chunk since its last event in this chunk. */
    static void switchTo(ThreadInfo w, ThreadInfo ti) {
        if (w.lastThread != ti.number || ti.lastWriter != w.number) {
            w.lastThread = ti.number;
            ti.lastWriter = w.number;
            put(w, CONTROL_THREAD | (long) (ti.segment++ & 0xffff) << THREAD_NUMBER_BITS | ti.number);
            sayOrigin(w, ti);
        }
    }

    /** Writes the token of a started thread before its first event: one word, once. */
    private static void sayOrigin(ThreadInfo w, ThreadInfo ti) {
        if (ti.token != 0) {
            put(w, CONTROL_BEGIN | ti.token);
            ti.token = 0;
        }
    }

    /** Switches the chunk back to its carrier if the carrier itself is inside a root call and writes on the hot path. */
    static void switchBack(ThreadInfo w) {
        if (w.active && w.lastThread != w.number) {
            switchTo(w, w);
        }
    }

    /** Writes a method entry of a virtual thread, like {@link #appendEntry}. */
    @DontInline
    static void virtualEntry(ThreadInfo ti, int id) {
        if (state[id] < READY) {
            needsRoom();
        } else {
            needsRoomOnCarrier();
        }
        enterVirtual(ti, id);
    }

    @ReservedStackAccess
    static void enterVirtual(ThreadInfo ti, int id) {
        if (state[id] < READY) {
            ti.virtualActive = false;
            ti.guard = true;
            boolean on = false;
            try {
                ThreadInfo w = carrier();
                on = w != null && awaitReady(w, ti, id);
                if (on) {
                    switchBack(w);
                }
            } catch (Throwable t) {
                on = false;
                gap();
            }
            ti.guard = false;
            ti.virtualActive = on;
            if (!on) {
                return;
            }
        }
        appendVirtual(ti, KIND_ENTER | (long) id << TICK_BITS);
    }

    /** Writes an event of a virtual thread other than a method entry, like {@link #appendExit}. */
    @DontInline
    static void virtualEvent(ThreadInfo ti, long word) {
        try {
            appendVirtual(ti, word);
        } catch (StackOverflowError told) {
            // See appendExit.
        }
    }

    @ReservedStackAccess
    private static void appendVirtual(ThreadInfo ti, long word) {
        ti.virtualActive = false;
        ti.called = ti.site = 0; // their stored addresses are in the chunk of an earlier carrier
        ti.guard = true;
        boolean on = false;
        try {
            ThreadInfo w = carrier();
            if (w != null && room(w, ti, MAX_WORDS)) {
                switchTo(w, ti);
                event(w, ti, word);
                switchBack(w);
                on = enabled;
            }
        } catch (Throwable t) {
            on = false;
            gap();
        }
        ti.guard = false;
        ti.virtualActive = on;
    }

    /** Writes two events of `ti` with the same, current time. The caller has called {@link #room} for four words. */
    static void twoEvents(ThreadInfo w, ThreadInfo ti, long first, long second) {
        event(w, ti, first);
        put(w, second | U.getLong(null, w.next - EVENT_BYTES) & TICK_MASK);
    }

    /** Writes a control word for the thread. The caller has called {@link #room} for five words. */
    static void tell(ThreadInfo w, ThreadInfo ti, long word) {
        if (ti != w) {
            switchTo(w, ti);
        }
        put(w, word);
        switchBack(w);
    }

    /** Writes an event with a given, earlier time. The caller has called {@link #room} for two words. */
    static void eventAt(ThreadInfo w, long word, long ticks) {
        long since = ticks - start;
        long base = start + (since & ~TICK_MASK);
        if (base != w.base) {
            w.base = base;
            put(w, CONTROL_EPOCH | since >>> TICK_BITS);
        }
        put(w, word | since & TICK_MASK);
    }

    /** Takes chunks from threads that are outside root calls, for threads that need a chunk. May be called by any thread. */
    public static int reclaim() {
        int taken = 0;
        for (int c = 0; c < chunkCount; c++) {
            if (U.compareAndSetInt(null, states + c * 4L, CHUNK_IDLE, CHUNK_FULL)) {
                taken++;
            }
        }
        return taken;
    }
}
