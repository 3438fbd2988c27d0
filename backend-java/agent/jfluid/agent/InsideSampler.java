package jfluid.agent;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;

/**
 * Takes stacks of threads inside root calls at random times, and passes them to the client on request. An application thread is stopped
 * only while its stack is taken.
 *
 * The intervals between ticks are exponentially distributed and independent of the threads. A tick chooses m of the N threads inside root
 * calls at random, and first among the threads whose calls are slow already and have few samples: the weights are those of each group. It
 * takes their stacks only with a probability that keeps the cost of all stacks below {@link #SHARE} of a processor. The weight of a sample
 * is the mean interval times N / m, divided by that probability. The delay of ticks is an estimate of how long application threads were
 * stopped. At the start, when samples choose the methods to time, the tick rate and the cost limit are doubled.
 */
final class InsideSampler extends GuestThread {
    private static final long TICK_INTERVAL_NANOS = 5_000_000;
    /** Minimum cost counted for a stack that needs a safepoint, ns. Limits these stacks to ten a second. */
    private static final long MIN_SAFEPOINT_COST_NANOS = 1_000_000;
    /** The tick rate is doubled until this number of samples has been taken, but at most for EARLY_DURATION_NANOS. */
    private static final int EARLY_SAMPLES = 200;
    private static final long EARLY_DURATION_NANOS = 15_000_000_000L;
    private static final int EARLY = 2;
    private static final int STACKS_A_TICK = 4;
    private static final int STACKS_A_SAFEPOINT = 8;
    /** Maximum number of stacks of threads in slow calls, which a tick takes first. */
    private static final int SLOW_A_TICK = 2;
    /** A call with this number of samples is preferred no longer: a call that never ends would take the samples of all others. */
    static final int ENOUGH_OF_CALL = 50;
    /** Share of one processor that stacks may cost. */
    private static final double SHARE = 0.01;
    /** Upper bound of the cost counted for a tick: the cost limit per second. */
    private static final double MAX_TICK_COST_NANOS = SHARE * 1e9;
    /** Assumed cost of a tick with stacks, before the first measurement. */
    private static final double INITIAL_TICK_COST_NANOS = 500_000;
    private static final double WEIGHT_OF_LAST = 0.05;
    /** Thread number of all virtual threads, which share one tree. */
    private static final int VIRTUAL = 0;
    private static final int MAX_THREADS = 1 << 16;
    static final int MAX_FRAMES = 1 << 16;
    static final int MAX_STACKS = 1 << 18;
    /** If there are more frames or stacks than this, new frames have no line, so that lines leave enough room for methods. */
    static final int MAX_FRAMES_WITH_LINE = MAX_FRAMES / 2;
    static final int MAX_STACKS_WITH_LINE = MAX_STACKS / 2;
    /** Maximum number of samples kept for the client. */
    static final int MAX_SAMPLES = 1 << 14;
    /** Method name, without its number, of the frame for a row of --by. The frame has no class. */
    private static final String BY = "by#";
    /** Heap bytes of a map row: entry, key and number. */
    private static final long FRAME_BYTES = 32 + 24 + 16 + 8;
    private static final long STACK_BYTES = 32 + 24 + 16 + 8;
    private static final int SAMPLE_BYTES = 4 + 4 + 4 + 4 + 8 + 8 + 4;
    /** Minimum free heap for taking stacks. With less, an allocation could end a JVM with -XX:+ExitOnOutOfMemoryError. */
    private static final long MIN_FREE_HEAP_BYTES = 2 << 20;
    private static final double MIN_FREE_HEAP_SHARE = 0.02;

    private static final class Frame {
        final String className;
        final String method;
        /** Source line; 0 if unknown. */
        final int line;

        Frame(String className, String method, int line) {
            this.className = className;
            this.method = method;
            this.line = line;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Frame && ((Frame) other).line == line && ((Frame) other).className.equals(className)
                    && ((Frame) other).method.equals(method);
        }

