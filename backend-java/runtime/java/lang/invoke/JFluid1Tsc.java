package java.lang.invoke;

import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import jdk.internal.misc.Unsafe;

/**
 * Reads the processor's time stamp counter by machine code in a page of executable memory. {@code MethodHandle.linkToNative}, which requires
 * this package, jumps to the stub of a NativeEntryPoint (jump_to_native_invoker in methodHandles_x86.cpp). For a downcall of JEP 454 the
 * stub is code of HotSpot that passes the arguments to a native function. Here the stub is the machine code itself: it has no arguments, and
 * changes only registers that a method compiled by HotSpot may change, too. So reading the counter runs no JDK code, not even in the
 * interpreter.
 *
 * Works on Linux on x86-64. The caller decides whether the counter can be trusted.
 */
public final class JFluid1Tsc {
    private JFluid1Tsc() {}

    /**
     * First and last JDK release on which this class was tested. A release whose compiler C2 inlines linkToNative, as JDK 17 does, would
     * take another argument for the address of the code.
     */
    private static final int FIRST_JDK = 21;
    private static final int LAST_JDK = 27;
    private static final String FOREIGN = "jdk.internal.foreign.abi.";
    /** Integer argument registers in the order of the System V ABI. */
    private static final String[] REGISTERS = {"rdi", "rsi", "rdx", "rcx", "r8", "r9"};
    /** endbr64; rdtsc; shl rdx, 32; or rax, rdx; ret */
    private static final byte[] CODE =
            bytes(0xF3, 0x0F, 0x1E, 0xFA, 0x0F, 0x31, 0x48, 0xC1, 0xE2, 0x20, 0x48, 0x09, 0xD0, 0xC3);
    private static final long PAGE_BYTES = 4096;
    private static final long PROT_READ_WRITE = 1 | 2;
    private static final long PROT_READ_EXEC = 1 | 4;
    private static final long MAP_PRIVATE_ANONYMOUS = 0x02 | 0x20;
    private static final long MAP_FAILED = -1;

    /** The jdk.internal.foreign.abi.NativeEntryPoint of CODE. */
    private static final Object ENTRY;
    /** Why the counter cannot be read; null if it can. */
    private static final String PROBLEM;

    static {
        Object entry = null;
        String problem = null;
        try {
            requireVersionAndAbi();
            entry = entryPoint(MethodType.methodType(long.class), codePage());
            read(entry); // the JVM generates code for linkToNative, for which the code cache may have no space
        } catch (InvocationTargetException inIt) {
            problem = String.valueOf(inIt.getCause());
        } catch (Throwable unlike) {
            problem = unlike.toString();
        }
        ENTRY = entry;
        PROBLEM = problem;
    }

    /** @return why the counter cannot be read; null if it can */
    public static String problem() {
        return PROBLEM;
    }

    /** Reads the counter. Must be called only if {@link #problem} returns null. */
    public static long read() {
        return read(ENTRY);
    }

    private static long read(Object entry) {
        try {
            return (long) MethodHandle.linkToNative(entry);
        } catch (Throwable noStack) {
            Unsafe.getUnsafe().throwException(noStack);
            return 0;
        }
    }

    /**
     * Throws unless release and ABI are supported. In other releases the parameters of the JDK's internal classes may have another meaning,
     * and a wrong argument crashes the JVM. A linker for another ABI, or no linker (HotSpot's Zero), has no such stubs.
     */
    private static void requireVersionAndAbi() throws ReflectiveOperationException {
        int version = Runtime.version().feature();
        if (version < FIRST_JDK || version > LAST_JDK) {
            throw new UnsupportedOperationException("JDK ".concat(String.valueOf(version)));
        }
        Method current = Class.forName("jdk.internal.foreign.CABI", true, null).getDeclaredMethod("current");
        String abi = String.valueOf(current.invoke(null));
        if (!abi.equals("SYS_V")) {
            throw new UnsupportedOperationException(abi);
        }
    }

