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
    /** Switched off since it was timed: entries tell nothing any more, what was entered before still tells that it ends. */
    static final byte ENDING = 3;
    static final byte[] NONE = {};
    static final int[] NO_COUNTS = {};

    /** By method id; what is beyond is off. */
    private static volatile byte[] modes = NONE;
    /** Whether calls of any of them are counted. */
    private static boolean counting;
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
        counting = false;
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
        boolean anyCounts = false;
        for (byte mode : wanted) {
            anyCounts |= mode == COUNT;
        }
        counting = anyCounts;
        modes = wanted;
    }

    /** A thread enters a root from outside. */
    static void latch(ThreadInfo ti) {
        byte[] now = modes;
        if (ti.modes == now) {
            return;
        }
        if (counting && ti.counts.length < now.length) {
            int[] more = new int[now.length];
            for (int i = 0; i < ti.counts.length; i++) {
                more[i] = ti.counts[i];
            }
            ti.counts = more; // before the modes: a probe that counts finds room
        }
        ti.modes = now;
    }

    static void count(ThreadInfo ti, int id) {
        int[] counts = ti.counts;
        if (id < counts.length) {
            counts[id]++;
        }
    }

    /** The thread has ended. Agent's thread only. */
    static void forget(ThreadInfo ti) {
        int[] counts = ti.counts;
        if (counts.length > ended.length) {
            ended = java.util.Arrays.copyOf(ended, counts.length);
        }
        for (int id = 0; id < counts.length; id++) {
            ended[id] += counts[id];
        }
        ti.counts = NO_COUNTS; // it may be looked at once more
    }

    static byte of(ThreadInfo ti, int id) {
        byte[] known = ti.modes;
        return id < known.length ? known[id] : OFF;
    }

    /** Calls that were counted, by method id. Read while threads count. Agent's thread only. */
    public static long[] counts() {
        long[] sums = java.util.Arrays.copyOf(ended, modes.length);
        for (ThreadInfo head : table) {
            for (ThreadInfo ti = head; ti != null; ti = ti.chain) {
                int[] counts = ti.counts;
                for (int id = 0; id < counts.length && id < sums.length; id++) {
                    sums[id] += counts[id];
                }
            }
        }
        return sums;
    }
}