        @Override
        public int hashCode() {
            return (className.hashCode() * 31 + method.hashCode()) * 31 + line;
        }
    }

    private final SplittableRandom random = new SplittableRandom();
    private final boolean stopsOnlyOne = JFluid1Inside.stopsOnlyOne();
    /** Class and method of each root, alternating. */
    private volatile String[] roots;
    /** Live threads that have been inside a root call. */
    final List<JFluid1Threads.ThreadInfo> threads = new ArrayList<>();
    private final List<JFluid1Threads.ThreadInfo> inside = new ArrayList<>();
    /** Threads whose stacks this tick takes. */
    private final List<JFluid1Threads.ThreadInfo> chosen = new ArrayList<>();
    /** Average cost of a tick with stacks, ns. Ticks without a thread inside cost nothing. */
    private double tickNanos = INITIAL_TICK_COST_NANOS;
    private volatile boolean over;

    // Data not yet sent to the client. The agent's thread fetches the data. The sampler's thread and the agent's thread hold the lock only
    // while they copy data.
    private final Map<Frame, Integer> frames = new HashMap<>();
    private final Map<Long, Integer> stacks = new HashMap<>();
    private List<Object> newFrames = new ArrayList<>();
    private ByteBuffer newStacks = buffer(1024);
    private ByteBuffer samples = buffer(1024);
    private int sampleCount;
    private long ticks;
    private long taken;
    private long missed;
    private long dropped;
    private long costNanos;
    private long longestLateNanos;
    private long longestLateAt;
    /** Whether the longest delay was the time for taking stacks; otherwise the sampler's thread woke late. */
    private boolean longestTaking;
    /** Why sampling has stopped; null while it runs. */
    private String failure;

    /** @param roots class, as returned by {@code Class.getName()}, and method of each root, alternating */
    InsideSampler(String[] roots) {
        super("jfluid-sampler");
        this.roots = roots;
    }

    @Override
    public void run() {
        long begun = System.nanoTime();
        while (!over) {
            int times = timesAt(taken, System.nanoTime() - begun);
            long mean = TICK_INTERVAL_NANOS / times;
            // At most ten times the mean: a longer interval would look like a hanging thread.
            long nanos = (long) Math.min(-Math.log(1 - random.nextDouble()) * mean, 10.0 * mean);
            long due = System.nanoTime() + nanos;
            for (long now = System.nanoTime(); !over && due - now > 0; now = System.nanoTime()) {
                LockSupport.parkNanos(due - now);
            }
            if (over) {
                break;
            }
            try {
                boolean room = hasRoom(); // waits for the heap lock, which a garbage collection holds
                late(System.nanoTime() - due, false);
                if (room) {
                    tick(mean, SHARE * times);
                } else {
                    drop();
                }
            } catch (Throwable failed) {
                fail(failed);
                break;
            }
        }
        JFluid1Inside.end(); // stops listing new threads
    }

    /** @return factor of the tick rate and of the cost limit */
    static int timesAt(long taken, long nanos) {
        return taken < EARLY_SAMPLES && nanos < EARLY_DURATION_NANOS ? EARLY : 1;
    }

    /** Stops sampling after a failure: the kept data may be inconsistent. */
    private synchronized void fail(Throwable failed) {
        failure = failed.getClass().getName();
    }

    /** @param taking whether stacks were being taken */
    private synchronized void late(long nanos, boolean taking) {
        if (!taking) {
            ticks++;
        }
        if (nanos > longestLateNanos) {
            longestLateNanos = nanos;
            longestTaking = taking;
            longestLateAt = JFluid1Session.ticks() - JFluid1Session.startTicks();
        }
    }

    private synchronized void drop() {
        dropped++;
    }

    /** Replaces the roots. */
    void roots(String[] wanted) {
        roots = wanted;
    }

