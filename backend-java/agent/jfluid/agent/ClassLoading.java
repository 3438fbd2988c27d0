package jfluid.agent;

import java.io.IOException;
import java.security.ProtectionDomain;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The load hook (report, sections 6.1 step 3 and 6.2 step 5): asks the client about a class that is about to be loaded, or that another
 * agent redefines. {@link #loading} and {@link #changed} run on the loading or redefining thread, all other methods on the session's
 * thread.
 */
final class ClassLoading extends Topic implements HotSwap.LoadHook {
    /** A class that a thread inside the hook is about to load. */
    private static final class Loading {
        final ClassLoader loader;
        final String name;
        final byte[] bytes;
        /** Whether the loading thread runs a redefinition. */
        final boolean urgent;

        Loading(ClassLoader loader, String name, byte[] bytes, boolean urgent) {
            this.loader = loader;
            this.name = name;
            this.bytes = bytes;
            this.urgent = urgent;
        }
    }

    private final Link link;
    private final ClassTable classes;
    private final RuntimeLink runtime;
    /** Written before `watching`; application threads read it after `watching`. */
    private HotSwap hotSwap;
    private volatile boolean watching;
    private volatile boolean watchJdk;
    /** Whether changes of classes with probes are reported. Independent of `watching`. */
    private volatile boolean hearsChanges;
    /** Requests of threads inside the load hook, by thread id. */
    private final Map<Long, JFluid1Requests.Request> hooked = new ConcurrentHashMap<>();
    /** Requests of threads inside the load hook, by the number that the client's answer contains. */
    private final Map<Integer, JFluid1Requests.Request> openHooks = new HashMap<>();

    ClassLoading(Link link, ClassTable classes, RuntimeLink runtime) {
        this.link = link;
        this.classes = classes;
        this.runtime = runtime;
    }

    /** @param hotSwap caller of this hook */
    void begin(HotSwap hotSwap) {
        this.hotSwap = hotSwap;
    }

    @Override
    Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "watch":
                watchJdk = (Boolean) m[2];
                JFluid1Nameless.followJdk(watchJdk);
                watching = true;
                return null;
            case "loadHook": loaded(m); return null;
            default: throw unknown(op);
        }
    }

    /** Starts reporting changes of classes with probes, even if class loading is not watched. */
    void hearChanges() {
        hearsChanges = true;
    }

    /** Ends the session: sends no more questions to the client. */
    void end() {
        watching = hearsChanges = false;
    }

    /** Runs on the loading thread: asks the client what to do with the class, and waits for a bounded time. */
    @Override
    public byte[] loading(ClassLoader loader, String given, ProtectionDomain domain, byte[] bytes) {
        if (!watching) {
            return null;
        }
        // The thread's clock is suspended before any other call: the calls below may reach instrumented code, but must not be recorded as
        // calls of the application.
        JFluid1Threads.ThreadInfo suspended = JFluid1Roots.suspend();
        boolean isCounted = JFluid1Threads.enterHook();
        try {
            String name = given == null ? Splicer.nameIn(bytes) : given;
            boolean isPassedOver = name == null || !watchJdk && isRuntimeImage(loader, domain) || isGenerated(name);
            return isPassedOver ? null : ask(loader, name, bytes);
        } catch (VirtualMachineError noMemoryNorStack) {
            JFluid1Session.gap(); // the class is defined unchanged
            return null;
        } finally {
            try {
                if (suspended != null) {
                    JFluid1Roots.resume(suspended);
                }
            } finally {
                if (isCounted) {
                    JFluid1Threads.leaveHook();
                }
            }
        }
    }

    private byte[] ask(ClassLoader loader, String name, byte[] bytes) {
        JFluid1Requests.Request request = new JFluid1Requests.Request(JFluid1Requests.Request.CLASS_LOADING, 0,
                new Loading(loader, name, bytes, Thread.currentThread() instanceof Swapping), null);
        // This code may load classes itself. If JDK code is watched, these classes enter the hook, too. A completed request that is still
        // in the map was left by a thread with too little stack to remove it.
        Long thread = JFluid1Threads.idOf(Thread.currentThread());
        JFluid1Requests.Request open = hooked.putIfAbsent(thread, request);
        if (open != null) {
            if (!open.done && !open.abandoned) {
                return null;
            }
            hooked.put(thread, request);
        }
        try {
            JFluid1Requests.ask(request);
            // A timeout counts as a gap; the class is then defined unchanged.
            if (!JFluid1Requests.await(request)) {
                return null;
            }
        } finally {
            request.abandoned |= !request.done;
            hooked.remove(thread);
        }
        if (request.answer == null) {
            return null;
        }
        if (!runtime.whileLoading(loader)) {
            hotSwap.dropLoading(loader, name);
            JFluid1Session.gap(); // the class could not resolve the probe class, so it is defined unchanged
            return null;
        }
        return hotSwap.isComing(loader, name) ? request.answer : null;
    }

    /**
     * Returns whether a class is a dynamic proxy or a reflection accessor. Such a class is never instrumented; its callees count as callees
     * of its caller.
     */
    private static boolean isGenerated(String name) {
        if (name.startsWith("jdk/internal/reflect/Generated")) {
            return true;
        }
        int at = name.lastIndexOf("$Proxy");
        return at >= 0 && at + 6 < name.length() && Character.isDigit(name.charAt(at + 6));
    }

    private static boolean isRuntimeImage(ClassLoader loader, ProtectionDomain domain) {
        if (loader == null || loader == ClassLoader.getPlatformClassLoader()) {
            return true;
        }
        if (domain == null || domain.getCodeSource() == null || domain.getCodeSource().getLocation() == null) {
            return false;
        }
        return "jrt".equals(domain.getCodeSource().getLocation().getProtocol());
    }

    /** Forwards the request of {@link #ask} to the client. @param number number in the client's answer */
    void tell(int number, JFluid1Requests.Request r) throws IOException {
        Loading loading = (Loading) r.subject;
        openHooks.put(number, r);
        link.send(new Object[] {0, "classLoading", number, classes.announced(loading.loader, loading.name),
            classes.loaderId(loading.loader), loading.name, loading.bytes, loading.urgent});
    }

    /** Handles the client's answer: {@code [0, "loadHook", hook, poolEntries, pool, [[method, code], …], ready, highest]}. */
    private void loaded(Object[] m) throws IOException {
        JFluid1Requests.Request request = openHooks.remove(MessagePack.asInt(m[2]));
        if (request == null) {
            return;
        }
        Object[] bodies = (Object[]) m[5];
        if (bodies.length > 0 && request.abandoned) {
            // The class is defined unchanged; the client redefines the class afterwards.
            link.send(new Object[] {0, "lateLoad", m[2]});
        } else if (bodies.length > 0) {
            Loading loading = (Loading) request.subject;
            TreeMap<Integer, byte[]> codes = new TreeMap<>();
            for (Object item : bodies) {
                Object[] body = (Object[]) item;
                codes.put(MessagePack.asInt(body[0]), (byte[]) body[1]);
            }
            Redefinition.ready(MessagePack.asInt(m[7]), MessagePack.ints(m[6]));
            try {
                request.answer = hotSwap.defineWith(
                        loading.loader, loading.name, loading.bytes, MessagePack.asInt(m[3]), (byte[]) m[4], codes);
            } finally {
                request.done = true; // the loading thread waits for this flag
            }
        }
        request.done = true;
        if (bodies.length > 0 && request.abandoned && request.answer != null) {
            link.send(new Object[] {0, "lateLoad", m[2]}); // the loading thread has just timed out
        }
    }

    /** Reports a redefinition by another agent. The redefining thread does not wait, so calls before the client's answer may be missed. */
    @Override
    public void changed(Class<?> redefined, boolean unprobed) {
        if (!watching && !hearsChanges) {
            return;
        }
        if (unprobed) {
            JFluid1Session.gap();
        }
        JFluid1Requests.ask(
                new JFluid1Requests.Request(JFluid1Requests.Request.CHANGED_CLASS, unprobed ? 1 : 0, redefined, null));
    }
}
