package tables;

import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import javax.swing.JTextArea;
import javax.swing.SwingUtilities;
import javax.swing.text.Document;

/** Notepad: a Swing text area, without a display, takes a text, lays it out, paints it, and is edited. */
public final class Notepad implements Driver.Program {
    /** Runs on Swing's event thread, as Swing requires. */
    @Override
    public void call(Runnable it) throws Exception {
        SwingUtilities.invokeAndWait(it);
    }

    @Override
    public long run() throws Exception {
        JTextArea area = new JTextArea();
        area.setLineWrap(true);
        area.setWrapStyleWord(true);
        area.setSize(400, 300);
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 150; i++) text.append("Line ").append(i).append(" of a text that is too long for the window it is in.\n");
        area.setText(text.toString());
        long sum = area.getPreferredSize().height;
        BufferedImage image = new BufferedImage(400, 300, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = image.createGraphics();
        try {
            graphics.setColor(Color.WHITE);
            graphics.fillRect(0, 0, 400, 300);
            area.paint(graphics);
            sum = sum * 31 + edit(area);
            area.paint(graphics);
        } finally {
            graphics.dispose();
        }
        return sum * 31 + image.getRGB(20, 10);
    }

    private static long edit(JTextArea area) throws Exception {
        Document document = area.getDocument();
        long sum = 0;
        for (int i = 0; i < 24; i++) {
            int at = i * 97 % document.getLength();
            document.insertString(at, i % 5 == 0 ? "\nnew " : "word ", null);
            area.setCaretPosition(at);
            sum += area.modelToView2D(at).hashCode();
            document.remove(at, 3);
        }
        return sum;
    }
}
