import com.sun.jdi.Bootstrap;
import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.Location;
import com.sun.jdi.Method;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.VMDisconnectedException;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.connect.LaunchingConnector;
import com.sun.jdi.event.ClassPrepareEvent;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.LocatableEvent;
import com.sun.jdi.event.MethodEntryEvent;
import com.sun.jdi.event.StepEvent;
import com.sun.jdi.request.ClassPrepareRequest;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.MethodEntryRequest;
import com.sun.jdi.request.StepRequest;
import java.util.Map;

/**
 * Where a program goes, line by line: a debugger steps through its main thread, one instruction after the other.
 *
 *   java --add-modules jdk.jdi LineTrace.java <home> <class path> <main class and arguments> <class pattern>
 *
 * Prints "> <depth> <class>.<method><descriptor>" where an activation begins, "<depth> <line>" where the line in the
 * frame of this depth is another than what was printed last, then "end".
 */
public final class LineTrace {
    private static final StringBuilder OUT = new StringBuilder();
    private static String last = "";

    public static void main(String[] args) throws Exception {
        LaunchingConnector connector = Bootstrap.virtualMachineManager().defaultConnector();
        Map<String, Connector.Argument> with = connector.defaultArguments();
        with.get("home").setValue(args[0]);
        with.get("options").setValue("-cp " + args[1]);
        with.get("main").setValue(args[2]);
        with.get("suspend").setValue("true");
        VirtualMachine vm = connector.launch(with);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> vm.process().destroyForcibly()));
        drain(vm.process().getInputStream());
        drain(vm.process().getErrorStream());
        ClassPrepareRequest prepare = vm.eventRequestManager().createClassPrepareRequest();
        prepare.addClassFilter(args[2].split(" ")[0]);
        prepare.enable();
        vm.resume();
        try {
            while (true) {
                EventSet events = vm.eventQueue().remove();
                // What begins comes before what is stepped to in it.
                for (Event event : events) {
                    if (event instanceof MethodEntryEvent) {
                        Method m = ((MethodEntryEvent) event).method();
                        say("> " + depth((LocatableEvent) event) + " " + m.declaringType().name() + "." + m.name() + m.signature());
                    }
                }
                for (Event event : events) {
                    if (event instanceof StepEvent) {
                        Location at = ((StepEvent) event).location();
                        say(depth((LocatableEvent) event) + " " + at.lineNumber());
                    } else if (event instanceof ClassPrepareEvent && prepare.isEnabled()) {
                        watch(vm, ((ClassPrepareEvent) event).thread(), args[3]);
                        prepare.disable();
                    }
                }
                events.resume();
            }
        } catch (VMDisconnectedException end) {
            System.out.print(OUT);
            System.out.println("end");
        }
    }

    private static void say(String line) {
        if (!line.equals(last)) {
            OUT.append(line).append('\n');
        }
        last = line.startsWith(">") ? "" : line; // one activation after the other is two
    }

    private static int depth(LocatableEvent event) throws IncompatibleThreadStateException {
        return event.thread().frameCount();
    }

    /** Every instruction and every activation of the classes that match, in this thread. */
    private static void watch(VirtualMachine vm, ThreadReference thread, String pattern) {
        StepRequest step = vm.eventRequestManager()
            .createStepRequest(thread, StepRequest.STEP_MIN, StepRequest.STEP_INTO);
        step.addClassFilter(pattern);
        step.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
        step.enable();
        MethodEntryRequest entry = vm.eventRequestManager().createMethodEntryRequest();
        entry.addThreadFilter(thread);
        entry.addClassFilter(pattern);
        entry.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
        entry.enable();
    }

    private static void drain(java.io.InputStream in) {
        Thread thread = new Thread(() -> {
            try {
                in.transferTo(java.io.OutputStream.nullOutputStream());
            } catch (java.io.IOException end) {
                // The process has gone.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
