package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ReservedStackAccess;

/** Slow path of the call site probes (--call-sites). */
public final class JFluid1Sites {
    private JFluid1Sites() {}

    /** Whether the session records call sites. Calibration then includes their probes. */
    static boolean tellsSites;

    @DontInline
    @ReservedStackAccess
    static void tellSite(ThreadInfo ti, boolean virtual) {
        ti.active = ti.virtualActive = false;
        ti.guard = true;
        boolean on = false;
        try {
            ThreadInfo w = virtual ? carrier() : ti;
            if (w != null && room(w, ti, 5)) {
                if (virtual) {
                    switchTo(w, ti);
                }
                put(w, CONTROL_SITE | ti.site);
                switchBack(w);
                on = enabled;
            }
        } catch (Throwable t) {
            on = false;
            gap();
            ti.guard = false;
            passOn(t);
        }
        ti.site = 0;
        goOn(ti, virtual, on);
    }

    /** Starts recording call sites. Called after begin() and before calibration. */
    public static void tellSites() {
        tellsSites = true;
        JFluid1Samples.tellSites();
    }
}
