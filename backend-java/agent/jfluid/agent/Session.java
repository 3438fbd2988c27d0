package jfluid.agent;

import java.io.EOFException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.instrument.Instrumentation;
import java.net.ConnectException;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * One attach, from connect to detach: the single daemon thread of the back end. It executes the
 * client's commands, passes on what the probes and the load hook ask, and guards the target: when the
 * client is gone, or stops answering while somebody waits for it, the session ends as if it had
 * detached.
 *
 * The messages are drawn in src/wire/messages.ts.
 */
final class Session extends Thread {
    private static final long IDLE_MILLIS = 1000;
    private static final int RESTORE_TRIES = 20;

    private final Path dir;
    private final String build;
    /** Holds back main() in a JVM that was started under jfluid. */
    private final CountDownLatch go = new CountDownLatch(1);
    private final Instrumentation instrumentation = (Instrumentation) JFluid1.Setup.instrumentation;
    private Link link;
    private ClassTable classes;
    private HotSwap hotSwap;
    private MappedByteBuffer ring;
    private RandomAccessFile perfData;
    private long safepointTimeAt;
    private volatile boolean over;
    private volatile boolean watching;
    private volatile boolean watchJdk;
    private boolean recording;
    private boolean detached;
    private volatile boolean left;
    private final Map<Integer, JFluid1.Request> openHooks = new HashMap<>();
    private final Map<Integer, JFluid1.Request> openReflections = new HashMap<>();
    private int nextHook;
    /** What threads inside the load hook ask, by thread id. */
    private final Map<Long, JFluid1.Request> hooked = new ConcurrentHashMap<>();

    Session(Path dir, String build) throws IOException {
        super(null, null, "jfluid-agent", 0, false);
        this.dir = dir;
        this.build = build;
        setDaemon(true);
        // The application's context loader must not be kept alive by us.
        setContextClassLoader(null);
        // Nor must its default handler hear of us.
        setUncaughtExceptionHandler((thread, error) -> {});
        try {
            link = new Link(dir.resolve("link"));
        } catch (ConnectException nobodyListens) {
            // The client was killed between its command and now: what it left on disk is ours to remove.
            Main.deleteQuietly(dir.resolve("link"));
            Main.deleteQuietly(dir);
            throw nobodyListens;
        }
    }

    /**
     * Of no effect. Code that interrupts every thread it finds does not mean us; interrupted, the
     * selector would not wait any more, and channels would close.
     */
    @Override
    public void interrupt() {}

    boolean isOver() {
        return over;
    }

    /** Whether the target is being given its code back: it will be over soon, by itself. */
    boolean isLeaving() {
        return left;
    }

    void awaitGo(long time, TimeUnit unit) throws InterruptedException {
        go.await(time, unit);
    }

    @Override
    public void run() {
        try {
            classes = new ClassTable(instrumentation);
            findRuntimeFrom(ClassLoader.getSystemClassLoader());
            hotSwap = new HotSwap(instrumentation, classes, this::loading);
            while (!detached) {
                link.await(IDLE_MILLIS);
                answerRequests();
                for (Object[] message = link.receive(); message != null && !detached; message = link.receive()) {
                    execute(message);
                }
                if (recording && !JFluid1.isEnabled()) {
                    sendQuietly(new Object[] {0, "ended", "the client did not answer for 250 ms"});
                    break;
                }
            }
        } catch (EOFException clientGone) {
            // The usual end of a client that was killed: leave as if it had detached.
        } catch (IOException | RuntimeException e) {
            sendQuietly(new Object[] {0, "ended", e.toString()});
        } catch (Error e) {
            sendQuietly(new Object[] {0, "ended", e.toString()});
        } finally {
            try {
                leave();
            } finally {
                over = true;
                go.countDown();
                Main.forget(this);
            }
        }
    }

