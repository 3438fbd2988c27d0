package dbg;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;

/**
 * Prints the constants that the JDK's own debugger front end has from jdwp.spec, one per line: `Error INVALID_CLASS 21`,
 * `VirtualMachine.Version 1/1`, `Modifier Count 1`.
 *
 *   java --add-opens jdk.jdi/com.sun.tools.jdi=ALL-UNNAMED dbg.Constants
 */
public class Constants {
    private static final String JDWP = "com.sun.tools.jdi.JDWP";

    public static void main(String[] args) throws Exception {
        for (Class<?> set : Class.forName(JDWP).getDeclaredClasses()) {
            if (has(set, "COMMAND_SET")) {
                for (Class<?> command : set.getDeclaredClasses()) {
                    if (!has(command, "COMMAND")) continue;
                    System.out.println(set.getSimpleName() + "." + command.getSimpleName()
                            + " " + number(set, "COMMAND_SET") + "/" + number(command, "COMMAND"));
                    modifiers(command);
                }
            } else {
                for (Field constant : set.getDeclaredFields()) {
                    if (!Modifier.isStatic(constant.getModifiers()) || constant.getType() != int.class) continue;
                    constant.setAccessible(true);
                    System.out.println(set.getSimpleName() + " " + constant.getName() + " " + constant.getInt(null));
                }
            }
        }
    }

    private static void modifiers(Class<?> command) throws Exception {
        for (Class<?> nested : command.getDeclaredClasses()) {
            if (!nested.getSimpleName().equals("Modifier")) continue;
            for (Class<?> kind : nested.getDeclaredClasses()) {
                if (has(kind, "ALT_ID")) {
                    System.out.println("Modifier " + kind.getSimpleName() + " " + number(kind, "ALT_ID"));
                }
            }
        }
    }

    private static boolean has(Class<?> type, String field) {
        for (Field it : type.getDeclaredFields()) if (it.getName().equals(field)) return true;
        return false;
    }

    private static int number(Class<?> type, String field) throws Exception {
        Field it = type.getDeclaredField(field);
        it.setAccessible(true);
        return it.getInt(null);
    }
}
