package shop;

import java.util.ArrayList;
import java.util.List;

/** Products whose name contains a word, category by category. */
final class Search {
    private Search() {}

    static List<String> find(Catalogue catalogue, String word) {
        List<String> found = new ArrayList<>();
        catalogue.root.visit(category -> {
            Call.SEARCH_VISIT.hit();
            for (Product product : category.products) {
                if (product.name().contains(word)) found.add(product.name());
            }
        });
        found.add("of " + catalogue.root.size());
        return found;
    }
}
