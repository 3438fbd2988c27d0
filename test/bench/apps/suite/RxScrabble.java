package suite;

import io.reactivex.rxjava3.core.Flowable;
import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.functions.Function;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tables.Driver;

/** rx-scrabble: the same result as {@link Scrabble}, computed with RxJava in the subscribing thread. */
public final class RxScrabble implements Driver.Program {
    private final List<String> text = Scrabble.text();
    private final Set<String> allowed = Scrabble.allowed(text);

    @Override
    public long run() {
        long sum = 0;
        for (int i = 0; i < Scrabble.RUNS; i++) sum = sum * 31 + best().hashCode();
        return sum;
    }

    private List<Map.Entry<Integer, List<String>>> best() {
        Function<String, Flowable<Integer>> letters = word -> Flowable.range(0, word.length()).map(i -> (int) word.charAt(i));
        Function<String, Single<Map<Integer, Long>>> histogram =
            word -> letters.apply(word).<Map<Integer, Long>>collect(HashMap::new, (counts, letter) -> counts.merge(letter, 1L, Long::sum));
        Function<String, Single<Long>> blanks = word -> histogram.apply(word)
            .flatMapPublisher(it -> Flowable.fromIterable(it.entrySet()))
            .map(it -> Math.max(0, it.getValue() - Scrabble.AVAILABLE[it.getKey() - 'a']))
            .reduce(0L, Long::sum);
        Function<String, Single<Integer>> score = word -> histogram.apply(word)
            .flatMapPublisher(it -> Flowable.fromIterable(it.entrySet()))
            .map(it -> Scrabble.SCORES[it.getKey() - 'a'] * Math.min(it.getValue().intValue(), Scrabble.AVAILABLE[it.getKey() - 'a']))
            .reduce(0, Integer::sum);
        Function<String, Flowable<Integer>> ends =
            word -> letters.apply(word).take(3).concatWith(letters.apply(word).skip(Math.max(0, word.length() - 4)));
        Function<String, Single<Integer>> bonus = word -> ends.apply(word).map(it -> Scrabble.SCORES[it - 'a']).reduce(0, Math::max);
        Function<String, Single<Integer>> whole =
            word -> Single.zip(score.apply(word), bonus.apply(word), (a, b) -> 2 * (a + b) + (word.length() == 7 ? 50 : 0));
        TreeMap<Integer, List<String>> byScore = Flowable.fromIterable(text)
            .filter(allowed::contains)
            .filter(word -> blanks.apply(word).blockingGet() <= 2)
            .collect(() -> new TreeMap<Integer, List<String>>(Comparator.reverseOrder()),
                (found, word) -> found.computeIfAbsent(whole.apply(word).blockingGet(), k -> new ArrayList<>()).add(word))
            .blockingGet();
        return Flowable.fromIterable(byScore.entrySet()).take(3).toList().blockingGet();
    }
}
