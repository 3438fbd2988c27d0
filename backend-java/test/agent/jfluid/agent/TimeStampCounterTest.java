package jfluid.agent;

import static jfluid.check.Check.that;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Kernel information required before the time stamp counter is read. */
final class TimeStampCounterTest {
    private static final String FLAGS =
            "processor\t: 0\nflags\t\t: fpu tsc rdtscp constant_tsc nonstop_tsc tsc_adjust\n";

    private static boolean isTrusted(String clockSource, String processors) throws IOException {
        Path dir = Files.createTempDirectory("jfluid-tsc-");
        Path source = dir.resolve("source");
        Path cpuinfo = dir.resolve("cpuinfo");
        try {
            if (clockSource != null) {
                Files.writeString(source, clockSource);
            }
            Files.writeString(cpuinfo, processors);
            return TimeStampCounter.isTrusted(source.toString(), cpuinfo.toString());
        } finally {
            Files.deleteIfExists(source);
            Files.delete(cpuinfo);
            Files.delete(dir);
        }
    }

    static void aCounterOfOneRateThatTheKernelUsesIsTrusted() throws IOException {
        that(isTrusted("tsc\n", FLAGS), "trusted");
    }

    static void aCounterThatTheKernelDoesNotUseIsNot() throws IOException {
        that(!isTrusted("kvm-clock\n", FLAGS), "the kernel has another clock");
        that(!isTrusted(null, FLAGS), "the kernel does not say");
    }

    static void aCounterThatStopsOrChangesItsRateIsNot() throws IOException {
        that(!isTrusted("tsc\n", FLAGS.replace("nonstop_tsc ", "")), "it stops");
        that(!isTrusted("tsc\n", FLAGS.replace("constant_tsc ", "")), "it changes its rate");
        that(!isTrusted("tsc\n", "processor : 0\nFeatures : fp asimd\n"), "no flags");
    }
}
