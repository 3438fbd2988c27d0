package suite;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;
import tables.Driver;

/** lusearch: Lucene searches an index in memory: terms, AND, OR, phrases, prefixes, fuzzy terms. */
public final class LuSearch implements Driver.Program {
    private final IndexSearcher searcher;
    private final List<Query> queries = new ArrayList<>();

    public LuSearch() throws IOException {
        Directory index = new ByteBuffersDirectory();
        LuIndex.write(index, LuIndex.texts(3_000));
        searcher = new IndexSearcher(DirectoryReader.open(index));
        searcher.setQueryCache(null);
        Words words = new Words(8_000, 11);
        for (int i = 0; i < 900; i++) queries.add(query(i, words));
    }

    private static Query query(int i, Words words) {
        Term term = new Term("text", words.next());
        switch (i % 6) {
            case 0:
                return new TermQuery(term);
            case 1:
                return new PhraseQuery("text", words.all().get(i % 20), words.all().get(i % 7));
            case 2:
                return new PrefixQuery(new Term("text", term.text().substring(0, 2)));
            case 3:
                return new FuzzyQuery(term, 1);
            default:
                Occur occur = i % 6 == 4 ? Occur.MUST : Occur.SHOULD;
                Query other = new TermQuery(new Term("text", words.next()));
                return new BooleanQuery.Builder().add(new TermQuery(term), occur).add(other, occur).build();
        }
    }

    @Override
    public long run() throws IOException {
        long sum = 0;
        for (Query query : queries) {
            TopDocs found = searcher.search(query, 10);
            sum = sum * 31 + found.totalHits.value;
            for (ScoreDoc it : found.scoreDocs) {
                int id = searcher.storedFields().document(it.doc).get("id").hashCode();
                sum = sum * 31 + id + Float.floatToIntBits(it.score);
            }
        }
        return sum;
    }
}
