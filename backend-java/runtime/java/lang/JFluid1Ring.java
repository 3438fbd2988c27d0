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
 * Writing into the ring: words and events, the chunks they go to, and virtual threads, which write through their carrier.
 * Who has no chunk waits here for the client.
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
    /** A thread that finds no chunk goes on unrecorded until it enters a root again. */
    private static boolean neverWaits;
    /** Such threads do not look for a chunk before that: a System.nanoTime(). */
    private static long fullUntil;
    private static final long FULL_NANOS = 1_000_000;

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

    /** In this session no thread waits for the client. */
    public static void neverWait() {
        neverWaits = true;
    }

    /** Nobody writes any more. */
    static void end() {
        ring = states = chunks = 0;
        chunkCount = 0;
    }

    /** Outside the graph, until the next root: the agent may take the chunk. */
    static void rest(ThreadInfo ti) {
        ti.active = false;
        int chunk = ti.chunk;
        if (chunk >= 0) {
            ti.resting = true;
            U.putIntRelease(null, states + chunk * 4L, CHUNK_IDLE);
        }
    }

    /** The start of a call, where events tell what was executed. */
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

    /** The end of a root call of which the thread keeps a tree, see {@link JFluid1Trees}. */
    static void tellEnd(ThreadInfo ti, int id) {
        ti.record = 0;
        countedEvent(ti, KIND_EXIT | (long) id << TICK_BITS);
    }

    /** Any other event there. */
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
    /** Words of one event of a virtual thread, with what says whose it is. */
    static final int MOST_WORDS = 5;
    /** UNWIND: all there are. */
    static final long MOST_FRAMES = TICK_MASK;

    /** ENTER, without a time. */
    static long enter(int id) {
        return KIND_ENTER | (long) id << TICK_BITS;
    }

    /** Who writes for a thread: itself, which then owns its chunk, or its carrier. Null if the session is over. */
    static ThreadInfo writer(ThreadInfo ti) {
        if (ti.virtual) {
            return carrier();
        }
        own(ti);
        return ti;
    }

    /** Writes one word, on a slow path. */
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
     * Appends an event where the hot path could not: chunk full, or the clock's epoch changed. Not inlined: in code of C2 it would
     * make the frames of the program's methods larger, and have those use the thread's reserved stack, too.
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
            gap(); // the thread stays inactive until it enters a root again; the client heals the stack
            ti.guard = false;
            passOn(t);
        }
        ti.guard = false;
    }

    /** The same where a method begins. Without room for it the call fails here, and has not been counted. */
    @DontInline
    static void appendEntry(ThreadInfo ti, long word) {
        needsRoom();
        append(ti, word);
    }

    /** The same at any other place: a method that has done its work, or a handler, must not fail for ours. */
    @DontInline
    static void appendExit(ThreadInfo ti, long word) {
        try {
            append(ti, word);
        } catch (StackOverflowError told) {
            // The JVM throws it after append has ended on the thread's reserved stack. What fails in append is a gap. If there is
            // no room to call it, the event is lost: the client closes the frame at the exit of a caller.
        }
    }

    /** As append, for a word that has no time, and for virtual threads as well. */
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

    /** Writes one word; the caller has made room. */
    static void put(ThreadInfo w, long word) {
        long at = w.next;
        U.putLongRelease(null, at, word);
        w.next = at + EVENT_BYTES;
        if (w.siteAt == at && (word & KIND_CONTROL) == KIND_CONTROL) {
            w.siteAt = w.next; // what is no event may come between a call and its callee
        }
    }

    /** Writes an event of `ti` with the present time; the caller has made room for three words. */
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
     * Makes sure that `words` events fit into the writer's chunk, taking a new one if they do not. When
     * no chunk is free the thread waits for the client and records the wait, so nothing is lost and
     * nothing is charged. If {@link JFluid1Client#isLost} says that the client hangs, no thread waits until it is heard again.
     *
     * @param ti       the thread that will write: the writer itself, or a virtual thread on it
     * With more threads inside roots than chunks the client has nothing to give back: then the wait is
     * bounded even if it lives, the rest of this root call goes unrecorded, and a gap is counted. The
     * owners of the chunks may be waiting for a lock of this very thread.
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
                    fullUntil = now + FULL_NANOS;
                    reclaim(); // for others, once the client has read them
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
            sayOrigin(w, ti); // a thread that has just been started comes here with its first event
        }
        return true;
    }

    /**
     * Whether the thread has taken its share of chunks since it last waited and leaves the next to those that
     * wait: all together take one ring of chunks, then it is the others' turn.
     */
    private static boolean isTurnOver(ThreadInfo w) {
        return (long) ++w.taken * counters[COUNTER_STARVING] > chunkCount;
    }

    /** Waits until a chunk is free and takes it, once at least giving way to those that wait already. */
    private static boolean awaitChunk(ThreadInfo w) {
        U.getAndAddInt(null, ring + RING_STARVING, 1);
        waiting(1);
        starving(1);
        long since = System.nanoTime();
        long lastLook = since;
        long lastBeat = since;
        long silence = 0;
        int beat = U.getIntVolatile(null, ring + RING_HEARTBEAT);
        boolean claimed = false;
        try {
            // Short-lived threads leave theirs faster than a busy client asks the agent for them.
            reclaim();
            while (enabled && !claimed) {
                long nanos = chunkPause(lastLook - since);
                park(nanos);
                claimed = claim(w);
                long now = System.nanoTime();
                int seen = U.getIntVolatile(null, ring + RING_HEARTBEAT);
                silence = seen == beat ? silence + Math.min(now - lastLook, longestLook(nanos)) : 0;
                lastBeat = seen == beat ? lastBeat : now;
                beat = seen;
                lastLook = now;
                if (!claimed && isLost(silence, lastBeat, now)) {
                    isSilentSince(seen);
                }
                if (!claimed
                        && (isSilent() || now - since > ANSWER_TIMEOUT_NANOS
                                || now - since > SILENT_CLIENT_TIMEOUT_NANOS && !anyFull())) {
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
     * How long to sleep before the next look for a chunk: one look every {@link JFluid1Client#PAUSE_A_WAITER_NANOS}, however many
     * threads wait, or dozens of them would take the processors from the client they wait for. The ring is full
     * meanwhile, which lasts the client about as long as the longest of these pauses. Whoever has had bad luck looks
     * more often.
     */
    private static long chunkPause(long waited) {
        long all = Math.min(Math.max(1, counters[COUNTER_STARVING]) * PAUSE_A_WAITER_NANOS, LONGEST_PAUSE_AMONG_NANOS);
        return waited > UNLUCKY_NANOS ? Math.max(PAUSE_NANOS, all >> 2) : all;
    }

    /** Whether the client has a chunk to read, and so one to give back soon. */
    private static boolean anyFull() {
        for (int c = 0; c < chunkCount; c++) {
            if (U.getIntVolatile(null, states + c * 4L) == CHUNK_FULL) {
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
     * Makes sure that the writer owns its chunk: an idle one may have been taken back by the agent, given
     * away by the client, and rest idle in another thread's hands by now. The chunk's header tells.
     * A carrier's stays BUSY from its first virtual thread on.
     */
    static void own(ThreadInfo w) {
        int c = w.chunk;
        if (c < 0 || !w.resting) {
            return; // never let go of: a carrier's, or left BUSY by a root call that failed
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
                U.putIntRelease(null, at, CHUNK_IDLE); // it changed hands under us: back to its owner
                break;
            }
            Thread.onSpinWait(); // BUSY: another thread holds it for a moment by mistake
        }
        w.chunk = -1;
        w.next = w.limit = 0;
    }

    static boolean isMine(ThreadInfo w, int c) {
        long chunk = chunks + (long) c * chunkBytes;
        return U.getIntVolatile(null, chunk + CHUNK_WRITER) == w.number
                && U.getIntVolatile(null, chunk + CHUNK_SEQUENCE) == w.sequence - 1;
    }

    /** A thread that was elsewhere in between begins a new segment even if this writer did not notice. */
    static void switchTo(ThreadInfo w, ThreadInfo ti) {
        if (w.lastThread != ti.number || ti.lastWriter != w.number) {
            w.lastThread = ti.number;
            ti.lastWriter = w.number;
            put(w, CONTROL_THREAD | (long) (ti.segment++ & 0xffff) << THREAD_NUMBER_BITS | ti.number);
            sayOrigin(w, ti);
        }
    }

    /** Before a started thread's first event: says what it was started under. One word, once. */
    private static void sayOrigin(ThreadInfo w, ThreadInfo ti) {
        if (ti.token != 0) {
            put(w, CONTROL_BEGIN | ti.token);
            ti.token = 0;
        }
    }

    /** A carrier that is inside a root itself goes on writing its own events on the hot path. */
    static void switchBack(ThreadInfo w) {
        if (w.active && w.lastThread != w.number) {
            switchTo(w, w);
        }
    }

    /** Start of a method in a virtual thread, as {@link #appendEntry}. */
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

    /** Any other event there, as {@link #appendExit}. */
    @DontInline
    static void virtualEvent(ThreadInfo ti, long word) {
        try {
            appendVirtual(ti, word);
        } catch (StackOverflowError told) {
            // As in appendExit.
        }
    }

    @ReservedStackAccess
    private static void appendVirtual(ThreadInfo ti, long word) {
        ti.virtualActive = false;
        ti.called = ti.site = 0; // whose events come from wherever it is mounted
        ti.guard = true;
        boolean on = false;
        try {
            ThreadInfo w = carrier();
            if (w != null && room(w, ti, MOST_WORDS)) {
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

    /** Writes a control word for the thread; the caller has made room for five. */
    static void tell(ThreadInfo w, ThreadInfo ti, long word) {
        if (ti != w) {
            switchTo(w, ti);
        }
        put(w, word);
        switchBack(w);
    }

    /** Writes an event of the past; the caller has made room for two words. */
    static void eventAt(ThreadInfo w, long word, long ticks) {
        long since = ticks - start;
        long base = start + (since & ~TICK_MASK);
        if (base != w.base) {
            w.base = base;
            put(w, CONTROL_EPOCH | since >>> TICK_BITS);
        }
        put(w, word | since & TICK_MASK);
    }

    /** Takes chunks back from threads that are outside the graph, so that busy ones find some. Any thread. */
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
