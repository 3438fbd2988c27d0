package shop;

/** One product of an order, after bundles were expanded. */
final class OrderLine {
    final Product product;
    final int quantity;
    /** Null if there is none. */
    final String voucher;

    OrderLine(Product product, int quantity, String voucher) {
        Call.LINE_NEW.hit();
        this.product = product;
        this.quantity = quantity;
        this.voucher = voucher;
    }
}
