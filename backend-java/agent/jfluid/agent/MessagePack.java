package jfluid.agent;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * The part of MessagePack that the link uses: nil, booleans, integers, doubles, strings, binaries and
 * arrays. Not taken from a library, because the agent brings no library into the target. The client's side is
 * msgpackr, which sends integers from 2^32 on as float64: {@link #asLong} accepts both forms.
 */
final class MessagePack {
    private MessagePack() {}

    /** Thrown for bytes that no client sends: the session ends. */
    static final class Malformed extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Malformed(String what) {
            super("malformed message: " + what);
        }
    }

    static byte[] pack(Object value) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(256);
        write(out, value);
        return out.toByteArray();
    }

    /**
     * Encodes a string. A lone surrogate, which a name in a class file may contain, becomes three bytes: {@code getBytes} would replace it
     * by a question mark, which could make two names equal.
     */
    private static byte[] utf8(String s) {
        byte[] utf8 = s.getBytes(StandardCharsets.UTF_8);
        for (byte b : utf8) {
            if (b == '?') {
                return withSurrogates(s);
            }
        }
        return utf8;
    }

    private static byte[] withSurrogates(String s) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(s.length());
        for (int at = 0; at < s.length();) {
            int c = s.codePointAt(at);
            at += Character.charCount(c);
            if (c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE) {
                out.write(0xe0 | c >> 12);
                out.write(0x80 | c >> 6 & 0x3f);
                out.write(0x80 | c & 0x3f);
            } else {
                byte[] utf8 = new String(Character.toChars(c)).getBytes(StandardCharsets.UTF_8);
                out.write(utf8, 0, utf8.length);
            }
        }
        return out.toByteArray();
    }

    private static void write(ByteArrayOutputStream out, Object value) {
        if (value == null) {
            out.write(0xc0);
        } else if (value instanceof Boolean) {
            out.write((Boolean) value ? 0xc3 : 0xc2);
        } else if (value instanceof Integer || value instanceof Long || value instanceof Short) {
            integer(out, ((Number) value).longValue());
        } else if (value instanceof Double) {
            out.write(0xcb);
            big(out, Double.doubleToLongBits((Double) value), 8);
        } else if (value instanceof String) {
            byte[] utf8 = utf8((String) value);
            if (utf8.length < 32) {
                out.write(0xa0 | utf8.length);
            } else {
                header(out, utf8.length, 0xd9, 0xda, 0xdb);
            }
            out.write(utf8, 0, utf8.length);
        } else if (value instanceof byte[]) {
            byte[] bytes = (byte[]) value;
            header(out, bytes.length, 0xc4, 0xc5, 0xc6);
            out.write(bytes, 0, bytes.length);
        } else if (value instanceof int[]) {
            int[] ints = (int[]) value;
            array(out, ints.length);
            for (int i : ints) {
                integer(out, i);
            }
        } else if (value instanceof Object[]) {
            Object[] items = (Object[]) value;
            array(out, items.length);
            for (Object item : items) {
                write(out, item);
            }
        } else if (value instanceof List) {
            List<?> items = (List<?>) value;
            array(out, items.size());
            for (Object item : items) {
                write(out, item);
            }
        } else {
            throw new IllegalArgumentException("cannot send a " + value.getClass());
        }
    }

    private static void array(ByteArrayOutputStream out, int length) {
        if (length < 16) {
            out.write(0x90 | length);
        } else {
            header(out, length, 0, 0xdc, 0xdd);
        }
    }

    private static void integer(ByteArrayOutputStream out, long v) {
        if (v >= -32 && v < 128) {
            out.write((int) v);
        } else if (v >= Integer.MIN_VALUE && v <= Integer.MAX_VALUE) {
            out.write(0xd2);
            big(out, v, 4);
        } else {
            out.write(0xd3);
            big(out, v, 8);
        }
    }

    /** Writes a header. Code 0 means that the type has no 8-bit form. */
    private static void header(ByteArrayOutputStream out, int length, int code8, int code16, int code32) {
        if (length < 256 && code8 != 0) {
            out.write(code8);
            big(out, length, 1);
        } else if (length < 65536) {
            out.write(code16);
            big(out, length, 2);
        } else {
            out.write(code32);
            big(out, length, 4);
        }
    }

    private static void big(ByteArrayOutputStream out, long v, int bytes) {
        for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
            out.write((int) (v >>> shift));
        }
    }

    static Object unpack(byte[] bytes, int from, int to) {
        Reader reader = new Reader(bytes, from, to);
        Object value = reader.read(0);
        if (reader.at != to) {
            throw new Malformed("trailing bytes");
        }
        return value;
    }

    static long asLong(Object value) {
        if (value instanceof Number) {
            return ((Number) value).longValue();
        }
        throw new Malformed("number expected");
    }

    static int asInt(Object value) {
        return (int) asLong(value);
    }

    static int[] ints(Object list) {
        Object[] items = (Object[]) list;
        int[] result = new int[items.length];
        for (int i = 0; i < items.length; i++) {
            result[i] = asInt(items[i]);
        }
        return result;
    }

    /** Returns eight little-endian bytes per number. */
    static byte[] packed(long[] numbers) {
        ByteBuffer out = ByteBuffer.allocate(numbers.length * 8).order(ByteOrder.LITTLE_ENDIAN);
        for (long number : numbers) {
            out.putLong(number);
        }
        return out.array();
    }

    private static final class Reader {
        private final byte[] in;
        private final int to;
        private int at;

        Reader(byte[] in, int from, int to) {
            this.in = in;
            this.at = from;
            this.to = to;
        }

        Object read(int depth) {
            if (depth > 16) {
                throw new Malformed("nested too deeply");
            }
            int code = (int) unsigned(1);
            if (code < 0x80) {
                return (long) code;
            }
            if (code >= 0xe0) {
                return (long) (byte) code;
            }
            if (code >= 0xa0 && code < 0xc0) {
                return string(code & 31);
            }
            if (code >= 0x90 && code < 0xa0) {
                return array(code & 15, depth);
            }
            switch (code) {
                case 0xc0: return null;
                case 0xc2: return Boolean.FALSE;
                case 0xc3: return Boolean.TRUE;
                case 0xc4: return binary(unsigned(1));
                case 0xc5: return binary(unsigned(2));
                case 0xc6: return binary(unsigned(4));
                case 0xca: return (double) Float.intBitsToFloat((int) unsigned(4));
                case 0xcb: return Double.longBitsToDouble(unsigned(8));
                case 0xcc: return unsigned(1);
                case 0xcd: return unsigned(2);
                case 0xce: return unsigned(4);
                case 0xcf: return unsigned(8);
                case 0xd0: return (long) (byte) unsigned(1);
                case 0xd1: return (long) (short) unsigned(2);
                case 0xd2: return (long) (int) unsigned(4);
                case 0xd3: return unsigned(8);
                case 0xd9: return string(unsigned(1));
                case 0xda: return string(unsigned(2));
                case 0xdb: return string(unsigned(4));
                case 0xdc: return array(unsigned(2), depth);
                case 0xdd: return array(unsigned(4), depth);
                default: throw new Malformed("type 0x" + Integer.toHexString(code));
            }
        }

        private long unsigned(int bytes) {
            need(bytes);
            long v = 0;
            for (int i = 0; i < bytes; i++) {
                v = v << 8 | in[at++] & 0xff;
            }
            return v;
        }

        private void need(long bytes) {
            if (bytes < 0 || bytes > to - at) {
                throw new Malformed("length beyond the message");
            }
        }

        private String string(long length) {
            need(length);
            String s = new String(in, at, (int) length, StandardCharsets.UTF_8);
            at += (int) length;
            return s;
        }

        private byte[] binary(long length) {
            need(length);
            byte[] b = java.util.Arrays.copyOfRange(in, at, at + (int) length);
            at += (int) length;
            return b;
        }

        private Object[] array(long length, int depth) {
            need(length); // every item takes at least one byte
            Object[] items = new Object[(int) length];
            for (int i = 0; i < items.length; i++) {
                items[i] = read(depth + 1);
            }
            return items;
        }
    }
}
