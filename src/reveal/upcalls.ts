// Methods that are called without a call site in bytecode: by the JVM itself, or by native code of the JDK.

type Upcalls = Readonly<Record<string, readonly string[]>>

/**
 * Methods of application objects that the JVM calls, directly or through the JDK, when code needs a class that is not loaded
 * yet: methods of the class's loader, and of the transformers of agents.
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

/** Exceptions that the JVM itself creates and throws, from bytecode, linking and native methods. */
const THROWN_BY_THE_JVM =
  `AbstractMethodError ArithmeticException ArrayIndexOutOfBoundsException ArrayStoreException
  ClassCastException ClassCircularityError ClassFormatError ClassNotFoundException CloneNotSupportedException
  ExceptionInInitializerError IllegalAccessError IllegalAccessException IllegalArgumentException
  IllegalMonitorStateException IllegalThreadStateException IncompatibleClassChangeError InstantiationError
  InstantiationException InternalError InterruptedException LinkageError NegativeArraySizeException NoClassDefFoundError
  NoSuchFieldError NoSuchMethodError NullPointerException StringIndexOutOfBoundsException UnsatisfiedLinkError
  UnsupportedClassVersionError VerifyError reflect/InvocationTargetException`.split(/\s+/)

/**
 * JDK methods that the JVM itself (vmSymbols.hpp) or native code of the JDK calls, as far as known, keyed by class name.
 * Used with `--jdk`.
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
 * Returns the selectors (name and descriptor) of methods of application objects that are called without a call site, keyed by class name.
 *
 * @param threads whether to include methods that the JVM calls in a new thread
 */
export function upcalls(threads: boolean): Upcalls {
  return threads ? { ...UPCALLS, 'java/lang/Thread': ['run()V'] } : UPCALLS
}

/** Returns the names of JDK methods that are called without a call site, keyed by class name. */
export function jdkUpcalls(threads: boolean): Upcalls {
  return threads ? { ...JDK_UPCALLS, 'java/lang/Thread': ['run'] } : JDK_UPCALLS
}
