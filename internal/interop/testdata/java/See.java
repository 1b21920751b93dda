import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Prints all that clients see of a cluster: See BOOTSTRAP. A JSON object a line,
 * in a fixed order: the cluster, and for each topic its id, the configs that were
 * set, and for each partition its offsets, what a look-up by time finds, every
 * record, and which of them a read_committed consumer gets.
 */
public class See {
    private static final int LARGE = 200; // bytes; larger keys and values are printed as a hash

    private final Map<String, Object> client;
    private final List<TopicPartition> whole = new ArrayList<>(); // partitions that lost no records
    private final StringBuilder out = new StringBuilder();

    private See(String bootstrap) {
        client = Map.of("bootstrap.servers", bootstrap, "default.api.timeout.ms", 30_000, "request.timeout.ms", 30_000);
    }

    public static void main(String[] args) throws Exception {
        var see = new See(args[0]);
        see.all();
        System.out.print(see.out);
    }

    private void all() throws Exception {
        try (Admin admin = Admin.create(client)) {
            line("cluster", admin.describeCluster().clusterId().get());
            var names = new TreeSet<>(admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get());
            var topics = admin.describeTopics(names).allTopicNames().get();
            var resources = new ArrayList<ConfigResource>();
            var leaderless = new HashSet<TopicPartition>();
            var partitions = new TreeSet<TopicPartition>((a, b) -> a.topic().equals(b.topic()) ? Integer.compare(a.partition(), b.partition()) : a.topic().compareTo(b.topic()));
            for (TopicDescription t : topics.values()) {
                resources.add(new ConfigResource(ConfigResource.Type.TOPIC, t.name()));
                for (TopicPartitionInfo p : t.partitions()) {
                    var tp = new TopicPartition(t.name(), p.partition());
                    if (p.leader() == null || p.leader().isEmpty()) {
                        leaderless.add(tp);
                    } else {
                        partitions.add(tp);
                    }
                }
            }
            var configs = admin.describeConfigs(resources).all().get();
            var start = offsets(admin, partitions, OffsetSpec.earliest(), IsolationLevel.READ_UNCOMMITTED);
            var end = offsets(admin, partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED);
            var stable = offsets(admin, partitions, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED);
            var newest = offsets(admin, partitions, OffsetSpec.maxTimestamp(), IsolationLevel.READ_UNCOMMITTED);
            var records = read(start, end, "read_uncommitted");
            var committed = read(start, stable, "read_committed");
            // Look-ups by time see deleted records as long as their segment is there.
            start.forEach((p, o) -> {
                if (o.offset() == 0) {
                    whole.add(p);
                }
            });
            var found = byTime(records);
            for (String name : names) {
                TopicDescription t = topics.get(name);
                line("topic", name, "id", t.topicId().toString(), "internal", t.isInternal(), "partitions", t.partitions().size());
                var set = new TreeMap<String, String>();
                for (ConfigEntry e : configs.get(new ConfigResource(ConfigResource.Type.TOPIC, name)).entries()) {
                    if (e.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG) {
                        set.put(e.name(), e.value());
                    }
                }
                set.forEach((key, value) -> line("topic", name, "config", key, "value", value));
                for (TopicPartitionInfo p : t.partitions()) {
                    var tp = new TopicPartition(name, p.partition());
                    if (leaderless.contains(tp)) {
                        line("partition", tp.toString(), "leader", "none");
                    } else {
                        partition(tp, start, end, stable, newest, records, committed, found);
                    }
                }
            }
        }
    }

    private void partition(TopicPartition p, Map<TopicPartition, ListOffsetsResultInfo> start, Map<TopicPartition, ListOffsetsResultInfo> end,
            Map<TopicPartition, ListOffsetsResultInfo> stable, Map<TopicPartition, ListOffsetsResultInfo> newest,
            Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> records, Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> committed,
            Map<Long, Map<TopicPartition, OffsetAndTimestamp>> found) throws Exception {
        line("partition", p.toString(), "start", start.get(p).offset(), "end", end.get(p).offset(), "stable", stable.get(p).offset());
        if (whole.contains(p)) {
            line("partition", p.toString(), "max_timestamp", newest.get(p).timestamp(), "at", newest.get(p).offset());
        }
        for (var e : found.entrySet()) {
            OffsetAndTimestamp o = e.getValue().get(p);
            if (o != null) {
                line("partition", p.toString(), "from", e.getKey(), "found", o.offset(), "timestamp", o.timestamp());
            }
        }
        for (var r : records.get(p)) {
            var headers = new ArrayList<Object>();
            for (Header h : r.headers()) {
                headers.add(List.of(h.key(), json(h.value())));
            }
            line("partition", p.toString(), "offset", r.offset(), "timestamp", r.timestamp(), "type", r.timestampType().toString(), "epoch", r.leaderEpoch().orElse(-1),
                "key", json(r.key()), "value", json(r.value()), "headers", headers);
        }
        for (var r : committed.get(p)) {
            line("partition", p.toString(), "committed", r.offset());
        }
    }

