package jfluid.agent;

import java.io.IOException;
import java.security.ProtectionDomain;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The load hook (report, sections 6.1 step 3 and 6.2 step 5): a class is about to be loaded, or another agent redefines one, and the client
 * is asked. {@link #loading} and {@link #changed} run on the thread that does that, all else on the session's.
 */
final class ClassLoading extends Topic implements HotSwap.LoadHook {
    /** What a thread inside the hook is about to load. */
    private static final class Loading {
        final ClassLoader loader;
        final String name;
        final byte[] bytes;
        /** On the thread of a redefinition. */
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
    /** Written before `watching` is, and read by threads of the program after that. */
    private HotSwap hotSwap;
    private volatile boolean watching;
    private volatile boolean watchJdk;
    /** Of classes that have probes, though no class is watched for as it is loaded. */
    private volatile boolean hearsChanges;
    /** What threads inside the load hook ask, by thread id. */
    private final Map<Long, JFluid1Requests.Request> hooked = new ConcurrentHashMap<>();
    /** The same, by the number that the client answers to. */
    private final Map<Integer, JFluid1Requests.Request> openHooks = new HashMap<>();

    ClassLoading(Link link, ClassTable classes, RuntimeLink runtime) {
        this.link = link;
        this.classes = classes;
        this.runtime = runtime;
    }

    /** @param hotSwap which calls us */
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

    /** Also if no class is watched for: of classes that change. */
    void hearChanges() {
        hearsChanges = true;
    }

    /** The session ends: no more questions are sent to the client. */
    void end() {
        watching = hearsChanges = false;
    }

    /** Runs on the loading thread: asks the client, for a bounded time, what to do with the class. */
    @Override
    public byte[] loading(ClassLoader loader, String given, ProtectionDomain domain, byte[] bytes) {
        if (!watching) {
            return null;
        }
        // First of all: what follows may be instrumented itself, and is not the application's doing.
        JFluid1Threads.ThreadInfo suspended = JFluid1Roots.suspend();
        boolean isCounted = JFluid1Threads.enterHook();
        try {
            String name = given == null ? Splicer.nameIn(bytes) : given;
            boolean isPassedOver = name == null || !watchJdk && isRuntimeImage(loader, domain) || isGenerated(name);
            return isPassedOver ? null : ask(loader, name, bytes);
        } catch (VirtualMachineError noMemoryNorStack) {
            JFluid1Session.gap(); // the class is defined as it is
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
        // Asking loads classes itself, and those are hooked as well when JDK code is watched. A request that
        // is over and still there was left by a thread without stack to remove it.
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
            // A wait that was too long is counted as a gap; the class is then defined as it is.
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
            JFluid1Session.gap(); // its probes would not be found: it is defined as it is
            return null;
        }
        return hotSwap.isComing(loader, name) ? request.answer : null;
    }

    /** Proxies and accessors are transparent and never instrumented. */
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

    /** Passes on what {@link #ask} asks. @param number by which the client answers */
    void tell(int number, JFluid1Requests.Request r) throws IOException {
        Loading loading = (Loading) r.subject;
        openHooks.put(number, r);
        link.send(new Object[] {0, "classLoading", number, classes.announced(loading.loader, loading.name),
            classes.loaderId(loading.loader), loading.name, loading.bytes, loading.urgent});
    }

    /** The client's answer: {@code [0, "loadHook", hook, poolEntries, pool, [[method, code], …], ready, highest]}. */
    private void loaded(Object[] m) throws IOException {
        JFluid1Requests.Request request = openHooks.remove(MessagePack.asInt(m[2]));
        if (request == null) {
            return;
        }
        Object[] bodies = (Object[]) m[5];
        if (bodies.length > 0 && request.abandoned) {
            // The class is defined as it was: the client redefines it once it is there.
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
                request.done = true; // the thread that loads the class waits for it
            }
        }
        request.done = true;
        if (bodies.length > 0 && request.abandoned && request.answer != null) {
            link.send(new Object[] {0, "lateLoad", m[2]}); // it gave up in this very moment
        }
    }

    /** Another agent is at work: its thread does not wait, so until the client has answered calls may be missed. */
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
