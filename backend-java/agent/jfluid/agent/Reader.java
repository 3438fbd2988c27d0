package jfluid.agent;

import java.io.FileInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The client's thread that reads the ring, as far as the target can tell: its heartbeat, and what the kernel says of it
 * when that stands still. One that wants a processor is not one that hangs.
 *
 * <p>A client in a process namespace that we do not see is never excused: its thread's start does not fit.
 */
final class Reader {
    /** A thread that has wanted a processor for so long in vain is given up all the same. */
    static final long LONGEST_SECONDS = 2;
    /** An excuse holds as long; one that is about to be over is asked for again. */
    private static final long EXCUSE_NANOS = 250_000_000L;
    private static final int START_FIELD = 22;

    private final ByteBuffer header;
    private long silentBeat = -1;
    private long silentSince;
    private boolean starving;

    /** @param ring from its first byte on */
    Reader(ByteBuffer ring) {
        header = ring.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Answers the doubt of a thread that waits for the client: see {@link JFluid1#excuse}. */
    void listen() {
        long now = System.nanoTime();
        long beat = header.getInt(JFluid1.RING_HEARTBEAT) & 0xFFFFFFFFL;
        if (beat != silentBeat) {
            silentBeat = beat;
            silentSince = now;
        }
        starving = wantsProcessor();
        boolean excused = starving && now - silentSince < LONGEST_SECONDS * 1_000_000_000L;
        JFluid1.excuse(excused ? now + EXCUSE_NANOS : now, starving);
    }

    /** Whether it wanted a processor when {@link #listen} last looked. */
    boolean isStarving() {
        return starving;
    }

    private boolean wantsProcessor() {
        int process = header.getInt(JFluid1.RING_READER_PROCESS);
        int thread = header.getInt(JFluid1.RING_READER_THREAD);
        String stat;
        try (FileInputStream file = new FileInputStream("/proc/" + process + "/task/" + thread + "/stat")) {
            stat = new String(file.readNBytes(1024), StandardCharsets.ISO_8859_1);
        } catch (IOException gone) {
            return false;
        }
        // The name in parentheses may hold blanks and parentheses: fields are counted from behind it, as number 3.
        String[] fields = stat.substring(stat.lastIndexOf(')') + 1).trim().split(" ");
        return fields.length > START_FIELD - 3 && fields[0].equals("R")
                && (int) Long.parseLong(fields[START_FIELD - 3]) == header.getInt(JFluid1.RING_READER_SINCE);
    }
}
