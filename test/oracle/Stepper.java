import com.sun.jdi.Bootstrap;
import com.sun.jdi.Method;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.VMDisconnectedException;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.connect.LaunchingConnector;
import com.sun.jdi.event.ClassPrepareEvent;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.request.ClassPrepareRequest;
import com.sun.jdi.request.EventRequestManager;
import com.sun.jdi.request.StepRequest;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Map;

/**
 * A debugger that starts a program and steps through its main thread, one instruction at a time, in all classes that match a pattern: about
 * 10,000 instructions per second. Subclasses handle the events.
 *
 * The arguments are home, class path, main class with its arguments, and class pattern. Prints "end" as the last line.
 */
abstract class Stepper {
    /** Requests further events for this thread and these classes. */
    void watch(EventRequestManager requests, ThreadReference thread, String pattern) {
    }

    /** Returns whether the thread is suspended at each step until the event is handled. */
    abstract int suspendPolicy();

    abstract void take(EventSet events) throws Exception;

    /** Called when the program has ended. */
    abstract void print();

    final void run(String[] args) throws Exception {
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
        EventRequestManager requests = vm.eventRequestManager();
        ClassPrepareRequest prepare = requests.createClassPrepareRequest();
        prepare.addClassFilter(args[2].split(" ")[0]);
        prepare.enable();
        // The program is resumed with its first event set, below. A second resume would also resume it from its next suspension.
        try {
            while (true) {
                EventSet events = vm.eventQueue().remove();
                take(events);
                for (Event event : events) {
                    if (event instanceof ClassPrepareEvent && prepare.isEnabled()) {
                        ThreadReference thread = ((ClassPrepareEvent) event).thread();
                        step(requests, thread, args[3]);
                        watch(requests, thread, args[3]);
                        prepare.disable();
                    }
                }
                events.resume();
            }
        } catch (VMDisconnectedException end) {
            print();
            System.out.println("end");
        }
    }

    static String name(Method m) {
        return m.declaringType().name() + "." + m.name() + m.signature();
    }

    private void step(EventRequestManager requests, ThreadReference thread, String pattern) {
        StepRequest step = requests.createStepRequest(thread, StepRequest.STEP_MIN, StepRequest.STEP_INTO);
        step.addClassFilter(pattern);
        step.setSuspendPolicy(suspendPolicy());
        step.enable();
    }

    private static void drain(InputStream in) {
        Thread thread = new Thread(() -> {
            try {
                in.transferTo(OutputStream.nullOutputStream());
            } catch (IOException end) {
                // The process has ended.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }
}
