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
 * Traces the main thread of a program line by line: see {@link Stepper}.
 *
 * Prints "> <depth> <class>.<method><descriptor>" where an activation begins, and "<depth> <line>" where the line in the frame at this
 * depth differs from the last printed line.
 */
public final class LineTrace extends Stepper {
    private final StringBuilder out = new StringBuilder();
    private String last = "";

    public static void main(String[] args) throws Exception {
        new LineTrace().run(args);
    }

    /** The depth of the stack can be read only while the thread is suspended. */
    @Override
    int suspendPolicy() {
        return EventRequest.SUSPEND_EVENT_THREAD;
    }

    /** Requests an event for every method entry. */
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
        // A method entry is printed before a step inside the method.
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
        last = line.startsWith(">") ? "" : line; // two consecutive activations are printed separately
    }

    private static int depth(LocatableEvent event) throws IncompatibleThreadStateException {
        return event.thread().frameCount();
    }
}
