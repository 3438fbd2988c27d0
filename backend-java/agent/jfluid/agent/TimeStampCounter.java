package jfluid.agent;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/**
 * Checks whether the processor's time stamp counter is usable as a clock: it has a constant rate in all processor states, and the kernel
 * uses it as its clock source, which requires that the counters of all processors agree (arch/x86/kernel/tsc.c of Linux).
 */
final class TimeStampCounter {
    private static final String CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    private static final String PROCESSORS = "/proc/cpuinfo";

    private TimeStampCounter() {}

    static boolean isTrusted() {
        return "Linux".equals(System.getProperty("os.name")) && "amd64".equals(System.getProperty("os.arch"))
                && isTrusted(CLOCK_SOURCE, PROCESSORS);
    }

    static boolean isTrusted(String clockSource, String processors) {
        try (BufferedReader source = reader(clockSource); BufferedReader lines = reader(processors)) {
            if (!"tsc".equals(source.readLine())) {
                return false;
            }
            // The flags of one processor suffice: the kernel uses the counter only if all processors agree.
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("flags")) {
                    String flags = line.replace('\t', ' ') + " ";
                    return flags.contains(" constant_tsc ") && flags.contains(" nonstop_tsc ");
                }
            }
            return false;
        } catch (IOException | SecurityException hidden) {
            return false; // the file is unreadable, for example in a container
        }
    }

    private static BufferedReader reader(String file) throws IOException {
        return new BufferedReader(new InputStreamReader(new FileInputStream(file), StandardCharsets.ISO_8859_1));
    }
}
