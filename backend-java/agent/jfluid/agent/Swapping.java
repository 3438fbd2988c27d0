package jfluid.agent;

/** A redefinition on a thread of its own. It may need a class that another thread is about to load. */
final class Swapping extends GuestThread {
    /** What the client is answered under. */
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

    /** Waits until it has, but not for one that waits itself. */
    boolean ends() {
        try {
            return !isAlive() || Patient.await(this);
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

    // Of one that has ended, for the session's thread.

    /** Null if it came to its end. */
    Throwable failure() {
        return failure;
    }

    boolean isDone() {
        return done;
    }

    /** {@code [[[class, why], …], t0, t1, safepoint ns | -1, redefinition calls, whether classes were loaded]} */
    Object[] result(Object errors) {
        long start = JFluid1Session.startTicks();
        return new Object[] {
            errors, startTicks - start, endTicks - start, pauseNanos, swap.calls, swap.loadedMeanwhile};
    }
}
