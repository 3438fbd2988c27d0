package java.lang;

import static java.lang.JFluid1Layout.*;
import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** The fields of a word do not overlap, and codes are unique. Tests of the client compare the client's layout with this layout. */
final class JFluid1LayoutTest {
    private static final int METHOD_BITS = 22;

    static void aWordIsFull() {
        equal(64, 2 + METHOD_BITS + TICK_BITS);
        equal(TICK_MASK, (1L << TICK_BITS) - 1);
        equal(0L, KIND_CONTROL & TICK_MASK);
        equal(8, EVENT_BYTES);
    }

    static void kindsDifferInTheFirstTwoBits() {
        Set<Long> kinds = new HashSet<>();
        for (long kind : new long[] {KIND_CATCH, KIND_ENTER, KIND_EXIT, KIND_CONTROL}) {
            equal(kind, kind & KIND_CONTROL, "nothing but the two bits");
            kinds.add(kind);
        }
        equal(4, kinds.size());
        equal(0L, KIND_CATCH); // a CATCH word is non-zero nevertheless, because no method has id 0
    }

    static void eachControlHasACodeOfItsOwn() throws IllegalAccessException {
        Map<Long, String> byCode = new HashMap<>();
        for (Field field : JFluid1Layout.class.getDeclaredFields()) {
            if (field.getName().startsWith("CONTROL_")) {
                long code = field.getLong(null);
                equal(null, byCode.put(code, field.getName()), field.getName());
                equal(KIND_CONTROL, code & KIND_CONTROL, field.getName());
                equal(0L, code & TICK_MASK, field.getName() + " leaves room for its operand");
                that(code != KIND_CONTROL, field.getName() + " has a number");
            }
        }
        equal(18, byCode.size());
    }

    static void aCharacterOfANameFillsItsWord() {
        equal(LONGEST_NAME, (1 << NAME_CLASS_SHIFT - NAME_AT_SHIFT) - 1);
        equal(16, NAME_AT_SHIFT);
        long highest = (long) (FIRST_METHOD_BESIDE_CLASSES - 1) << NAME_CLASS_SHIFT
                | (long) LONGEST_NAME << NAME_AT_SHIFT | Character.MAX_VALUE;
        equal(TICK_MASK, highest);
    }

    static void aThreadAndItsSegmentFitIntoAWord() {
        equal(TICK_BITS, 16 + THREAD_NUMBER_BITS); // see JFluid1Ring.switchTo
    }

    static void idsOfWaitsAreInOrder() {
        int[] inOrder = {0, WAIT_SLEEPING, WAIT_PARKED, WAIT_OTHER, FIRST_WAIT_CLASS, BLOCKED_OTHER,
            FIRST_BLOCKED_CLASS, FIRST_METHOD_BESIDE_WAITS};
        for (int i = 1; i < inOrder.length; i++) {
            that(inOrder[i - 1] < inOrder[i], inOrder[i - 1] + " before " + inOrder[i]);
        }
        equal(FIRST_METHOD_BESIDE_CLASSES - 1, NOT_ATTRIBUTED);
        that(FIRST_METHOD_BESIDE_CLASSES < 1 << METHOD_BITS, "there are methods beside classes");
    }

    static void fieldsOfTheRingDoNotOverlap() throws IllegalAccessException {
        Map<Integer, String> at = new HashMap<>();
        for (Field field : JFluid1Layout.class.getDeclaredFields()) {
            if (field.getName().startsWith("RING_")) {
                int offset = field.getInt(null);
                equal(0, offset % 4, field.getName());
                equal(null, at.put(offset, field.getName()), field.getName());
            }
        }
        for (int offset : at.keySet()) {
            that(offset <= RING_STATES, "the states come last, and take what follows");
        }
        equal(0, CHUNK_EVENTS % EVENT_BYTES);
        that(CHUNK_WRITER + 4 <= CHUNK_SEQUENCE && CHUNK_SEQUENCE + 4 <= CHUNK_EPOCH && CHUNK_EPOCH + 8 <= CHUNK_EVENTS,
                "header");
        equal(Set.of(0, 1, 2, 3), Set.of(CHUNK_FREE, CHUNK_BUSY, CHUNK_IDLE, CHUNK_FULL));
    }
}
