package shop;

/** Takes off some percent; which, a subclass knows. */
abstract class Discount implements PriceRule {
    @Override
    public long apply(OrderLine line, long cents) {
        Call.DISCOUNT_APPLY.hit();
        return cents - cents * percent(line) / 100;
    }

    abstract int percent(OrderLine line);
}
