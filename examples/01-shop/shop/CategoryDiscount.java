package shop;

/** A sale: everything in a category, however deep in it. */
final class CategoryDiscount extends Discount {
    private final String category;
    private final int percent;

    CategoryDiscount(String category, int percent) {
        this.category = category;
        this.percent = percent;
    }

    @Override
    int percent(OrderLine line) {
        Call.CATEGORY_PERCENT.hit();
        return line.product.category.isWithin(category) ? percent : 0;
    }
}