    /**
     * Lets the JVM note what this loader answers for the runtime's name: else the first instrumented method
     * would make it look, and with no memory for that fail. Only of use for a loader of the JDK's own; to
     * call one of the application's may need locks that are not ours to take.
     */
    private static void findRuntimeFrom(ClassLoader loader) {
        try {
            if (loader.getClass().getModule() == Object.class.getModule()) {
                Class.forName("java.lang.JFluid1", false, loader);
            }
        } catch (ClassNotFoundException | LinkageError odd) {
            // Then instrumented methods would not link either; the first one says so.
        }
    }

    private void sendQuietly(Object message) {
        try {
            link.send(message);
            for (int i = 0; i < 10 && link.hasUnsent(); i++) {
                link.await(20);
            }
        } catch (IOException | RuntimeException | OutOfMemoryError nobodyListens) {
            // The message is a courtesy; leaving is what matters.
        }
    }

    // ---- commands ----

    private void execute(Object[] message) throws IOException {
        int id = MessagePack.asInt(message[0]);
        String op = (String) message[1];
        Object reply;
        try {
            reply = command(op, message);
        } catch (MessagePack.Malformed e) {
            throw e;
        } catch (IOException | RuntimeException | LinkageError e) {
            if (id != 0) {
                link.send(new Object[] {id, false, e.toString()});
            }
            return;
        }
        if (id != 0) {
            link.send(new Object[] {id, true, reply});
        }
        if (detached) {
            for (int i = 0; i < 50 && link.hasUnsent(); i++) {
                link.await(20);
            }
        }
    }

