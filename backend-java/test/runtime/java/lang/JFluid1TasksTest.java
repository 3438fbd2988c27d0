package java.lang;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;

/** Submitted tasks: each submission is removed once; submissions of one object are removed oldest first. */
final class JFluid1TasksTest {
    private static final int MOST = 1 << 16;
    private static final long ANSWER_TIMEOUT_NANOS = 10_000_000_000L;

    private static JFluid1Tasks.HandedOver tasks() {
        return new JFluid1Tasks.HandedOver();
    }

    static void aTaskIsTakenUpOnce() {
        JFluid1Tasks.HandedOver tasks = tasks();
        Object a = new Object();
        Object b = new Object();
        that(tasks.isEmpty(), "nothing waits");
        equal(0L, tasks.take(a, false));
        long ofA = tasks.put(a);
        long ofB = tasks.put(b);
        that(ofA != 0 && ofB != 0 && ofA != ofB, ofA + " " + ofB);
        that(!tasks.isEmpty(), "two wait");
        equal(ofB, tasks.take(b, false));
        equal(ofA, tasks.take(a, false));
        equal(0L, tasks.take(a, false));
        that(tasks.isEmpty(), "nothing waits any more");
    }

    static void submissionsOfOneObjectAreTakenUpInTheirOrder() {
        JFluid1Tasks.HandedOver tasks = tasks();
        Object task = new Object();
        long[] tokens = new long[6];
        for (int i = 0; i < tokens.length; i++) {
            tokens[i] = tasks.put(task);
        }
        equal(tokens[0], tasks.take(task, false));
        equal(tokens[5], tasks.take(task, true)); // takes the newest submission, as for a rejected task
        equal(tokens[4], tasks.take(task, true));
        equal(tokens[1], tasks.take(task, false));
        long more = tasks.put(task);
        equal(tokens[2], tasks.take(task, false));
        equal(more, tasks.take(task, true));
        equal(tokens[3], tasks.take(task, true));
        equal(0L, tasks.take(task, true));
        that(tasks.isEmpty(), "nothing waits");
    }

    static void submissionsFromOutsideKeepTheOrder() {
        JFluid1Tasks.HandedOver tasks = tasks();
        Object task = new Object();
        tasks.putForeign(task);
        that(tasks.isEmpty(), "of interest only beside one from inside");
        long first = tasks.put(task);
        tasks.putForeign(task);
        long third = tasks.put(task);
        equal(first, tasks.take(task, false));
        equal(0L, tasks.take(task, false));
        equal(third, tasks.take(task, false));
        that(tasks.isEmpty(), "nothing waits");
    }

    static void equalObjectsAreDistinguished() {
        JFluid1Tasks.HandedOver tasks = tasks();
        String a = new String("same");
        String b = new String("same");
        long ofA = tasks.put(a);
        equal(0L, tasks.take(b, false));
        equal(ofA, tasks.take(a, false));
    }

    static void objectsWithTheSameHashAreDistinguished() {
        Map<Integer, Object> byHash = new HashMap<>();
        Object other = new Object();
        Object same = byHash.put(System.identityHashCode(other), other);
        while (same == null && byHash.size() < 2_000_000) { // usually needs some ten thousand objects
            other = new Object();
            same = byHash.put(System.identityHashCode(other), other);
        }
        equal(System.identityHashCode(same), System.identityHashCode(other));
        JFluid1Tasks.HandedOver tasks = tasks();
        long ofOther = tasks.put(other);
        long ofSame = tasks.put(same);
        equal(ofOther, tasks.take(other, false));
        equal(0L, tasks.take(other, false));
        equal(ofSame, tasks.take(same, false));
    }

    static void moreTasksThanBucketsAreDistinguished() {
        JFluid1Tasks.HandedOver tasks = tasks();
        Object[] objects = new Object[MOST];
        long[] tokens = new long[MOST];
        for (int i = 0; i < MOST; i++) {
            objects[i] = new Object();
            tokens[i] = tasks.put(objects[i]);
        }
        int gaps = JFluid1Session.gaps();
        equal(0L, tasks.put(new Object()), "one more is not followed");
        equal(gaps + 1, JFluid1Session.gaps());
        Random random = new Random(7);
        for (int i = MOST - 1; i >= 0; i--) {
            int which = random.nextInt(i + 1);
            long token = tasks.take(objects[which], false);
            if (token != tokens[which]) {
                equal(tokens[which], token, "object " + which);
                return;
            }
            objects[which] = objects[i];
            tokens[which] = tokens[i];
        }
        that(tasks.isEmpty(), "nothing waits");
        that(tasks.put(objects) != 0, "there is room again");
    }

    static void collectedTasksAreForgotten() {
        JFluid1Tasks.HandedOver tasks = tasks();
        Object stays = new Object();
        long token = tasks.put(stays);
        for (int i = 0; i < 1000; i++) {
            Object goes = new Object();
            tasks.put(goes);
            tasks.put(goes);
        }
        long until = System.nanoTime() + ANSWER_TIMEOUT_NANOS;
        boolean isOneLeft = false;
        while (!isOneLeft && System.nanoTime() < until) {
            System.gc();
            tasks.purge();
            long found = tasks.take(stays, false);
            equal(token, found);
            isOneLeft = tasks.isEmpty();
            token = tasks.put(stays);
        }
        that(isOneLeft, "2000 submissions are still there");
    }

    static void threadsThatHandOverAtOnceLoseNothing() throws InterruptedException {
        JFluid1Tasks.HandedOver tasks = tasks();
        AtomicInteger wrong = new AtomicInteger();
        Thread[] threads = new Thread[4];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> {
                Object[] own = new Object[64];
                long[] tokens = new long[64];
                for (int i = 0; i < 20_000; i++) {
                    int at = i & 63;
                    if (own[at] != null && tasks.take(own[at], false) != tokens[at]) {
                        wrong.incrementAndGet();
                    }
                    own[at] = new Object();
                    tokens[at] = tasks.put(own[at]);
                }
                for (int at = 0; at < own.length; at++) {
                    if (tasks.take(own[at], false) != tokens[at]) {
                        wrong.incrementAndGet();
                    }
                }
            });
            threads[t].start();
        }
        for (Thread it : threads) {
            it.join();
        }
        equal(0, wrong.get());
        that(tasks.isEmpty(), "nothing waits");
    }
}
