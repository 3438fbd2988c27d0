package suite;

import com.google.zxing.BarcodeFormat;
import com.google.zxing.BinaryBitmap;
import com.google.zxing.DecodeHintType;
import com.google.zxing.MultiFormatReader;
import com.google.zxing.MultiFormatWriter;
import com.google.zxing.RGBLuminanceSource;
import com.google.zxing.ReaderException;
import com.google.zxing.WriterException;
import com.google.zxing.common.BitMatrix;
import com.google.zxing.common.HybridBinarizer;
import java.util.List;
import java.util.Map;
import java.util.Random;
import tables.Driver;

/** zxing: encodes texts as bar codes of five formats, adds noise to the pictures and decodes them. */
public final class Zxing implements Driver.Program {
    private static final BarcodeFormat[] FORMATS = {
        BarcodeFormat.QR_CODE, BarcodeFormat.DATA_MATRIX, BarcodeFormat.AZTEC, BarcodeFormat.PDF_417, BarcodeFormat.CODE_128};

    @Override
    public long run() throws WriterException {
        Words words = new Words(500, 13);
        Random random = new Random(13);
        long sum = 0;
        for (int i = 0; i < 80; i++) {
            BarcodeFormat format = FORMATS[i % FORMATS.length];
            String text = words.text(format == BarcodeFormat.CODE_128 ? 2 : 12);
            BitMatrix code = new MultiFormatWriter().encode(text, format, 320, 320);
            try {
                Map<DecodeHintType, ?> hints = Map.of(DecodeHintType.POSSIBLE_FORMATS, List.of(format));
                String read = new MultiFormatReader().decode(new BinaryBitmap(new HybridBinarizer(picture(code, random))), hints).getText();
                sum = sum * 31 + (read.equals(text) ? read.hashCode() : 7);
            } catch (ReaderException e) {
                sum = sum * 31 + 1;
            }
        }
        return sum;
    }

    private static RGBLuminanceSource picture(BitMatrix code, Random random) {
        int margin = 20;
        int width = code.getWidth() + 2 * margin;
        int height = code.getHeight() + 2 * margin;
        int[] pixels = new int[width * height];
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                boolean inside = x >= margin && y >= margin && x < width - margin && y < height - margin;
                int grey = (inside && code.get(x - margin, y - margin) ? 40 : 210) + random.nextInt(40);
                pixels[y * width + x] = grey * 0x10101;
            }
        }
        return new RGBLuminanceSource(width, height, pixels);
    }
}
