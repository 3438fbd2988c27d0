package suite;

import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import tables.Driver;

/** scrabble: the words of a text with the highest scores in Scrabble, found with streams of the JDK. */
public final class Scrabble implements Driver.Program {
    static final int[] SCORES = {1, 3, 3, 2, 1, 4, 2, 4, 1, 8, 5, 1, 3, 1, 1, 3, 10, 1, 1, 1, 1, 4, 4, 8, 4, 10};
    static final int[] AVAILABLE = {9, 2, 2, 1, 12, 2, 3, 2, 9, 1, 1, 4, 2, 6, 8, 2, 1, 6, 4, 6, 4, 2, 2, 1, 2, 1};
    static final int RUNS = 12;

    /** Returns all words of the text. Two of three words are allowed. */
    static List<String> text() {
        return new Words(12_000, 21).all();
    }

    static Set<String> allowed(List<String> text) {
        Set<String> allowed = new HashSet<>();
        for (int i = 0; i < text.size(); i++) if (i % 3 != 0) allowed.add(text.get(i));
        return allowed;
    }

    private final List<String> text = text();
    private final Set<String> allowed = allowed(text);

    @Override
    public long run() {
        long sum = 0;
        for (int i = 0; i < RUNS; i++) sum = sum * 31 + best().hashCode();
        return sum;
    }

    private List<Map.Entry<Integer, List<String>>> best() {
        Function<String, Map<Integer, Long>> histogram =
            word -> word.chars().boxed().collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
        Function<String, Long> blanks = word -> histogram.apply(word)
            .entrySet()
            .stream()
            .mapToLong(it -> Math.max(0, it.getValue() - AVAILABLE[it.getKey() - 'a']))
            .sum();
        Function<String, Integer> score = word -> histogram.apply(word)
            .entrySet()
            .stream()
            .mapToInt(it -> SCORES[it.getKey() - 'a'] * Math.min(it.getValue().intValue(), AVAILABLE[it.getKey() - 'a']))
            .sum();
        Function<String, IntStream> ends = word -> IntStream.concat(word.chars().limit(3), word.chars().skip(Math.max(0, word.length() - 4)));
        Function<String, Integer> bonus = word -> ends.apply(word).map(it -> SCORES[it - 'a']).max().orElse(0);
        Function<String, Integer> whole = word -> 2 * (score.apply(word) + bonus.apply(word)) + (word.length() == 7 ? 50 : 0);
        Map<Integer, List<String>> byScore = text.stream()
            .filter(allowed::contains)
            .filter(word -> blanks.apply(word) <= 2)
            .collect(Collectors.groupingBy(whole, () -> new TreeMap<>(Collections.reverseOrder()), Collectors.toList()));
        return byScore.entrySet().stream().limit(3).collect(Collectors.toList());
    }
}
