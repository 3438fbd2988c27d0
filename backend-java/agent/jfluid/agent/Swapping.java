package jfluid.agent;

/** Thread of one redefinition. A separate thread, since the redefinition may need a class that another thread is loading. */
final class Swapping extends GuestThread {
    /** Number of the client's command, for the answer. */
    final int command;
    final int[] readyIds;
    final Swap swap;
    private final Link link;
    private final HotSwap hotSwap;
    private final Calibration calibration;
    private long startTicks;
    private long endTicks;
    private long pauseNanos = -1;
    private Throwable failure;
    private volatile boolean done;

    Swapping(int command, int[] readyIds, Swap swap, Link link, HotSwap hotSwap, Calibration calibration) {
        super("jfluid-swap");
        this.command = command;
        this.readyIds = readyIds;
        this.swap = swap;
        this.link = link;
        this.hotSwap = hotSwap;
        this.calibration = calibration;
    }

    boolean isRunning() {
        return !done && isAlive();
    }

    /** Waits for the end. @return false if this thread is blocked and has timed out */
    boolean ends() {
        try {
            return !isAlive() || BoundedJoin.await(this);
        } catch (OutOfMemoryError full) {
            return false;
        }
    }

    @Override
    public void run() {
        try {
            JFluid1Session.swapping(true);
            long before = calibration.safepointNanos();
            startTicks = JFluid1Session.ticks();
            try {
                hotSwap.swap(swap);
            } finally {
                JFluid1Session.swapping(false);
            }
            endTicks = JFluid1Session.ticks();
            pauseNanos = before < 0 ? -1 : calibration.safepointNanos() - before;
        } catch (Throwable t) {
            failure = t;
        } finally {
            done = true;
            link.wakeup();
        }
    }

    // Results after the end, read by the session's thread.

    /** Returns the exception of the redefinition, or null. */
    Throwable failure() {
        return failure;
    }

    boolean isDone() {
        return done;
    }

    /** Returns {@code [[[class, why], …], t0, t1, safepoint ns | -1, redefinition calls, whether classes were loaded]}. */
    Object[] result(Object errors) {
        long start = JFluid1Session.startTicks();
        return new Object[] {
            errors, startTicks - start, endTicks - start, pauseNanos, swap.calls, swap.loadedMeanwhile};
    }
}
