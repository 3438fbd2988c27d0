import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.LocatableEvent;
import com.sun.jdi.event.MethodEntryEvent;
import com.sun.jdi.event.StepEvent;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.EventRequestManager;
import com.sun.jdi.request.MethodEntryRequest;

/**
 * Where a program goes, line by line: see {@link Stepper}. Main thread only.
 *
 * Prints "> <depth> <class>.<method><descriptor>" where an activation begins, "<depth> <line>" where the line in the
 * frame of this depth is another than what was printed last.
 */
public final class LineTrace extends Stepper {
    private final StringBuilder out = new StringBuilder();
    private String last = "";

    public static void main(String[] args) throws Exception {
        new LineTrace().run(args);
    }

    /** How deep its stack is can be asked of a thread that waits. */
    @Override
    int suspendPolicy() {
        return EventRequest.SUSPEND_EVENT_THREAD;
    }

    /** Every activation. */
    @Override
    void watch(EventRequestManager requests, ThreadReference thread, String pattern) {
        MethodEntryRequest entry = requests.createMethodEntryRequest();
        entry.addThreadFilter(thread);
        entry.addClassFilter(pattern);
        entry.setSuspendPolicy(suspendPolicy());
        entry.enable();
    }

    @Override
    void take(EventSet events) throws IncompatibleThreadStateException {
        // What begins comes before what is stepped to in it.
        for (Event event : events) {
            if (event instanceof MethodEntryEvent) {
                MethodEntryEvent entry = (MethodEntryEvent) event;
                say("> " + depth(entry) + " " + name(entry.method()));
            }
        }
        for (Event event : events) {
            if (event instanceof StepEvent) {
                StepEvent step = (StepEvent) event;
                say(depth(step) + " " + step.location().lineNumber());
            }
        }
    }

    @Override
    void print() {
        System.out.print(out);
    }

    private void say(String line) {
        if (!line.equals(last)) {
            out.append(line).append('\n');
        }
        last = line.startsWith(">") ? "" : line; // one activation after the other is two
    }

    private static int depth(LocatableEvent event) throws IncompatibleThreadStateException {
        return event.thread().frameCount();
    }
}
