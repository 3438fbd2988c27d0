package jfluid.agent;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import jdk.internal.misc.Unsafe;

/**
 * The client's thread that reads the ring, as far as the target can tell: its heartbeat, and what the kernel says of it
 * when that stands still. One that wants a processor is not one that hangs.
 *
 * <p>A client in a process namespace that we do not see is never excused: its thread's start does not fit.
 */
final class Reader {
    /** An excuse holds as long; one that is about to be over is asked for again. */
    private static final long EXTENSION_NANOS = 250_000_000L;
    /** Fields of a thread's stat, which are counted from 1. */
    private static final int FLAGS_FIELD = 9;
    private static final int START_FIELD = 22;
    private static final int PENDING_FIELD = 31;
    /**
     * It is on its way out: PF_EXITING of its flags, PF_SIGNALED (a signal ends it, perhaps with a core dump first, which takes its
     * time), SIGKILL of its pending signals, which each thread gets when any of them ends the process.
     */
    private static final long ENDING = 0x4 | 0x400;
    private static final long KILLED = 1L << 9 - 1;
    /** One that is stopped is waited for as long in all as any that is silent: the first look comes that much later. */
    private static final long STOPPED_NANOS =
            JFluid1Client.SILENT_CLIENT_TIMEOUT_NANOS - JFluid1Client.CHECK_CLIENT_AFTER_NANOS;

    /** A session without a word of the client, and without a beat of its heart, ends after so long. */
    static final int SILENT_SECONDS = 10;

    private static final Unsafe U = Unsafe.getUnsafe();

    private final long ring;
    private final boolean mirrored;
    private int seenBeat;
    private long silentBeat = -1;
    private long silentSince;
    /** We have seen the client's thread: where it is not any more, it has ended. */
    private boolean isKnown;

    /**
     * @param ring     address of its first byte
     * @param mirrored the client is elsewhere, and the beats of its heart come over a network
     */
    Reader(long ring, boolean mirrored) {
        this.mirrored = mirrored;
        this.ring = ring;
    }

    /** To be asked while the client lives: whether we see it decides what it means that we do not. */
    void meet() {
        fields();
    }

    /**
     * Answers the doubt of a thread that waits for the client: see {@link JFluid1Client#extendWaits}. One that has died, or has been stopped
     * for long enough, will not come back: the session ends here, however few looks a thread has had on a busy machine.
     */
    void listen() {
        long now = System.nanoTime();
        long beat = header(JFluid1Layout.RING_HEARTBEAT) & 0xFFFFFFFFL;
        if (beat != silentBeat) {
            silentBeat = beat;
            silentSince = now;
        }
        String[] fields = fields();
        if (fields == null ? hasVanished()
                           : isDying(fields) || isStopped(fields) && now - silentSince > STOPPED_NANOS) {
            JFluid1Client.abandon(JFluid1Layout.ENDED_STOPPED);
            return;
        }
        boolean starving = mirrored || wantsProcessor(fields);
        boolean excused = starving && now - silentSince < JFluid1Client.STARVING_CLIENT_TIMEOUT_NANOS;
        JFluid1Client.extendWaits(excused ? now + EXTENSION_NANOS : now);
    }

    /** Whether the client's heart has moved since this was last asked. */
    boolean beats() {
        int beat = beat();
        boolean moved = beat != seenBeat;
        seenBeat = beat;
        return moved;
    }

    /** Whether the client is stopped (SIGSTOP, a debugger). */
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

    /** Of the client, as it sees itself. */
    int process() {
        return header(JFluid1Layout.RING_READER_PROCESS);
    }

    /** For a client that does not hear what we say, as it is writing itself. */
    void tellDismissed() {
        U.putIntVolatile(null, ring + JFluid1Layout.RING_ENDED, JFluid1Layout.ENDED_DISMISSED);
    }

    /** Why the target has stopped recording by itself. */
    String whyEnded() {
        if (mirrored) {
            return "nothing came from the client for some seconds";
        }
        return header(JFluid1Layout.RING_ENDED) == JFluid1Layout.ENDED_STOPPED
                ? "the client was stopped or killed"
                : "the client did not answer for " + SILENT_SECONDS + " s";
    }

    boolean wantsProcessor() {
        return wantsProcessor(fields());
    }

    /** One that has been killed wants a processor, too: to end. On a machine without a free one that takes its time. */
    private static boolean wantsProcessor(String[] fields) {
        return fields != null && fields[0].equals("R") && !isDying(fields);
    }

    private static boolean isStopped(String[] fields) {
        return fields[0].equalsIgnoreCase("T");
    }

    private static boolean isDying(String[] fields) {
        return (number(fields, FLAGS_FIELD) & ENDING) != 0 || (number(fields, PENDING_FIELD) & KILLED) != 0;
    }

    /** Whether it was there, and is not. That there is no descriptor to read about it says nothing. */
    private boolean hasVanished() {
        return isKnown && !new File(directory()).exists();
    }

    private String directory() {
        return "/proc/" + process() + "/task/" + header(JFluid1Layout.RING_READER_THREAD);
    }

    /** Of the client's thread, as Linux has it (proc(5), stat), from the third on; null if it is not to be seen. */
    private String[] fields() {
        String stat;
        try (FileInputStream file = new FileInputStream(directory() + "/stat")) {
            stat = new String(file.readNBytes(1024), StandardCharsets.ISO_8859_1);
        } catch (IOException gone) {
            return null;
        }
        // The name in parentheses may hold blanks and parentheses: fields are counted from behind it, as number 3.
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
