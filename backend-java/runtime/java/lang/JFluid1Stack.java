package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.vm.annotation.DontInline;

/**
 * The end of a thread's stack. The probe at the start of a method may find no room there and throw, as the method itself would a
 * few calls later: the call has not begun then, and is not counted. Where the probe at the end of a method writes its event on the
 * hot path, it needs no more stack than the one at the start: interpreted, their local variables take as much, for which some
 * probes at the start have one that they could do without (runtime-size.test.ts). What the probe at the end does besides may fail
 * for want of room, and catches that.
 */
public final class JFluid1Stack {
    private JFluid1Stack() {}

    /** As many frames as slow paths have at most, ours and those of the JDK, three times: some are larger than {@link #descend}'s. */
    private static final int FRAMES = 64;
    /** The same for an event of a virtual thread whose carrier has room for it in its chunk. */
    private static final int FEW_FRAMES = 16;
    /** In place of the number of methods that an error has left. */
    private static final int TOLD = -1;

    /**
     * Throws a StackOverflowError before a slow path begins, if there is no room for it. On the thread's reserved stack it would
     * end well, but then the JVM throws the error: a call would be counted that never runs. It also writes a warning to the
     * program's standard error each time.
     */
    static void needsRoom() {
        descend(FRAMES);
    }

    /** The same where a method begins in a virtual thread, which each time is a slow path, but seldom a deep one. */
    static void needsRoomOnCarrier() {
        ThreadInfo w = knownCarrier();
        descend(w == null || w.next + MOST_WORDS * EVENT_BYTES > w.limit ? FRAMES : FEW_FRAMES);
    }

    @DontInline
    private static int descend(int frames) {
        return frames == 0 ? 0 : descend(frames - 1) + 1;
    }

    /**
     * A StackOverflowError leaves an instrumented method, whose end has been written. Such a method tells the client if it has room
     * to spare: one that has little may throw an error of its own next, in place of this one. Each attempt that fails costs a stack
     * trace, so only the methods 1, 2, 4, 8 … of those that the error leaves try, and the outermost root, after which no other can.
     * The error is recognised by its hash: a reference would keep its classes loaded.
     *
     * @throws StackOverflowError if there is no room; a caller of the method has more
     */
    @DontInline
    static void overflowPassed(ThreadInfo ti, int id, Throwable thrown) {
        int error = System.identityHashCode(thrown);
        if (ti.overflow != error) {
            ti.overflow = error;
            ti.overflowPassed = 0;
        }
        if (ti.overflowPassed == TOLD || !(ti.active || ti.virtualActive)) {
            return;
        }
        int passed = ++ti.overflowPassed;
        boolean tries = (passed & passed - 1) == 0 || ti.nesting <= 0;
        if (!tries) {
            return;
        }
        needsRoom();
        ti.overflowPassed = TOLD;
        appendUntimed(ti, CONTROL_OVERFLOW | id);
    }
}
