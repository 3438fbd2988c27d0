package tables;

import java.util.Random;

/** compress: LZW of a text and back, a method for each byte and each code. */
public final class Compress implements Driver.Program {
    private static final int BITS = 14;
    private static final int SIZE = 1 << BITS;
    private static final int SLOTS = 18_013;
    private final byte[] text = new byte[1 << 20];

    public Compress() {
        Random random = new Random(1);
        String[] words = new String[500];
        for (int i = 0; i < words.length; i++) words[i] = Long.toString(random.nextLong() >>> 20 + random.nextInt(30), 36) + " ";
        for (int at = 0; at < text.length; ) {
            String word = words[(int) Math.abs(random.nextGaussian() * 100) % words.length];
            for (int i = 0; i < word.length() && at < text.length; i++) text[at++] = (byte) word.charAt(i);
        }
    }

    @Override
    public long run() {
        Buffer packed = new Compressor(new Buffer(text, text.length)).compress();
        Buffer again = new Decompressor(packed).decompress();
        if (again.size() != text.length) throw new IllegalStateException();
        return packed.size() * 31L + again.checksum();
    }

    static final class Buffer {
        private byte[] bytes;
        private int size;
        private int at;

        Buffer(byte[] bytes, int size) {
            this.bytes = bytes;
            this.size = size;
        }

        int size() {
            return size;
        }

        int read() {
            return at < size ? bytes[at++] & 0xff : -1;
        }

        void write(int b) {
            if (size == bytes.length) bytes = java.util.Arrays.copyOf(bytes, 2 * size);
            bytes[size++] = (byte) b;
        }

        int checksum() {
            int sum = 0;
            for (int i = 0; i < size; i++) sum = sum * 31 + bytes[i];
            return sum;
        }
    }

    static final class Compressor {
        private final Buffer in;
        private final Buffer out = new Buffer(new byte[1024], 0);
        private final int[] keys = new int[SLOTS];
        private final int[] codes = new int[SLOTS];
        private int next = 256;
        private int pending;
        private int pendingBits;

        Compressor(Buffer in) {
            this.in = in;
        }

        Buffer compress() {
            clear();
            int prefix = in.read();
            for (int b = in.read(); b >= 0; b = in.read()) prefix = extend(prefix, b);
            emit(prefix);
            flush();
            return out;
        }

        private int extend(int prefix, int b) {
            int key = (prefix << 8 | b) + 1;
            int slot = find(key);
            if (keys[slot] == key) return codes[slot];
            emit(prefix);
            if (next < SIZE) enter(slot, key);
            else clear();
            return b;
        }

        private int find(int key) {
            int slot = hash(key);
            while (keys[slot] != 0 && keys[slot] != key) slot = slot == 0 ? SLOTS - 1 : slot - 1;
            return slot;
        }

        private static int hash(int key) {
            return (key * 0x9e3779b9 >>> 8) % SLOTS;
        }

        private void enter(int slot, int key) {
            keys[slot] = key;
            codes[slot] = next++;
        }

        private void clear() {
            java.util.Arrays.fill(keys, 0);
            next = 256;
        }

        private void emit(int code) {
            pending = pending << BITS | code;
            pendingBits += BITS;
            while (pendingBits >= 8) {
                out.write(pending >>> pendingBits - 8);
                pendingBits -= 8;
            }
        }

        private void flush() {
            if (pendingBits > 0) out.write(pending << 8 - pendingBits);
        }
    }

    static final class Decompressor {
        private final Buffer in;
        private final Buffer out = new Buffer(new byte[1024], 0);
        private final int[] prefixes = new int[SIZE];
        private final byte[] suffixes = new byte[SIZE];
        private final byte[] stack = new byte[SIZE];
        private int next = 256;
        private int pending;
        private int pendingBits;

        Decompressor(Buffer in) {
            this.in = in;
        }

        Buffer decompress() {
            int last = code();
            int first = last;
            out.write(last);
            for (int code = code(); code >= 0; code = code()) {
                if (next == SIZE) { // the compressor has cleared its table before this code
                    next = 256;
                    first = code;
                    out.write(code);
                } else {
                    first = expand(code, last, first);
                    enter(last, first);
                }
                last = code;
            }
            return out;
        }

        private int expand(int code, int last, int first) {
            int depth = 0;
            int at = code;
            if (code >= next) {
                stack[depth++] = (byte) first;
                at = last;
            }
            while (at >= 256) {
                stack[depth++] = suffixes[at];
                at = prefixes[at];
            }
            out.write(at);
            while (depth > 0) out.write(stack[--depth]);
            return at;
        }

        private void enter(int prefix, int suffix) {
            prefixes[next] = prefix;
            suffixes[next++] = (byte) suffix;
        }

        private int code() {
            while (pendingBits < BITS) {
                int b = in.read();
                if (b < 0) return -1;
                pending = pending << 8 | b;
                pendingBits += 8;
            }
            pendingBits -= BITS;
            return pending >>> pendingBits & SIZE - 1;
        }
    }
}
