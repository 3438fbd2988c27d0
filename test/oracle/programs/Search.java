package programs;

import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntPoint;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.WildcardQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

/** Lucene: an index in memory, merged in this thread, and queries of several kinds. */
public final class Search implements Driver.Workload {
    private static final String[] WORDS = {"lazy", "dog", "fox", "brown", "quick", "jumps", "over", "wall", "tree", "sun"};

    static {
        System.setProperty("tests.seed", "42"); // otherwise the time of day seeds its hash tables
    }

    @Override
    public String work() throws Exception {
        StringBuilder said = new StringBuilder();
        IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer())
            .setMergeScheduler(new SerialMergeScheduler()).setMaxBufferedDocs(25).setUseCompoundFile(true);
        try (ByteBuffersDirectory directory = new ByteBuffersDirectory()) {
            try (IndexWriter writer = new IndexWriter(directory, config)) {
                int seed = 1;
                for (int i = 0; i < 120; i++) {
                    StringBuilder text = new StringBuilder();
                    for (int j = 0; j < 20; j++) {
                        seed = seed * 1103515245 + 12345;
                        text.append(WORDS[(seed >>> 16) % 10]).append(' ');
                    }
                    Document document = new Document();
                    document.add(new StringField("id", "" + i, Field.Store.YES));
                    document.add(new TextField("text", text.toString(), Field.Store.NO));
                    document.add(new IntPoint("number", i));
                    writer.addDocument(document);
                }
                writer.deleteDocuments(new Term("id", "17"));
                writer.forceMerge(1);
            }
            try (DirectoryReader reader = DirectoryReader.open(directory)) {
                IndexSearcher searcher = new IndexSearcher(reader);
                Query[] queries = {
                    new TermQuery(new Term("text", "fox")),
                    new PhraseQuery("text", "lazy", "dog"),
                    new FuzzyQuery(new Term("text", "brwn")),
                    new WildcardQuery(new Term("text", "q*k")),
                    IntPoint.newRangeQuery("number", 10, 20),
                    new BooleanQuery.Builder()
                        .add(new TermQuery(new Term("text", "sun")), BooleanClause.Occur.MUST)
                        .add(new TermQuery(new Term("text", "wall")), BooleanClause.Occur.MUST_NOT).build(),
                };
                for (Query query : queries) {
                    var top = searcher.search(query, 5);
                    said.append(top.totalHits.value).append(':');
                    for (var hit : top.scoreDocs) said.append(searcher.storedFields().document(hit.doc).get("id")).append(' ');
                }
            }
        }
        return said.toString();
    }
}
