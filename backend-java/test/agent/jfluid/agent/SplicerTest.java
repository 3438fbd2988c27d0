package jfluid.agent;

import static jfluid.check.Check.equal;
import static jfluid.check.Check.raises;

import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;

/** A spliced class file equals, byte by byte, a class file built directly with the spliced bodies. */
final class SplicerTest {
    private static final byte[] NOTHING = {};

    private static SortedMap<Integer, byte[]> bodies(Object... numbersAndBodies) {
        SortedMap<Integer, byte[]> bodies = new TreeMap<>();
        for (int i = 0; i < numbersAndBodies.length; i += 2) {
            bodies.put((Integer) numbersAndBodies[i], (byte[]) numbersAndBodies[i + 1]);
        }
        return bodies;
    }

    /**
     * Builds a class that has, around its method bodies, everything that a class file may have there: fields and methods with attributes,
     * methods without code, attributes before and after Code.
     *
     * @param pool adds constants before the name of the attribute Code
     * @param end  adds constants after all other constants
     */
    private static byte[] file(
            Consumer<ClassBytes> pool, Consumer<ClassBytes> end, byte[] first, byte[] third, byte[] last) {
        ClassBytes it = new ClassBytes("p/Some");
        pool.accept(it);
        int code = it.utf8("Code");
        int other = it.utf8("Codex");
        int type = it.utf8("()I");
        int names = it.utf8("a");
        int fieldType = it.utf8("I");
        byte[] noise = ClassBytes.attribute(other, new byte[] {1, 2, 3, 4, 5});
        byte[] empty = ClassBytes.attribute(other, NOTHING);
        end.accept(it);
        it.field(names, fieldType);
        it.field(code, fieldType, noise, empty); // a field named "Code"
        it.method(names, type, ClassBytes.attribute(code, first));
        it.abstractMethod(code, type, noise);
        it.method(other, type, noise, empty, ClassBytes.attribute(code, third), noise);
        it.method(fieldType, type, ClassBytes.attribute(code, last), empty);
        it.attribute(noise);
        return it.done();
    }

    private static byte[] file(byte[] first, byte[] third, byte[] last) {
        return file(it -> {}, it -> {}, first, third, last);
    }

    private static byte[] body(int number, int nops) {
        return ClassBytes.returning(number, nops);
    }

    static void aSpliceOfNothingChangesNothing() throws IOException {
        Class<?>[] some = {Object.class, String.class, Class.class, Thread.class, Math.class, Map.class,
            Map.Entry.class, Deprecated.class, java.util.concurrent.ConcurrentHashMap.class,
            java.util.concurrent.TimeUnit.class, java.lang.invoke.MethodHandles.class, java.math.BigDecimal.class,
            java.util.regex.Pattern.class, Splicer.class};
        for (Class<?> c : some) {
            String file = c.getName().substring(c.getPackageName().length() + 1) + ".class";
            try (InputStream in = c.getResourceAsStream(file)) {
                byte[] base = in.readAllBytes();
                equal(base, Splicer.splice(base, 0, NOTHING, bodies()), c.getName());
            }
        }
    }

    static void aBodyMayBecomeShorterOrLonger() {
        byte[] base = file(body(1, 10), body(2, 10), body(3, 10));
        for (int nops : new int[] {0, 9, 10, 11, 300, 60_000}) {
            byte[] body = body(7, nops);
            equal(file(body, body(2, 10), body(3, 10)), Splicer.splice(base, 0, NOTHING, bodies(0, body)),
                    "first, " + nops);
            equal(file(body(1, 10), body, body(3, 10)), Splicer.splice(base, 0, NOTHING, bodies(2, body)),
                    "third, " + nops);
            equal(file(body(1, 10), body(2, 10), body), Splicer.splice(base, 0, NOTHING, bodies(3, body)),
                    "last, " + nops);
        }
    }

    static void severalBodiesAreReplacedAtOnce() {
        byte[] base = file(body(1, 10), body(2, 10), body(3, 10));
        byte[] all = Splicer.splice(base, 0, NOTHING, bodies(3, body(6, 99), 0, body(4, 0), 2, body(5, 0)));
        equal(file(body(4, 0), body(5, 0), body(6, 99)), all);
        equal(base, Splicer.splice(all, 0, NOTHING, bodies(0, body(1, 10), 2, body(2, 10), 3, body(3, 10))),
                "and back");
    }

    static void aMethodWithoutCodeGetsNone() {
        byte[] base = file(body(1, 0), body(2, 0), body(3, 0));
        equal(base, Splicer.splice(base, 0, NOTHING, bodies(1, body(9, 9))));
        equal(base, Splicer.splice(base, 0, NOTHING, bodies(70_000, body(9, 9))),
                "nor is there a method of this number");
    }

