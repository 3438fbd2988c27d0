package jfluid.agent;

/** A thread of the agent in the application's JVM. */
abstract class GuestThread extends JFluid1Guest {
    GuestThread(String name) {
        super(name);
        setDaemon(true);
        // Does not keep the application's context loader alive.
        setContextClassLoader(null);
        // Prevents the application's default handler from receiving exceptions of this thread.
        setUncaughtExceptionHandler(new Deaf());
    }

    private static final class Deaf implements UncaughtExceptionHandler {
        @Override
        public void uncaughtException(Thread thread, Throwable error) {}
    }

    /**
     * Has no effect. Applications may interrupt all threads they find; an interrupt would make the selector return at once and
     * close channels.
     */
    @Override
    public final void interrupt() {}
}
