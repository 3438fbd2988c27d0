package programs;

import org.mozilla.javascript.Context;
import org.mozilla.javascript.ScriptableObject;

/** Rhino: JavaScript interpreted, and compiled to a class of its own loader. */
public final class Script implements Driver.Workload {
    private static final String SOURCE = """
        function Point(x, y) { this.x = x; this.y = y; }
        Point.prototype.add = function (o) { return new Point(this.x + o.x, this.y + o.y); };
        var p = new Point(0, 0);
        for (var i = 0; i < 50; i++) p = p.add(new Point(i, 2 * i));
        var words = 'the quick brown fox jumps over the lazy dog'.split(' ').map(function (w) {
          return w.replace(/[aeiou]/g, function (v) { return v.toUpperCase(); });
        }).sort();
        function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
        var caught = 0;
        for (var k = 0; k < 5; k++) try { null.x; } catch (e) { caught += e.name.length; }
        var list = new java.util.ArrayList();
        for each (var w in words) list.add(w);
        JSON.stringify([p, words, fib(12), caught, list.size(), list.get(3) + '']);
        """;

    /** This script contains no functions, since the compiler keeps functions in a table keyed by identity. */
    private static final String COMPILED = """
        var seen = {}, text = '';
        for (var i = 0; i < 60; i++) { var k = 'k' + i % 7; seen[k] = (seen[k] || 0) + i; }
        for (var name in seen) text += name + seen[name] + ' ';
        try { text.none(); } catch (e) { text += e.name; }
        text.toUpperCase().match(/K\\d+/g).length + [3, 1, 2].sort().join() + Math.max(1, 2.5);
        """;

    @Override
    public String work() {
        return evaluate(-1, SOURCE) + evaluate(1, COMPILED);
    }

    private static String evaluate(int level, String source) {
        Context context = Context.enter();
        try {
            context.setOptimizationLevel(level);
            ScriptableObject scope = context.initStandardObjects();
            return Context.toString(context.evaluateString(scope, source, "script", 1, null));
        } finally {
            Context.exit();
        }
    }
}
