package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.vm.annotation.DontInline;

/**
 * Handling of a full thread stack. An entry probe may throw a StackOverflowError, as the method itself would do a few calls later. The call
 * has then not begun and is not counted. On the hot path an exit probe needs no more stack than the entry probe. In the interpreter both
 * probes have the same number of local variables; some entry probes have an otherwise unnecessary local variable for that purpose
 * (runtime-size.test.ts). The slow path of an exit probe may overflow the stack and catches the error.
 */
public final class JFluid1Stack {
    private JFluid1Stack() {}

    /**
     * Three times the maximum number of frames of a slow path, JDK included, since some of its frames are larger than frames of {@link
     * #descend}.
     */
    private static final int FRAMES = 64;
    /** Like FRAMES, but for an event of a virtual thread for which the chunk of its carrier has space. */
    private static final int FEW_FRAMES = 16;
    /** At least 64 KiB of frames of {@link #descend}, which have 32 bytes if compiled. */
    private static final int FRAMES_OF_GETTER = 2048;
    /** Stored in place of the number of methods that an error has ended, once the error has been reported. */
    private static final int TOLD = -1;

    /**
     * Throws a StackOverflowError if the stack has too little space for a slow path. A slow path on the thread's reserved stack would
     * succeed, but the JVM throws the error afterwards: a call would be counted that never runs. The JVM also prints a warning to standard
     * error at each use of the reserved stack.
     */
    static void needsRoom() {
        descend(FRAMES);
    }

    /**
     * Like {@link #needsRoom}, for a method entry in a virtual thread. Such an entry always takes a slow path, but rarely a slow path with
     * many frames.
     */
    static void needsRoomOnCarrier() {
        ThreadInfo w = knownCarrier();
        descend(w == null || w.next + MAX_WORDS * EVENT_BYTES > w.limit ? FRAMES : FEW_FRAMES);
    }

    /**
     * Returns whether the stack has space for a getter of the application. A StackOverflowError in a getter may end the initialization of a
     * class of the application, which the JVM never repeats.
     */
    static boolean hasRoomForGetter() {
        try {
            descend(FRAMES_OF_GETTER);
            return true;
        } catch (StackOverflowError full) {
            return false;
        }
    }

    @DontInline
    private static int descend(int frames) {
        return frames == 0 ? 0 : descend(frames - 1) + 1;
    }

    /**
     * Called when a StackOverflowError has ended an instrumented method, after its exit event. Reports the error to the client if the stack
     * has space. A failed attempt costs a stack trace. So only methods 1, 2, 4, 8, … that the error ends try to report it, and finally the
     * outermost root. The error is identified by its hash; a reference would keep its classes loaded.
     *
     * @throws StackOverflowError if the stack has too little space; the probes of callers have more
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
