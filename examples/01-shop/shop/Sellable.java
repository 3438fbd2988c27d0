package shop;

import java.util.Map;

/** What an order can name: a product, or a bundle of other things. */
interface Sellable {
    String name();

    /** Adds the products this stands for, `quantity` times. */
    void expand(int quantity, Map<Product, Integer> into);
}
