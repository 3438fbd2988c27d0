package tables;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** db: a table of addresses in memory; entries are added, found, changed, sorted and removed. */
public final class Db implements Driver.Program {
    @Override
    public long run() {
        Table table = new Table();
        Random random = new Random(7);
        for (int i = 0; i < 4_000; i++) table.add(entry(random, i));
        long sum = 0;
        for (int field = 0; field < 4; field++) {
            table.sort(field);
            sum = sum * 31 + table.get(field * 100).field(0).hashCode();
            for (int i = 0; i < 1_300; i++) sum += table.find(field, Integer.toString(random.nextInt(40_000), 36));
            for (int i = 0; i < 60; i++) table.remove(random.nextInt(table.size()));
        }
        return sum + table.size();
    }

    private static Entry entry(Random random, int i) {
        String[] fields = new String[4];
        for (int k = 0; k < fields.length; k++) fields[k] = Integer.toString(random.nextInt(40_000), 36);
        return new Entry(fields);
    }

    static final class Entry {
        private final String[] fields;

        Entry(String[] fields) {
            this.fields = fields;
        }

        String field(int i) {
            return fields[i];
        }
    }

    static final class Table {
        private final List<Entry> entries = new ArrayList<>();
        private int sortedBy = -1;

        void add(Entry entry) {
            entries.add(entry);
            sortedBy = -1;
        }

        Entry get(int i) {
            return entries.get(i);
        }

        int size() {
            return entries.size();
        }

        void remove(int i) {
            entries.remove(i);
        }

        int compare(Entry a, Entry b, int field) {
            return a.field(field).compareTo(b.field(field));
        }

        /** Sorts by Shell sort, as in the original program. */
        void sort(int field) {
            for (int gap = entries.size() / 2; gap > 0; gap /= 2)
                for (int i = gap; i < entries.size(); i++) sink(i, gap, field);
            sortedBy = field;
        }

        private void sink(int i, int gap, int field) {
            Entry it = get(i);
            int at = i;
            for (; at >= gap && compare(get(at - gap), it, field) > 0; at -= gap) entries.set(at, get(at - gap));
            entries.set(at, it);
        }

        int find(int field, String value) {
            if (sortedBy != field) sort(field);
            int low = 0;
            int high = entries.size() - 1;
            while (low <= high) {
                int middle = (low + high) >>> 1;
                int order = get(middle).field(field).compareTo(value);
                if (order == 0) return middle;
                if (order < 0) low = middle + 1;
                else high = middle - 1;
            }
            return -low;
        }
    }
}