    private static boolean hasRoom() {
        Runtime heap = Runtime.getRuntime();
        long most = heap.maxMemory();
        long free = most - heap.totalMemory() + heap.freeMemory();
        return free > Math.max(MIN_FREE_HEAP_BYTES, (long) (most * MIN_FREE_HEAP_SHARE));
    }

    private void tick(long mean, double share) {
        double probability = Math.min(1, share * mean / tickNanos);
        if (random.nextDouble() >= probability) {
            return;
        }
        long begin = System.nanoTime();
        lookRound();
        int all = inside.size();
        int most = Math.min(all, stopsOnlyOne ? STACKS_A_TICK : STACKS_A_SAFEPOINT);
        if (most > 0) {
            int slow = slowFirst();
            int ofSlow = Math.min(slow, Math.min(most, SLOW_A_TICK));
            if (ofSlow == most && slow < all) {
                ofSlow = most - 1; // each group needs a sample
            }
            int ofOthers = Math.min(most - ofSlow, all - slow);
            choose(0, slow, ofSlow);
            choose(slow, all, ofOthers);
            double interval = mean / probability;
            chosen.clear();
            chosen.addAll(inside.subList(0, ofSlow));
            chosen.addAll(inside.subList(slow, slow + ofOthers));
            double[] weights = new double[ofSlow + ofOthers];
            for (int i = 0; i < weights.length; i++) {
                weights[i] = interval * (i < ofSlow ? (double) slow / ofSlow : (double) (all - slow) / ofOthers);
            }
            if (stopsOnlyOne) {
                takeEach(weights);
            } else {
                takeTogether(weights);
            }
            most = weights.length;
        }
        long nanos = System.nanoTime() - begin;
        if (most > 0) {
            late(nanos, true);
        }
        long charged = stopsOnlyOne || most == 0 ? nanos : Math.max(nanos, MIN_SAFEPOINT_COST_NANOS);
        costs(nanos, Math.min(charged, Math.max(1, most) * MAX_TICK_COST_NANOS), probability);
    }

    /** Moves the threads in slow calls with few samples to the front. @return their number */
    int slowFirst() {
        int slow = 0;
        for (int i = 0; i < inside.size(); i++) {
            JFluid1Threads.ThreadInfo ti = inside.get(i);
            if (JFluid1Roots.isSlowNow(ti) && !JFluid1Inside.hasSamples(ti, ENOUGH_OF_CALL)) {
                swap(slow++, i);
            }
        }
        return slow;
    }

    /** Moves `most` randomly chosen threads to the front of a part of `inside`. */
    private void choose(int from, int to, int most) {
        for (int i = from; i < from + most; i++) { // first steps of a Fisher-Yates shuffle
            swap(i, i + random.nextInt(to - i));
        }
    }

    private void swap(int i, int other) {
        JFluid1Threads.ThreadInfo it = inside.get(other);
        inside.set(other, inside.get(i));
        inside.set(i, it);
    }

    private void takeEach(double[] weights) {
        for (int i = 0; i < weights.length; i++) {
            JFluid1Threads.ThreadInfo ti = chosen.get(i);
            Thread t = JFluid1Inside.thread(ti);
            if (t != null) {
                int call = JFluid1Inside.call(ti);
                int by = JFluid1Inside.by(ti);
                StackTraceElement[] trace = JFluid1Inside.stack(t);
                take(ti, isSame(ti, call, by) ? trace : null, by, JFluid1Inside.state(t), weights[i]);
            }
        }
    }

    /** Returns whether the thread is still in the same root call, with the same row of --by. Only then the row belongs to the stack. */
    private static boolean isSame(JFluid1Threads.ThreadInfo ti, int call, int by) {
        return JFluid1Inside.by(ti) == by && (by == 0 || JFluid1Inside.call(ti) == call);
    }

    /** Adds the cost of a tick, weighted by the inverse of the tick's probability. */
    private synchronized void costs(long nanos, double charged, double probability) {
        costNanos += nanos;
        tickNanos += Math.min(1, WEIGHT_OF_LAST / probability) * (charged - tickNanos);
    }

