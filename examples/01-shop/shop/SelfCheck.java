package shop;

import java.io.IOException;

/**
 * A fixed sequence of orders in a small shop of its own, in one thread, with every interesting call
 * counted. The same n gives the same counts on every JVM, so a profile with root
 * {@code shop.SelfCheck.run} can be checked to the last call.
 */
final class SelfCheck {
    private SelfCheck() {}

    /** @return JSON: calls by "class.method(descriptor)" */
    static synchronized String run(int n) throws IOException {
        Call.start();
        try (Shop shop = new Shop(6, 5, 40)) {
            Customers customers = new Customers(shop.catalogue.names(), 2003);
            for (int i = 1; i <= n; i++) {
                order(shop, customers.order());
                if (i % 10 == 0) Search.find(shop.catalogue, "br");
                if (i % 20 == 0) shop.sales.top(5);
                if (i % 25 == 0) shop.warehouse.restock();
            }
        } finally {
            Call.stop();
        }
        return Call.json();
    }

    private static void order(Shop shop, Order order) throws IOException {
        try {
            Receipt receipt = shop.orders.process(order);
            String text = shop.journal.read(receipt.number);
            if (!receipt.text().equals(text)) throw new AssertionError("the journal has another text: " + text);
        } catch (Rejected everyday) {
            // Nothing was sold, and that is all.
        }
    }
}
