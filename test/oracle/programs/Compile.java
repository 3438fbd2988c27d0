package programs;

import org.codehaus.janino.ExpressionEvaluator;
import org.codehaus.janino.SimpleCompiler;

/** Janino: compiles Java to classes, loads them and calls them by reflection. */
public final class Compile implements Driver.Workload {
    private static final String SOURCE = """
        package made;
        import java.util.*;
        public class Made {
            interface Shape { double area(); }
            static class Square implements Shape { double a; Square(double a) { this.a = a; } public double area() { return a * a; } }
            static class Disc implements Shape { double r; Disc(double r) { this.r = r; } public double area() { return 3 * r * r; } }
            static int made;
            static { made = 7; }
            public static String total(int n) {
                List shapes = new ArrayList();
                for (int i = 0; i < n; i++) shapes.add(i % 2 == 0 ? (Shape) new Square(i) : new Disc(i));
                Collections.sort(shapes, new Comparator() {
                    public int compare(Object a, Object b) { return Double.compare(((Shape) b).area(), ((Shape) a).area()); }
                });
                double sum = 0;
                for (Iterator it = shapes.iterator(); it.hasNext(); ) sum += ((Shape) it.next()).area();
                try { shapes.get(-1); } catch (RuntimeException e) { sum += made; }
                return "" + sum;
            }
        }
        """;

    @Override
    public String work() throws Exception {
        SimpleCompiler compiler = new SimpleCompiler();
        compiler.cook(SOURCE);
        Class<?> made = compiler.getClassLoader().loadClass("made.Made");
        Object total = null;
        for (int i = 1; i < 25; i++) total = made.getMethod("total", int.class).invoke(null, i);
        ExpressionEvaluator evaluator = new ExpressionEvaluator();
        evaluator.setParameters(new String[] {"a", "b"}, new Class<?>[] {int.class, int.class});
        evaluator.setExpressionType(int.class);
        evaluator.cook("a > b ? a * b : (a + b) << 2");
        return total + " " + evaluator.evaluate(new Object[] {3, 4});
    }
}
