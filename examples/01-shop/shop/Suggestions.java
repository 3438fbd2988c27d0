package shop;

import java.util.Collection;
import java.util.Locale;

/**
 * Finds what a customer meant by a misspelt name.
 *
 * This is the slow part of the shop, on purpose, and the profile shows it: every name of the
 * catalogue is normalised again and compared in full for each misspelt word.
 */
final class Suggestions {
    private static final int TOO_FAR = 3;

    private final Collection<Sellable> all;

    Suggestions(Collection<Sellable> all) {
        this.all = all;
    }

    Sellable closest(String name) throws UnknownProduct {
        Call.CLOSEST.hit();
        Sellable best = null;
        int least = TOO_FAR;
        for (Sellable each : all) {
            int distance = EditDistance.between(normalise(name), normalise(each.name()));
            if (distance < least) {
                least = distance;
                best = each;
            }
        }
        if (best == null) throw new UnknownProduct(name);
        return best;
    }

    private static String normalise(String name) {
        Call.NORMALISE.hit();
        return name.toLowerCase(Locale.ROOT).replaceAll("[^a-z]+", " ").trim();
    }
}
