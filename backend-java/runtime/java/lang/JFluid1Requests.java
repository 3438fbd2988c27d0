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

/** Requests of application threads to the agent, and the waits for the answers. Most requests are to instrument the callees of a method. */
public final class JFluid1Requests {
    private JFluid1Requests() {}

    private static final Unsafe U = Unsafe.getUnsafe();

    /** [0] requests for the agent, newest first. [1] threads not yet reported to the agent. */
    static final Object[] mailbox = new Object[2];

    /** A request of an application thread to the agent. */
    public static final class Request {
        public static final int FIRST_INVOCATION = 0;
        public static final int REFLECTION = 1;
        public static final int CLASS_LOADING = 2;
        public static final int HIDDEN_CLASS = 3;
        /** Kind of a request without an answer; {@code value} is 1 if the class has lost its probes. */
        public static final int CHANGED_CLASS = 4;
        /** Kind of a request without an answer; {@code value} is the wait id of `subject`, a Waited. */
        public static final int WAITED_CLASS = 5;
        /** Kind of a request without an answer; {@code value} is the step of a path, see {@link JFluid1Values}. */
        public static final int VALUE_CLASS = 6;

        public final int kind;
        public final int value;
        public final Object subject;
        public final Object extra;
        public Request next;
        public volatile boolean done;
        /** Whether a thread has stopped waiting for the answer. Later threads then do not wait. */
        public volatile boolean abandoned;
        public volatile byte[] answer;

        public Request(int kind, int value, Object subject, Object extra) {
            this.kind = kind;
            this.value = value;
            this.subject = subject;
            this.extra = extra;
        }

        /** Returns whether threads need not wait for the answer. */
        boolean isOver() {
            return done || abandoned;
        }
    }

    /** Drops all requests at the end of a session. */
    static void forget() {
        mailbox[0] = mailbox[1] = null;
    }

    /** Handles the first call of a method whose callees may not be instrumented yet (scheme B, step 3). */
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
     * Waits until the callees of a method are instrumented. The thread that finds the method NEW sends the request; threads that find it
     * PENDING wait as well, so that they do not enter callees without probes. The wait is written as ADJUST and charged to no method.
     *
     * @param w  writer of the calling thread: the thread itself or its carrier
     * @param ti the calling thread
     * @return false if the session has ended
     */
    static boolean awaitReady(ThreadInfo w, ThreadInfo ti, int id) {
        long t0 = ticks();
        long at = BYTES_AT + id;
        if (U.getByteVolatile(state, at) == NEW) {
            // Allocated before the state changes: if the allocation fails, another thread must be able to send the request.
            Request request = new Request(Request.FIRST_INVOCATION, id, null, null);
            if (U.compareAndSetByte(state, at, NEW, PENDING)) {
                post(request);
            }
        }
        ClientWait wait = new ClientWait(answerTimeout(), false);
        waiting(1);
        try {
            while (enabled && U.getByteVolatile(state, at) < READY) {
                if (wait.isOver()) {
                    state[id] = LATE;
                    gap();
                } else {
                    wait.pause();
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
     * Waits for the answer. The timeout is {@link JFluid1Client#answerTimeout}, or {@link JFluid1Client#SILENT_CLIENT_TIMEOUT_NANOS}
     * if the wait begins while a redefinition runs. If several threads wait for one answer, the first timeout ends the waits of all of them.
     */
    public static boolean await(Request request) {
        // The calling thread may hold a class loading lock that a running redefinition waits for.
        ClientWait wait = new ClientWait(swapping ? SILENT_CLIENT_TIMEOUT_NANOS : answerTimeout(), true);
        waiting(1);
        try {
            while (enabled && !request.isOver() && !wait.isOver()) {
                wait.pause();
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

    /** Sends a request of an agent class that runs on an application thread. */
    public static void ask(Request request) {
        post(request);
    }

    public static Request takeRequests() {
        return (Request) U.getAndSetReference(mailbox, OBJECTS_AT, null);
    }
}
