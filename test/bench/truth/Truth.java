package bench;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.StringWriter;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * Programs with a known answer: each calls its root repeatedly, and times the calls itself. Commands on stdin:
 *
 * <pre>
 *   measure &lt;ms&gt;   answers "measured", the number of calls, and their mean duration in ns
 *   quit (or the end of stdin)
 * </pre>
 */
public final class Truth {
    private static int sink;

    private interface Program {
        int root(int turn);
    }

    // ---- dense calls ----

    static final class Fib implements Program {
        @Override
        public int root(int turn) {
            return fib(18 + (turn & 1));
        }

        static int fib(int n) {
            return n < 2 ? n : fib(n - 1) + fib(n - 2);
        }
    }

    static final class Chain implements Program {
        @Override
        public int root(int turn) {
            int x = turn;
            for (int i = 0; i < 1000; i++) {
                x = one(x);
            }
            return x;
        }

        static int one(int x) { return two(x + 1) ^ 1; }
        static int two(int x) { return three(x << 1) + 2; }
        static int three(int x) { return four(x ^ 77) - 3; }
        static int four(int x) { return five(x >>> 1) ^ 4; }
        static int five(int x) { return six(x * 31) + 5; }
        static int six(int x) { return x ^ x >>> 15; }
    }

    // ---- methods with a known duration ----

    static final class Spin implements Program {
        private final int steps;
        private final int calls;

        Spin(int micros) {
            this(micros, Math.max(10, 500 / micros));
        }

        Spin(int micros, int calls) {
            steps = micros * stepsPerMicro();
            this.calls = calls;
        }

        private static int stepsPerMicro() {
            int steps = 1 << 22;
            double least = Double.MAX_VALUE;
            for (int i = 0; i < 20; i++) {
                long begin = System.nanoTime();
                sink += work(steps, i);
                least = Math.min(least, System.nanoTime() - begin);
            }
            return (int) Math.max(1, steps / (least / 1000));
        }

        @Override
        public int root(int turn) {
            int x = turn;
            for (int i = 0; i < calls; i++) {
                x = (i & 3) == 0 ? second(x) : first(x);
            }
            return x;
        }

        private int first(int x) { return work(steps, x); }
        private int second(int x) { return work(steps, x + 1); }

        /** Executes this number of dependent steps, whose duration does not depend on the caller. */
        static int work(int steps, int from) {
            int x = from;
            for (int i = 0; i < steps; i++) {
                x = (x ^ x >>> 15) * 0x2c1b3c6d;
            }
            return x;
        }
    }

    // ---- programs ----

    static final class Rays implements Program {
        record Vec(double x, double y, double z) {
            Vec plus(Vec o) { return new Vec(x + o.x, y + o.y, z + o.z); }
            Vec minus(Vec o) { return new Vec(x - o.x, y - o.y, z - o.z); }
            Vec times(double f) { return new Vec(x * f, y * f, z * f); }
            double dot(Vec o) { return x * o.x + y * o.y + z * o.z; }
            Vec unit() { return times(1 / Math.sqrt(dot(this))); }
        }

        record Ball(Vec center, double radius, double shine) {
            double meets(Vec from, Vec to) {
                Vec way = center.minus(from);
                double along = way.dot(to);
                double apart = way.dot(way) - along * along;
                double inside = radius * radius - apart;
                return inside < 0 || along < 0 ? Double.MAX_VALUE : along - Math.sqrt(inside);
            }
        }

        private final List<Ball> balls = new ArrayList<>();

        Rays() {
            for (int i = 0; i < 12; i++) {
                balls.add(new Ball(new Vec(i % 4 - 1.5, i / 4 - 1, 4 + i % 3), 0.45, i % 2 * 0.5));
            }
        }

        @Override
        public int root(int turn) {
            double sum = 0;
            for (int i = 0; i < 120; i++) {
                sum += trace(new Vec(0, 0, 0), new Vec(i / 60.0 - 1, turn % 90 / 45.0 - 1, 1).unit(), 3);
            }
            return (int) (sum * 1000);
        }

        private double trace(Vec from, Vec to, int depth) {
            Ball nearest = null;
            double distance = Double.MAX_VALUE;
            for (Ball ball : balls) {
                double at = ball.meets(from, to);
                if (at > 1e-6 && at < distance) {
                    distance = at;
                    nearest = ball;
                }
            }
            return nearest == null ? sky(to) : shade(nearest, from.plus(to.times(distance)), to, depth);
        }

        private double shade(Ball ball, Vec at, Vec to, int depth) {
            Vec normal = at.minus(ball.center()).unit();
            double light = Math.max(0, normal.dot(new Vec(0.5, 0.7, -0.5)));
            if (depth == 0 || ball.shine() == 0) {
                return light;
            }
            return light + ball.shine() * trace(at, to.minus(normal.times(2 * normal.dot(to))), depth - 1);
        }

        private static double sky(Vec to) {
            return 0.5 + 0.5 * to.y();
        }
    }

    static final class Json implements Program {
        private final String text;
        private int at;

        Json() {
            StringBuilder all = new StringBuilder("[");
            for (int i = 0; i < 120; i++) {
                all.append(i == 0 ? "" : ",").append("{\"id\":").append(i * 7919).append(",\"name\":\"item ").append(i)
                        .append("\",\"tags\":[\"a\",\"b\\n\",true,null],\"price\":").append(i / 7.0).append('}');
            }
            text = all.append(']').toString();
        }

        @Override
        public int root(int turn) {
            at = 0;
            return ((List<?>) value()).size() + turn;
        }

        private Object value() {
            blank();
            switch (text.charAt(at)) {
                case '{': return object();
                case '[': return array();
                case '"': return string();
                case 't': at += 4; return true;
                case 'f': at += 5; return false;
                case 'n': at += 4; return null;
                default: return number();
            }
        }

