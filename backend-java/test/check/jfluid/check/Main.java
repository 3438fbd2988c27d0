package jfluid.check;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;

/**
 * Runs the tests of the classes named by its arguments. A test is a static non-private method without parameters. Prints {@code N passed, N
 * failed}. The exit status is 1 if a test has failed.
 */
public final class Main {
    private Main() {}

    /** Timeout of a test, so that a hanging test does not hang the build. */
    private static final long LONGEST_TEST_MILLIS = 30_000;

    private static volatile String running = "";
    private static int passed;
    private static int failed;

    public static void main(String[] classes) throws ReflectiveOperationException {
        watch(Thread.currentThread());
        for (String name : classes) {
            Method[] methods = Class.forName(name, true, ClassLoader.getSystemClassLoader()).getDeclaredMethods();
            Arrays.sort(methods, Comparator.comparing(Method::getName));
            for (Method method : methods) {
                int modifiers = method.getModifiers();
                if (Modifier.isStatic(modifiers) && !Modifier.isPrivate(modifiers) && !method.isSynthetic()
                        && method.getParameterCount() == 0) {
                    run(method);
                }
            }
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.out.flush();
        Runtime.getRuntime().halt(failed == 0 && passed > 0 ? 0 : 1);
    }

    private static void run(Method test) throws ReflectiveOperationException {
        running = test.getDeclaringClass().getSimpleName() + "." + test.getName();
        int before = Check.failures();
        test.setAccessible(true);
        try {
            test.invoke(null);
        } catch (InvocationTargetException e) {
            Throwable thrown = e.getCause();
            Check.failed(Check.place(thrown.getStackTrace()), "threw " + thrown);
            thrown.printStackTrace(System.out);
        }
        if (Check.failures() == before) {
            passed++;
        } else {
            failed++;
        }
    }

    private static void watch(Thread main) {
        Thread watchdog = new Thread("watchdog") {
            @Override
            public void run() {
                try {
                    for (String last = null; !running.equals(last); Thread.sleep(LONGEST_TEST_MILLIS)) {
                        last = running;
                    }
                } catch (InterruptedException never) {
                    return;
                }
                System.out.println(running + " has not ended after " + LONGEST_TEST_MILLIS / 1000 + " s:");
                for (StackTraceElement frame : main.getStackTrace()) {
                    System.out.println("    at " + frame);
                }
                System.out.println(passed + " passed, " + (failed + 1) + " failed");
                System.out.flush();
                Runtime.getRuntime().halt(1);
            }
        };
        watchdog.setDaemon(true);
        watchdog.start();
    }
}