    private Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "hello":
                return hello();
            case "configure":
                return configure((String) m[2], MessagePack.asInt(m[3]), MessagePack.asInt(m[4]),
                        MessagePack.asInt(m[5]), (String) m[6], MessagePack.asLong(m[7]), (Object[]) m[8]);
            case "loadedClasses":
                return classes.refresh();
            case "classBytes":
                return hotSwap.read(ints(m[2]));
            case "extendConstantPool":
                hotSwap.extendPool(MessagePack.asInt(m[2]), MessagePack.asInt(m[3]), MessagePack.asInt(m[4]), (byte[]) m[5]);
                return null;
            case "redefineMethods":
                return redefine((Object[]) m[2], ints(m[3]), MessagePack.asInt(m[4]));
            case "watch":
                watchJdk = (Boolean) m[2];
                watching = true;
                return null;
            case "enable":
                JFluid1.enable();
                recording = true;
                return JFluid1.ticks() - JFluid1.startTicks();
            case "go":
                go.countDown();
                return null;
            case "calibrate": {
                long[] times = JFluid1.calibrate(MessagePack.asLong(m[2]) * 1_000_000L);
                return new Object[] {times[0] / 1000.0, times[1] / 1000.0};
            }
            case "status":
                return status();
            case "stackTraces":
                return Stacks.rows(MessagePack.asInt(m[2]));
            case "reclaim":
                return JFluid1.reclaim();
            case "loadHook":
                loaded(m);
                return null;
            case "reflected": {
                JFluid1.Request request = openReflections.remove(MessagePack.asInt(m[2]));
                if (request != null) {
                    request.done = true;
                }
                return null;
            }
            case "detach":
                detached = true;
                return leave();
            default:
                throw new IOException("unknown command " + op);
        }
    }

    private Object hello() {
        return new Object[] {
            build,
            JFluid1.FAST_CLOCK ? "ticks" : "nanoTime",
            Runtime.version().feature(),
            System.getProperty("java.runtime.version"),
            System.getProperty("java.vm.name"),
            System.getProperty("sun.java.command", ""),
            ProcessHandle.current().pid(),
        };
    }

    private Object configure(
            String path, int chunkBytes, int chunkCount, int chunksAt, String perfPath, long safepointAt,
            Object[] follow)
            throws IOException {
        try (FileChannel file = FileChannel.open(Path.of(path), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ring = file.map(FileChannel.MapMode.READ_WRITE, 0, chunksAt + (long) chunkBytes * chunkCount);
        }
        if (!perfPath.isEmpty()) {
            try {
                perfData = new RandomAccessFile(perfPath, "r");
                safepointTimeAt = safepointAt;
            } catch (IOException none) {
                perfData = null; // pauses are then not taken out; the client says so
            }
        }
        Link wake = link;
        JFluid1.begin(JFluid1.address(ring), chunkBytes, chunkCount, chunksAt, wake::wakeup);
        if (follow.length > 0) {
            follow(follow);
        }
        return new Object[] {clockPair(), perfData != null};
    }

    /** Makes sure that the JDK's classes where work changes hands are loaded, so that they can have probes. */
    private static void follow(Object[] classNames) {
        for (Object name : classNames) {
            try {
                Class.forName((String) name, false, null);
            } catch (ClassNotFoundException otherJdk) {
                // The client knows the names of several JDKs, and does without.
            }
        }
        JFluid1.follow();
    }

    /** Session ticks and System.nanoTime() of the same moment, as near as a few tries can get. */
    private static Object clockPair() {
        long best = Long.MAX_VALUE;
        long ticks = 0;
        long nanos = 0;
        for (int i = 0; i < 5; i++) {
            long t0 = JFluid1.ticks();
            long n = System.nanoTime();
            long t1 = JFluid1.ticks();
            if (t1 - t0 < best) {
                best = t1 - t0;
                ticks = t0 + (t1 - t0) / 2 - JFluid1.startTicks();
                nanos = n;
            }
        }
        return new Object[] {ticks, nanos};
    }

    /** Total time at safepoints so far in nanoseconds, from the JVM's own counters; -1 if unknown. */
    private long safepointNanos() {
        if (perfData == null) {
            return -1;
        }
        try {
            perfData.seek(safepointTimeAt);
            long v = perfData.readLong();
            return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? Long.reverseBytes(v) : v;
        } catch (IOException gone) {
            return -1;
        }
    }

    private Object redefine(Object[] list, int[] readyIds, int highestId) {
        Map<Integer, TreeMap<Integer, byte[]>> bodies = new HashMap<>();
        for (Object item : list) {
            Object[] body = (Object[]) item;
            bodies.computeIfAbsent(MessagePack.asInt(body[0]), k -> new TreeMap<>())
                    .put(MessagePack.asInt(body[1]), (byte[]) body[2]);
        }
        JFluid1.methods(highestId);
        JFluid1.swapping(true);
        long before = safepointNanos();
        long t0 = JFluid1.ticks();
        Map<Integer, String> refused;
        int calls = hotSwap.redefinitions;
        try {
            hotSwap.loadedMeanwhile = false;
            refused = hotSwap.redefine(bodies);
        } finally {
            JFluid1.swapping(false);
        }
        long t1 = JFluid1.ticks();
        long after = safepointNanos();
        // Else the client has to look at these classes before the threads that wait may go on.
        if (!hotSwap.loadedMeanwhile) {
            for (int id : readyIds) {
                JFluid1.ready(id);
            }
        }
        List<Object> errors = new ArrayList<>();
        refused.forEach((id, why) -> errors.add(new Object[] {id, why}));
        long start = JFluid1.startTicks();
        return new Object[] {
            errors, t0 - start, t1 - start, before < 0 ? -1L : after - before, hotSwap.redefinitions - calls,
            hotSwap.loadedMeanwhile
        };
    }

    private Object status() {
        JFluid1.purge();
        List<Object> threads = new ArrayList<>();
        for (JFluid1.ThreadInfo ti = JFluid1.takeThreads(); ti != null; ) {
            threads.add(new Object[] {ti.number, ti.tid, ti.name, ti.virtual});
            // Once told, a living thread must not keep the records of those that ended before it.
            JFluid1.ThreadInfo next = ti.untold;
            ti.untold = null;
            ti = next;
        }
        hotSwap.dropGone();
        Runtime heap = Runtime.getRuntime();
        return new Object[] {
            clockPair(), threads, JFluid1.gaps(), heap.totalMemory() - heap.freeMemory(), classes.takeGone()
        };
    }

    // ---- what application threads ask ----

    private void answerRequests() throws IOException {
        // Newest first on the stack: turn it round, so that questions reach the client in their order.
        JFluid1.Request inOrder = null;
        for (JFluid1.Request r = JFluid1.takeRequests(); r != null; ) {
            JFluid1.Request next = r.next;
            r.next = inOrder;
            inOrder = r;
            r = next;
        }
        for (JFluid1.Request r = inOrder; r != null; r = r.next) {
            switch (r.kind) {
                case JFluid1.Request.FIRST_INVOCATION -> link.send(new Object[] {0, "first", r.value});
                case JFluid1.Request.REFLECTION -> {
                    java.lang.reflect.Executable e = (java.lang.reflect.Executable) r.subject;
                    int number = ++nextHook;
                    openReflections.put(number, r);
                    link.send(new Object[] {
                        0, "reflect", number, classes.id(e.getDeclaringClass()),
                        e instanceof java.lang.reflect.Constructor ? "<init>" : e.getName(), descriptor(e)
                    });
                }
                case JFluid1.Request.CLASS_LOADING -> {
                    Loading loading = (Loading) r.subject;
                    int number = ++nextHook;
                    openHooks.put(number, r);
                    link.send(new Object[] {
                        0, "classLoading", number, classes.announced(loading.loader, loading.name),
                        classes.loaderId(loading.loader), loading.name, loading.bytes
                    });
                }
                default -> throw new IllegalStateException("request " + r.kind);
            }
        }
    }

    private static String descriptor(java.lang.reflect.Executable e) {
        StringBuilder text = new StringBuilder("(");
        for (Class<?> p : e.getParameterTypes()) {
            text.append(p.descriptorString());
        }
        text.append(')');
        return e instanceof java.lang.reflect.Method m
                ? text.append(m.getReturnType().descriptorString()).toString()
                : text.append('V').toString();
    }

    // ---- the class-load hook (report, sections 6.1 step 3 and 6.2 step 5) ----

    private record Loading(ClassLoader loader, String name, byte[] bytes) {}

    /** Runs on the loading thread: asks the client, for a bounded time, what to do with the class. */
    private byte[] loading(ClassLoader loader, String name, ProtectionDomain domain, byte[] bytes) {
        if (!watching) {
            return null;
        }
        // First of all: what follows may be instrumented itself, and is not the application's doing.
        boolean suspended = JFluid1.suspend();
        try {
            return !watchJdk && isRuntimeImage(loader, domain) || isGenerated(name) ? null : ask(loader, name, bytes);
        } catch (VirtualMachineError noMemoryNorStack) {
            JFluid1.gap(); // the class is defined as it is
            return null;
        } finally {
            if (suspended) {
                JFluid1.resume();
            }
        }
    }

    private byte[] ask(ClassLoader loader, String name, byte[] bytes) {
        JFluid1.Request request =
                new JFluid1.Request(JFluid1.Request.CLASS_LOADING, 0, new Loading(loader, name, bytes), null);
        // Asking loads classes itself, and those are hooked as well when JDK code is watched. A request that
        // is over and still there was left by a thread without stack to remove it.
        Long thread = JFluid1.idOf(Thread.currentThread());
        JFluid1.Request open = hooked.putIfAbsent(thread, request);
        if (open != null) {
            if (!open.done && !open.abandoned) {
                return null;
            }
            hooked.put(thread, request);
        }
        try {
            JFluid1.ask(request);
            // A wait that was too long is counted as a gap; the class is then defined as it is.
            return JFluid1.await(request) ? request.answer : null;
        } finally {
            request.abandoned |= !request.done;
            hooked.remove(thread);
        }
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

    /** The client's answer: {@code [0, "loadHook", hook, poolEntries, pool, [[method, code], …], ready, highest]}. */
    private void loaded(Object[] m) throws IOException {
        JFluid1.Request request = openHooks.remove(MessagePack.asInt(m[2]));
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
            JFluid1.methods(MessagePack.asInt(m[7]));
            for (int id : ints(m[6])) {
                JFluid1.ready(id);
            }
            request.answer = hotSwap.defineWith(
                    loading.loader, loading.name, loading.bytes, MessagePack.asInt(m[3]), (byte[]) m[4], codes);
        }
        request.done = true;
        if (bodies.length > 0 && request.abandoned && request.answer != null) {
            link.send(new Object[] {0, "lateLoad", m[2]}); // it gave up in this very moment
        }
    }

    // ---- the end ----

    /**
     * Detach: stop recording, give every method its code back, wait until no thread is in a probe, and
     * only then let go of the mapping. Safe to call twice.
     *
     * @return {classes restored, classes refused, ticks it took, whether the mapping could be released}
     */
    private Object leave() {
        if (left || hotSwap == null) {
            closeQuietly();
            return null;
        }
        left = true;
        long t0 = System.nanoTime();
        watching = false;
        JFluid1.disable();
        openHooks.values().forEach(r -> r.done = true);
        openReflections.values().forEach(r -> r.done = true);
        int[] restored = {0, 0};
        boolean released = true;
        try {
            restored = restore();
        } finally {
            try {
                hotSwap.close();
            } finally {
                released = letGoOfRing();
            }
        }
        ring = null;
        Main.deleteQuietly(dir.resolve("ring"));
        Object report = new Object[] {restored[0], restored[1], (System.nanoTime() - t0) / 1e6, released};
        if (!detached) {
            closeQuietly();
            Main.deleteQuietly(dir.resolve("link"));
            Main.deleteQuietly(dir);
        }
        return report;
    }

    /** Where the heap is full, that may pass: whatever else fails, the application gets its code back. */
    private int[] restore() {
        for (int tries = 1; ; tries++) {
            try {
                return hotSwap.restore();
            } catch (OutOfMemoryError full) {
                if (tries == RESTORE_TRIES) {
                    throw full;
                }
                java.util.concurrent.locks.LockSupport.parkNanos(100_000_000L);
            }
        }
    }

    /** @return false if a thread would not leave the runtime, so that the mapping has to stay */
    private boolean letGoOfRing() {
        if (ring == null) {
            return true;
        }
        // A thread that read `enabled` just before may have become active again just after disable():
        // once it is out, nobody can, and the second look is final. The stack of a virtual thread cannot
        // be looked at, so between the two it gets time to take the few steps to its guard.
        boolean released = awaitNobodyInside();
        JFluid1.disable();
        if (JFluid1.sawVirtualThreads()) {
            java.util.concurrent.locks.LockSupport.parkNanos(50_000_000L);
        }
        released &= awaitNobodyInside();
        if (released) {
            JFluid1.unmap(ring);
        } else {
            Main.keep(ring);
        }
        JFluid1.end(released);
        return released;
    }

    private void closeQuietly() {
        try (Link l = link; RandomAccessFile p = perfData) {
            watching = false;
        } catch (IOException closed) {
            // Nothing is left to be done with either.
        }
    }

    /** Waits until no platform thread's stack shows the runtime and no virtual one is in a slow path. */
    private static boolean awaitNobodyInside() {
        long until = System.nanoTime() + 2_000_000_000L;
        do {
            boolean inside = JFluid1.anyoneInside();
            for (StackTraceElement[] trace : Stacks.take().traces()) {
                for (int i = 0; trace != null && i < trace.length && i < 12; i++) {
                    inside |= trace[i].getClassName().startsWith("java.lang.JFluid1") && !isAgent(trace);
                }
            }
            if (!inside) {
                return true;
            }
            Thread.onSpinWait();
            try {
                Thread.sleep(2);
            } catch (InterruptedException stop) {
                return false;
            }
        } while (System.nanoTime() < until);
        return false;
    }

    private static boolean isAgent(StackTraceElement[] trace) {
        return trace[trace.length - 1].getClassName().startsWith("jfluid.agent");
    }

    private static int[] ints(Object list) {
        Object[] items = (Object[]) list;
        int[] result = new int[items.length];
        for (int i = 0; i < items.length; i++) {
            result[i] = MessagePack.asInt(items[i]);
        }
        return result;
    }
}
