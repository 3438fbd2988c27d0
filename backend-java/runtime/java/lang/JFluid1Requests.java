package java.lang;

import static java.lang.JFluid1Client.*;
import static java.lang.JFluid1Layout.*;
import static java.lang.JFluid1Memory.*;
import static java.lang.JFluid1Ring.*;
import static java.lang.JFluid1Session.*;
import static java.lang.JFluid1Stack.*;
import static java.lang.JFluid1Threads.*;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ReservedStackAccess;

/** What threads of the program ask of the agent, and wait for: above all, that the callees of a method get probes. */
public final class JFluid1Requests {
    private JFluid1Requests() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** [0] requests for the agent, newest first. [1] threads it has not been told of. */
    static final Object[] mailbox = new Object[2];

    /** Something an application thread asks of the agent. */
    public static final class Request {
        public static final int FIRST_INVOCATION = 0;
        public static final int REFLECTION = 1;
        public static final int CLASS_LOADING = 2;
        public static final int HIDDEN_CLASS = 3;
        /** No thread waits for an answer: {@code value} is 1 where the class has lost its probes. */
        public static final int CHANGED_CLASS = 4;
        /** Nobody waits for an answer: {@code value} is the id of waiting for what `subject`, a Waited, names. */
        public static final int WAITED_CLASS = 5;

        public final int kind;
        public final int value;
        public final Object subject;
        public final Object extra;
        public Request next;
        public volatile boolean done;
        /** A thread has gone on without an answer: threads that come later do so at once. */
        public volatile boolean abandoned;
        public volatile byte[] answer;

        public Request(int kind, int value, Object subject, Object extra) {
            this.kind = kind;
            this.value = value;
            this.subject = subject;
            this.extra = extra;
        }

        /** No other thread has to wait for the answer. */
        boolean isOver() {
            return done || abandoned;
        }
    }

    /** Between sessions nobody asks. */
    static void forget() {
        mailbox[0] = mailbox[1] = null;
    }

    /** First call of a method whose callees may not be instrumented yet (scheme B, step 3). */
    @DontInline
    static boolean firstInvocation(ThreadInfo ti, int id) {
        needsRoom();
        return asksAtFirst(ti, id);
    }

    @ReservedStackAccess
    private static boolean asksAtFirst(ThreadInfo ti, int id) {
        ti.active = false;
        ti.guard = true;
        boolean on = false;
        try {
            on = awaitReady(ti, ti, id);
            ti.active = on;
        } catch (Throwable t) {
            on = false;
            gap();
            ti.guard = false;
            passOn(t);
        }
        ti.guard = false;
        return on;
    }

    /**
     * Waits until the callees of a method are instrumented: the thread that finds it NEW asks, others
     * find it PENDING and wait as well, or they would enter callees that are not swapped yet. The time
     * is written as ADJUST and charged to nobody.
     *
     * @param w  the writer of the calling thread: itself, or its carrier
     * @param ti the calling thread
     * @return false if the session is over
     */
    static boolean awaitReady(ThreadInfo w, ThreadInfo ti, int id) {
        long t0 = ticks();
        long at = BYTES_AT + id;
        if (U.getByteVolatile(state, at) == NEW) {
            // Made before the state says so: with no memory for it, another thread must be free to ask.
            Request request = new Request(Request.FIRST_INVOCATION, id, null, null);
            if (U.compareAndSetByte(state, at, NEW, PENDING)) {
                post(request);
            }
        }
        Patience patience = new Patience(ANSWER_TIMEOUT_NANOS, false);
        waiting(1);
        try {
            while (enabled && U.getByteVolatile(state, at) < READY) {
                if (patience.isOver()) {
                    state[id] = LATE;
                    gap();
                } else {
                    patience.pause();
                }
            }
        } finally {
            waiting(-1);
            repay();
        }
        if (!enabled || !room(w, ti, 4)) {
            return false;
        }
        if (ti != w) {
            switchTo(w, ti);
        }
        put(w, CONTROL_ADJUST | Math.min(ticks() - t0, TICK_MASK));
        return enabled;
    }

    /**
     * Waits until the agent has answered, at most {@link JFluid1Client#ANSWER_TIMEOUT_NANOS}, or while a redefinition runs
     * {@link JFluid1Client#SILENT_CLIENT_TIMEOUT_NANOS}. Several threads may wait for one answer: when the first of them gives up, all do.
     */
    public static boolean await(Request request) {
        // Whoever asks here may hold a lock of class loading that a running redefinition waits for.
        Patience patience = new Patience(swapping ? SILENT_CLIENT_TIMEOUT_NANOS : ANSWER_TIMEOUT_NANOS, true);
        waiting(1);
        try {
            while (enabled && !request.isOver() && !patience.isOver()) {
                patience.pause();
            }
        } finally {
            waiting(-1);
            repay();
        }
        request.abandoned = !request.done;
        if (!request.done && enabled) {
            gap();
        }
        return request.done;
    }

    static void post(Request request) {
        long at = OBJECTS_AT;
        Object head;
        do {
            head = U.getReferenceVolatile(mailbox, at);
            request.next = (Request) head;
        } while (!U.compareAndSetReference(mailbox, at, head, request));
        wakeAgent();
    }

    /** Lets an agent class ask in the name of an application thread, as post() does for the probes. */
    public static void ask(Request request) {
        post(request);
    }

    public static Request takeRequests() {
        return (Request) U.getAndSetReference(mailbox, OBJECTS_AT, null);
    }
}
