package shop;

import java.util.List;

/** What a line costs, by all the rules; remembers the last answers. */
final class Pricing {
    private final List<PriceRule> rules = List.of(
        new QuantityDiscount(), new CategoryDiscount("kitchen", 5), new VoucherRule(), new Rounding());
    private final PriceCache cache = new PriceCache();

    long price(OrderLine line) {
        Call.PRICE.hit();
        PriceKey key = new PriceKey(line);
        synchronized (cache) {
            Long known = cache.get(key);
            if (known != null) return known;
            long cents = unitPrice(line) * line.quantity;
            cache.put(key, cents);
            return cents;
        }
    }

    private long unitPrice(OrderLine line) {
        Call.UNIT_PRICE.hit();
        long cents = line.product.cents;
        for (PriceRule rule : rules) cents = rule.apply(line, cents);
        return cents;
    }
}