    /** Takes the stacks of several threads in one safepoint. */
    private void takeTogether(double[] weights) {
        int most = weights.length;
        List<Thread> these = new ArrayList<>(most);
        List<JFluid1Threads.ThreadInfo> infos = new ArrayList<>(most);
        double[] weightOf = new double[most];
        int[] calls = new int[most];
        int[] rows = new int[most];
        for (int i = 0; i < most; i++) {
            JFluid1Threads.ThreadInfo one = chosen.get(i);
            Thread t = JFluid1Inside.thread(one);
            if (t != null && !JFluid1Threads.isVirtual(t)) {
                calls[infos.size()] = JFluid1Inside.call(one);
                rows[infos.size()] = JFluid1Inside.by(one);
                weightOf[infos.size()] = weights[i];
                these.add(t);
                infos.add(one);
            }
        }
        if (these.isEmpty()) {
            return;
        }
        Stacks found = Stacks.of(these.toArray(new Thread[0]));
        for (int i = 0; i < found.threads.length && i < infos.size(); i++) {
            JFluid1Threads.ThreadInfo ti = infos.get(i);
            StackTraceElement[] trace = isSame(ti, calls[i], rows[i]) ? found.traces[i] : null;
            take(ti, trace, rows[i], JFluid1Inside.state(found.threads[i]), weightOf[i]);
        }
    }

    /** Finds the threads that are inside root calls now. */
    void lookRound() {
        for (JFluid1Threads.ThreadInfo ti = JFluid1Inside.takeNewThreads(); ti != null;) {
            JFluid1Threads.ThreadInfo next = JFluid1Inside.next(ti);
            if (threads.size() < MAX_THREADS) {
                threads.add(ti);
            } else {
                drop();
            }
            ti = next;
        }
        inside.clear();
        int kept = 0;
        for (int i = 0; i < threads.size(); i++) {
            JFluid1Threads.ThreadInfo ti = threads.get(i);
            if (JFluid1Inside.thread(ti) == null) {
                continue;
            }
            if (JFluid1Inside.isInside(ti)) {
                inside.add(ti);
            }
            threads.set(kept++, ti);
        }
        threads.subList(kept, threads.size()).clear();
    }

    /** @param by method id of the row of --by that contains the root call; 0 for none */
    synchronized void take(JFluid1Threads.ThreadInfo ti, StackTraceElement[] trace, int by, int state, double weight) {
        int root = trace == null ? -1 : outermostRoot(trace);
        if (root < 0) {
            missed++; // the thread has left the root call, or its stack is unavailable
            return;
        }
        int stack = 0;
        for (int i = root; i >= 0; i--) {
            stack = stackOf(
                    stack, frameOf(trace[i].getClassName(), trace[i].getMethodName(), trace[i].getLineNumber()));
            if (i == root && by != 0) {
                stack = stackOf(stack, frameOf("", BY.concat(Integer.toString(by)), 0));
            }
            if (stack < 0) {
                dropped++;
                return;
            }
        }
        if (sampleCount >= MAX_SAMPLES) {
            dropped++;
            return;
        }
        samples = withRoom(samples, SAMPLE_BYTES);
        samples.putInt(ti.virtual ? VIRTUAL : ti.number).putInt(stack).putInt(state).putInt(JFluid1Inside.call(ti));
        samples.putLong(JFluid1Session.ticks() - JFluid1Session.startTicks()).putDouble(weight);
        samples.putInt(ti.number);
        JFluid1Inside.countSample(ti);
        sampleCount++;
        taken++;
    }

    private int outermostRoot(StackTraceElement[] trace) {
        String[] roots = this.roots;
        for (int i = trace.length - 1; i >= 0; i--) {
            String method = trace[i].getMethodName();
            for (int r = 0; r < roots.length; r += 2) {
                if (roots[r + 1].equals(method) && roots[r].equals(trace[i].getClassName())) {
                    return i;
                }
            }
        }
        return -1;
    }

