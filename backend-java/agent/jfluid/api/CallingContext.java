package jfluid.api;

import java.util.List;

/**
 * Calls of one method by one thread with the same callers. To be used by that thread, in {@link Profiler#report}, or when
 * the session is over. Two objects may stand for the same context: they are equal then.
 */
public interface CallingContext {
    /** The caller's, null for a thread's tree as a whole. */
    CallingContext caller();

    /** With dots and $; empty for a thread's tree as a whole. */
    String className();

    String methodName();

    /** As {@code (I)V}. */
    String descriptor();

    long calls();

    /** Bytecodes that these calls have executed, without their callees. */
    long bytecodes();

    List<CallingContext> callees();

    /** Sets calls and bytecodes of this context to zero, not those of its callees. */
    void reset();
}
