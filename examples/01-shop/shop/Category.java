package shop;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** A node of the category tree. */
final class Category {
    final String name;
    private final Category parent;
    private final List<Category> children = new ArrayList<>();
    final List<Product> products = new ArrayList<>();

    Category(String name, Category parent) {
        this.name = name;
        this.parent = parent;
        if (parent != null) parent.children.add(this);
    }

    /** Products here and below. */
    int size() {
        Call.CATEGORY_SIZE.hit();
        int size = products.size();
        for (Category child : children) size += child.size();
        return size;
    }

    boolean isWithin(String ancestor) {
        Call.IS_WITHIN.hit();
        return name.equals(ancestor) || parent != null && parent.isWithin(ancestor);
    }

    /** This one, then all below it. */
    void visit(Consumer<Category> visitor) {
        Call.CATEGORY_VISIT.hit();
        visitor.accept(this);
        for (Category child : children) child.visit(visitor);
    }
}
