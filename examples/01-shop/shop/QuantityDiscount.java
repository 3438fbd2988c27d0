package shop;

final class QuantityDiscount extends Discount {
    @Override
    int percent(OrderLine line) {
        Call.QUANTITY_PERCENT.hit();
        return line.quantity >= 10 ? 10 : line.quantity >= 4 ? 3 : 0;
    }
}
