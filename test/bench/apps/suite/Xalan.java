package suite;

import java.io.StringReader;
import java.io.StringWriter;
import javax.xml.transform.Templates;
import javax.xml.transform.TransformerException;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;
import org.apache.xalan.processor.TransformerFactoryImpl;
import tables.Driver;

/** xalan: transforms a document to HTML: sorting, keys, aggregates, recursive templates. */
public final class Xalan implements Driver.Program {
    private static final String STYLE = """
        <xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
          <xsl:output method="html" indent="yes"/>
          <xsl:key name="by-town" match="person" use="@town"/>
          <xsl:template match="/people"><html><body>
            <xsl:apply-templates select="person"><xsl:sort select="name"/><xsl:sort select="@age" data-type="number"/></xsl:apply-templates>
            <p><xsl:value-of select="count(person[@age &gt; 40])"/> of <xsl:value-of select="count(person)"/>,
              <xsl:value-of select="sum(person/@age)"/></p>
          </body></html></xsl:template>
          <xsl:template match="person">
            <xsl:variable name="first" select="translate(substring(name, 1, 1), 'abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ')"/>
            <h2 id="{generate-id()}"><xsl:value-of select="concat(position(), '. ', $first, substring(name, 2))"/></h2>
            <xsl:choose><xsl:when test="@age mod 3 = 0"><b>third</b></xsl:when>
              <xsl:otherwise><i><xsl:value-of select="@age"/></i></xsl:otherwise></xsl:choose>
            <p><xsl:value-of select="count(key('by-town', @town))"/> in <xsl:value-of select="@town"/></p>
            <ul><xsl:for-each select="note[string-length(.) &gt; 40]"><li>
              <xsl:call-template name="parts"><xsl:with-param name="text" select="."/></xsl:call-template></li></xsl:for-each></ul>
          </xsl:template>
          <xsl:template name="parts"><xsl:param name="text"/>
            <xsl:choose>
              <xsl:when test="contains($text, '. ')"><xsl:value-of select="substring-before($text, '. ')"/><br/>
                <xsl:call-template name="parts"><xsl:with-param name="text" select="substring-after($text, '. ')"/></xsl:call-template></xsl:when>
              <xsl:otherwise><xsl:value-of select="$text"/></xsl:otherwise>
            </xsl:choose>
          </xsl:template>
        </xsl:stylesheet>
        """;
    private final Templates templates = new TransformerFactoryImpl().newTemplates(new StreamSource(new StringReader(STYLE)));
    private final String document = document();

    public Xalan() throws TransformerException {}

    private static String document() {
        Words words = new Words(2_000, 3);
        StringBuilder text = new StringBuilder("<people>");
        for (int i = 0; i < 8_000; i++) {
            String town = words.all().get(words.number(40));
            text.append("<person age='%d' town='%s'><name>%s</name>".formatted(20 + words.number(60), town, words.next()));
            for (int k = words.number(5); k > 0; k--) text.append("<note>%s</note>".formatted(words.text(5 + words.number(40))));
            text.append("</person>");
        }
        return text.append("</people>").toString();
    }

    @Override
    public long run() throws TransformerException {
        StringWriter page = new StringWriter();
        templates.newTransformer().transform(new StreamSource(new StringReader(document)), new StreamResult(page));
        return page.toString().hashCode();
    }
}
