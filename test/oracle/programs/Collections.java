package programs;

import com.google.common.base.Joiner;
import com.google.common.base.Splitter;
import com.google.common.cache.CacheBuilder;
import com.google.common.cache.CacheLoader;
import com.google.common.collect.ArrayListMultimap;
import com.google.common.collect.FluentIterable;
import com.google.common.collect.HashBasedTable;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Iterables;
import com.google.common.collect.Lists;
import com.google.common.collect.Maps;
import com.google.common.collect.Ordering;
import com.google.common.collect.Range;
import com.google.common.collect.Sets;
import com.google.common.collect.TreeMultiset;
import com.google.common.collect.TreeRangeMap;
import com.google.common.eventbus.EventBus;
import com.google.common.eventbus.Subscribe;
import com.google.common.hash.Hashing;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Guava: its collections behind the JDK's interfaces, views, comparators, a cache, an event bus. */
public final class Collections implements Driver.Workload {
    public static final class Listener {
        int heard;

        @Subscribe
        public void word(String word) {
            heard += word.length();
        }

        @Subscribe
        public void number(Integer number) {
            heard += number;
        }
    }

    @Override
    public String work() throws Exception {
        List<String> words = IntStream.range(0, 400).mapToObj(i -> "w" + i * 37 % 101).collect(Collectors.toList());
        ArrayListMultimap<Integer, String> byLength = ArrayListMultimap.create();
        HashBasedTable<String, Integer, Integer> table = HashBasedTable.create();
        TreeMultiset<String> bag = TreeMultiset.create(Ordering.natural().reverse());
        for (String it : words) {
            byLength.put(it.length(), it);
            table.put(it, it.length(), it.hashCode());
            bag.add(it);
        }
        var cache = CacheBuilder.newBuilder().maximumSize(50).concurrencyLevel(1).build(new CacheLoader<String, Integer>() {
            @Override
            public Integer load(String key) {
                return key.length() * 3;
            }
        });
        int sum = 0;
        for (String it : words) sum += cache.get(it);
        TreeRangeMap<Integer, String> ranges = TreeRangeMap.create();
        for (int i = 0; i < 40; i++) ranges.put(Range.closedOpen(i * 3, i * 5 + 1), "r" + i);
        var sorted = ImmutableSortedMap.copyOf(Maps.transformValues(table.column(3), it -> it % 10), Ordering.natural());
        String joined = Joiner.on('|').withKeyValueSeparator("=").join(sorted);
        EventBus bus = new EventBus((problem, context) -> {
            throw new IllegalStateException(problem);
        });
        Listener listener = new Listener();
        bus.register(listener);
        for (int i = 0; i < 40; i++) bus.post(i % 2 == 0 ? "event" : (Object) i);
        return String.join(" ",
            "" + Lists.partition(Lists.reverse(words), 7).size(),
            "" + Sets.powerSet(Sets.newTreeSet(words.subList(0, 5))).size(),
            "" + Iterables.size(Splitter.on('|').omitEmptyStrings().split(joined)),
            FluentIterable.from(words).filter(it -> it.endsWith("7")).transform(String::toUpperCase).limit(5).toString(),
            "" + Hashing.murmur3_32_fixed().hashUnencodedChars(joined), bag.elementSet().first(),
            "" + byLength.asMap().size(), "" + ranges.asMapOfRanges().size(), "" + sum, "" + listener.heard);
    }
}
