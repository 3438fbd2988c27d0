package jfluid.agent;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Classes get other code: one redefinition at a time, on {@link Swapping}, while this thread serves those who wait in the load hook. */
final class Redefinition extends Topic {
    /** While a redefinition runs that something has to wait for. */
    private static final long LOOK_MILLIS = 10;

    private final Link link;
    private final HotSwap hotSwap;
    private final Calibration calibration;
    private final Recording recording;
    /** The redefinition that runs; until it has ended, only load hooks and the like are answered. */
    private Swapping swapping;
    /** Why the session is to end; null while it goes on. */
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
     * Probes of these methods ask nothing.
     *
     * @param highest of all methods that there are now
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

    /** Why the session is to end; null while it goes on. */
    String problem() {
        return problem;
    }

    /** If one has ended the client is told. */
    void look() throws IOException {
        if (swapping != null && !swapping.isRunning()) {
            conclude();
        }
    }

    /** If there is one, waits until it has ended, and tells the client. */
    void finish() throws IOException {
        if (swapping != null) {
            await();
            conclude();
        }
    }

    private void await() {
        while (swapping != null && swapping.isRunning()) {
            try {
                swapping.join(LOOK_MILLIS);
                // Who waits for this redefinition may wonder whether there is a client for whom to do so.
                recording.hear();
            } catch (InterruptedException notPossible) {
                // GuestThread.interrupt() does nothing.
            }
        }
    }

    /** Tells the client how the redefinition went. It has ended. */
    private void conclude() throws IOException {
        Swapping it = swapping;
        Map<Integer, String> refused = hotSwap.conclude(it.swap); // with no memory for it: drop() does that
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
        // Else the client has to look at these classes before the threads that wait may go on.
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

    /** The session ends: waits for the one that runs, but leaves one behind that waits itself. */
    void leave() {
        if (swapping != null && !swapping.ends() && hotSwap.abandon(swapping.swap)) {
            swapping = null;
        } else {
            await();
        }
    }

    /** The session ends in the middle of one, which is over: its classes are to get their code back. Needs no memory. */
    void drop() {
        if (swapping != null) {
            hotSwap.drop(swapping.swap);
            swapping = null;
        }
    }
}
