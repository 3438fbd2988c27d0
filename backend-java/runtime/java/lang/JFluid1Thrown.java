package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Release.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Stack.*;
import static java.lang.JFluid1Threads.*;

import java.lang.ref.WeakReference;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ReservedStackAccess;

/** Classes of exceptions that end outermost root calls. */
final class JFluid1Thrown {
    private JFluid1Thrown() {}

    private static final Unsafe U = Unsafe.getUnsafe();
    private static final WeakReference<?>[] NONE = new WeakReference<?>[1];
    /** Classes in the order of their first use; the index is the number in a THREW word. */
    private static WeakReference<?>[] classes = NONE;
    /** Whether the name of the class has been written. Two threads may both write a name. */
    private static boolean[] told = new boolean[0];

    static void begin() {
        told = new boolean[MAX_THROWN];
        classes = new WeakReference<?>[MAX_THROWN];
    }

    static void end() {
        classes = NONE;
        NONE[0] = null;
    }

    /**
     * Writes the class of the exception that ends the outermost root call. Called before the EXIT. Writes nothing if the stack is too
     * small, or if no chunk is free: the thread does not wait.
     */
    @DontInline
    static void tell(ThreadInfo ti, Throwable thrown) {
        try {
            needsRoom();
        } catch (StackOverflowError full) {
            return;
        }
        write(ti, thrown.getClass());
    }

    @ReservedStackAccess
    private static void write(ThreadInfo ti, Class<?> c) {
        boolean virtual = ti.virtual;
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        try {
            WeakReference<?>[] known = classes;
            int number = 0;
            while (number < known.length && known[number] != null && !refersTo(known[number], c)) {
                number++;
            }
            if (number < known.length && known[number] == null) {
                add(known, number, c);
            }
            boolean hasNumber = number < known.length && refersTo(known[number], c);
            if (!hasNumber) {
                number = known.length; // there are too many classes, or another thread has just added one
            }
            boolean[] names = told;
            String name = hasNumber && !names[number] ? c.getName() : "";
            int letters = Math.min(name.length(), LONGEST_NAME);
            ThreadInfo w = virtual ? carrier() : ti;
            boolean named = w != null && roomAtOnce(w, letters + 5);
            if (!named) {
                letters = 0; // the name is written with the next exception of the class
            }
            if (named || w != null && roomAtOnce(w, 5)) {
                if (virtual) {
                    switchTo(w, ti);
                }
                for (int i = 0; i < letters; i++) {
                    long id = FIRST_THROWN + number;
                    put(w, CONTROL_NAME | id << NAME_CLASS_SHIFT | i << NAME_AT_SHIFT | name.charAt(i));
                }
                put(w, CONTROL_THREW | number);
                switchBack(w);
                if (letters > 0) {
                    names[number] = true;
                }
            } else {
                gap();
            }
        } catch (Throwable t) {
            gap();
            ti.guard = false;
            passOn(t);
        }
        goOn(ti, virtual, true);
    }

    private static void add(WeakReference<?>[] known, int number, Class<?> c) {
        long at = OBJECTS_AT + number * OBJECT_BYTES;
        U.compareAndSetReference(known, at, null, new WeakReference<>(c));
    }
}
