package shop;

import java.util.LinkedHashMap;
import java.util.Map;

/** Several things under one name; some of them may be bundles. */
final class Bundle implements Sellable {
    private final String name;
    private final Map<Sellable, Integer> parts = new LinkedHashMap<>();

    Bundle(String name) {
        this.name = name;
    }

    Bundle with(int quantity, Sellable part) {
        parts.put(part, quantity);
        return this;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public void expand(int quantity, Map<Product, Integer> into) {
        Call.BUNDLE_EXPAND.hit();
        for (Map.Entry<Sellable, Integer> part : parts.entrySet()) {
            part.getKey().expand(quantity * part.getValue(), into);
        }
    }
}
