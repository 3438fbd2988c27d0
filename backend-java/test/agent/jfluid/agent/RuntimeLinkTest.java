package jfluid.agent;

import static jfluid.check.Check.equal;

import java.util.concurrent.CountDownLatch;

/** A loader that works is waited for longer than a loader that waits for a lock. */
final class RuntimeLinkTest {
    /** Longer than the timeout for a locked loader. */
    private static final long WORK_NANOS = 400_000_000L;

    static void aLoaderThatComputesIsWaitedFor() {
        ClassLoader slow = new ClassLoader() {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                long end = System.nanoTime() + WORK_NANOS;
                while (System.nanoTime() - end < 0) {
                    Thread.onSpinWait();
                }
                return super.loadClass(name, resolve);
            }
        };
        equal(null, new RuntimeLink().problemOf(slow));
    }

    static void aLoaderThatWaitsForALockIsLeft() {
        CountDownLatch never = new CountDownLatch(1);
        ClassLoader locked = new ClassLoader() {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                try {
                    never.await();
                } catch (InterruptedException e) {
                    throw new ClassNotFoundException(name, e);
                }
                return super.loadClass(name, resolve);
            }
        };
        try {
            equal("its class loader has not answered in time: another thread may hold its lock",
                    new RuntimeLink().problemOf(locked));
        } finally {
            never.countDown();
        }
    }
}
