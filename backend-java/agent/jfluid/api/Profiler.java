package jfluid.api;

/**
 * A user's profiling agent in the target: {@code jfluid record --mode bytecodes --profiler my.jar}. As in JP
 * (W. Binder, J. Hulaas: Exact and Portable Profiling for the JVM Using Bytecode Instruction Counting, section 5).
 *
 * The manifest of the profiler's jar names the class that implements this interface as {@code Jfluid-Profiler}. That class is public, has a
 * public constructor without parameters, and can access this package and the JDK, but not the application. Each thread has its own tree of
 * calling contexts and calls {@link #report} itself, so the tree needs no lock. An exception of a profiler is reported to the user, and the
 * profiler is not called again. After a shortage of stack or memory the thread retries later.
 */
public interface Profiler {
    /**
     * Called when a thread calls a root for the first time.
     *
     * @param root the thread's tree; its methods are the root's callees
     * @return the thread's granularity: approximate number of bytecodes until its next report, at least 1. A loop without calls may execute
     *     a
     *     million more.
     */
    int register(Thread thread, CallingContext root);

    /**
     * Called when the calling thread has executed about as many bytecodes as its granularity. Calls made by this method are not counted.
     *
     * @param current current context of the thread
     * @return the thread's next granularity
     */
    int report(CallingContext root, CallingContext current);

    /**
     * Called at the end of the session or of the JVM, with the final trees of all threads, including ended ones. Called once; not called if
     * a report has not returned by then. If this method takes more than 5 s, the user gets a warning.
     */
    default void end() {}
}
