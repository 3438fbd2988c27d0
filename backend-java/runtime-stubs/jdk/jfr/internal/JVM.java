package jdk.jfr.internal;

/** Compile-time stand-in: javac cannot let java.base read jdk.jfr. Never packaged. */
public final class JVM {
    public static native long counterTime();
}
