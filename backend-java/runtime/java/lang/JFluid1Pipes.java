package java.lang;

import java.io.FileDescriptor;
import java.io.IOException;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.ConnectException;
import java.nio.channels.Pipe;
import java.nio.channels.spi.SelectorProvider;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;

/**
 * Opens named pipes as channels that a selector can wait for. Used in JVMs without UNIX sockets only. The public classes of the JDK open a
 * named pipe as a file: opening, reading and writing would block. So these methods use the classes with which the JDK implements
 * {@code java.nio.channels.Pipe}. They are in this module, so that reflection prints no warning.
 */
public final class JFluid1Pipes {
    private JFluid1Pipes() {}

    private static final int O_RDONLY = 0;
    private static final int O_WRONLY = 1;
    private static final int O_NONBLOCK = 04000;
    private static final int ENOENT = 2;
    private static final int ENXIO = 6;

    /** Opens a pipe for reading. The client must have opened the pipe: otherwise the channel is at its end. */
    public static Pipe.SourceChannel source(Path pipe) throws IOException {
        return (Pipe.SourceChannel) channel("sun.nio.ch.SourceChannelImpl", pipe, O_RDONLY);
    }

    /**
     * Opens a pipe for writing.
     *
     * @throws ConnectException if no client reads the pipe
     * @throws NoSuchFileException if the pipe does not exist
     */
    public static Pipe.SinkChannel sink(Path pipe) throws IOException {
        return (Pipe.SinkChannel) channel("sun.nio.ch.SinkChannelImpl", pipe, O_WRONLY);
    }

    private static Object channel(String implementation, Path pipe, int flags) throws IOException {
        try {
            Constructor<?> channel =
                    named(implementation).getDeclaredConstructor(SelectorProvider.class, FileDescriptor.class);
            Class<?> dispatcher = named("sun.nio.fs.UnixNativeDispatcher");
            Method open = dispatcher.getDeclaredMethod("open", named("sun.nio.fs.UnixPath"), int.class, int.class);
            Method close = dispatcher.getDeclaredMethod("close", int.class);
            Method errno = named("sun.nio.fs.UnixException").getDeclaredMethod("errno");
            // Unlike the descriptor of a file, this one is not closed by the garbage collector.
            Method descriptor = named("sun.nio.ch.IOUtil").getDeclaredMethod("newFD", int.class);
            AccessibleObject.setAccessible(new AccessibleObject[] {channel, open, close, errno, descriptor}, true);
            Object opened;
            try {
                opened = open.invoke(null, pipe, flags | O_NONBLOCK, 0);
            } catch (InvocationTargetException failed) {
                Throwable cause = failed.getCause();
                if (cause instanceof Error) { // for example, no memory is free
                    throw (Error) cause;
                }
                throw problem(pipe, cause, (Integer) errno.invoke(cause));
            }
            Object made = null;
            try {
                made = channel.newInstance(SelectorProvider.provider(), descriptor.invoke(null, opened));
                return made;
            } finally {
                if (made == null) {
                    close.invoke(null, opened);
                }
            }
        } catch (ReflectiveOperationException | IllegalArgumentException otherJdk) {
            throw new IOException("this JDK cannot open a named pipe: " + otherJdk, otherJdk);
        }
    }

    private static Class<?> named(String name) throws ClassNotFoundException {
        return Class.forName(name, true, null);
    }

    private static IOException problem(Path pipe, Throwable cause, int errno) {
        return errno == ENXIO     ? new ConnectException("no process reads " + pipe)
                : errno == ENOENT ? new NoSuchFileException(pipe.toString())
                                  : new IOException(pipe + ": " + cause.getMessage());
    }
}
