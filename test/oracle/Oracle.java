import com.sun.jdi.Bootstrap;
import com.sun.jdi.IncompatibleThreadStateException;
import com.sun.jdi.Method;
import com.sun.jdi.StackFrame;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.VMDisconnectedException;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.connect.IllegalConnectorArgumentsException;
import com.sun.jdi.connect.ListeningConnector;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.MethodEntryEvent;
import com.sun.jdi.event.VMDeathEvent;
import com.sun.jdi.event.VMDisconnectEvent;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.MethodEntryRequest;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * Counts calls slowly and reliably with the JDK's debugger.
 *
 * Starts a program, suspends a thread at every entry of an application method, and reads the thread's stack. A call counts if the root is
 * on this stack. Its context consists of the application methods from the outermost root to the top. No state is kept between two events,
 * so exceptions, failing constructors and ended threads cannot cause errors. The cost is a few hundred microseconds per call.
 *
 *   java Oracle.java --root fix.KnownTree.task --include 'fix.*' [--include …] [--exclude …]
 *                    [--send run --send quit] -- -cp classes fix.KnownTree 1 10
 *
 * The arguments after -- are the target's command line after `java`. The lines of --send are written to its stdin. Writes {"methods":
 * {"class.method(descriptor)": calls}, "contexts": {"path;path": calls}, "events": n, "exitCode": n, "stdout": "…"} to stdout.
 *
 * Application methods are methods of classes that match --include (a JDI class filter: a name, or a name with * at one end) and do not
 * match --exclude. Native methods and generated classes are not included: lambda proxies, hidden classes and dynamic proxies. Their callees
 * are below the next application method. A root is class.method, with (descriptor) to select one overload.
 */
public final class Oracle {
    private static final Pattern PROXY = Pattern.compile("(^|\\.)\\$Proxy\\d+$");

    private final Map<String, Long> methods = new TreeMap<>();
    private final Map<String, Long> contexts = new TreeMap<>();
    private final Map<Method, String> names = new HashMap<>();
    private final List<String> includes = new ArrayList<>();
    private final List<String> excludes = new ArrayList<>();
    private final List<String> lines = new ArrayList<>();
    private final StringBuilder stdout = new StringBuilder();
    private String root;
    private long events;

    public static void main(String[] args) throws Exception {
        // No target may stay alive after an error: it ends with its stdin or by the shutdown hook.
        Oracle oracle = new Oracle();
        int at = 0;
        for (; !args[at].equals("--"); at += 2) {
            switch (args[at]) {
                case "--root" -> oracle.root = args[at + 1];
                case "--include" -> oracle.includes.add(args[at + 1]);
                case "--exclude" -> oracle.excludes.add(args[at + 1]);
                case "--send" -> oracle.lines.add(args[at + 1]);
                default -> throw new IllegalArgumentException("unknown option " + args[at]);
            }
        }
        if (oracle.root == null || oracle.includes.isEmpty()) {
            throw new IllegalArgumentException("--root and --include are needed");
        }
        oracle.run(List.of(args).subList(at + 1, args.length));
    }

    private void run(List<String> command)
        throws IOException, InterruptedException, IllegalConnectorArgumentsException {
        ListeningConnector connector = Bootstrap.virtualMachineManager().listeningConnectors().stream()
            .filter(each -> each.transport().name().equals("dt_socket")).findFirst().orElseThrow();
        Map<String, Connector.Argument> arguments = connector.defaultArguments();
        arguments.get("localAddress").setValue("127.0.0.1");
        arguments.get("timeout").setValue("20000");
        String address = connector.startListening(arguments);
        String port = address.substring(address.lastIndexOf(':') + 1);

        List<String> java = new ArrayList<>();
        java.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        java.add("-agentlib:jdwp=transport=dt_socket,server=n,suspend=y,address=127.0.0.1:" + port);
        java.addAll(command);
        Process process = new ProcessBuilder(java).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        Thread reader = new Thread(() -> collect(process.getInputStream()), "stdout");
        reader.setDaemon(true);
        reader.start();

        VirtualMachine machine = connector.accept(arguments);
        connector.stopListening(arguments);
        for (String include : includes) {
            MethodEntryRequest request = machine.eventRequestManager().createMethodEntryRequest();
            request.addClassFilter(include);
            for (String exclude : excludes) request.addClassExclusionFilter(exclude);
            request.setSuspendPolicy(EventRequest.SUSPEND_EVENT_THREAD);
            request.enable();
        }
        try (OutputStream stdin = process.getOutputStream()) {
            for (String line : lines) stdin.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        }
        listen(machine);
        int exitCode = process.waitFor();
        reader.join();
        print(exitCode);
    }

