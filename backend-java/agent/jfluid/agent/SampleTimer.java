package jfluid.agent;

import java.util.concurrent.locks.LockSupport;

/** Says that a sample is due, again and again, while the session lasts. */
final class SampleTimer extends GuestThread {
    private final long everyNanos;
    private final int processors = Runtime.getRuntime().availableProcessors();
    private volatile boolean over;

    SampleTimer(long everyNanos) {
        super("jfluid-timer");
        this.everyNanos = everyNanos;
    }

    @Override
    public void run() {
        long next = System.nanoTime();
        while (!over) {
            next += everyNanos;
            long now = System.nanoTime();
            if (next - now < 0) {
                next = now; // the machine was busy: what was missed is not made up for
            }
            while (!over && next - now > 0) {
                LockSupport.parkNanos(next - now);
                now = System.nanoTime();
            }
            JFluid1Samples.makeDue(processors);
        }
    }

    /** Returns once it has ended, if it had begun. */
    void end() {
        over = true;
        LockSupport.unpark(this);
        try {
            join();
        } catch (InterruptedException never) {
            // A guest thread is not interrupted.
        }
    }
}
