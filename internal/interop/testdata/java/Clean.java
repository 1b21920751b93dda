import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** Cleans a log for each line of the input, "dir firstDirty now mapBytes key=value;…", and prints the next first dirty offset. */
public class Clean {
    public static void main(String[] args) throws Exception {
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] f = line.split(" ");
            Properties p = new Properties();
            for (String s : f[4].split(";"))
                p.put(s.split("=")[0], s.split("=")[1]);
            UnifiedLog log = UnifiedLog.create(new File(f[0]), new LogConfig(p), 0L, 0L, scheduler, new BrokerTopicStats(), Time.SYSTEM, 3600000,
                new ProducerStateManagerConfig(86400000, false), 600000, new LogDirFailureChannel(1), true, Optional.empty());
            log.updateHighWatermark(log.logEndOffset());
            Method offsets = LogCleanerManager.class.getDeclaredMethod("cleanableOffsets", UnifiedLog.class, Optional.class, long.class);
            offsets.setAccessible(true);
            Object o = offsets.invoke(null, log, Optional.of(Long.parseLong(f[1])), Long.parseLong(f[2]));
            LogToClean c = new LogToClean(log, number(o, "firstDirtyOffset"), number(o, "firstUncleanableDirtyOffset"), true);
            Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(Integer.parseInt(f[3])), 65536, 65536, 0.9,
                new Throttler(Double.MAX_VALUE, 300, "t", "t", Time.SYSTEM), Time.SYSTEM, tp -> { });
            long next = c.firstDirtyOffset();
            if (c.cleanableBytes() > 0) {
                Map.Entry<Long, CleanerStats> r = cleaner.doClean(c, Long.parseLong(f[2]));
                next = r.getKey();
            }
            log.close();
            System.out.println(next);
            System.out.flush();
        }
        System.exit(0);
    }

    private static long number(Object o, String name) throws Exception {
        Method m = o.getClass().getDeclaredMethod(name);
        m.setAccessible(true);
        return (Long) m.invoke(o);
    }
}
