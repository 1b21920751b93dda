import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.HexFormat;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Appends to a log what each line of the input asks for, "now version key=value,… hex", and prints
 * "ok appendTime hex" with the bytes in the file, or "error code".
 */
public class Validate {
    private static final long[] now = {0};

    public static void main(String[] args) throws Exception {
        Time time = new Clock();
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        File dir = new File(Files.createTempDirectory("validate").toFile(), "t-0");
        dir.mkdirs();
        UnifiedLog log = UnifiedLog.create(dir, new LogConfig(new Properties()), 0L, 0L, scheduler, new BrokerTopicStats(), time, 3600000,
            new ProducerStateManagerConfig(86400000, false), 600000, new LogDirFailureChannel(1), true, Optional.empty());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] f = line.split(" ", -1);
            now[0] = Long.parseLong(f[0]);
            Properties p = new Properties();
            for (String s : f[2].split(";"))
                p.put(s.split("=")[0], s.split("=")[1]);
            try {
                log.updateConfig(new LogConfig(p));
                MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(HexFormat.of().parseHex(f[3])));
                ProduceRequest.validateRecords(Short.parseShort(f[1]), records);
                LogAppendInfo info = log.appendAsLeader(records, 0, AppendOrigin.CLIENT, RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) 0);
                ByteBuffer b = ByteBuffer.allocate(log.activeSegment().size());
                log.activeSegment().log().readInto(b, 0);
                System.out.println("ok " + info.logAppendTime() + " " + HexFormat.of().formatHex(b.array(), 0, b.limit()));
            } catch (RecordValidationException e) {
                System.out.println("error " + Errors.forException(e.invalidException()).code() + " records " + e.recordErrors().size() + " " + e.recordErrors().get(0));
            } catch (Throwable e) {
                System.out.println("error " + Errors.forException(e).code() + " " + e.toString().replace('\n', ' '));
            }
            log.truncateFullyAndStartAt(0, Optional.of(0L));
        }
        System.out.flush();
        System.exit(0);
    }

    private static class Clock implements Time {
        public long milliseconds() { return now[0]; }
        public long nanoseconds() { return System.nanoTime(); }
        public void sleep(long ms) { Time.SYSTEM.sleep(ms); }
        public void waitObject(Object o, java.util.function.Supplier<Boolean> c, long d) throws InterruptedException { Time.SYSTEM.waitObject(o, c, d); }
    }
}
