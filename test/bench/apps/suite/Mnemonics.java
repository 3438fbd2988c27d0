package suite;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import tables.Driver;

/** mnemonics: all sequences of words that stand for a phone number on its keypad, found with streams of the JDK. */
public final class Mnemonics implements Driver.Program {
    private static final String[] KEYS = {"", "", "abc", "def", "ghi", "jkl", "mno", "pqrs", "tuv", "wxyz"};
    private final List<String> words = new Words(4_000, 31).all();
    private final Map<Character, Character> digits =
        IntStream.range(2, 10)
            .boxed()
            .flatMap(i -> KEYS[i].chars().mapToObj(it -> Map.entry((char) it, (char) ('0' + i))))
            .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
    private final Map<String, List<String>> byNumber = words.stream().collect(Collectors.groupingBy(this::number));

    private String number(String word) {
        return word.chars().mapToObj(it -> digits.get((char) it).toString()).collect(Collectors.joining());
    }

    private Set<List<String>> encode(String number) {
        if (number.isEmpty()) return Collections.singleton(Collections.emptyList());
        return IntStream.rangeClosed(1, number.length())
            .boxed()
            .flatMap(split -> byNumber.getOrDefault(number.substring(0, split), Collections.emptyList())
                .stream()
                .flatMap(word -> encode(number.substring(split)).stream().map(rest -> joined(word, rest))))
            .collect(Collectors.toSet());
    }

    private static List<String> joined(String word, List<String> rest) {
        return Stream.concat(Stream.of(word), rest.stream()).collect(Collectors.toList());
    }

    @Override
    public long run() {
        Random random = new Random(17);
        long sum = 0;
        for (int i = 0; i < 20; i++) {
            String number = "";
            while (number.length() < 18) number += number(words.get(random.nextInt(words.size())));
            Set<List<String>> found = encode(number);
            sum = sum * 31 + found.size() + found.hashCode();
        }
        return sum;
    }
}
