package jfluid.agent;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/**
 * Forwards requests of application threads, including requests of the load hook, to the client, oldest first. The client's answer
 * ends the waits of threads before a reflective call or before the definition of a hidden class.
 */
final class Questions extends Topic {
    private final Link link;
    private final ClassTable classes;
    private final ClassLoading loading;
    /** Number of the latest request that the client answers by number, including requests of the load hook. */
    private int lastNumber;
    private final Map<Integer, JFluid1Requests.Request> openReflections = new HashMap<>();

    Questions(Link link, ClassTable classes, ClassLoading loading) {
        this.link = link;
        this.classes = classes;
        this.loading = loading;
    }

    @Override
    Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "reflected": reflected(MessagePack.asInt(m[2])); return null;
            default: throw unknown(op);
        }
    }

    /** Forwards all pending requests. */
    void ask() throws IOException {
        // The list is newest first. It is reversed, so that requests reach the client in the order in which they were made.
        JFluid1Requests.Request inOrder = null;
        for (JFluid1Requests.Request r = JFluid1Requests.takeRequests(); r != null;) {
            JFluid1Requests.Request next = r.next;
            r.next = inOrder;
            inOrder = r;
            r = next;
        }
        for (JFluid1Requests.Request r = inOrder; r != null; r = r.next) {
            switch (r.kind) {
                case JFluid1Requests.Request.FIRST_INVOCATION: link.send(new Object[] {0, "first", r.value}); break;
                case JFluid1Requests.Request.REFLECTION: askReflected(r); break;
                case JFluid1Requests.Request.HIDDEN_CLASS: {
                    int number = ++lastNumber;
                    openReflections.put(number, r);
                    link.send(new Object[] {0, "hiddenClass", number, classes.id((Class<?>) r.subject), r.extra});
                    break;
                }
                case JFluid1Requests.Request.CHANGED_CLASS:
                    link.send(new Object[] {0, "changed", classes.id((Class<?>) r.subject), r.value != 0});
                    break;
                case JFluid1Requests.Request.WAITED_CLASS: {
                    JFluid1Waits.Waited it = (JFluid1Waits.Waited) r.subject;
                    String name = it.named.getName();
                    it.named = null;
                    link.send(new Object[] {0, "waited", it.id, it.kind, it.itself, name});
                    break;
                }
                case JFluid1Requests.Request.VALUE_CLASS:
                    link.send(new Object[] {0, "valueClass", JFluid1Values.pathOf(r.value),
                        JFluid1Values.stepOf(r.value), classes.id((Class<?>) r.subject)});
                    break;
                case JFluid1Requests.Request.CLASS_LOADING: loading.tell(++lastNumber, r); break;
                default: throw new IllegalStateException("request " + r.kind);
            }
        }
    }

    /** Handles the client's answer: the callee is instrumented. */
    private void reflected(int number) {
        JFluid1Requests.Request request = openReflections.remove(number);
        if (request != null) {
            request.done = true;
        }
    }

    private void askReflected(JFluid1Requests.Request r) throws IOException {
        int number = ++lastNumber;
        openReflections.put(number, r);
        if (r.subject instanceof java.lang.reflect.Executable) {
            java.lang.reflect.Executable e = (java.lang.reflect.Executable) r.subject;
            link.send(new Object[] {0, "reflect", number, classes.id(e.getDeclaringClass()),
                e instanceof java.lang.reflect.Constructor ? "<init>" : e.getName(), descriptor(e)});
        } else {
            String selector = (String) r.extra;
            int at = selector.indexOf('(');
            link.send(new Object[] {0, "reflect", number, classes.id((Class<?>) r.subject), selector.substring(0, at),
                selector.substring(at)});
        }
    }

    private static String descriptor(java.lang.reflect.Executable e) {
        StringBuilder text = new StringBuilder("(");
        for (Class<?> p : e.getParameterTypes()) {
            text.append(JFluid1Release.descriptor(p));
        }
        text.append(')');
        Class<?> returned =
                e instanceof java.lang.reflect.Method ? ((java.lang.reflect.Method) e).getReturnType() : void.class;
        return text.append(JFluid1Release.descriptor(returned)).toString();
    }
}
