package jfluid.agent;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import jdk.internal.misc.Unsafe;

/**
 * The client's thread as seen by the target: its heartbeat, and its state in /proc when the heartbeat stops. A runnable thread without a
 * processor does not count as hanging.
 *
 * <p>If the client is in a process namespace that the target cannot see, waits are never extended: the start time of the client's
 * thread does not match.
 */
final class ClientProcess {
    /** Time by which waits for a runnable client are extended. A further extension is requested before this time ends. */
    private static final long EXTENSION_NANOS = 250_000_000L;
    /** Numbers of fields in /proc/<pid>/task/<tid>/stat, from 1. */
    private static final int FLAGS_FIELD = 9;
    private static final int START_FIELD = 22;
    private static final int PENDING_FIELD = 31;
    /**
     * Masks that mark an ending thread: PF_EXITING and PF_SIGNALED of the flags (a signal ends the thread, possibly after a slow core
     * dump), and SIGKILL among the pending signals, which each thread gets when one thread ends the process.
     */
    private static final long ENDING = 0x4 | 0x400;
    private static final long KILLED = 1L << 9 - 1;
    /**
     * Timeout for a stopped client, from the first check. This timeout plus the delay of that check equals the timeout for a silent client.
     */
    private static final long STOPPED_CLIENT_TIMEOUT_NANOS =
            JFluid1Client.SILENT_CLIENT_TIMEOUT_NANOS - JFluid1Client.CHECK_CLIENT_AFTER_NANOS;

    /** Time after which a session ends if its client sends neither a message nor a heartbeat, s. */
    static final int SILENT_CLIENT_TIMEOUT_SECONDS = 10;

    private static final Unsafe U = Unsafe.getUnsafe();

    private final long ring;
    private final boolean mirrored;
    private int seenBeat;
    private long silentBeat = -1;
    private long silentSince;
    /** Whether the client's thread has been visible. A thread that was visible and is no longer visible has ended. */
    private boolean isKnown;

    /**
     * @param ring     address of the ring
     * @param mirrored whether the client is on another machine and its heartbeats arrive over a network
     */
    ClientProcess(long ring, boolean mirrored) {
        this.mirrored = mirrored;
        this.ring = ring;
    }

    /** Checks whether the client's thread is visible. Called while the client is alive. */
    void meet() {
        fields();
    }

    /**
     * Checks the client on request of a waiting thread, see {@link JFluid1Client#extendWaits}. Ends the session if the client has died or
     * has been stopped for the timeout, even if the waiting thread made few checks because the machine is busy.
     */
    void checkAlive() {
        long now = System.nanoTime();
        long beat = header(JFluid1Layout.RING_HEARTBEAT) & 0xFFFFFFFFL;
        if (beat != silentBeat) {
            silentBeat = beat;
            silentSince = now;
        }
        String[] fields = fields();
        if (fields == null ? hasVanished()
                           : isDying(fields) || isStopped(fields) && now - silentSince > STOPPED_CLIENT_TIMEOUT_NANOS) {
            JFluid1Client.abandon(JFluid1Layout.ENDED_STOPPED);
            return;
        }
        boolean starving = mirrored || wantsProcessor(fields);
        boolean excused = starving && now - silentSince < JFluid1Client.STARVING_CLIENT_TIMEOUT_NANOS;
        JFluid1Client.extendWaits(excused ? now + EXTENSION_NANOS : now);
    }

    /** Returns whether the heartbeat has changed since the last call. */
    boolean beats() {
        int beat = beat();
        boolean moved = beat != seenBeat;
        seenBeat = beat;
        return moved;
    }

    /** Returns whether the client is stopped (SIGSTOP, a debugger). */
    boolean isStopped() {
        if (process() == 0) {
            return false;
        }
        String[] fields = fields();
        return fields != null && isStopped(fields);
    }

    private int header(int offset) {
        return U.getIntVolatile(null, ring + offset);
    }

    int beat() {
        return header(JFluid1Layout.RING_HEARTBEAT);
    }

    /** Returns the process id of the client in its own namespace. */
    int process() {
        return header(JFluid1Layout.RING_READER_PROCESS);
    }

    /**
     * Marks the session in the ring as ended by another client: while this session's client is blocked in a write, it cannot read a
     * message.
     */
    void tellDismissed() {
        U.putIntVolatile(null, ring + JFluid1Layout.RING_ENDED, JFluid1Layout.ENDED_DISMISSED);
    }

    /** Returns why the target has stopped recording. */
    String whyEnded() {
        if (mirrored) {
            return "no message from the client for some seconds";
        }
        return header(JFluid1Layout.RING_ENDED) == JFluid1Layout.ENDED_STOPPED
                ? "the client was stopped or killed"
                : "the client did not answer for " + SILENT_CLIENT_TIMEOUT_SECONDS + " s";
    }

    boolean wantsProcessor() {
        return wantsProcessor(fields());
    }

    /** Returns whether a thread is runnable. A killed thread is shown as runnable until it has ended, and does not count. */
    private static boolean wantsProcessor(String[] fields) {
        return fields != null && fields[0].equals("R") && !isDying(fields);
    }

    private static boolean isStopped(String[] fields) {
        return fields[0].equalsIgnoreCase("T");
    }

    private static boolean isDying(String[] fields) {
        return (number(fields, FLAGS_FIELD) & ENDING) != 0 || (number(fields, PENDING_FIELD) & KILLED) != 0;
    }

    /** Returns whether the client's thread has ended. If no file descriptor is free to read the thread's state, the result is false. */
    private boolean hasVanished() {
        return isKnown && !new File(directory()).exists();
    }

    private String directory() {
        return "/proc/" + process() + "/task/" + header(JFluid1Layout.RING_READER_THREAD);
    }

    /** Returns the fields of the client thread's stat (proc(5)), from the third on; null if the thread is not visible. */
    private String[] fields() {
        String stat;
        try (FileInputStream file = new FileInputStream(directory() + "/stat")) {
            stat = new String(file.readNBytes(1024), StandardCharsets.ISO_8859_1);
        } catch (IOException gone) {
            return null;
        }
        // The name in parentheses may contain blanks and parentheses. The field after the last parenthesis is number 3.
        String[] fields = stat.substring(stat.lastIndexOf(')') + 1).trim().split(" ");
        boolean isIt = fields.length > PENDING_FIELD - 3
                && (int) number(fields, START_FIELD) == header(JFluid1Layout.RING_READER_SINCE);
        isKnown |= isIt;
        return isIt ? fields : null;
    }

    private static long number(String[] fields, int field) {
        return Long.parseLong(fields[field - 3]);
    }
}
