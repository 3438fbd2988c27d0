package jfluid.agent;

import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import jdk.internal.misc.Unsafe;

/**
 * Method bodies, keyed by number, in native memory: a sequence of {@code int number, int length, bytes}. Each retransformation starts from
 * the class's base bytes, so installed bodies must be kept. They may need megabytes and are therefore not on the application's heap. Not
 * thread-safe.
 */
final class Bodies {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int HEADER = 8;

    private long address;
    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    /** Returns the size in native memory, bytes. */
    int bytes() {
        return size;
    }

    /** Adds bodies. A body replaces an earlier body with the same number. */
    void putAll(SortedMap<Integer, byte[]> more) {
        if (more.isEmpty()) {
            return;
        }
        TreeMap<Integer, byte[]> all = read();
        all.putAll(more);
        long total = 0;
        for (byte[] body : all.values()) {
            total += HEADER + body.length;
        }
        int fresh = Math.toIntExact(total);
        long to = U.allocateMemory(fresh);
        long at = to;
        for (Map.Entry<Integer, byte[]> entry : all.entrySet()) {
            byte[] body = entry.getValue();
            U.putInt(at, entry.getKey());
            U.putInt(at + 4, body.length);
            JFluid1Memory.copyOut(body, at + HEADER);
            at += HEADER + body.length;
        }
        clear();
        address = to;
        size = fresh;
    }

    /** Returns a copy on the heap. */
    TreeMap<Integer, byte[]> read() {
        TreeMap<Integer, byte[]> all = new TreeMap<>();
        for (long at = address; at < address + size;) {
            byte[] body = new byte[U.getInt(at + 4)];
            JFluid1Memory.copyIn(at + HEADER, body);
            all.put(U.getInt(at), body);
            at += HEADER + body.length;
        }
        return all;
    }

    void clear() {
        long old = address;
        address = 0;
        size = 0;
        U.freeMemory(old); // freeMemory ignores 0
    }
}
