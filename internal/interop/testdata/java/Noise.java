import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/** Random records, with a liking for what is hard to print and to parse. */
public class Noise {
    final Random random;

    Noise(long seed) {
        random = new Random(seed);
    }

    /** What a printer can get wrong: controls, ill-formed UTF-8, surrogates, marks, the words of the tool. */
    private static final byte[][] HARD = {
        controls(), hex("eda080"), hex("edbfbf"), hex("eda0bdedb880"), hex("f09f9880"), hex("efbbbf"), hex("e280a8"), hex("7f"), hex("c080"),
        hex("c0af"), hex("f8888080"), hex("e282"), hex("f09f98"), hex("ff"), hex("f4908080"), hex("fffe"), text(","), text(" "), text("\""),
        text("\\"), text("\r\n"), text("payload: x"), text("| offset: 1 "), text("é€\u00a0"), text("{\"a\":1}"), hex("1b5b33316d"), hex("0000000000000001"),
    };

    byte[] bytes(int max) {
        return bytes(0, max);
    }

    private byte[] bytes(int min, int max) {
        byte[] all = new byte[min + random.nextInt(max - min + 1)];
        random.nextBytes(all);
        return all;
    }

    byte[] words(int size) {
        var out = new StringBuilder();
        while (out.length() < size) {
            out.append("lorem ipsum ".charAt(random.nextInt(12))).append(random.nextInt(10) == 0 ? random.nextInt() : " dolor sit amet ");
        }
        return text(out.substring(0, size));
    }

    private byte[] any(int max) {
        switch (random.nextInt(9)) {
            case 0:
                return null;
            case 1:
                return new byte[0];
            case 2:
            case 3:
                return HARD[random.nextInt(HARD.length)];
            case 4: {
                var out = new java.io.ByteArrayOutputStream();
                for (int i = random.nextInt(5); i >= 0; i--) {
                    out.writeBytes(HARD[random.nextInt(HARD.length)]);
                    out.writeBytes(bytes(4));
                }
                return out.toByteArray();
            }
            case 5:
                return bytes(max);
            case 6:
                return bytes(8, 8);
            default:
                return words(random.nextInt(max));
        }
    }

    byte[] value() {
        return any(random.nextInt(20) == 0 ? 5000 : 200);
    }

    byte[] key() {
        return any(40);
    }

    String name() {
        String[] names = {"é", "a,b", "a b", "\"", "\\", "\u0001\u000b\u001f\u007f", "\ud83d\ude00", "\u2028", "x", "y", "\ufeff", "\t\n\r\b\f", "/"};
        var out = new StringBuilder();
        for (int i = random.nextInt(4); i >= 0; i--) {
            out.append(names[random.nextInt(names.length)]);
        }
        return out.toString();
    }

    List<Header> headers() {
        var all = new ArrayList<Header>();
        if (random.nextInt(3) == 0) {
            for (int i = random.nextInt(5); i >= 0; i--) {
                String key = random.nextInt(5) == 0 ? "" : name();
                all.add(new RecordHeader(key, any(50)));
                if (random.nextInt(4) == 0) {
                    all.add(new RecordHeader(key, any(50)));
                }
            }
        }
        return all;
    }

    /** Mostly now; else out of order, the epoch, 1 ms after it, or long ago. */
    Long timestamp() {
        long now = System.currentTimeMillis();
        switch (random.nextInt(12)) {
            case 0:
                return now - random.nextInt(100_000_000);
            case 1:
                return now + random.nextInt(3_000_000);
            case 2:
                return (long) random.nextInt(2);
            default:
                return now;
        }
    }

    ProducerRecord<byte[], byte[]> record(String topic, int partition) {
        return new ProducerRecord<>(topic, partition, timestamp(), key(), value(), headers());
    }

    /** Doubles of all sizes, where the Java at hand prints those of Java 17. */
    double number() {
        if (Runtime.version().feature() >= 19 || random.nextInt(6) == 0) {
            return 1 + random.nextInt(9_999_999);
        }
        switch (random.nextInt(5)) {
            case 0:
                return Math.abs(random.nextLong()) / 3.0 + 1;
            case 1:
                return Math.scalb(1.0, random.nextInt(600) - 300);
            case 2:
                return (1 + random.nextInt(999)) * Math.pow(10, random.nextInt(40) - 12);
            case 3:
                return random.nextDouble() + 0.001;
            default: {
                double d = Math.abs(Double.longBitsToDouble(random.nextLong()));
                return d > 0 && d < Double.MAX_VALUE ? d : 2e23;
            }
        }
    }

    private static byte[] controls() {
        byte[] all = new byte[32];
        for (int i = 0; i < all.length; i++) {
            all[i] = (byte) i;
        }
        return all;
    }

    static byte[] text(String s) {
        return s.getBytes(StandardCharsets.UTF_8);
    }

    private static byte[] hex(String s) {
        return java.util.HexFormat.of().parseHex(s);
    }
}
