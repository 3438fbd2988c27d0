package jfluid.agent;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.fail;
import static jfluid.check.Check.raises;
import static jfluid.check.Check.that;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** Compares the codec with the bytes of the MessagePack specification. The client uses msgpackr. */
final class MessagePackTest {
    private static final int DEEPEST = 16;

    private static byte[] bytes(int... values) {
        byte[] bytes = new byte[values.length];
        for (int i = 0; i < values.length; i++) {
            bytes[i] = (byte) values[i];
        }
        return bytes;
    }

    private static byte[] join(byte[]... parts) {
        int length = 0;
        for (byte[] part : parts) {
            length += part.length;
        }
        byte[] all = new byte[length];
        int at = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, all, at, part.length);
            at += part.length;
        }
        return all;
    }

    private static Object unpack(byte[] bytes) {
        return MessagePack.unpack(bytes, 0, bytes.length);
    }

    private static Object roundTrip(Object value) {
        return unpack(MessagePack.pack(value));
    }

    private static String text(int length) {
        char[] text = new char[length];
        Arrays.fill(text, 'x');
        return new String(text);
    }

    static void integersTakeOneFiveOrNineBytes() {
        equal(bytes(0x00), MessagePack.pack(0));
        equal(bytes(0x7f), MessagePack.pack(127));
        equal(bytes(0xff), MessagePack.pack(-1));
        equal(bytes(0xe0), MessagePack.pack(-32));
        equal(bytes(0xd2, 0, 0, 0, 0x80), MessagePack.pack(128));
        equal(bytes(0xd2, 0xff, 0xff, 0xff, 0xdf), MessagePack.pack(-33));
        equal(bytes(0xd2, 0x7f, 0xff, 0xff, 0xff), MessagePack.pack(Integer.MAX_VALUE));
        equal(bytes(0xd2, 0x80, 0, 0, 0), MessagePack.pack(Integer.MIN_VALUE));
        equal(bytes(0xd3, 0, 0, 0, 0, 0x80, 0, 0, 0), MessagePack.pack(1L << 31));
        equal(bytes(0xd3, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff), MessagePack.pack(Integer.MIN_VALUE - 1L));
        equal(bytes(0x05), MessagePack.pack((short) 5));
    }

    static void integersOfEveryWidthRoundTrip() {
        for (int shift = 0; shift < 64; shift++) {
            for (long near = -2; near <= 2; near++) {
                long value = (1L << shift) + near;
                equal(value, roundTrip(value));
                equal(-value, roundTrip(-value));
            }
        }
    }

    static void integersAreReadInEveryFormThatAClientMayChoose() {
        equal(200L, unpack(bytes(0xcc, 200)));
        equal(0xfedcL, unpack(bytes(0xcd, 0xfe, 0xdc)));
        equal(0xfedcba98L, unpack(bytes(0xce, 0xfe, 0xdc, 0xba, 0x98)));
        equal(0x123456789abcdefL, unpack(bytes(0xcf, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef)));
        equal(-128L, unpack(bytes(0xd0, 0x80)));
        equal(-32768L, unpack(bytes(0xd1, 0x80, 0x00)));
        equal((long) Integer.MIN_VALUE, unpack(bytes(0xd2, 0x80, 0, 0, 0)));
        equal(Long.MIN_VALUE, unpack(bytes(0xd3, 0x80, 0, 0, 0, 0, 0, 0, 0)));
        equal(1.5, unpack(bytes(0xca, 0x3f, 0xc0, 0, 0)));
    }

    static void constantsAndDoublesRoundTrip() {
        equal(bytes(0xc0), MessagePack.pack(null));
        equal(bytes(0xc2), MessagePack.pack(false));
        equal(bytes(0xc3), MessagePack.pack(true));
        equal(null, roundTrip(null));
        equal(false, roundTrip(false));
        equal(true, roundTrip(true));
        for (double d :
                new double[] {0, -0.0, 1.5, Double.MIN_VALUE, Double.MAX_VALUE, Double.NaN, Double.NEGATIVE_INFINITY}) {
            equal(9, MessagePack.pack(d).length);
            equal(d, roundTrip(d));
        }
    }

    static void lengthsOfTextsHaveTheShortestForm() {
        equal(bytes(0xa0), MessagePack.pack(""));
        equal(bytes(0xa2, 'h', 'i'), MessagePack.pack("hi"));
        equal(bytes(0xbf), Arrays.copyOf(MessagePack.pack(text(31)), 1));
        equal(bytes(0xd9, 32), Arrays.copyOf(MessagePack.pack(text(32)), 2));
        equal(bytes(0xd9, 255), Arrays.copyOf(MessagePack.pack(text(255)), 2));
        equal(bytes(0xda, 1, 0), Arrays.copyOf(MessagePack.pack(text(256)), 3));
        equal(bytes(0xda, 255, 255), Arrays.copyOf(MessagePack.pack(text(65535)), 3));
        equal(bytes(0xdb, 0, 1, 0, 0), Arrays.copyOf(MessagePack.pack(text(65536)), 5));
        for (int length : new int[] {0, 1, 31, 32, 255, 256, 65535, 65536, 100_000}) {
            equal(text(length), roundTrip(text(length)));
        }
    }

    static void theLengthOfATextIsThatOfItsUtf8() {
        equal(bytes(0xa2, 0xc3, 0xa4), MessagePack.pack("ä"));
        String wide = new String(new char[11]).replace("\0", "日"); // 33 bytes
        equal(bytes(0xd9, 33), Arrays.copyOf(MessagePack.pack(wide), 2));
        equal(wide, roundTrip(wide));
        equal("a\uD83D\uDE00b", roundTrip("a\uD83D\uDE00b"));
        equal("\uFFFD", unpack(bytes(0xa1, 0xff)));
    }

    /** The names of two classes may differ only in a lone surrogate. */
    static void aLoneSurrogateIsNoQuestionMark() {
        equal(bytes(0xa3, 0xed, 0xa0, 0x80), MessagePack.pack("\uD800"));
        equal(bytes(0xa6, 0xed, 0xb0, 0x80, 0xed, 0xa0, 0x80), MessagePack.pack("\uDC00\uD800"));
        equal(bytes(0xac, 'a', '?', 0xed, 0xaf, 0xbf, 0xf0, 0x9f, 0x98, 0x80, 0xc3, 0xa4, 'b'),
                MessagePack.pack("a?\uDBFF\uD83D\uDE00äb"));
        equal("what?", roundTrip("what?"));
    }

    static void binariesOfEveryLengthRoundTrip() {
        equal(bytes(0xc4, 0), MessagePack.pack(new byte[0]));
        equal(bytes(0xc4, 1, 0x80), MessagePack.pack(bytes(0x80)));
        equal(bytes(0xc5, 1, 0), Arrays.copyOf(MessagePack.pack(new byte[256]), 3));
        equal(bytes(0xc6, 0, 1, 0, 0), Arrays.copyOf(MessagePack.pack(new byte[65536]), 5));
        for (int length : new int[] {0, 1, 255, 256, 65535, 65536}) {
            byte[] binary = new byte[length];
            new Random(length).nextBytes(binary);
            equal(binary, roundTrip(binary), length + " bytes");
        }
    }

    static void arraysOfEveryLengthRoundTrip() {
        equal(bytes(0x90), MessagePack.pack(new Object[0]));
        equal(bytes(0x9f), Arrays.copyOf(MessagePack.pack(new int[15]), 1));
        equal(bytes(0xdc, 0, 16), Arrays.copyOf(MessagePack.pack(new int[16]), 3));
        equal(bytes(0xdc, 255, 255), Arrays.copyOf(MessagePack.pack(new int[65535]), 3));
        equal(bytes(0xdd, 0, 1, 0, 0), Arrays.copyOf(MessagePack.pack(new int[65536]), 5));
        for (int length : new int[] {0, 15, 16, 65535, 65536}) {
            Object[] items = new Object[length];
            Arrays.setAll(items, i -> (long) i);
            equal(items, roundTrip(items), length + " items");
            equal(items, roundTrip(Arrays.asList(items)), "a list of " + length);
        }
        equal(new Object[] {1L, -1L, 70_000L}, roundTrip(new int[] {1, -1, 70_000}));
    }

    static void aMixedMessageRoundTrips() {
        Object[] message = {7L, "redefine", new Object[] {3L, bytes(1, 2), new Object[0]}, null, true, 2.5, -40L};
        equal(message, roundTrip(message));
    }

    static void unsupportedValuesAreNotPacked() {
        raises(IllegalArgumentException.class, () -> MessagePack.pack(new Object()));
        raises(IllegalArgumentException.class, () -> MessagePack.pack(new Object[] {1, List.of('c')}));
    }

    static void aMessageIsReadFromTheMiddleOfABuffer() {
        byte[] message = MessagePack.pack(new Object[] {1, "two"});
        byte[] buffer = join(bytes(0xc1, 0xc1), message, bytes(0xc1));
        equal(new Object[] {1L, "two"}, MessagePack.unpack(buffer, 2, 2 + message.length));
    }

    static void everyPrefixOfAMessageIsMalformed() {
        byte[] whole = MessagePack.pack(new Object[] {1, 1000, 1L << 40, -1, 2.5, "text", text(40), text(300),
            new byte[3], new byte[300], new int[20], null, true});
        for (int end = 0; end < whole.length; end++) {
            int until = end;
            raises(MessagePack.Malformed.class,
                    () -> MessagePack.unpack(whole, 0, until), "the first " + end + " bytes");
        }
    }

    /** The buffer has further bytes after the message. */
    static void nothingIsReadBehindAMessage() {
        byte[] buffer = join(bytes(0xda, 0, 5), "abcdefgh".getBytes(StandardCharsets.US_ASCII));
        raises(MessagePack.Malformed.class, () -> MessagePack.unpack(buffer, 0, 7));
        equal("abcde", MessagePack.unpack(buffer, 0, 8));
        raises(MessagePack.Malformed.class, () -> MessagePack.unpack(buffer, 0, 9), "one byte is left");
    }

    /** Allocating two billion items would be an OutOfMemoryError. */
    static void aFalseLengthAllocatesNothing() {
        for (int code : new int[] {0xc6, 0xdb, 0xdd}) { // binary, text, array
            for (int high : new int[] {0x7f, 0x80, 0xff}) {
                byte[] claim = bytes(code, high, 0xff, 0xff, 0xff, 0, 0, 0);
                raises(MessagePack.Malformed.class, () -> unpack(claim), Integer.toHexString(code) + " " + high);
            }
        }
        raises(MessagePack.Malformed.class, () -> unpack(bytes(0xc5, 0xff, 0xff, 0)));
        raises(MessagePack.Malformed.class, () -> unpack(bytes(0xdc, 0xff, 0xff, 0)));
    }

    static void nestingIsBounded() {
        byte[] deepest = nested(DEEPEST);
        Object value = unpack(deepest);
        for (int depth = 0; depth < DEEPEST; depth++) {
            value = ((Object[]) value)[0];
        }
        equal(7L, value);
        raises(MessagePack.Malformed.class, () -> unpack(nested(DEEPEST + 1)));
        raises(MessagePack.Malformed.class, () -> unpack(nested(1_000_000)), "no StackOverflowError");
    }

    private static byte[] nested(int depth) {
        byte[] nested = new byte[depth + 1];
        Arrays.fill(nested, (byte) 0x91);
        nested[depth] = 7;
        return nested;
    }

    /** Maps, extensions, and the code that the specification leaves unused. */
    static void unsupportedTypesAreMalformed() {
        int[] codes = {0x80, 0x81, 0x8f, 0xc1, 0xc7, 0xc8, 0xc9, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xde, 0xdf};
        for (int code : codes) {
            byte[] message = join(bytes(code), new byte[40]);
            MessagePack.Malformed it = raises(MessagePack.Malformed.class, () -> unpack(message));
            that(it != null && it.getMessage().endsWith("type 0x" + Integer.toHexString(code)), String.valueOf(it));
        }
    }

    static void aNumberIsRequiredWhereOneIsExpected() {
        equal(5L, MessagePack.asLong(5L));
        equal(1L << 40, MessagePack.asLong((double) (1L << 40))); // msgpackr sends integers from 2^32 on as doubles
        equal(-3, MessagePack.asInt(-3.0));
        for (Object other : new Object[] {"5", null, true, new Object[0], new byte[1]}) {
            raises(MessagePack.Malformed.class, () -> MessagePack.asLong(other));
            raises(MessagePack.Malformed.class, () -> MessagePack.asInt(other));
        }
    }

    static void randomBytesAreReadOrMalformed() {
        Random random = new Random(11);
        byte[] seed = MessagePack.pack(
                new Object[] {1, "text", new byte[20], new Object[] {new int[17], 2.5, null}, text(40)});
        int understood = 0;
        for (int i = 0; i < 60_000; i++) {
            byte[] message;
            if (i % 2 == 0) {
                message = new byte[random.nextInt(40)];
                random.nextBytes(message);
            } else { // a message with a few changed bytes is parsed further
                message = seed.clone();
                for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                    message[random.nextInt(message.length)] = (byte) random.nextInt();
                }
            }
            try {
                unpack(message);
                understood++;
            } catch (MessagePack.Malformed expected) {
                // Expected.
            } catch (Throwable other) {
                fail(other + " of " + Arrays.toString(message));
                return;
            }
        }
        that(understood > 1000 && understood < 59_000, understood + " of 60,000 were understood: both are to be tried");
    }
}
