package shop;

/** To the nearest 5 cents. */
final class Rounding implements PriceRule {
    @Override
    public long apply(OrderLine line, long cents) {
        Call.ROUNDING_APPLY.hit();
        return (cents + 2) / 5 * 5;
    }
}
