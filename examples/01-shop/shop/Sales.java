package shop;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What was sold so far. */
final class Sales {
    private final Map<String, Long> centsByProduct = new LinkedHashMap<>();

    synchronized void add(PricedLine line) {
        Call.SALES_ADD.hit();
        centsByProduct.merge(line.line.product.name(), line.cents, Long::sum);
    }

    /** The best `count` products, "name cents" each. */
    synchronized List<String> top(int count) {
        Call.SALES_TOP.hit();
        return centsByProduct.entrySet().stream().sorted(best()).limit(count)
            .map(Sales::entry).toList();
    }

    private static String entry(Map.Entry<String, Long> each) {
        return each.getKey() + " " + each.getValue();
    }

    private static Comparator<Map.Entry<String, Long>> best() {
        return (a, b) -> {
            Call.SALES_COMPARE.hit();
            int order = Long.compare(b.getValue(), a.getValue());
            return order != 0 ? order : a.getKey().compareTo(b.getKey());
        };
    }
}
