package java.lang;

import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ReservedStackAccess;

/** Behind the probes of call sites (--call-sites). */
public final class JFluid1Sites {
    private JFluid1Sites() {}

    /** Sites are told: calibration goes with their probes. */
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

    /** From now on, call sites are told. Between begin() and calibration. */
    public static void tellSites() {
        tellsSites = true;
        JFluid1Samples.tellSites();
    }
}