    /** @return number of the frame; -1 if there are too many frames */
    private int frameOf(String className, String method, int sourceLine) {
        boolean hasLine = frames.size() < MAX_FRAMES_WITH_LINE && stacks.size() < MAX_STACKS_WITH_LINE;
        int line = hasLine ? Math.max(0, sourceLine) : 0;
        Frame frame = new Frame(className, method, line);
        Integer known = frames.get(frame);
        if (known != null) {
            return known;
        }
        if (frames.size() >= MAX_FRAMES) {
            return -1;
        }
        int id = frames.size();
        newFrames.add(new Object[] {frame.className, frame.method, frame.line});
        frames.put(frame, id);
        return id;
    }

    /**
     * Assigns a number to a stack, which consists of the caller's stack (0 for none) and a frame. @return number of the stack; -1 if there
     * are too many stacks
     */
    private int stackOf(int parent, int frame) {
        if (parent < 0 || frame < 0) {
            return -1;
        }
        Long key = (long) parent << 32 | frame;
        Integer known = stacks.get(key);
        if (known != null) {
            return known;
        }
        if (stacks.size() >= MAX_STACKS) {
            return -1;
        }
        int id = stacks.size() + 1;
        newStacks = withRoom(newStacks, 8);
        newStacks.putInt(parent).putInt(frame);
        stacks.put(key, id);
        return id;
    }

    private static ByteBuffer buffer(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static ByteBuffer withRoom(ByteBuffer in, int bytes) {
        if (in.remaining() >= bytes) {
            return in;
        }
        ByteBuffer more = buffer(in.capacity() * 2);
        in.flip();
        return more.put(in);
    }

    private static byte[] contentOf(ByteBuffer in) {
        byte[] content = new byte[in.position()];
        in.flip();
        in.get(content);
        in.clear();
        return content;
    }

    /**
     * Returns {@code [new frames as [class, method, line], new stacks, samples, ticks, taken, missed, dropped, cost in ns, longest delay of
     * a tick or time for its stacks in ns, session ticks of that delay, safepoint time, reason for the end of sampling | null, root calls,
     * session ticks now, whether the longest delay was for stacks]}. The first three values and the longest delay are since the last call.
     * A stack is the number of its caller's stack (from 1; 0 for none) and the number of its frame (from 0). Below the root may be a frame
     * without a class, for the row of --by that contains the root call: "by#", then the method id of the row. A sample is its thread (0 for
     * a virtual thread), its stack, its Thread.State ordinal, the number of the thread's root call (four bytes each), session ticks and
     * weight in ns (eight bytes each), and the number of the thread, also of a virtual thread (four bytes).
     *
     * @param safepointNanos safepoint time so far; -1 if unknown
     * @param rootCalls number of root calls so far
     */
    synchronized Object takeAll(long safepointNanos, long rootCalls) {
        Object[] all = {newFrames, contentOf(newStacks), contentOf(samples), ticks, taken, missed, dropped, costNanos,
            longestLateNanos, longestLateAt, safepointNanos, failure, rootCalls,
            JFluid1Session.ticks() - JFluid1Session.startTicks(), longestTaking};
        newFrames = new ArrayList<>();
        sampleCount = 0;
        longestLateNanos = longestLateAt = 0;
        return all;
    }

    /** Returns the approximate heap bytes of frames and stacks. */
    synchronized long heapBytes() {
        return frames.size() * FRAME_BYTES + stacks.size() * STACK_BYTES + newStacks.capacity() + samples.capacity();
    }

    /** Ends sampling and waits for the end of the thread if it has begun. */
    void end() {
        over = true;
        LockSupport.unpark(this);
        try {
            join();
        } catch (InterruptedException never) {
            // Nothing interrupts a guest thread.
        }
        JFluid1Inside.end();
    }
}
