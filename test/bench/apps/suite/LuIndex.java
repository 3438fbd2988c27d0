package suite;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;
import tables.Driver;

/** luindex: Lucene builds an index of generated texts in memory and merges its segments. */
public final class LuIndex implements Driver.Program {
    private final List<String> texts = texts(800);

    static List<String> texts(int count) {
        Words words = new Words(8_000, 11);
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < count; i++) texts.add(words.text(60 + words.number(200)));
        return texts;
    }

    @Override
    public long run() throws IOException {
        try (Directory index = new ByteBuffersDirectory()) {
            write(index, texts);
            long sum = 0;
            for (String file : index.listAll())
                if (!file.startsWith("segments")) sum += index.fileLength(file);
            return sum;
        }
    }

    /** Merges in the calling thread: Lucene starts none. */
    static void write(Directory index, List<String> texts) throws IOException {
        IndexWriterConfig config =
                new IndexWriterConfig(new StandardAnalyzer()).setMergeScheduler(new SerialMergeScheduler()).setMaxBufferedDocs(100);
        try (IndexWriter writer = new IndexWriter(index, config)) {
            for (int i = 0; i < texts.size(); i++) {
                Document document = new Document();
                document.add(new StringField("id", "d" + i, Field.Store.YES));
                document.add(new TextField("text", texts.get(i), Field.Store.NO));
                document.add(new NumericDocValuesField("length", texts.get(i).length()));
                writer.addDocument(document);
            }
            writer.forceMerge(1);
        }
    }
}
