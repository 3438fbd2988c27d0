package jfluid.agent;

/** A thread of ours among the application's. */
abstract class GuestThread extends JFluid1Guest {
    GuestThread(String name) {
        super(name);
        setDaemon(true);
        // The application's context loader must not be kept alive by us.
        setContextClassLoader(null);
        // Nor must its default handler hear of us.
        setUncaughtExceptionHandler(new Deaf());
    }

    private static final class Deaf implements UncaughtExceptionHandler {
        @Override
        public void uncaughtException(Thread thread, Throwable error) {}
    }

    /**
     * Of no effect. Code that interrupts every thread it finds does not mean us; interrupted, the
     * selector would not wait any more, and channels would close.
     */
    @Override
    public final void interrupt() {}
}
