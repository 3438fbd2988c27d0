package jfluid.agent;

import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import jdk.internal.misc.Unsafe;

/**
 * Bodies of methods by number, kept outside of the application's heap: {@code int number, int length, bytes}, one after
 * the other. Every retransformation starts from the class's base bytes, so what is installed must be at hand as long
 * as it is, and may be megabytes. Not for several threads at once.
 */
final class Bodies {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int HEADER = 8;

    private long address;
    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    /** Bytes taken outside of the heap. */
    int bytes() {
        return size;
    }

    /** Takes more, which replace those of the same number. */
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

    /** A copy, in the heap. */
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
        U.freeMemory(old); // 0 is nothing
    }
}
