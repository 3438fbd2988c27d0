package jfluid.agent;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Trace ids of tracing and logging libraries, which threads write after slow root calls. The client knows the fields of the libraries. */
final class TraceIds extends Topic {
    private final ClassTable classes;

    TraceIds(ClassTable classes) {
        this.classes = classes;
    }

    @Override
    Object command(String op, Object[] m) throws IOException {
        switch (op) {
            case "classesNamed": return classes.named((Object[]) m[2]);
            case "traceIds": sources((Object[]) m[2]); return null;
            default: throw unknown(op);
        }
    }

    private void sources(Object[] rows) throws IOException {
        List<JFluid1TraceIds.Source> sources = new ArrayList<>();
        try {
            for (Object it : rows) {
                Object[] row = (Object[]) it;
                Object local = valueAt(fields((Object[]) row[0]));
                Object key = row[1] == null ? null : valueAt(fields((Object[]) row[1]));
                if (local instanceof ThreadLocal && (row[1] == null || key != null)) {
                    sources.add(new JFluid1TraceIds.Source((ThreadLocal<?>) local, key, fields((Object[]) row[2])));
                }
            }
            JFluid1TraceIds.sources(sources.toArray(new JFluid1TraceIds.Source[0]));
        } catch (ReflectiveOperationException | LinkageError | InternalError e) {
            throw new IOException("no such field: " + e.getMessage(), e);
        }
    }

    /** Follows fields, of which the first is static. @return null if there is no such object */
    private static Object valueAt(JFluid1TraceIds.Field[][] path) {
        Object at = null;
        for (int i = 0; i < path.length && (i == 0 || at != null); i++) {
            if (i > 0) {
                at = JFluid1TraceIds.step(at, path[i]);
            } else {
                at = path[0].length == 0 ? null : path[0][0].ofClass();
            }
        }
        return at;
    }

    /** Per step, the fields of the classes that an object can have. */
    private JFluid1TraceIds.Field[][] fields(Object[] steps) {
        JFluid1TraceIds.Field[][] fields = new JFluid1TraceIds.Field[steps.length][];
        for (int i = 0; i < steps.length; i++) {
            Object[] alternatives = (Object[]) steps[i];
            List<JFluid1TraceIds.Field> known = new ArrayList<>();
            for (Object it : alternatives) {
                Object[] field = (Object[]) it;
                Class<?> c = classes.byId(MessagePack.asInt(field[0]));
                if (c != null) { // else it has been unloaded
                    known.add(new JFluid1TraceIds.Field(c, (String) field[1]));
                }
            }
            fields[i] = known.toArray(new JFluid1TraceIds.Field[0]);
        }
        return fields;
    }
}
