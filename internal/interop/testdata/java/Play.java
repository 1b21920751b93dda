import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Does on a cluster what a broker without groups and transactions can do: Play
 * BOOTSTRAP SEED ROUND. Round 0 makes the topics; each round adds to all that is
 * there, changes configs, deletes records and a topic, and makes topics.
 */
public class Play {
    private static final String[] CODECS = {"none", "gzip", "snappy", "lz4", "zstd"};

    private final String bootstrap;
    private final int round;
    private final Noise noise;
    private final Admin admin;
    private long tick; // ms; rises with each record

    private Play(String bootstrap, long seed, int round) {
        this.bootstrap = bootstrap;
        this.round = round;
        noise = new Noise(seed + round);
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    public static void main(String[] args) throws Exception {
        var play = new Play(args[0], Long.parseLong(args[1]), Integer.parseInt(args[2]));
        try {
            if (play.round == 0) {
                play.topics();
            }
            play.records();
            play.changes();
        } finally {
            play.admin.close();
        }
    }

    private void topic(String name, int partitions, String... configs) throws Exception {
        var all = new HashMap<String, String>();
        for (int i = 0; i < configs.length; i += 2) {
            all.put(configs[i], configs[i + 1]);
        }
        admin.createTopics(List.of(new NewTopic(name, Optional.of(partitions), Optional.empty()).configs(all))).all().get();
    }

    private void topics() throws Exception {
        for (String codec : CODECS) {
            topic("codec-" + codec, 2);
            topic("rebuilt-" + codec, 1, "compression.type", codec.equals("none") ? "uncompressed" : codec);
        }
        topic("append-time", 2, "message.timestamp.type", "LogAppendTime");
        topic("append-time-gzip", 1, "message.timestamp.type", "LogAppendTime", "compression.type", "gzip");
        topic("compacted", 2, "cleanup.policy", "compact");
        topic("rolls", 1, "segment.bytes", "1048576");
        // An index of 20 entries is full after as many batches.
        topic("small", 2, "segment.index.bytes", "240", "index.interval.bytes", "0");
        topic("preallocated", 1, "segment.bytes", "1048576", "preallocate", "true");
        topic("cut", 1, "segment.index.bytes", "240", "index.interval.bytes", "0");
        topic("emptied", 1);
        topic("configured", 3, "retention.ms", "123456789", "retention.bytes", "1000000000", "max.message.bytes", "2000000", "min.insync.replicas", "1",
            "delete.retention.ms", "1000", "flush.messages", "10", "segment.jitter.ms", "5", "unclean.leader.election.enable", "true");
        topic("empty", 3);
        topic("a.name_with-all-0", 1);
        topic("doomed", 2);
        topic("sequence", 1);
    }

    private KafkaProducer<byte[], byte[]> producer(Object... configs) {
        var all = new HashMap<String, Object>(Map.of("bootstrap.servers", bootstrap, "linger.ms", 5, "max.request.size", 3_000_000));
        for (int i = 0; i < configs.length; i += 2) {
            all.put((String) configs[i], configs[i + 1]);
        }
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private void send(KafkaProducer<byte[], byte[]> p, String topic, int partition, int records, int flushes) throws Exception {
        var sent = new ArrayList<Future<RecordMetadata>>();
        for (int i = 0; i < records; i++) {
            sent.add(p.send(noise.record(topic, partition)));
            if (noise.random.nextInt(records) < flushes) {
                p.flush();
            }
        }
        p.flush();
        for (var f : sent) {
            f.get();
        }
    }

    private byte[] key() {
        return Noise.text("key " + noise.random.nextInt(10));
    }

    private void records() throws Exception {
        for (String codec : CODECS) {
            try (var p = producer("compression.type", codec); var plain = producer("compression.type", codec, "enable.idempotence", false, "acks", "1")) {
                send(p, "codec-" + codec, 0, 60, 5);
                send(plain, "codec-" + codec, 1, 30, 3);
                for (String rebuilt : CODECS) {
                    send(p, "rebuilt-" + rebuilt, 0, 15, 3);
                }
                for (String topic : new String[] {"append-time", "append-time-gzip", "a.name_with-all-0", "emptied"}) {
                    send(p, topic, 0, 15, 3);
                }
                p.send(new ProducerRecord<>("codec-" + codec, 1, null, null)).get();
                p.send(new ProducerRecord<>("codec-" + codec, 1, new byte[0], new byte[0])).get();
                p.send(new ProducerRecord<>("codec-" + codec, 1, null, noise.words(300_000))).get();
                for (int i = 0; i < 20; i++) {
                    p.send(new ProducerRecord<>("compacted", i % 2, key(), noise.random.nextInt(4) == 0 ? null : noise.value())).get();
                    p.send(new ProducerRecord<>("configured", i % 2, key(), noise.value())).get();
                }
            }
        }
        try (var p = producer()) {
            for (int i = 0; i < (round == 0 ? 40 : 15); i++) {
                p.send(new ProducerRecord<>("rolls", 0, key(), noise.bytes(150_000))).get();
                p.send(new ProducerRecord<>("preallocated", 0, key(), noise.bytes(150_000))).get();
            }
            for (int i = 0; i < 45; i++) {
                // Kafka fails to recover a segment in which the offset index was full and a
                // start had left a batch without an entry: so the time index must be full first.
                tick = Math.max(tick + 1, System.currentTimeMillis());
                for (String topic : new String[] {"small", "cut"}) {
                    p.send(new ProducerRecord<>(topic, 0, tick, noise.key(), noise.value(), noise.headers())).get();
                }
            }
        }
    }

    private void changes() throws Exception {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, "configured");
        admin.incrementalAlterConfigs(Map.of(resource, List.of(
            new AlterConfigOp(new ConfigEntry("max.message.bytes", String.valueOf(1_500_000 + round)), AlterConfigOp.OpType.SET),
            new AlterConfigOp(new ConfigEntry("cleanup.policy", round % 2 == 0 ? "compact" : "delete"), round % 2 == 0 ? AlterConfigOp.OpType.APPEND : AlterConfigOp.OpType.SET),
            new AlterConfigOp(new ConfigEntry(round % 2 == 0 ? "flush.messages" : "segment.jitter.ms", null), AlterConfigOp.OpType.DELETE)))).all().get();

        // Delete a topic with records, and make it again under the same name.
        try (var p = producer()) {
            send(p, "doomed", 0, 10, 2);
            admin.deleteTopics(List.of("doomed")).all().get();
        }
        await(() -> !admin.listTopics().names().get().contains("doomed"));
        topic("doomed", 2);
        topic("round-" + round, 1);
        try (var p = producer()) {
            send(p, "round-" + round, 0, 10, 2);
            send(p, "doomed", 1, 5, 1);
        }

        var cut = new TopicPartition("cut", 0);
        var emptied = new TopicPartition("emptied", 0);
        long end = admin.listOffsets(Map.of(cut, OffsetSpec.latest())).partitionResult(cut).get().offset();
        long start = admin.listOffsets(Map.of(cut, OffsetSpec.earliest())).partitionResult(cut).get().offset();
        try {
            admin.deleteRecords(Map.of(cut, RecordsToDelete.beforeOffset(start + (end - start) / 2), emptied, RecordsToDelete.beforeOffset(-1))).all().get();
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof UnsupportedVersionException)) {
                throw e;
            }
        }
    }

    private interface Condition {
        boolean holds() throws Exception;
    }

    private static void await(Condition c) throws Exception {
        for (int i = 0; !c.holds(); i++) {
            if (i == 300) {
                throw new Exception("the topic is still there after 30 s");
            }
            Thread.sleep(100);
        }
    }
}
