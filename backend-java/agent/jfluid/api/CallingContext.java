package jfluid.api;

import java.util.List;

/**
 * Calls of one method by one thread with the same callers. Use it on that thread, in {@link Profiler#report}, or in {@link Profiler#end}.
 * Two objects for the same context are equal.
 */
public interface CallingContext {
    /** Returns the context of the caller; null for the root of a thread's tree. */
    CallingContext caller();

    /** Returns the class name with dots and $; empty for the root of a thread's tree. */
    String className();

    String methodName();

    /** Returns the method descriptor, for example {@code (I)V}. */
    String descriptor();

    long calls();

    /** Returns the bytecodes executed by these calls, without their callees. */
    long bytecodes();

    List<CallingContext> callees();

    /** Zeroes calls and bytecodes of this context, but not of its callees. */
    void reset();
}
