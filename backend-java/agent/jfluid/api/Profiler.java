package jfluid.api;

/**
 * A profiling agent of the user's, in the target: {@code jfluid record --mode bytecodes --profiler my.jar}. As in JP
 * (W. Binder, J. Hulaas: Exact and Portable Profiling for the JVM Using Bytecode Instruction Counting, section 5).
 *
 * Its jar names the class in its manifest as {@code Jfluid-Profiler}. The class is public, has a public constructor without
 * parameters, and sees this package and the JDK, not the application. Each thread has a tree of calling contexts of its
 * own and calls {@link #report} itself, now and then, so that nothing in that tree needs a lock. What a profiler throws is
 * told to the user, and it is not called again, but for want of stack or memory: then the thread tries again later.
 */
public interface Profiler {
    /**
     * A thread calls a root for the first time.
     *
     * @param root the thread's tree; its methods are the root's callees
     * @return the thread's granularity: about so many bytecodes until it reports, at least 1. A loop without calls
     *     may go on for a million more.
     */
    int register(Thread thread, CallingContext root);

    /**
     * The calling thread has executed about as many bytecodes as its granularity says. What this method itself calls is
     * not counted.
     *
     * @param current where the thread is
     * @return the thread's granularity from now on
     */
    int report(CallingContext root, CallingContext current);

    /**
     * The session is over, or the JVM ends; every tree is as its thread has left it, also those of threads that have ended.
     * Called once, unless a report has not returned by then; the user is told of an end that takes more than 5 s.
     */
    default void end() {}
}
