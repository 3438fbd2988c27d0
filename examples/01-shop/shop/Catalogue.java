package shop;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Everything on sale, by name, and the category tree above it. */
final class Catalogue {
    private static final String[] FINISHES = {"brass", "copper", "oak", "walnut", "linen", "enamel", "slate",
        "cedar", "pewter", "bamboo", "marble", "cotton", "velvet", "leather", "ceramic", "granite"};
    private static final String[] THINGS = {"kettle", "lamp", "table", "ladle", "basket", "mirror", "candle",
        "teapot", "saucer", "tray", "bowl", "vase", "clock", "stool", "bench", "blanket", "curtain", "jug",
        "platter", "coaster", "hook", "shelf", "rack", "drawer", "lantern"};

    final Category root = new Category("everything", null);
    private final Map<String, Sellable> byName = new LinkedHashMap<>();
    private final List<Product> products = new ArrayList<>();
    private final Suggestions suggestions = new Suggestions(byName.values());

    /** @param finishes, things  how many of each word list: their product is the number of products */
    Catalogue(int finishes, int things) {
        Category[] rooms = {new Category("kitchen", root), new Category("living room", root)};
        for (int t = 0; t < things; t++) {
            Category room = rooms[t % rooms.length];
            Category category = new Category(THINGS[t], t % 3 == 0 ? new Category("fine " + THINGS[t], room) : room);
            for (int f = 0; f < finishes; f++) {
                Product product = new Product(FINISHES[f] + " " + THINGS[t], category, 500 + 37L * t + 111L * f);
                category.products.add(product);
                products.add(product);
                add(product);
            }
        }
        Bundle pair = new Bundle("pair of lamps").with(2, byName.get("brass lamp"));
        Bundle table = new Bundle("set table").with(1, byName.get("oak table")).with(4, byName.get("brass ladle")).with(1, pair);
        Bundle home = new Bundle("whole home").with(2, table).with(3, pair).with(1, byName.get("copper kettle"));
        add(pair);
        add(table);
        add(home);
    }

    private void add(Sellable sellable) {
        byName.put(sellable.name(), sellable);
    }

    List<Product> products() {
        return products;
    }

    List<String> names() {
        return new ArrayList<>(byName.keySet());
    }

    /** What a customer meant: the thing of that name, or of the closest one to a misspelt name. */
    Sellable find(String name) throws UnknownProduct {
        Call.FIND.hit();
        Sellable exact = byName.get(name);
        return exact != null ? exact : suggestions.closest(name);
    }
}
