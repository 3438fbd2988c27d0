package suite;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.StringReader;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.sax.SAXResult;
import javax.xml.transform.stream.StreamSource;
import org.apache.fop.apps.Fop;
import org.apache.fop.apps.FopFactory;
import org.apache.fop.apps.MimeConstants;
import tables.Driver;

/** fop: formats a document with paragraphs and tables as PDF. */
public final class Formatter implements Driver.Program {
    private final FopFactory factory = FopFactory.newInstance(new File(".").toURI());
    private final String document = document();
    private final Logger log = Logger.getLogger("org.apache.fop"); // A logger without a reference forgets its level.

    public Formatter() {
        log.setLevel(Level.OFF);
    }

    private static String document() {
        Words words = new Words(3_000, 5);
        StringBuilder text = new StringBuilder("""
            <fo:root xmlns:fo="http://www.w3.org/1999/XSL/Format"><fo:layout-master-set>
            <fo:simple-page-master master-name="page" page-height="29.7cm" page-width="21cm" margin="2cm">
            <fo:region-body margin-top="1cm"/><fo:region-before extent="1cm"/></fo:simple-page-master>
            </fo:layout-master-set><fo:page-sequence master-reference="page">
            <fo:static-content flow-name="xsl-region-before"><fo:block text-align="end">Page <fo:page-number/></fo:block></fo:static-content>
            <fo:flow flow-name="xsl-region-body">
            """);
        for (int i = 0; i < 24; i++) {
            text.append("<fo:block font-size='16pt' font-weight='bold' keep-with-next='always'>%s</fo:block>".formatted(words.text(4)));
            for (int k = 0; k < 3; k++) {
                text.append("<fo:block text-align='justify' space-after='6pt'>%s</fo:block>".formatted(words.text(120)));
            }
            text.append("<fo:table table-layout='fixed' width='100%' border='1pt solid black'><fo:table-body>");
            for (int row = 0; row < 6; row++) {
                text.append("<fo:table-row>");
                for (int column = 0; column < 4; column++) {
                    String cell = "<fo:table-cell border='0.5pt solid gray'><fo:block>%s</fo:block></fo:table-cell>";
                    text.append(cell.formatted(words.text(3)));
                }
                text.append("</fo:table-row>");
            }
            text.append("</fo:table-body></fo:table>");
        }
        return text.append("</fo:flow></fo:page-sequence></fo:root>").toString();
    }

    @Override
    public long run() throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        Fop fop = factory.newFop(MimeConstants.MIME_PDF, out);
        TransformerFactory.newDefaultInstance().newTransformer().transform(
                new StreamSource(new StringReader(document)), new SAXResult(fop.getDefaultHandler()));
        // The bytes contain the current time.
        return fop.getResults().getPageCount() * 1_000_000L + out.size();
    }
}