        private Map<String, Object> object() {
            Map<String, Object> all = new HashMap<>();
            for (at++; text.charAt(at) != '}'; ) {
                String name = string();
                blank();
                at++; // :
                all.put(name, value());
                comma();
            }
            at++;
            return all;
        }

        private List<Object> array() {
            List<Object> all = new ArrayList<>();
            for (at++; text.charAt(at) != ']'; ) {
                all.add(value());
                comma();
            }
            at++;
            return all;
        }

        private void comma() {
            blank();
            if (text.charAt(at) == ',') {
                at++;
                blank();
            }
        }

        private String string() {
            StringBuilder all = new StringBuilder();
            for (at++; text.charAt(at) != '"'; at++) {
                char c = text.charAt(at);
                all.append(c == '\\' ? escape(text.charAt(++at)) : c);
            }
            at++;
            return all.toString();
        }

        private static char escape(char c) {
            return c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }

        private Double number() {
            int from = at;
            while (at < text.length() && "+-.eE0123456789".indexOf(text.charAt(at)) >= 0) {
                at++;
            }
            return Double.valueOf(text.substring(from, at));
        }

        private void blank() {
            while (text.charAt(at) == ' ') {
                at++;
            }
        }
    }

    /** Backtracking over a tree of nodes. */
    static final class Regex implements Program {
        private interface Node {
            boolean match(String text, int at);
        }

        private record Letter(char from, char to, Node next) implements Node {
            @Override
            public boolean match(String text, int at) {
                return at < text.length() && in(text.charAt(at)) && next.match(text, at + 1);
            }

            private boolean in(char c) { return c >= from && c <= to; }
        }

        private record Star(char from, char to, Node next) implements Node {
            @Override
            public boolean match(String text, int at) {
                int end = at;
                while (end < text.length() && text.charAt(end) >= from && text.charAt(end) <= to) {
                    end++;
                }
                for (; end >= at; end--) {
                    if (next.match(text, end)) {
                        return true;
                    }
                }
                return false;
            }
        }

        private record End() implements Node {
            @Override
            public boolean match(String text, int at) { return true; }
        }

        private final Node pattern = new Star('a', 'z', new Letter('a', 'm', new Star('a', 'z',
                new Letter('0', '9', new Star('0', '9', new Letter('-', '-', new End()))))));
        private final String text = "lorem ipsum9 dolorsitamet consectetur12 adipiscing elit7-sed do ".repeat(8);

        @Override
        public int root(int turn) {
            int found = turn;
            for (int at = 0; at < text.length(); at++) {
                found += pattern.match(text, at) ? 1 : 0;
            }
            return found;
        }
    }

    static final class Javac implements Program {
        private final JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        private final JavaFileManager files = new ForwardingJavaFileManager<>(compiler.getStandardFileManager(null, null, null)) {
            @Override
            public JavaFileObject getJavaFileForOutput(Location to, String name, JavaFileObject.Kind kind, javax.tools.FileObject by) {
                return new SimpleJavaFileObject(URI.create("mem:///" + name), kind) {
                    @Override
                    public java.io.OutputStream openOutputStream() { return new java.io.ByteArrayOutputStream(); }
                };
            }
        };

        @Override
        public int root(int turn) {
            StringBuilder code = new StringBuilder("import java.util.*; class C" + turn + " {");
            for (int i = 0; i < 30; i++) {
                code.append("int m").append(i).append("(List<String> l, int n) { int s = n; for (String e : l) { if (e.length() > ")
                        .append(i).append(") s += e.hashCode() % 7; else s -= l.size(); } return l.stream().mapToInt(e -> e.length()).sum() + s; }");
            }
            String text = code.append('}').toString();
            JavaFileObject unit = new SimpleJavaFileObject(URI.create("string:///C" + turn + ".java"), JavaFileObject.Kind.SOURCE) {
                @Override
                public CharSequence getCharContent(boolean lenient) { return text; }
            };
            return compiler.getTask(new StringWriter(), files, null, List.of("-proc:none"), null, List.of(unit)).call() ? 1 : 0;
        }
    }

    private static Program program(String name) {
        switch (name) {
            case "fib": return new Fib();
            case "chain": return new Chain();
            case "1us": return new Spin(1);
            case "5us": return new Spin(5);
            case "50us": return new Spin(50);
            case "5ms": return new Spin(50, 100);
            case "rays": return new Rays();
            case "json": return new Json();
            case "regex": return new Regex();
            case "javac": return new Javac();
            default: throw new IllegalArgumentException("no program " + name);
        }
    }

    public static void main(String[] args) throws Exception {
        Program program = program(args[0]);
        long[] asked = {0};
        Thread reading = new Thread(() -> {
            try {
                BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
                for (String line; (line = in.readLine()) != null && !line.equals("quit"); ) {
                    synchronized (asked) {
                        asked[0] = Long.parseLong(line.substring("measure ".length())) * 1_000_000;
                    }
                }
            } catch (Exception gone) {
                // The error ends this program as well.
            }
            System.exit(0);
        });
        reading.setDaemon(true);
        reading.start();
        System.out.println("ready");
        for (int turn = 0; ; ) {
            long budget;
            synchronized (asked) {
                budget = asked[0];
                asked[0] = 0;
            }
            long inside = 0;
            int calls = 0;
            long since = System.nanoTime();
            do {
                long begin = System.nanoTime();
                sink += program.root(turn++);
                inside += System.nanoTime() - begin;
                calls++;
            } while (System.nanoTime() - since < budget);
            if (budget > 0) {
                System.out.println("measured " + calls + " " + inside / calls);
            }
        }
    }
}
