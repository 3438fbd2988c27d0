package shop;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/** Takes an order through the shop. {@link #process} is the method to profile. */
final class OrderService {
    private final Catalogue catalogue;
    private final Warehouse warehouse;
    private final Pricing pricing = new Pricing();
    private final Journal journal;
    private final Sales sales;
    private final AtomicInteger number = new AtomicInteger();

    OrderService(Catalogue catalogue, Warehouse warehouse, Journal journal, Sales sales) {
        this.catalogue = catalogue;
        this.warehouse = warehouse;
        this.journal = journal;
        this.sales = sales;
    }

    /** @throws Rejected if something is unknown or out of stock; nothing has changed then */
    Receipt process(Order order) throws Rejected {
        Call.PROCESS.hit();
        Map<Product, Integer> items = expand(order);
        warehouse.reserve(items);
        Receipt receipt = new Receipt(number.incrementAndGet(), order.customer, priced(order, items));
        for (PricedLine line : receipt.lines) sales.add(line);
        try {
            journal.append(receipt);
        } catch (IOException broken) {
            throw new UncheckedIOException(broken);
        }
        return receipt;
    }

    private Map<Product, Integer> expand(Order order) throws UnknownProduct {
        Call.EXPAND.hit();
        Map<Product, Integer> items = new LinkedHashMap<>();
        for (Map.Entry<String, Integer> wanted : order.wanted.entrySet()) {
            catalogue.find(wanted.getKey()).expand(wanted.getValue(), items);
        }
        return items;
    }

    private List<PricedLine> priced(Order order, Map<Product, Integer> items) {
        return items.entrySet().stream().map(item -> {
            Call.PRICE_ITEM.hit();
            OrderLine line = new OrderLine(item.getKey(), item.getValue(), order.voucher);
            return new PricedLine(line, pricing.price(line));
        }).sorted().toList();
    }
}
