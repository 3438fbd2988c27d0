package jfluid.agent;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** Method bodies stored in native memory are read back unchanged. */
final class BodiesTest {
    private static TreeMap<Integer, byte[]> of(Map<Integer, byte[]> bodies) {
        return new TreeMap<>(bodies);
    }

    private static void check(Map<Integer, byte[]> expected, Bodies kept) {
        TreeMap<Integer, byte[]> read = kept.read();
        equal(List.copyOf(of(expected).keySet()), List.copyOf(read.keySet()));
        equal(new ArrayList<>(of(expected).values()).toArray(), new ArrayList<>(read.values()).toArray());
        int bytes = 0;
        for (byte[] body : expected.values()) {
            bytes += 8 + body.length;
        }
        equal(bytes, kept.bytes());
        equal(expected.isEmpty(), kept.isEmpty());
    }

    static void bodiesRoundTrip() {
        Bodies kept = new Bodies();
        check(Map.of(), kept);
        byte[] some = {1, 2, 3, 4, 5};
        kept.putAll(of(Map.of(-1, some, 0, new byte[0], 65535, new byte[] {-1})));
        check(Map.of(-1, some, 0, new byte[0], 65535, new byte[] {-1}), kept);
        some[0] = 9;
        equal(1, (int) kept.read().get(-1)[0], "a copy was kept");
        kept.read().get(-1)[0] = 9;
        equal(1, (int) kept.read().get(-1)[0], "a copy was read");
        kept.clear();
    }

    static void aBodyReplacesThatOfTheSameMethod() {
        Bodies kept = new Bodies();
        kept.putAll(of(Map.of(1, new byte[] {1}, 2, new byte[] {2, 2})));
        kept.putAll(of(Map.of(2, new byte[] {7, 7, 7}, 3, new byte[0])));
        check(Map.of(1, new byte[] {1}, 2, new byte[] {7, 7, 7}, 3, new byte[0]), kept);
        kept.putAll(of(Map.of()));
        check(Map.of(1, new byte[] {1}, 2, new byte[] {7, 7, 7}, 3, new byte[0]), kept);
        kept.clear();
        check(Map.of(), kept);
        kept.clear();
        kept.putAll(of(Map.of(4, new byte[] {4})));
        check(Map.of(4, new byte[] {4}), kept);
        kept.clear();
    }

    static void bodiesOfAllSizesRoundTrip() {
        Random random = new Random(26);
        Bodies kept = new Bodies();
        TreeMap<Integer, byte[]> expected = new TreeMap<>();
        for (int round = 0; round < 30; round++) {
            TreeMap<Integer, byte[]> more = new TreeMap<>();
            for (int i = 0; i < 20; i++) {
                byte[] body = new byte[random.nextInt(i == 0 ? 70_000 : 40)];
                random.nextBytes(body);
                more.put(random.nextInt(200), body);
            }
            kept.putAll(more);
            expected.putAll(more);
        }
        check(expected, kept);
        that(kept.bytes() > 70_000, "some are large");
        kept.clear();
    }
}