    static void newConstantsAreAppended() {
        Consumer<ClassBytes> more = it -> {
            it.wide(5, 1L << 40);
            it.utf8("new");
        };
        byte[] expected = file(it -> {}, more, body(1, 0), body(8, 5), body(3, 0));
        byte[] pool = {5, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 3, 'n', 'e', 'w'};
        byte[] base = file(body(1, 0), body(2, 0), body(3, 0));
        equal(expected, Splicer.splice(base, 3, pool, bodies(2, body(8, 5))));
    }

    /** One constant of each tag, with contents that look like other constants. */
    static void constantsOfEveryKindAreSteppedOver() {
        Consumer<ClassBytes> all = it -> {
            it.utf8("");
            it.utf8("Cod");
            it.utf8("Codf");
            it.utf8("code");
            it.utf8("\u0001\u0004Code\uffff\0");
            it.utf8(new String(new char[20_000]).replace('\0', '日')); // 60,000 bytes
            for (int tag : new int[] {3, 4, 9, 10, 11, 12, 17, 18}) {
                it.pair(tag, 0x01000443);
            }
            it.wide(5, 0x0100_0443_6f64_6501L);
            it.wide(6, -1);
            for (int tag : new int[] {7, 8, 16, 19, 20}) {
                it.reference(tag, 0x0104);
            }
            it.methodHandle(1, 0x0104);
        };
        byte[] base = file(all, it -> {}, body(1, 0), body(2, 0), body(3, 0));
        equal(file(all, it -> {}, body(1, 0), body(2, 7), body(3, 0)),
                Splicer.splice(base, 0, NOTHING, bodies(2, body(2, 7))));
    }

    /** A constant may occur twice; obfuscators produce such pools. */
    static void aSecondCodeConstantIsAlsoTheNameOfABody() {
        Consumer<ClassBytes> again = it -> it.utf8("Code");
        byte[] expected = file(again, again, body(1, 0), body(2, 7), body(3, 0));
        byte[] base = file(again, again, body(1, 0), body(2, 0), body(3, 0));
        equal(expected, Splicer.splice(base, 0, NOTHING, bodies(2, body(2, 7))));
    }

    static void thePoolIsNotOverfilled() {
        byte[] base = file(body(1, 0), body(2, 0), body(3, 0));
        int count = (base[8] & 0xff) << 8 | base[9] & 0xff;
        byte[] most = new byte[5 * (65535 - count)];
        for (int i = 0; i < most.length; i += 5) {
            most[i] = 3;
        }
        byte[] full = Splicer.splice(base, 65535 - count, most, bodies());
        equal(new byte[] {-1, -1}, Arrays.copyOfRange(full, 8, 10));
        equal(full, Splicer.splice(full, 0, NOTHING, bodies()));
        raises(IllegalArgumentException.class, () -> Splicer.splice(full, 1, new byte[] {3, 0, 0, 0, 0}, bodies()));
        raises(IllegalArgumentException.class, () -> Splicer.splice(base, 65536 - count, most, bodies()));
    }

    static void brokenClassFilesAreRefused() {
        byte[] base = file(body(1, 0), body(2, 0), body(3, 0));
        byte[] unknown = base.clone();
        unknown[10] = 2; // no constant has this tag
        raises(IllegalArgumentException.class, () -> Splicer.splice(unknown, 0, NOTHING, bodies()));
        int methodsEnd = base.length - 2 - 6
                - 5; // the bytes after the methods are copied: a count and an attribute of five bytes
        for (int end = 0; end < methodsEnd; end++) {
            byte[] part = Arrays.copyOf(base, end);
            raises(RuntimeException.class,
                    () -> Splicer.splice(part, 0, NOTHING, bodies(3, body(9, 9))), end + " bytes");
        }
    }

    static void theJvmTakesWhatComesOut() throws ReflectiveOperationException {
        byte[] base = ClassBytes.withValue("p/Value", 1);
        byte[] other = Splicer.splice(base, 1, new byte[] {3, 0, 0, 0, 9}, bodies(0, body(1234, 50)));
        equal(1, new ClassBytes.Loader().define(base).getMethod("value").invoke(null));
        equal(1234, new ClassBytes.Loader().define(other).getMethod("value").invoke(null));
    }

    static void theNameOfAClassIsInItsFile() {
        equal("p/Some", Splicer.nameIn(file(body(1, 0), body(3, 0), body(4, 0))));
        String wide = "wide/"
                + "x".repeat(60_000);
        for (String name : new String[] {"p/Gr\u00f6\u00dfe", "\uD835\uDC9C", "p/\uD800", wide}) {
            equal(name, Splicer.nameIn(ClassBytes.withValue(name, 1)));
        }
    }

    static void aFileThatIsNoneHasNoName() {
        byte[] whole = ClassBytes.withValue("p/C", 1);
        for (int length = 0; length < 40; length++) {
            equal(null, Splicer.nameIn(Arrays.copyOf(whole, length)));
        }
        byte[] odd = whole.clone();
        odd[10] = 99;
        equal(null, Splicer.nameIn(odd));
    }
}
