package shop;

import java.util.Objects;

/** What a price depends on. */
final class PriceKey {
    private final OrderLine line;

    PriceKey(OrderLine line) {
        this.line = line;
    }

    @Override
    public boolean equals(Object other) {
        Call.KEY_EQUALS.hit();
        if (!(other instanceof PriceKey)) return false;
        OrderLine that = ((PriceKey) other).line;
        return line.quantity == that.quantity && Objects.equals(line.voucher, that.voucher)
            && line.product.equals(that.product);
    }

    @Override
    public int hashCode() {
        Call.KEY_HASH.hit();
        return (line.product.hashCode() * 31 + line.quantity) * 31 + Objects.hashCode(line.voucher);
    }
}
