package java.lang;

import static java.lang.JFluid1Layout.*;
import static jfluid.check.Check.equal;
import static jfluid.check.Check.that;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Trace ids of libraries: classes of this test stand for those of the libraries. */
final class JFluid1TraceIdsTest {
    private static final String ID = "4bf92f3577b34da6a3ce929d0e0e4736";

    private static final class Context {
        final Object[] entries;

        Context(Object... entries) {
            this.entries = entries;
        }
    }

    private static final class Span {
        final SpanContext context;

        Span(String traceId) {
            context = new SpanContext(traceId);
        }
    }

    private static final class SpanContext {
        final String traceId;

        SpanContext(String traceId) {
            this.traceId = traceId;
        }
    }

    /** A class that the client has not announced. */
    private static final class OtherSpan {
        final SpanContext context = new SpanContext(ID);
    }

    static final class Library {
        static final ThreadLocal<Object> STORAGE = new ThreadLocal<>();
    }

    private static JFluid1TraceIds.Field[] field(Class<?> c, String name) {
        return new JFluid1TraceIds.Field[] {new JFluid1TraceIds.Field(c, name)};
    }

    private static void context(ThreadLocal<?> local, Object key) throws ReflectiveOperationException {
        JFluid1TraceIds.Field[][] steps = {
            field(Context.class, "entries"), field(Span.class, "context"), field(SpanContext.class, "traceId")};
        JFluid1TraceIds.sources(new JFluid1TraceIds.Source[] {new JFluid1TraceIds.Source(local, key, steps)});
    }

    private static void map(ThreadLocal<?> local) throws ReflectiveOperationException {
        JFluid1TraceIds.sources(
                new JFluid1TraceIds.Source[] {new JFluid1TraceIds.Source(local, null, new JFluid1TraceIds.Field[0][])});
    }

    static void theTraceIdOfTheCurrentSpanIsRead() throws ReflectiveOperationException {
        ThreadLocal<Object> local = new ThreadLocal<>();
        Object key = new Object();
        context(local, key);
        equal(null, JFluid1TraceIds.read());
        local.set(new Context("other", "baggage", key, new Span(ID)));
        equal(ID, JFluid1TraceIds.read());
        local.set(new Context(key, new Span("00000000000000000000000000000000")));
        equal(null, JFluid1TraceIds.read(), "the id of no trace");
        for (Object other :
                new Object[] {new Context(), new Context(key, null), new Context(new Object(), new Span(ID)),
                    new Context(key, new OtherSpan()), new Context(key, new Span(null)), ID}) {
            local.set(other);
            equal(null, JFluid1TraceIds.read());
        }
        JFluid1TraceIds.end();
        local.set(new Context(key, new Span(ID)));
        equal(null, JFluid1TraceIds.read());
    }

    static void theTraceIdInAMapOfALoggingLibraryIsRead() throws ReflectiveOperationException {
        ThreadLocal<Map<String, String>> local = new ThreadLocal<>();
        for (String key : new String[] {"traceId", "trace_id"}) {
            Map<String, String> values = new HashMap<>(Map.of("user", "4711", key, ID));
            map(local);
            for (Map<String, String> it : List.of(values, Collections.synchronizedMap(values))) {
                local.set(it);
                equal(ID, JFluid1TraceIds.read());
            }
            // Reading a map of another class could run code of the application.
            local.set(new TreeMap<>(values));
            equal(null, JFluid1TraceIds.read());
            local.set(new HashMap<>(values) {});
            equal(null, JFluid1TraceIds.read());
        }
        JFluid1TraceIds.end();
    }

    static void anInheritedMapIsRead() throws ReflectiveOperationException, InterruptedException {
        ThreadLocal<Map<String, String>> local = new InheritableThreadLocal<>();
        map(local);
        local.set(new HashMap<>(Map.of("traceId", ID)));
        String[] read = {null};
        Thread child = new Thread(() -> read[0] = JFluid1TraceIds.read());
        child.start();
        child.join();
        equal(ID, read[0]);
        JFluid1TraceIds.end();
    }

    static void readingChangesNoThreadLocal() throws ReflectiveOperationException {
        boolean[] asked = {false};
        ThreadLocal<Object> local = new ThreadLocal<>() {
            @Override
            protected Object initialValue() {
                asked[0] = true;
                return null;
            }
        };
        map(local);
        equal(null, JFluid1TraceIds.read());
        that(!asked[0], "initialValue() is not called");
        JFluid1TraceIds.end();
    }

    static void eachOfManyThreadLocalsIsFound() throws ReflectiveOperationException {
        List<ThreadLocal<Object>> locals = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            ThreadLocal<Object> local = new ThreadLocal<>();
            local.set(new HashMap<>(Map.of("traceId", "id-" + i)));
            locals.add(local);
        }
        for (int i = 0; i < 500; i++) {
            map(locals.get(i));
            equal("id-" + i, JFluid1TraceIds.read());
            locals.get(i).remove();
            equal(null, JFluid1TraceIds.read());
        }
        JFluid1TraceIds.end();
    }

    static void aStaticFieldOfALoadedClassIsRead() {
        equal(Library.STORAGE, new JFluid1TraceIds.Field(Library.class, "STORAGE").ofClass());
    }

    static void theTraceIdFollowsASlowCall() throws ReflectiveOperationException {
        try (TestSession session = new TestSession(400, 1, false)) {
            session.ready(1);
            ThreadLocal<Map<String, String>> local = new ThreadLocal<>();
            map(local);
            JFluid1Roots.slowFrom(0);
            local.set(Map.of("traceId", ID)); // a map of another class
            call();
            equal(0, traceIds(session).length());
            local.set(new HashMap<>(Map.of("traceId", "odd")));
            call();
            equal("odd\0", traceIds(session));
            local.set(new HashMap<>(Map.of("traceId", "x".repeat(200))));
            call();
            equal("odd\0"
                            + "x".repeat(127) + "…",
                    traceIds(session));
        }
        equal(null, JFluid1TraceIds.read(), "the session has ended");
    }

    static void theTraceIdsOfTwoHundredSlowCallsASecondAreRead() throws ReflectiveOperationException {
        ThreadLocal<Map<String, String>> local = new ThreadLocal<>();
        local.set(new HashMap<>(Map.of("traceId", ID)));
        map(local);
        int read = 0;
        for (int i = 0; i < 10_000; i++) {
            read += JFluid1TraceIds.ofSlowCall() == null ? 0 : 1;
        }
        that(read > 0 && read <= 2_000, "other tests read too, and the loop may last several seconds: " + read);
        JFluid1TraceIds.end();
    }

    private static void call() {
        JFluid1.rootEntry(1);
        JFluid1.rootExit(1);
    }

    /** Returns the characters of all trace ids that the thread has written. */
    private static String traceIds(TestSession session) {
        StringBuilder text = new StringBuilder();
        for (long word : session.wordsOf(session.self().number)) {
            if ((word & ~TICK_MASK) == CONTROL_VALUE && (word & TICK_MASK) >>> VALUE_SLOT_SHIFT == SLOT_TRACE_ID) {
                text.append((char) word).append((char) (word >>> 16));
            }
        }
        return text.toString();
    }
}
