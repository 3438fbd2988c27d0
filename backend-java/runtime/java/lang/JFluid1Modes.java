package java.lang;

import static java.lang.JFluid1Threads.*;

/**
 * Which methods below the roots tell that they run. It is switched without a redefinition: each call of a root goes by what was so
 * when it began, but for methods that are switched off, which tell nothing from then on.
 */
public final class JFluid1Modes {
    private JFluid1Modes() {}

    public static final byte OFF = 0;
    /** Calls are counted, by thread and without a time. */
    public static final byte COUNT = 1;
    public static final byte TIME = 2;
    /** Switched off since it was timed: what was entered before still tells that it ends. */
    static final byte ENDING = 3;
    static final byte[] NONE = {};
    static final int[] NO_COUNTS = {};

    /** By method id; what is beyond is off. */
    private static volatile byte[] modes = NONE;
    /** The lowest id of which calls are counted; above all ids where none are. */
    private static int firstCounted = Integer.MAX_VALUE;
    /** All that threads may still go by. */
    private static byte[][] published = {};
    private static final byte[][] NOTHING = published;
    /** Of threads that have ended, by method id. */
    private static long[] ended = {};
    private static final long[] NO_SUMS = ended;

    static void begin() {
        end();
    }

    /** Between sessions all is off. */
    static void end() {
        modes = NONE;
        firstCounted = Integer.MAX_VALUE;
        published = NOTHING;
        ended = NO_SUMS;
    }

    /** From the next call of a root on; what is off here is off at once. Agent's thread only. */
    public static void set(byte[] wanted) {
        byte[][] before = published;
        byte[][] after = new byte[before.length + 1][];
        for (int i = 0; i < before.length; i++) {
            after[i] = before[i];
            for (int id = 0; id < before[i].length; id++) {
                if (id >= wanted.length || wanted[id] == OFF) {
                    before[i][id] = before[i][id] >= TIME ? ENDING : OFF;
                }
            }
        }
        after[before.length] = wanted;
        published = after;
        int first = 0;
        while (first < wanted.length && wanted[first] != COUNT) {
            first++;
        }
        // What was counted before is of other methods.
        firstCounted = first == wanted.length ? Integer.MAX_VALUE : first;
        ended = NO_SUMS;
        modes = wanted;
    }

    /** A thread enters a root from outside. */
    static void latch(ThreadInfo ti) {
        byte[] now = modes;
        ti.switchedOpen = 0;
        if (ti.modes == now) {
            return;
        }
        int first = firstCounted;
        ti.firstCounted = first; // before the modes: a probe that counts finds room
        ti.counts = first < now.length ? new int[now.length - first] : NO_COUNTS;
        ti.modes = now;
    }

    static void count(ThreadInfo ti, int id) {
        int[] counts = ti.counts;
        int at = id - ti.firstCounted;
        if (at >= 0 && at < counts.length) {
            counts[at]++;
        }
    }

    /** Whether the end of a method is told: of one that is timed, or was when it was entered. */
    static boolean tellsEnd(ThreadInfo ti, int id) {
        byte mode = of(ti, id);
        return mode == TIME || mode == ENDING && ti.switchedOpen > 0;
    }

    static byte of(ThreadInfo ti, int id) {
        byte[] known = ti.modes;
        return id < known.length ? known[id] : OFF;
    }

    /** The thread has ended. Agent's thread only. */
    static void forget(ThreadInfo ti) {
        long[] sums = ended;
        if (ti.counts.length > 0 && ti.modes == modes) {
            if (sums.length < modes.length) {
                sums = java.util.Arrays.copyOf(sums, modes.length);
            }
            add(sums, ti);
            ended = sums;
        }
        ti.counts = NO_COUNTS; // it may be looked at once more
    }

    private static void add(long[] sums, ThreadInfo ti) {
        int[] counts = ti.counts;
        int first = ti.firstCounted;
        for (int at = 0; at < counts.length && first + at < sums.length; at++) {
            sums[first + at] += counts[at] & 0xFFFFFFFFL;
        }
    }

    /** Calls that were counted since modes were set, by method id. Read while threads count. Agent's thread only. */
    public static long[] counts() {
        byte[] now = modes;
        long[] sums = java.util.Arrays.copyOf(ended, now.length);
        for (ThreadInfo head : table) {
            for (ThreadInfo ti = head; ti != null; ti = ti.chain) {
                if (ti.modes == now) {
                    add(sums, ti);
                }
            }
        }
        return sums;
    }
}
