/**
 * A small index of words that a team does not want to become slower: the same words, in the same order, each time.
 *
 *   java Index [words = 2000] [linear]    `linear` looks words up one after the other, as a careless change might
 */
public final class Index {
    private final String[] words;
    private final boolean linear;

    Index(String[] words, boolean linear) {
        this.words = words.clone();
        this.linear = linear;
        sort(0, words.length - 1);
    }

    /** The task that is measured. */
    static int build(int count, boolean linear) {
        String[] words = new String[count];
        long seed = 42;
        for (int i = 0; i < count; i++) {
            seed = seed * 6364136223846793005L + 1442695040888963407L;
            words[i] = Long.toString(seed >>> 16, 36);
        }
        Index index = new Index(words, linear);
        int found = 0;
        for (int i = 0; i < count; i += 7) if (index.contains(words[i])) found++;
        return found;
    }

    private void sort(int from, int to) {
        if (from >= to) return;
        String pivot = words[(from + to) >>> 1];
        int i = from;
        int j = to;
        while (i <= j) {
            while (words[i].compareTo(pivot) < 0) i++;
            while (words[j].compareTo(pivot) > 0) j--;
            if (i > j) break;
            String word = words[i];
            words[i++] = words[j];
            words[j--] = word;
        }
        sort(from, j);
        sort(i, to);
    }

    boolean contains(String word) {
        return linear ? scan(word) : search(word);
    }

    private boolean scan(String word) {
        for (String each : words) if (each.equals(word)) return true;
        return false;
    }

    private boolean search(String word) {
        int low = 0;
        int high = words.length - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            int order = words[middle].compareTo(word);
            if (order == 0) return true;
            if (order < 0) low = middle + 1;
            else high = middle - 1;
        }
        return false;
    }

    public static void main(String[] args) {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 2000;
        boolean linear = args.length > 1 && args[1].equals("linear");
        System.out.println(build(count, linear) + " words found");
    }
}
