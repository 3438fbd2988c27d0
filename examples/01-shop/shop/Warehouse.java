package shop;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** How many of each product there are. */
final class Warehouse {
    private final Map<Product, Integer> stock = new HashMap<>();
    private final int full;

    Warehouse(List<Product> products, int full) {
        this.full = full;
        for (Product product : products) stock.put(product, full);
    }

    /** All of it, or nothing and an exception. */
    synchronized void reserve(Map<Product, Integer> items) throws OutOfStock {
        Call.RESERVE.hit();
        Map<Product, Integer> taken = new LinkedHashMap<>();
        try {
            for (Map.Entry<Product, Integer> item : items.entrySet()) {
                take(item.getKey(), item.getValue());
                taken.put(item.getKey(), item.getValue());
            }
        } catch (OutOfStock outOfStock) {
            for (Map.Entry<Product, Integer> item : taken.entrySet()) putBack(item.getKey(), item.getValue());
            throw outOfStock;
        }
    }

    private void take(Product product, int quantity) throws OutOfStock {
        Call.TAKE.hit();
        int left = stock.get(product) - quantity;
        if (left < 0) throw new OutOfStock(product, -left);
        stock.put(product, left);
    }

    private void putBack(Product product, int quantity) {
        Call.PUT_BACK.hit();
        stock.merge(product, quantity, Integer::sum);
    }

    synchronized void restock() {
        for (Map.Entry<Product, Integer> each : stock.entrySet()) each.setValue(full);
    }
}
