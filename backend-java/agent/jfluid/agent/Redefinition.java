package jfluid.agent;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Redefinitions, one at a time, on a {@link Swapping} thread. During a redefinition the session's thread serves threads in the load hook.
 */
final class Redefinition extends Topic {
    /** Interval of checks for the end of a redefinition. */
    private static final long CHECK_INTERVAL_MILLIS = 10;

    private final Link link;
    private final HotSwap hotSwap;
    private final Calibration calibration;
    private final Recording recording;
    /** The running redefinition. Until it has ended, only some commands are executed. */
    private Swapping swapping;
    /** Reason to end the session, or null. */
    private String problem;

    Redefinition(Link link, HotSwap hotSwap, Calibration calibration, Recording recording) {
        this.link = link;
        this.hotSwap = hotSwap;
        this.calibration = calibration;
        this.recording = recording;
    }

    @Override
    Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "extendConstantPool":
                hotSwap.extendPool(
                        MessagePack.asInt(m[2]), MessagePack.asInt(m[3]), MessagePack.asInt(m[4]), (byte[]) m[5]);
                return null;
            case "redefineMethods":
                redefine(MessagePack.asInt(m[0]), (Object[]) m[2], MessagePack.ints(m[3]), MessagePack.asInt(m[4]));
                return LATER;
            case "ready": ready(MessagePack.asInt(m[3]), MessagePack.ints(m[2])); return null;
            default: throw unknown(op);
        }
    }

    /**
     * Marks methods as ready: their probes send no request.
     *
     * @param highest highest method id so far
     */
    static void ready(int highest, int[] methods) {
        JFluid1Session.methods(highest);
        for (int id : methods) {
            JFluid1Session.ready(id);
        }
    }

    private void redefine(int command, Object[] list, int[] readyIds, int highestId) throws IOException {
        Map<Integer, TreeMap<Integer, byte[]>> bodies = new HashMap<>();
        for (Object item : list) {
            Object[] body = (Object[]) item;
            int classId = MessagePack.asInt(body[0]);
            TreeMap<Integer, byte[]> ofClass = bodies.get(classId);
            if (ofClass == null) {
                ofClass = new TreeMap<>();
                bodies.put(classId, ofClass);
            }
            ofClass.put(MessagePack.asInt(body[1]), (byte[]) body[2]);
        }
        JFluid1Session.methods(highestId);
        swapping = new Swapping(command, readyIds, hotSwap.prepare(bodies), link, hotSwap, calibration);
        if (swapping.swap.isEmpty()) {
            swapping.run();
            conclude();
            return;
        }
        try {
            swapping.start();
        } catch (OutOfMemoryError | RuntimeException noThread) {
            swapping.run();
        }
    }

    /** Returns the reason to end the session, or null. */
    String problem() {
        return problem;
    }

    /** Sends the result of a redefinition that has ended. */
    void look() throws IOException {
        if (swapping != null && !swapping.isRunning()) {
            conclude();
        }
    }

    /** Waits for the end of a running redefinition and sends its result. */
    void finish() throws IOException {
        if (swapping != null) {
            await();
            conclude();
        }
    }

    private void await() {
        while (swapping != null && swapping.isRunning()) {
            try {
                swapping.join(CHECK_INTERVAL_MILLIS);
                // Threads that wait for this redefinition may request a check of the client.
                recording.hear();
            } catch (InterruptedException notPossible) {
                // GuestThread.interrupt() does nothing.
            }
        }
    }

    /** Sends the result of the redefinition, which has ended, to the client. */
    private void conclude() throws IOException {
        Swapping it = swapping;
        Map<Integer, String> refused = hotSwap.conclude(it.swap); // if this throws an OutOfMemoryError, drop() follows
        swapping = null;
        if (it.failure() instanceof Error) {
            throw (Error) it.failure();
        }
        if (it.swap.isOutOfMetaspace) {
            problem = HotSwap.NO_METASPACE;
            link.send(new Object[] {it.command, false, problem});
            return;
        }
        if (it.failure() != null || !it.isDone()) {
            link.send(new Object[] {it.command, false, String.valueOf(it.failure())});
            return;
        }
        // If the JVM has loaded classes, the client must inspect these before waiting threads may continue.
        if (!it.swap.loadedMeanwhile) {
            for (int id : it.readyIds) {
                JFluid1Session.ready(id);
            }
        }
        List<Object> errors = new ArrayList<>();
        for (Map.Entry<Integer, String> refusal : refused.entrySet()) {
            errors.add(new Object[] {refusal.getKey(), refusal.getValue()});
        }
        link.send(new Object[] {it.command, true, it.result(errors)});
    }

    /** Ends the session: waits for a running redefinition, and abandons it if it is blocked. */
    void leave() {
        if (swapping != null && !swapping.ends() && hotSwap.abandon(swapping.swap)) {
            swapping = null;
        } else {
            await();
        }
    }

    /** Drops a redefinition that has ended together with the session. Its classes will be restored. Allocates nothing. */
    void drop() {
        if (swapping != null) {
            hotSwap.drop(swapping.swap);
            swapping = null;
        }
    }
}
