// What is called without any call site: by the JVM itself, and by native code of the JDK by name.

type Upcalls = Readonly<Record<string, readonly string[]>>

/**
 * What the JVM itself, or the JDK on its behalf, calls on objects of the application whenever any code needs a class
 * that is not there yet: on its loader, and on the transformers of its agents.
 */
const UPCALLS: Upcalls = {
  'java/lang/ClassLoader': [
    'loadClass(Ljava/lang/String;)Ljava/lang/Class;',
    'loadClass(Ljava/lang/String;Z)Ljava/lang/Class;',
    'findClass(Ljava/lang/String;)Ljava/lang/Class;',
    'getClassLoadingLock(Ljava/lang/String;)Ljava/lang/Object;',
  ],
  'java/lang/instrument/ClassFileTransformer': [
    'transform(Ljava/lang/ClassLoader;Ljava/lang/String;Ljava/lang/Class;Ljava/security/ProtectionDomain;[B)[B',
    'transform(Ljava/lang/Module;Ljava/lang/ClassLoader;Ljava/lang/String;Ljava/lang/Class;Ljava/security/ProtectionDomain;[B)[B',
  ],
}

/** Exceptions that the JVM itself makes and throws, out of bytecode, linking and its native methods. */
const THROWN_BY_THE_JVM =
  `AbstractMethodError ArithmeticException ArrayIndexOutOfBoundsException ArrayStoreException
  ClassCastException ClassCircularityError ClassFormatError ClassNotFoundException CloneNotSupportedException
  ExceptionInInitializerError IllegalAccessError IllegalAccessException IllegalArgumentException
  IllegalMonitorStateException IllegalThreadStateException IncompatibleClassChangeError InstantiationError
  InstantiationException InternalError InterruptedException LinkageError NegativeArraySizeException NoClassDefFoundError
  NoSuchFieldError NoSuchMethodError NullPointerException StringIndexOutOfBoundsException UnsatisfiedLinkError
  UnsupportedClassVersionError VerifyError reflect/InvocationTargetException`.split(/\s+/)

/**
 * What the JVM calls in the JDK itself, by class and method name (vmSymbols.hpp), and native code of the JDK by name, as far
 * as it is known here. Of interest with `--jdk`.
 */
const JDK_UPCALLS: Upcalls = {
  ...Object.fromEntries(THROWN_BY_THE_JVM.map((name) => [`java/lang/${name}`, ['<init>']])),
  'sun/java2d/Disposer': ['addRecord'],
  'java/lang/ClassLoader': ['addClass', 'checkPackageAccess', 'findNative'],
  'java/lang/ref/Finalizer': ['register'],
  'java/lang/invoke/MethodHandleNatives': [
    ...['linkCallSite', 'linkMethod', 'linkMethodHandleConstant', 'linkDynamicConstant'],
    'findMethodHandleType',
  ],
  'java/lang/StackStreamFactory$AbstractStackWalker': ['doStackWalk'],
}

/**
 * By class name, selectors.
 *
 * @param threads what the JVM calls in a new thread, too
 */
export function upcalls(threads: boolean): Upcalls {
  return threads ? { ...UPCALLS, 'java/lang/Thread': ['run()V'] } : UPCALLS
}

/** By class name, names of methods. */
export function jdkUpcalls(threads: boolean): Upcalls {
  return threads ? { ...JDK_UPCALLS, 'java/lang/Thread': ['run'] } : JDK_UPCALLS
}
