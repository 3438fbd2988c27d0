package shop;

final class OutOfStock extends Rejected {
    private static final long serialVersionUID = 1;

    OutOfStock(Product product, int missing) {
        super(missing + " of " + product + " missing");
        Call.OUT_OF_STOCK.hit();
    }

    @Override
    int status() {
        return 409;
    }
}
