package java.lang;

import static java.lang.JFluid1Layout.*;

import java.util.ArrayList;
import java.util.List;
import jdk.internal.misc.Unsafe;

/**
 * A session in this JVM, with the test as client and agent. The ring is in native memory; requests of threads are answered at once, on the
 * requesting thread. Threads count executed bytecodes as their clock, so that a test determines the times of events.
 */
final class TestSession implements AutoCloseable {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int CHUNKS_AT = RING_STATES + 4096;
    /** Mask of the method id in a word that has been shifted right by the bits of its time. */
    private static final int METHOD_MASK = 0x3fffff;

    final int chunkBytes;
    final int chunkCount;
    final long ring;
    /** Address of the states of blocks; 0 without trees. */
    final long trees;
    /** All requests, oldest first. */
    final List<JFluid1Requests.Request> requests = new ArrayList<>();
    /** Whether requests are answered. */
    volatile boolean answers = true;
    private final List<long[]> collected = new ArrayList<>();
    private volatile Thread living;
    private volatile boolean over;

    /** @param words capacity of a chunk */
    TestSession(int words, int chunkCount) {
        this(words, chunkCount, true);
    }

    /** @param counts whether events have numbers of bytecodes; if false, they have times of the machine's clock */
    TestSession(int words, int chunkCount, boolean counts) {
        this(words, chunkCount, counts, 0);
    }

    /** @param blocks number of tree blocks; 0 for no trees */
    TestSession(int words, int chunkCount, boolean counts, int blocks) {
        chunkBytes = CHUNK_EVENTS + words * EVENT_BYTES;
        this.chunkCount = chunkCount;
        long treesAt = CHUNKS_AT + (long) chunkBytes * chunkCount;
        long bytes = treesAt + (blocks == 0 ? 0 : MAX_BLOCKS * 4L + blocks * (long) BLOCK_BYTES);
        ring = U.allocateMemory(bytes);
        U.setMemory(ring, bytes, (byte) 0);
        trees = blocks == 0 ? 0 : ring + treesAt;
        blocks(blocks);
        JFluid1Session.begin(ring, chunkBytes, chunkCount, CHUNKS_AT, this::woken, counts, blocks == 0 ? 0 : treesAt);
        JFluid1Session.methods(100);
        JFluid1Session.enable();
        JFluid1Session.open();
    }

    private synchronized void woken() {
        if (JFluid1Client.isCheckRequested()) {
            // Like the agent, extends waits for a client whose heartbeat thread gets no processor. Waits for a silent client are not
            // extended.
            long excused = living == null ? 0 : 500_000_000L;
            JFluid1Client.extendWaits(System.nanoTime() + excused);
        }
        if (!answers) {
            return;
        }
        JFluid1Requests.Request inOrder = null;
        for (JFluid1Requests.Request it = JFluid1Requests.takeRequests(); it != null;) {
            JFluid1Requests.Request next = it.next;
            it.next = inOrder;
            inOrder = it;
            it = next;
        }
        for (JFluid1Requests.Request it = inOrder; it != null; it = it.next) {
            requests.add(it);
            if (it.kind == JFluid1Requests.Request.FIRST_INVOCATION) {
                JFluid1Session.ready(it.value);
            }
            it.done = true;
        }
    }

    /** Marks these methods as ready. */
    void ready(int... ids) {
        for (int id : ids) {
            JFluid1Session.ready(id);
        }
    }

    JFluid1Threads.ThreadInfo self() {
        return JFluid1Threads.current();
    }

    int state(int chunk) {
        return U.getIntVolatile(null, ring + RING_STATES + 4L * chunk);
    }

    void state(int chunk, int state) {
        U.putIntVolatile(null, ring + RING_STATES + 4L * chunk, state);
    }

    /** Sets the number of blocks. */
    void blocks(int count) {
        U.putIntVolatile(null, ring + RING_BLOCKS, count);
    }

    int blockState(int block) {
        return U.getIntVolatile(null, trees + 4L * block);
    }

    /** Frees a block as the client does, by clearing it. */
    void freeBlock(int block) {
        U.setMemory(block(block), BLOCK_BYTES, (byte) 0);
        U.putIntVolatile(null, trees + 4L * block, BLOCK_FREE);
    }

    private long block(int block) {
        return trees + MAX_BLOCKS * 4L + (long) block * BLOCK_BYTES;
    }

    /** Returns the tree of a thread as {@code 1:2x7(3:1x0())}: method id, calls, bytecodes, and callees in order of their first call. */
    String tree(int thread) {
        return below(thread, 0);
    }

    private String below(int thread, int parent) {
        StringBuilder text = new StringBuilder();
        for (int b = 0; b < (U.getInt(null, ring + RING_BLOCKS) & Integer.MAX_VALUE); b++) {
            for (int r = 1; U.getInt(block(b) + BLOCK_THREAD) == thread && r < BLOCK_BYTES / RECORD_BYTES; r++) {
                long record = block(b) + (long) r * RECORD_BYTES;
                int method = U.getInt(record + RECORD_METHOD);
                if (method == 0 || U.getInt(record + RECORD_PARENT) != parent) {
                    continue;
                }
                String callees = below(thread, b * (BLOCK_BYTES / RECORD_BYTES) + r);
                long executed = U.getLong(record + RECORD_EXECUTED);
                String own = method + ":" + U.getLong(record + RECORD_CALLS) + "x" + executed;
                text.append(method < 0 ? callees : own + "(" + callees + ")");
            }
        }
        return text.toString();
    }

    int header(int offset) {
        return U.getIntVolatile(null, ring + offset);
    }

