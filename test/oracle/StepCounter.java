import com.sun.jdi.Bootstrap;
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
import com.sun.jdi.event.StepEvent;
import com.sun.jdi.request.ClassPrepareRequest;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.StepRequest;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * How many bytecodes each method of a program executes, counted by its JVM: a debugger steps through it, one
 * instruction after the other. Main thread only. 10,000 instructions a second or so.
 *
 *   java --add-modules jdk.jdi StepCounter.java <home> <class path> <main class and arguments> <class pattern>
 *
 * Prints "<class>.<method><descriptor> <bytecodes>" for each, then "end".
 */
public final class StepCounter {
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
        Map<Method, long[]> counts = new HashMap<>();
        try {
            while (true) {
                EventSet events = vm.eventQueue().remove();
                for (Event event : events) {
                    if (event instanceof StepEvent) {
                        Location at = ((StepEvent) event).location();
                        counts.computeIfAbsent(at.method(), m -> new long[1])[0]++;
                    } else if (event instanceof ClassPrepareEvent && prepare.isEnabled()) {
                        step(vm, ((ClassPrepareEvent) event).thread(), args[3]);
                        prepare.disable();
                    }
                }
                events.resume();
            }
        } catch (VMDisconnectedException end) {
            Map<String, Long> sorted = new TreeMap<>();
            counts.forEach((m, n) ->
                sorted.merge(m.declaringType().name() + "." + m.name() + m.signature(), n[0], Long::sum));
            sorted.forEach((m, n) -> System.out.println(m + " " + n));
            System.out.println("end");
        }
    }

    /** Every instruction of the classes that match, in this thread; the thread goes on by itself. */
    private static void step(VirtualMachine vm, ThreadReference thread, String pattern) {
        StepRequest step = vm.eventRequestManager()
            .createStepRequest(thread, StepRequest.STEP_MIN, StepRequest.STEP_INTO);
        step.addClassFilter(pattern);
        step.setSuspendPolicy(EventRequest.SUSPEND_NONE);
        step.enable();
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
