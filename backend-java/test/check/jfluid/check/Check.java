package jfluid.check;

import java.lang.reflect.Array;
import java.util.Arrays;
import java.util.Objects;

/**
 * Checks of a test. A failed check is printed with file and line. The test continues, so that one run shows all of its
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

    /** Checks that two values are equal; arrays are compared by their elements. */
    public static void equal(Object expected, Object actual) {
        equal(expected, actual, "");
    }

    /** @param where description of the checked case, for the message */
    public static void equal(Object expected, Object actual, String where) {
        if (!Objects.deepEquals(expected, actual)) {
            fail((where.isEmpty() ? "" : where + ": ") + difference(expected, actual));
        }
    }

    /** Describes the difference between two values; for long arrays, only the part around the first difference. */
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

    /** @return the exception; null if the body threw no exception or an exception of another type: the test then fails */
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

    /** Records a failure. The test continues. */
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

    /** Returns the innermost frame in a test's file, for example {@code MessagePackTest.java:42}. */
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
