package tables;

import de.sciss.jump3r.lowlevel.LameEncoder;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import javax.sound.sampled.AudioFormat;
import javazoom.jl.decoder.Bitstream;
import javazoom.jl.decoder.Decoder;
import javazoom.jl.decoder.Header;
import javazoom.jl.decoder.SampleBuffer;

/** mpegaudio: JLayer decodes six seconds of chords, which a port of LAME has encoded before. */
public final class Mp3 implements Driver.Program {
    private static final int RATE = 44_100;
    private final byte[] encoded;

    public Mp3() {
        byte[] sound = new byte[2 * 6 * RATE];
        for (int i = 0; i < sound.length / 2; i++) {
            double t = (double) i / RATE;
            double tone = 220 * Math.pow(2, (int) (t * 4) % 12 / 12.0);
            int value = (int) (8_000 * (Math.sin(6.2832 * tone * t) + Math.sin(6.2832 * 1.5 * tone * t) * Math.sin(t * 9)));
            sound[2 * i] = (byte) value;
            sound[2 * i + 1] = (byte) (value >> 8);
        }
        AudioFormat format = new AudioFormat(RATE, 16, 1, true, false);
        LameEncoder encoder = new LameEncoder(format, 128, LameEncoder.CHANNEL_MODE_MONO, LameEncoder.QUALITY_MIDDLE, false);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] part = new byte[encoder.getPCMBufferSize()];
        for (int at = 0; at < sound.length; at += part.length) {
            int length = Math.min(part.length, sound.length - at);
            out.write(part, 0, encoder.encodeBuffer(sound, at, length, part));
        }
        out.write(part, 0, encoder.encodeFinish(part));
        encoder.close();
        encoded = out.toByteArray();
    }

    @Override
    public long run() throws Exception {
        Bitstream in = new Bitstream(new ByteArrayInputStream(encoded));
        Decoder decoder = new Decoder();
        long sum = 0;
        for (Header frame = in.readFrame(); frame != null; frame = in.readFrame()) {
            SampleBuffer samples = (SampleBuffer) decoder.decodeFrame(frame, in);
            for (int i = 0; i < samples.getBufferLength(); i++) sum = sum * 31 + samples.getBuffer()[i];
            in.closeFrame();
        }
        return sum;
    }
}