    private void listen(VirtualMachine machine) throws InterruptedException {
        try {
            while (true) {
                EventSet set = machine.eventQueue().remove();
                boolean ended = false;
                boolean counted = false;
                for (Event event : set) {
                    if (event instanceof MethodEntryEvent entry && !counted) {
                        counted = true; // two filters may match the same entry: one event set is one call
                        count(entry);
                    }
                    ended |= event instanceof VMDisconnectEvent || event instanceof VMDeathEvent;
                }
                if (ended) {
                    set.resume();
                    return;
                }
                set.resume();
            }
        } catch (VMDisconnectedException end) {
            // The program ended between two events.
        }
    }

    private void count(MethodEntryEvent entry) {
        events++;
        Method entered = entry.method();
        if (!isApplication(entered)) return;
        ThreadReference thread = entry.thread();
        StringBuilder path = null;
        try {
            List<StackFrame> frames = new ArrayList<>(thread.frames());
            Collections.reverse(frames);
            for (StackFrame frame : frames) {
                Method method = frame.location().method();
                if (path == null) {
                    if (isRoot(method)) path = new StringBuilder(name(method));
                } else if (isApplication(method)) {
                    path.append(';').append(name(method));
                }
            }
        } catch (IncompatibleThreadStateException broken) {
            throw new IllegalStateException("the thread is not stopped at " + name(entered), broken);
        }
        if (path == null) return;
        methods.merge(name(entered), 1L, Long::sum);
        contexts.merge(path.toString(), 1L, Long::sum);
    }

    private boolean isRoot(Method method) {
        if (!root.startsWith(method.declaringType().name() + ".")) return false;
        String name = name(method);
        return root.indexOf('(') >= 0 ? name.equals(root) : name.substring(0, name.indexOf('(')).equals(root);
    }

    private boolean isApplication(Method method) {
        String type = method.declaringType().name();
        if (method.isNative() || isGenerated(type)) return false;
        return includes.stream().anyMatch(filter -> matches(filter, type))
            && excludes.stream().noneMatch(filter -> matches(filter, type));
    }

    private static boolean isGenerated(String type) {
        // Debuggers name a hidden class "host.0x…" or "host/0x…", depending on the JDK.
        return type.contains("$$Lambda") || type.contains(".0x") || type.contains("/")
            || PROXY.matcher(type).find();
    }

    /** Matches a name by the rule of JDI class filters. */
    private static boolean matches(String filter, String type) {
        if (filter.startsWith("*")) return type.endsWith(filter.substring(1));
        if (filter.endsWith("*")) return type.startsWith(filter.substring(0, filter.length() - 1));
        return type.equals(filter);
    }

    private String name(Method method) {
        return names.computeIfAbsent(method, it -> it.declaringType().name() + "." + it.name() + it.signature());
    }

    // --- output

    private void collect(InputStream in) {
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8))) {
            for (int c; (c = reader.read()) >= 0; ) stdout.append((char) c);
        } catch (IOException end) {
            // The program has closed the pipe. The output read so far is kept.
        }
    }

    private void print(int exitCode) {
        StringBuilder json = new StringBuilder("{\"methods\": ");
        print(json, methods);
        json.append(", \"contexts\": ");
        print(json, contexts);
        json.append(", \"events\": ").append(events).append(", \"exitCode\": ").append(exitCode);
        json.append(", \"stdout\": ");
        quote(json, stdout);
        json.append("}");
        new PrintStream(System.out, true, StandardCharsets.UTF_8).println(json);
    }

    private static void print(StringBuilder json, Map<String, Long> counts) {
        json.append("{");
        String separator = "";
        for (Map.Entry<String, Long> each : counts.entrySet()) {
            json.append(separator);
            quote(json, each.getKey());
            json.append(": ").append(each.getValue());
            separator = ", ";
        }
        json.append("}");
    }

    private static void quote(StringBuilder json, CharSequence text) {
        json.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') json.append('\\').append(c);
            else if (c < ' ') json.append(String.format("\\u%04x", (int) c));
            else json.append(c);
        }
        json.append('"');
    }
}
