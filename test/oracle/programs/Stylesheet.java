package programs;

import java.io.StringReader;
import java.io.StringWriter;
import java.util.regex.Pattern;
import javax.xml.transform.OutputKeys;
import javax.xml.transform.Transformer;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;

/** XSLT of the JDK: parses XML, compiles a style sheet to a class, runs it, and searches the result. */
public final class Stylesheet implements Driver.Workload {
    private static final String SHEET = """
        <xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
          <xsl:key name="by" match="item" use="@kind"/>
          <xsl:template match="/"><out><xsl:for-each select="//item"><xsl:sort select="@n" data-type="number" order="descending"/>
            <xsl:if test="@n mod 3 = 0"><xsl:apply-templates select="."/></xsl:if></xsl:for-each>
            <count><xsl:value-of select="count(key('by', 'b'))"/></count></out></xsl:template>
          <xsl:template match="item"><i><xsl:value-of select="concat(@kind, ':', translate(., 'abc', 'ABC'))"/></i></xsl:template>
        </xsl:stylesheet>
        """;

    @Override
    public String work() throws Exception {
        StringBuilder xml = new StringBuilder("<list>");
        for (int i = 0; i < 30; i++) xml.append("<item n='").append(i).append("' kind='").append("abc".charAt(i % 3)).append("'>cab").append(i).append("</item>");
        Transformer transformer = TransformerFactory.newInstance().newTransformer(new StreamSource(new StringReader(SHEET)));
        transformer.setOutputProperty(OutputKeys.OMIT_XML_DECLARATION, "yes");
        StringWriter out = new StringWriter();
        transformer.transform(new StreamSource(new StringReader(xml.append("</list>").toString())), new StreamResult(out));
        long found = Pattern.compile("<i>(?<kind>[a-c]):C(?=A).*?(\\d+)</i>").matcher(out.toString()).results().count();
        return found + " " + out.toString().hashCode();
    }
}
