package jfluid.agent;

import java.io.IOException;

/**
 * Commands of sampling: threads that sample themselves (mode sample), the agent's sampler, and modes of methods
 * (scheme adaptive).
 */
final class Sampling extends Topic {
    private final RuntimeLink runtime;
    private final Calibration calibration;
    /** The agent's sampler of threads inside root calls; null if the session does not use the sampler. */
    private InsideSampler sampler;
    /** Whether threads sample themselves. */
    private boolean sampling;

    Sampling(RuntimeLink runtime, Calibration calibration) {
        this.runtime = runtime;
        this.calibration = calibration;
    }

    @Override
    Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "sampling": sampleEvery(MessagePack.asInt(m[2]), MessagePack.asInt(m[3])); return null;
            case "sampleInside": sampleInside((Object[]) m[2]); return null;
            case "insideSamples":
                return sampler == null ? null : sampler.takeAll(calibration.safepointNanos(), JFluid1Roots.calls());
            case "modes": JFluid1Modes.set(((byte[]) m[2]).clone()); return null;
            case "modeCounts": return MessagePack.packed(JFluid1Modes.counts());
            case "timeOneOf": JFluid1Roots.timeOneOf(MessagePack.asInt(m[2])); return null;
            case "slowFrom": JFluid1Roots.slowFrom(MessagePack.asLong(m[2]), (Boolean) m[3]); return null;
            default: throw unknown(op);
        }
    }

    private void sampleEvery(int bytecodes, int random) {
        sampling = true;
        runtime.sampling();
        JFluid1Samples.everyBytecodes(bytecodes, random);
    }

    private void sampleInside(Object[] roots) {
        String[] names = new String[roots.length];
        System.arraycopy(roots, 0, names, 0, roots.length);
        if (sampler != null) {
            sampler.roots(names);
            return;
        }
        JFluid1Inside.begin();
        sampler = new InsideSampler(names);
    }

    /** Starts sampling at the begin of recording. Throws if no thread can be created. */
    void begin() {
        if (sampler != null) {
            sampler.start();
        }
    }

    void end() {
        if (sampler != null) {
            sampler.end();
        }
        if (sampling) {
            JFluid1Samples.end();
        }
    }

    long heapBytes() {
        return sampler == null ? 0 : sampler.heapBytes();
    }
}
