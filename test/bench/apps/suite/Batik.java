package suite;

import java.io.ByteArrayOutputStream;
import java.io.StringReader;
import java.util.Arrays;
import org.apache.batik.transcoder.TranscoderException;
import org.apache.batik.transcoder.TranscoderInput;
import org.apache.batik.transcoder.TranscoderOutput;
import org.apache.batik.transcoder.image.PNGTranscoder;
import tables.Driver;

/** batik: renders an SVG drawing to PNG: style sheet, paths, gradients, opacity. No text, which needs fonts of the machine. */
public final class Batik implements Driver.Program {
    private final String drawing = drawing();

    private static String drawing() {
        Words words = new Words(100, 9);
        StringBuilder text = new StringBuilder("""
            <svg xmlns="http://www.w3.org/2000/svg" width="400" height="400"><defs>
            <style type="text/css">.a { fill: #c33; stroke: black } .b { fill: url(#g); opacity: 0.6 }
            .c { fill: none; stroke: #36c; stroke-width: 3; stroke-dasharray: 8 3 }</style>
            <linearGradient id="g"><stop offset="0" stop-color="yellow"/><stop offset="1" stop-color="green"/></linearGradient></defs>
            """);
        for (int i = 0; i < 250; i++) {
            int x = words.number(360);
            int y = words.number(360);
            String style = "abc".substring(i % 3, i % 3 + 1);
            text.append("<g transform='rotate(%d %d %d)'><path class='%s' d='M%d %d".formatted(words.number(90), x, y, style, x, y));
            for (int k = 0; k < 5; k++) {
                int toX = words.number(60) - 30;
                int toY = words.number(60) - 30;
                text.append(" q%d %d %d %d".formatted(words.number(40), words.number(40), toX, toY));
            }
            text.append("z'/><circle class='b' cx='%d' cy='%d' r='%d'/></g>\n".formatted(x, y, 3 + words.number(12)));
        }
        return text.append("</svg>").toString();
    }

    @Override
    public long run() throws TranscoderException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        new PNGTranscoder().transcode(new TranscoderInput(new StringReader(drawing)), new TranscoderOutput(out));
        return Arrays.hashCode(out.toByteArray());
    }
}
