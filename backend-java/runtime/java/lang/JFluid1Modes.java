package java.lang;

import static java.lang.JFluid1Threads.*;

/**
 * Modes of the methods below the roots: off, counted, timed. Modes change without a redefinition. A root call uses the modes that were set
 * when it began; but switching off a method takes effect at once.
 */
public final class JFluid1Modes {
    private JFluid1Modes() {}

    public static final byte OFF = 0;
    /** Calls are counted per thread, without times. */
    public static final byte COUNT = 1;
    public static final byte TIME = 2;
    /** Switched off while timed: calls that have begun still write their exit event. */
    static final byte ENDING = 3;
    static final byte[] NONE = {};
    static final int[] NO_COUNTS = {};

    /** Modes, indexed by method id. Methods with ids beyond the end are off. */
    private static volatile byte[] modes = NONE;
    /** Lowest id of a counted method; larger than any id if no method is counted. */
    private static int firstCounted = Integer.MAX_VALUE;
    /** All arrays of modes that threads may still use. */
    private static byte[][] published = {};
    private static final byte[][] NOTHING = published;
    /** Number of counted calls of threads that have ended, indexed by method id. */
    private static long[] ended = {};
    private static final long[] NO_SUMS = ended;

    static void begin() {
        end();
    }

    /** Switches off all methods at the end of a session. */
    static void end() {
        modes = NONE;
        firstCounted = Integer.MAX_VALUE;
        published = NOTHING;
        ended = NO_SUMS;
    }

    /** Sets modes from the next root call on; switching off takes effect at once. Called only by the agent's thread. */
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
        // Earlier counts belong to other methods.
        firstCounted = first == wanted.length ? Integer.MAX_VALUE : first;
        ended = NO_SUMS;
        modes = wanted;
    }

    /** Copies the modes to the thread at the begin of an outermost root call. */
    static void latch(ThreadInfo ti) {
        byte[] now = modes;
        ti.switchedOpen = 0;
        if (ti.modes == now) {
            return;
        }
        int first = firstCounted;
        ti.firstCounted = first; // set before the modes, so that a counting probe finds an array of sufficient length
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

    /** Returns whether a call writes an exit event: the method is timed now, or was timed when the call began. */
    static boolean tellsEnd(ThreadInfo ti, int id) {
        byte mode = of(ti, id);
        return mode == TIME || mode == ENDING && ti.switchedOpen > 0;
    }

    static byte of(ThreadInfo ti, int id) {
        byte[] known = ti.modes;
        return id < known.length ? known[id] : OFF;
    }

    /** Adds the counts of a thread that has ended. Called only by the agent's thread. */
    static void forget(ThreadInfo ti) {
        long[] sums = ended;
        if (ti.counts.length > 0 && ti.modes == modes) {
            if (sums.length < modes.length) {
                sums = java.util.Arrays.copyOf(sums, modes.length);
            }
            add(sums, ti);
            ended = sums;
        }
        ti.counts = NO_COUNTS; // a later visit must add nothing
    }

    private static void add(long[] sums, ThreadInfo ti) {
        int[] counts = ti.counts;
        int first = ti.firstCounted;
        for (int at = 0; at < counts.length && first + at < sums.length; at++) {
            sums[first + at] += counts[at] & 0xFFFFFFFFL;
        }
    }

    /**
     * Returns the number of calls counted since modes were set, indexed by method id; threads may count concurrently. Called only by the
     * agent's thread.
     */
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
