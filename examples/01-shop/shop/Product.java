package shop;

import java.util.Map;

final class Product implements Sellable {
    private final String name;
    final Category category;
    final long cents;

    Product(String name, Category category, long cents) {
        this.name = name;
        this.category = category;
        this.cents = cents;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public void expand(int quantity, Map<Product, Integer> into) {
        Call.PRODUCT_EXPAND.hit();
        into.merge(this, quantity, Integer::sum);
    }

    @Override
    public boolean equals(Object other) {
        Call.PRODUCT_EQUALS.hit();
        return other instanceof Product && ((Product) other).name.equals(name);
    }

    @Override
    public int hashCode() {
        Call.PRODUCT_HASH.hit();
        return name.hashCode();
    }

    @Override
    public String toString() {
        return name;
    }
}
