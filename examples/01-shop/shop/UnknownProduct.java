package shop;

final class UnknownProduct extends Rejected {
    private static final long serialVersionUID = 1;

    UnknownProduct(String name) {
        super("nothing here is called " + name);
        Call.UNKNOWN_PRODUCT.hit();
    }

    @Override
    int status() {
        return 404;
    }
}
