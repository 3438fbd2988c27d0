package jfluid.check;

import java.lang.reflect.Array;
import java.util.Arrays;
import java.util.Objects;

/**
 * The checks of a test. A failed check is printed with its file and line. The test continues, so one run shows all of its
 * failures.
 */
public final class Check {
    private Check() {}

    /** Code that may throw. */
    public interface Body {
        void run() throws Throwable;
    }

    private static final int MANY = 20;

    private static int failures;

    public static void that(boolean holds, String what) {
        if (!holds) {
            fail(what);
        }
    }

    /** Arrays are equal if their elements are. */
    public static void equal(Object expected, Object actual) {
        equal(expected, actual, "");
    }

    /** @param where which of many cases it is */
    public static void equal(Object expected, Object actual, String where) {
        if (!Objects.deepEquals(expected, actual)) {
            fail((where.isEmpty() ? "" : where + ": ") + difference(expected, actual));
        }
    }

    /** Of long arrays only where they begin to differ. */
    private static String difference(Object expected, Object actual) {
        boolean areArrays = expected != null && actual != null && expected.getClass().isArray()
                && expected.getClass() == actual.getClass();
        int length = areArrays ? Math.max(Array.getLength(expected), Array.getLength(actual)) : 0;
        if (length <= MANY) {
            return "expected " + text(expected) + ", was " + text(actual);
        }
        int at = 0;
        while (Objects.deepEquals(element(expected, at), element(actual, at))) {
            at++;
        }
        return "at " + at + " expected " + text(element(expected, at)) + ", was " + text(element(actual, at))
                + "; lengths " + Array.getLength(expected) + " and " + Array.getLength(actual);
    }

    private static Object element(Object array, int at) {
        return at < Array.getLength(array) ? Array.get(array, at) : "nothing";
    }

    /** @return what was thrown; null if that was nothing or something else, which has failed the test */
    public static <T extends Throwable> T raises(Class<T> type, Body body) {
        return raises(type, body, "");
    }

    public static <T extends Throwable> T raises(Class<T> type, Body body, String where) {
        String before = (where.isEmpty() ? "" : where + ": ") + "expected " + type.getSimpleName() + ", ";
        try {
            body.run();
        } catch (Throwable thrown) {
            if (type.isInstance(thrown)) {
                return type.cast(thrown);
            }
            fail(before + "was " + thrown);
            return null;
        }
        fail(before + "but nothing was thrown");
        return null;
    }

    /** Fails the test, which continues. */
    public static void fail(String what) {
        failed(place(new Throwable().getStackTrace()), what);
    }

    static void failed(String place, String what) {
        failures++;
        System.out.println(place + ": " + what);
    }

    static int failures() {
        return failures;
    }

    /** The innermost frame of a test, or of a helper beside it: {@code MessagePackTest.java:42}. */
    static String place(StackTraceElement[] trace) {
        for (StackTraceElement frame : trace) {
            String file = frame.getFileName();
            if (file != null && file.endsWith("Test.java")) {
                return file + ":" + frame.getLineNumber() + " " + frame.getMethodName();
            }
        }
        return "?";
    }

    private static String text(Object value) {
        if (value instanceof String) {
            return '"' + (String) value + '"';
        }
        if (value instanceof Long) {
            return value + "L (0x" + Long.toHexString((Long) value) + ")";
        }
        String inBrackets = Arrays.deepToString(new Object[] {value});
        return inBrackets.substring(1, inBrackets.length() - 1);
    }
}