    /** Increments the heartbeat once. */
    void beat() {
        U.getAndAddInt(null, ring + RING_HEARTBEAT, 1);
    }

    /** Increments the heartbeat until the session ends. */
    void live() {
        living = new Thread(() -> {
            while (!over) {
                beat();
                java.util.concurrent.locks.LockSupport.parkNanos(1_000_000L);
            }
        });
        living.start();
    }

    private long chunk(int chunk) {
        return ring + CHUNKS_AT + (long) chunk * chunkBytes;
    }

    int writer(int chunk) {
        return U.getInt(chunk(chunk) + CHUNK_WRITER);
    }

    int sequence(int chunk) {
        return U.getInt(chunk(chunk) + CHUNK_SEQUENCE);
    }

    long epoch(int chunk) {
        return U.getLong(chunk(chunk) + CHUNK_EPOCH);
    }

    long[] words(int chunk) {
        int count = 0;
        int most = (chunkBytes - CHUNK_EVENTS) / EVENT_BYTES;
        while (count < most && U.getLong(chunk(chunk) + CHUNK_EVENTS + count * 8L) != 0) {
            count++;
        }
        long[] words = new long[count];
        for (int i = 0; i < count; i++) {
            words[i] = U.getLong(chunk(chunk) + CHUNK_EVENTS + i * 8L);
        }
        return words;
    }

    /** Frees a chunk as the client does, by clearing it. */
    void free(int chunk) {
        U.setMemory(chunk(chunk), chunkBytes, (byte) 0);
        state(chunk, CHUNK_FREE);
    }

    /** Reads full chunks, for each writer the oldest first, and frees them. @return number of chunks */
    int collect() {
        int count = 0;
        for (int c = 0; c < chunkCount; c++) {
            if (state(c) == CHUNK_FULL) {
                long[] words = words(c);
                long[] row = new long[words.length + 2];
                row[0] = writer(c);
                row[1] = sequence(c);
                System.arraycopy(words, 0, row, 2, words.length);
                collected.add(row);
                free(c);
                count++;
            }
        }
        return count;
    }

    /** Returns all words of one writer, from collected chunks and from current chunks. */
    long[] wordsOf(int writer) {
        List<long[]> rows = new ArrayList<>(collected);
        for (int c = 0; c < chunkCount; c++) {
            if (state(c) != CHUNK_FREE) {
                long[] words = words(c);
                long[] row = new long[words.length + 2];
                row[0] = writer(c);
                row[1] = sequence(c);
                System.arraycopy(words, 0, row, 2, words.length);
                rows.add(row);
            }
        }
        rows.removeIf(row -> row[0] != writer);
        rows.sort((a, b) -> Long.compare(a[1], b[1]));
        int count = 0;
        for (long[] row : rows) {
            count += row.length - 2;
        }
        long[] all = new long[count];
        int at = 0;
        for (long[] row : rows) {
            System.arraycopy(row, 2, all, at, row.length - 2);
            at += row.length - 2;
        }
        return all;
    }

    /** Returns the events of this thread as {@code root 1>0 2>5 2<7 1<9}: method, kind and time. */
    String written() {
        return text(wordsOf(self().number));
    }

    static String text(long[] words) {
        StringBuilder text = new StringBuilder();
        for (long word : words) {
            text.append(text.length() == 0 ? "" : " ").append(text(word));
        }
        return text.toString();
    }

    private static String text(long word) {
        long kind = word & KIND_CONTROL;
        long method = word >>> TICK_BITS & METHOD_MASK;
        long rest = word & TICK_MASK;
        if (kind == KIND_ENTER) {
            return method + ">" + rest;
        }
        if (kind == KIND_EXIT) {
            return method + "<" + rest;
        }
        if (kind == KIND_CATCH) {
            return method + "!" + rest;
        }
        long control = word & ~TICK_MASK;
        return control == CONTROL_ROOT ? "root"
                : control == CONTROL_ADJUST
                ? "adjust"
                : (control == CONTROL_EPOCH                      ? "epoch:"
                                  : control == CONTROL_THREAD    ? "thread:"
                                  : control == CONTROL_SUSPEND   ? "suspend:"
                                  : control == CONTROL_RESUME    ? "resume:"
                                  : control == CONTROL_SUBMIT    ? "submit:"
                                  : control == CONTROL_BEGIN     ? "begin:"
                                  : control == CONTROL_DROP      ? "drop:"
                                  : control == CONTROL_UNWIND    ? "unwind:"
                                  : control == CONTROL_SAMPLE    ? "sample:"
                                  : control == CONTROL_NAME      ? "name:"
                                  : control == CONTROL_ALLOCATED ? "allocated:"
                                  : control == CONTROL_TRACK     ? "track:"
                                  : control == CONTROL_OVERFLOW  ? "overflow:"
                                  : control == CONTROL_VALUE     ? "value:"
                                  : control == CONTROL_THREW     ? "threw:"
                                  : control == CONTROL_SITE      ? "site:"
                                                                 : "?" + Long.toHexString(control) + ":")
                        + rest;
    }

    /** Runs code inside a call of root 1. */
    void inside(Runnable body) {
        ready(1);
        JFluid1.countRootEntry(1);
        try {
            body.run();
        } finally {
            JFluid1.countRootExit(0, 1);
        }
    }

    @Override
    public void close() {
        JFluid1Session.disable();
        JFluid1Session.end(true);
        over = true;
        try {
            if (living != null) {
                living.join();
            }
        } catch (InterruptedException never) {
            throw new IllegalStateException(never);
        }
        U.freeMemory(ring); // no thread writes to the ring any more
    }
}
