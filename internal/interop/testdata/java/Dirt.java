import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes what the cleaner and retention take away: Dirt BOOTSTRAP ROUND TIME. Round
 * 0 makes the topics, and writes to all; it wants a broker with transactions. Later
 * rounds add to the compacted ones. The records of a round are the same each time;
 * their timestamps are from TIME on, in ms.
 */
public class Dirt {
    // By size, so that segments end at the same batches wherever they are written.
    private static final String[] SMALL = {"internal.segment.bytes", "2500", "index.interval.bytes", "0"};
    private static final long DAY = 86_400_000;

    private final String bootstrap;
    private final Random random;
    private final Admin admin;
    private long now;

    private Dirt(String bootstrap, int round, long now) {
        this.bootstrap = bootstrap;
        this.now = now;
        random = new Random(round);
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    public static void main(String[] args) throws Exception {
        int round = Integer.parseInt(args[1]);
        var dirt = new Dirt(args[0], round, Long.parseLong(args[2]));
        try {
            if (round == 0) {
                dirt.topics();
                dirt.old();
                dirt.transactions();
            }
            dirt.keys();
        } finally {
            dirt.admin.close();
        }
    }

    private void topic(String name, int partitions, String... configs) throws Exception {
        var all = new HashMap<String, String>();
        for (int i = 0; i < SMALL.length; i += 2) {
            all.put(SMALL[i], SMALL[i + 1]);
        }
        for (int i = 0; i < configs.length; i += 2) {
            all.put(configs[i], configs[i + 1]);
        }
        admin.createTopics(List.of(new NewTopic(name, Optional.of(partitions), Optional.empty()).configs(all))).all().get();
    }

    private void topics() throws Exception {
        String[] compact = {"cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.0", "delete.retention.ms", "86400000"};
        topic("latest", 2, compact);
        topic("forget", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.0", "delete.retention.ms", "0");
        topic("latest-txn", 1, compact);
        topic("latest-zipped", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.0");
        topic("both", 1, "cleanup.policy", "compact,delete", "min.cleanable.dirty.ratio", "0.0", "retention.ms", String.valueOf(5 * DAY), "segment.ms", String.valueOf(1000 * DAY));
        topic("lagging", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.0", "min.compaction.lag.ms", String.valueOf(DAY), "segment.ms", String.valueOf(1000 * DAY));
        topic("old", 1, "retention.ms", String.valueOf(DAY), "segment.ms", String.valueOf(1000 * DAY));
        topic("mixed", 1, "retention.ms", String.valueOf(DAY), "segment.ms", String.valueOf(1000 * DAY));
        topic("by-size", 1, "retention.bytes", "3000");
        topic("cut", 1);
    }

    private KafkaProducer<byte[], byte[]> producer(Object... configs) {
        var all = new HashMap<String, Object>(Map.of("bootstrap.servers", bootstrap, "enable.idempotence", false, "linger.ms", 0));
        for (int i = 0; i < configs.length; i += 2) {
            all.put((String) configs[i], configs[i + 1]);
        }
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private ProducerRecord<byte[], byte[]> record(String topic, int partition, long time, int keys) {
        byte[] key = Noise.text("key " + random.nextInt(keys));
        byte[] value = random.nextInt(5) == 0 ? null : Noise.text("value " + random.nextInt() + "x".repeat(random.nextInt(100)));
        return new ProducerRecord<>(topic, partition, time, key, value);
    }

    /** Each record is a batch of its own. */
    private void keys() throws Exception {
        try (var p = producer(); var zipped = producer("compression.type", "gzip")) {
            for (int i = 0; i < 90; i++) {
                now++;
                p.send(record("latest", i % 2, now, 15)).get();
                p.send(record("forget", 0, now, 15)).get();
                zipped.send(record("latest-zipped", 0, now, 15)).get();
            }
        }
    }

    private void old() throws Exception {
        try (var p = producer()) {
            for (int i = 0; i < 90; i++) {
                p.send(record("old", 0, now - 30 * DAY + i, 1000)).get();
                p.send(record("mixed", 0, i < 50 ? now - 30 * DAY + i : now + i, 1000)).get();
                // A segment that compaction has emptied has no old timestamps any more.
                p.send(record("both", 0, i < 50 ? now - 30 * DAY + i : now + i, i < 50 ? 1000 : 10)).get();
                p.send(record("lagging", 0, i < 50 ? now - 30 * DAY + i : now + i, 10)).get();
                p.send(record("by-size", 0, now + i, 1000)).get();
                p.send(record("cut", 0, now + i, 1000)).get();
            }
        }
        admin.deleteRecords(Map.of(new TopicPartition("cut", 0), RecordsToDelete.beforeOffset(50))).all().get();
    }

    private void transactions() throws Exception {
        try (var p = producer("transactional.id", "dirt", "enable.idempotence", true)) {
            p.initTransactions();
            for (int i = 0; i < 20; i++) {
                p.beginTransaction();
                for (int j = 0; j < 5; j++) {
                    p.send(record("latest-txn", 0, now + 10 * i + j, 15)).get();
                }
                if (random.nextInt(3) == 0) {
                    p.abortTransaction();
                } else {
                    p.commitTransaction();
                }
            }
        }
    }
}