    private static Map<TopicPartition, ListOffsetsResultInfo> offsets(Admin admin, Iterable<TopicPartition> partitions, OffsetSpec spec, IsolationLevel level) throws Exception {
        var all = new HashMap<TopicPartition, OffsetSpec>();
        partitions.forEach(p -> all.put(p, spec));
        return admin.listOffsets(all, new ListOffsetsOptions(level)).all().get();
    }

    private KafkaConsumer<byte[], byte[]> consumer(String level) {
        var all = new HashMap<>(client);
        all.putAll(Map.of("isolation.level", level, "enable.auto.commit", false, "auto.offset.reset", "none", "max.poll.records", 10_000, "fetch.max.wait.ms", 50));
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** Returns the records from start to end. */
    private Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> read(Map<TopicPartition, ListOffsetsResultInfo> start, Map<TopicPartition, ListOffsetsResultInfo> end, String level) {
        var records = new HashMap<TopicPartition, List<ConsumerRecord<byte[], byte[]>>>();
        start.keySet().forEach(p -> records.put(p, new ArrayList<>()));
        try (var c = consumer(level)) {
            c.assign(start.keySet());
            start.forEach((p, o) -> c.seek(p, o.offset()));
            var left = new ArrayList<>(start.keySet());
            long limit = System.nanoTime() + Duration.ofSeconds(60).toNanos();
            while (true) {
                left.removeIf(p -> {
                    boolean done = c.position(p) >= end.get(p).offset();
                    if (done) {
                        c.pause(List.of(p));
                    }
                    return done;
                });
                if (left.isEmpty()) {
                    return records;
                }
                if (System.nanoTime() > limit) {
                    var where = new StringBuilder();
                    left.forEach(p -> where.append(' ').append(p).append(" at ").append(c.position(p)).append(" of ").append(end.get(p).offset()));
                    throw new RuntimeException("a " + level + " consumer comes to no end:" + where);
                }
                for (var r : c.poll(Duration.ofMillis(500))) {
                    var p = new TopicPartition(r.topic(), r.partition());
                    if (r.offset() < end.get(p).offset()) {
                        records.get(p).add(r);
                    }
                }
            }
        }
    }

    /** Looks up some of the times of the records in the partitions that lost none. */
    private Map<Long, Map<TopicPartition, OffsetAndTimestamp>> byTime(Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> records) {
        var times = new TreeSet<Long>(List.of(0L));
        for (var all : records.values()) {
            all.forEach(r -> times.add(r.timestamp()));
        }
        times.removeIf(time -> time < 0);
        var sorted = new ArrayList<>(times);
        var found = new TreeMap<Long, Map<TopicPartition, OffsetAndTimestamp>>();
        try (var c = consumer("read_uncommitted")) {
            for (int i = 0; i < 8; i++) {
                long time = sorted.get((int) ((long) i * (sorted.size() - 1) / 7));
                var all = new HashMap<TopicPartition, Long>();
                whole.forEach(p -> all.put(p, time));
                found.put(time, all.isEmpty() ? Map.of() : c.offsetsForTimes(all));
            }
        }
        return found;
    }

    /** Marks a text that is JSON already. */
    private record Raw(String text) {
    }

    private static Raw json(byte[] p) throws Exception {
        if (p == null) {
            return new Raw("null");
        }
        if (p.length <= LARGE) {
            return new Raw("\"" + Base64.getEncoder().encodeToString(p) + "\"");
        }
        return new Raw("\"" + p.length + " bytes, sha256 " + HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(p)) + "\"");
    }

    private void line(Object... fields) {
        for (int i = 0; i < fields.length; i += 2) {
            out.append(i == 0 ? "{" : ",").append(quoted((String) fields[i])).append(':').append(value(fields[i + 1]));
        }
        out.append("}\n");
    }

    private static String value(Object o) {
        if (o instanceof Raw) {
            return ((Raw) o).text();
        }
        if (o instanceof List) {
            var all = new ArrayList<String>();
            ((List<?>) o).forEach(x -> all.add(value(x)));
            return "[" + String.join(",", all) + "]";
        }
        return o instanceof String ? quoted((String) o) : String.valueOf(o);
    }

    /** Quotes a text; all that is not printable ASCII is escaped. */
    private static String quoted(String s) {
        var b = new StringBuilder("\"");
        for (char c : s.toCharArray()) {
            if (c == '"' || c == '\\') {
                b.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                b.append(String.format("\\u%04x", (int) c));
            } else {
                b.append(c);
            }
        }
        return b.append('"').toString();
    }
}
