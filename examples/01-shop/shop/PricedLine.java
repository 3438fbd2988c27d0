package shop;

/** Sorted by what it costs, dearest first. */
final class PricedLine implements Comparable<PricedLine> {
    final OrderLine line;
    final long cents;

    PricedLine(OrderLine line, long cents) {
        Call.PRICED_NEW.hit();
        this.line = line;
        this.cents = cents;
    }

    @Override
    public int compareTo(PricedLine other) {
        Call.PRICED_COMPARE.hit();
        int order = Long.compare(other.cents, cents);
        return order != 0 ? order : line.product.name().compareTo(other.line.product.name());
    }
}
