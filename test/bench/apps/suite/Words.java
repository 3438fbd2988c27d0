package suite;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/** Generates words and texts. Few words are frequent and most are rare, as in a natural language. */
final class Words {
    private static final String[] BEGINS = {
        "b", "br", "c", "ch", "d", "f", "g", "h", "k", "l", "m", "n", "p", "qu", "r", "s", "st", "t", "th", "w"};
    private static final String[] MIDDLES = {"a", "e", "i", "o", "u", "ea", "ou", "y"};
    private static final String[] ENDS = {"", "", "n", "r", "s", "t", "ll", "nd", "x", "z"};
    private final Random random;
    private final List<String> all;

    Words(int count, int seed) {
        random = new Random(seed);
        Set<String> words = new LinkedHashSet<>();
        while (words.size() < count) words.add(make());
        all = new ArrayList<>(words);
    }

    private String make() {
        StringBuilder word = new StringBuilder();
        for (int syllables = 1 + random.nextInt(3); syllables > 0; syllables--)
            word.append(one(BEGINS)).append(one(MIDDLES)).append(one(ENDS));
        return word.toString();
    }

    private String one(String[] of) {
        return of[random.nextInt(of.length)];
    }

    List<String> all() {
        return all;
    }

    int number(int bound) {
        return random.nextInt(bound);
    }

    String next() {
        double share = random.nextDouble();
        return all.get((int) (share * share * share * all.size()));
    }

    String text(int words) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < words; i++) text.append(i == 0 ? "" : i % 12 == 0 ? ". " : " ").append(next());
        return text.toString();
    }
}
