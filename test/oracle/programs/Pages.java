package programs;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.fontbox.FontBoxFont;
import org.apache.fontbox.ttf.TTFParser;
import org.apache.fontbox.ttf.TrueTypeFont;
import org.apache.pdfbox.Loader;
import org.apache.pdfbox.pdmodel.PDDocument;
import org.apache.pdfbox.pdmodel.PDPage;
import org.apache.pdfbox.pdmodel.PDPageContentStream;
import org.apache.pdfbox.pdmodel.font.CIDFontMapping;
import org.apache.pdfbox.pdmodel.font.FontMapper;
import org.apache.pdfbox.pdmodel.font.FontMappers;
import org.apache.pdfbox.pdmodel.font.FontMapping;
import org.apache.pdfbox.pdmodel.font.PDCIDSystemInfo;
import org.apache.pdfbox.pdmodel.font.PDFontDescriptor;
import org.apache.pdfbox.pdmodel.font.PDType1Font;
import org.apache.pdfbox.pdmodel.font.Standard14Fonts;
import org.apache.pdfbox.io.RandomAccessReadBuffer;
import org.apache.pdfbox.rendering.PDFRenderer;
import org.apache.pdfbox.text.PDFTextStripper;

/** PDFBox: writes pages, reads them back, extracts their text and draws one. */
public final class Pages implements Driver.Workload {
    /** Maps all fonts to the library's own font, so that the result does not depend on the fonts of the machine. */
    private static final class OneFont implements FontMapper {
        private static TrueTypeFont font() {
            try (var in = PDType1Font.class.getResourceAsStream("/org/apache/pdfbox/resources/ttf/LiberationSans-Regular.ttf")) {
                return new TTFParser().parse(new RandomAccessReadBuffer(in));
            } catch (IOException problem) {
                throw new UncheckedIOException(problem);
            }
        }

        @Override
        public FontMapping<TrueTypeFont> getTrueTypeFont(String name, PDFontDescriptor descriptor) {
            return new FontMapping<>(font(), true);
        }

        @Override
        public FontMapping<FontBoxFont> getFontBoxFont(String name, PDFontDescriptor descriptor) {
            return new FontMapping<>(font(), true);
        }

        @Override
        public CIDFontMapping getCIDFont(String name, PDFontDescriptor descriptor, PDCIDSystemInfo system) {
            return null;
        }
    }

    /** A log would contain the time of day, whose number of digits varies. */
    public Pages() {
        java.util.logging.LogManager.getLogManager().reset();
    }

    @Override
    public String work() throws Exception {
        FontMappers.set(new OneFont());
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (PDDocument document = new PDDocument()) {
            document.setDocumentId(1L);
            for (int p = 0; p < 3; p++) {
                PDPage page = new PDPage();
                document.addPage(page);
                try (PDPageContentStream content = new PDPageContentStream(document, page)) {
                    content.beginText();
                    content.setFont(new PDType1Font(Standard14Fonts.FontName.HELVETICA), 12);
                    content.setLeading(14);
                    content.newLineAtOffset(50, 700);
                    for (int i = 0; i < 15; i++) {
                        content.showText("Line " + i + " of page " + p);
                        content.newLine();
                    }
                    content.endText();
                    content.addRect(40, 40, 200, 100);
                    content.stroke();
                }
            }
            document.save(out);
        }
        try (PDDocument document = Loader.loadPDF(out.toByteArray())) {
            String text = new PDFTextStripper().getText(document);
            var picture = new PDFRenderer(document).renderImageWithDPI(0, 36);
            return document.getNumberOfPages() + " " + text.hashCode() + " " + Integer.toHexString(picture.getRGB(150, 370));
        }
    }
}
