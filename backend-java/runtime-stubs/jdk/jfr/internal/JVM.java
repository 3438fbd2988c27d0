package jdk.jfr.internal;

/** Replaces the JDK's class for compilation only, since javac cannot let java.base read jdk.jfr. It is never packaged. */
public final class JVM {
    public static native long counterTime();
}
