import com.sun.jdi.Method;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.StepEvent;
import com.sun.jdi.request.EventRequest;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * Counts the bytecodes that each method executes on the main thread of a program: see {@link Stepper}.
 *
 * Prints "<class>.<method><descriptor> <bytecodes>" for each method.
 */
public final class StepCounter extends Stepper {
    private final Map<Method, long[]> counts = new HashMap<>();

    public static void main(String[] args) throws Exception {
        new StepCounter().run(args);
    }

    /** The thread continues without a suspension. */
    @Override
    int suspendPolicy() {
        return EventRequest.SUSPEND_NONE;
    }

    @Override
    void take(EventSet events) {
        for (Event event : events) {
            if (event instanceof StepEvent) {
                counts.computeIfAbsent(((StepEvent) event).location().method(), m -> new long[1])[0]++;
            }
        }
    }

    @Override
    void print() {
        Map<String, Long> sorted = new TreeMap<>();
        counts.forEach((m, n) -> sorted.merge(name(m), n[0], Long::sum));
        sorted.forEach((m, n) -> System.out.println(m + " " + n));
    }
}