    /** Creates the entry point of a native function with one parameter for each of REGISTERS and a long result. */
    private static Object downcall() throws Exception {
        Class<?> entryPoint = Class.forName(FOREIGN + "NativeEntryPoint", true, null);
        Class<?> abi = Class.forName(FOREIGN + "ABIDescriptor", true, null);
        Class<?> storage = Class.forName(FOREIGN + "VMStorage", true, null);
        Class<?> registers = Class.forName(FOREIGN + "x64.X86_64Architecture$Regs", true, null);
        Class<?> callArranger = Class.forName(FOREIGN + "x64.sysv.CallArranger", true, null);
        Object sysV = field(callArranger, null, "CSysV");
        Object arguments = Array.newInstance(storage, REGISTERS.length + 1);
        Array.set(arguments, 0, field(abi, sysV, "targetAddrStorage"));
        for (int i = 0; i < REGISTERS.length; i++) {
            Array.set(arguments, i + 1, field(registers, null, REGISTERS[i]));
        }
        Object result = Array.newInstance(storage, 1);
        Array.set(result, 0, field(registers, null, "rax"));
        Class<?>[] types = new Class<?>[REGISTERS.length + 1];
        java.util.Arrays.fill(types, long.class);
        MethodType type = MethodType.methodType(long.class, types);
        Method make = entryPoint.getDeclaredMethod("makeDowncallStub", MethodType.class, abi, arguments.getClass(),
                arguments.getClass(), boolean.class, int.class, boolean.class);
        make.setAccessible(true);
        boolean waits = true; // a safepoint does not wait for the return of the function
        long stub = (Long) make.invoke(null, type, sysV, arguments, result, false, 0, waits);
        if (stub == 0) {
            throw new OutOfMemoryError("no room for a stub in the code cache");
        }
        return entryPoint(type, stub);
    }

    private static Object entryPoint(MethodType type, long stub) throws Exception {
        Constructor<?> constructor = Class.forName(FOREIGN + "NativeEntryPoint", true, null)
                                             .getDeclaredConstructor(MethodType.class, long.class);
        constructor.setAccessible(true);
        return constructor.newInstance(type, stub);
    }

    private static byte[] bytes(int... values) {
        byte[] all = new byte[values.length];
        for (int i = 0; i < all.length; i++) {
            all[i] = (byte) values[i];
        }
        return all;
    }

    /** @param of object that has the field; null for a static field */
    private static Object field(Class<?> in, Object of, String name) throws ReflectiveOperationException {
        Field field = in.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }

    /** Returns the address of a libc function, by dlsym(RTLD_DEFAULT). */
    private static long address(String name) throws ReflectiveOperationException {
        Class<?> library = Class.forName("jdk.internal.loader.NativeLibrary", true, null);
        Method find = library.getDeclaredMethod("findEntry0", long.class, String.class);
        find.setAccessible(true);
        long found = (Long) find.invoke(null, 0L, name);
        if (found == 0) {
            throw new UnsatisfiedLinkError(name);
        }
        return found;
    }

    /** Maps the page with the code. The page is written before it becomes executable, and never afterwards. It is never unmapped. */
    private static long codePage() throws Throwable {
        Object six = downcall();
        long mmap = address("mmap");
        long mprotect = address("mprotect");
        long munmap = address("munmap");
        long page = (long) MethodHandle.linkToNative(
                mmap, 0L, PAGE_BYTES, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1L, 0L, six);
        if (page == MAP_FAILED) {
            throw new OutOfMemoryError("mmap");
        }
        Unsafe unsafe = Unsafe.getUnsafe();
        for (int i = 0; i < CODE.length; i++) {
            unsafe.putByte(page + i, CODE[i]);
        }
        long refused = (long) MethodHandle.linkToNative(mprotect, page, PAGE_BYTES, PROT_READ_EXEC, 0L, 0L, 0L, six);
        if ((int) refused != 0) {
            long ignored = (long) MethodHandle.linkToNative(munmap, page, PAGE_BYTES, 0L, 0L, 0L, 0L, six);
            throw new UnsupportedOperationException("mprotect refuses executable memory");
        }
        return page;
    }
}
