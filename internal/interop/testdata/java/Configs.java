import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Prints Kafka's configuration keys, a JSON object a line, and what it says about some values of keys of topics and groups, and about settings of groups and brokers that do not go together. */
public class Configs {
    private static final String[] VALUES = {
        "", "0", "1", "-1", "-2", "-3", "9", "10", "22", " 5 ", "+7", "-131073", "1048575", "1048576", "2147483640", "2147483648",
        "9223372036854775807", "9223372036854775808", "0.5", "1.5", "1e-5", "1.0E10", "NaN", "0x1p-2", "1_0", "1d", "true", "TRUE", " false", "compact",
        "delete , compact", " compact,delete ", "compact,compact", ",", "compact,", "zap", "gzip", "Gzip", "uncompressed", "LogAppendTime",
        "*", "*,0:1", "0:1", "0:1,1:2", "0:1,,1:2", "0:1,x"};
    private static final String[] GROUP_VALUES = {
        "", "0", "1", "-1", "2", "99", "100", "999", "1000", " 5000 ", "2147483648", "1.5", "true", "TRUE", "yes", "earliest", "Latest", " latest", "none", "a,b", "a , b", "a,a", "a,,b", "sticky", "__x",
        "read_committed", "READ_COMMITTED"};
    private static final String[] RESETS = {
        "", "earliest", " latest", "Latest", "none", "by_duration", "by_duration:", "by_duration:1", "by_duration:P", "by_duration:PT", "by_duration:P1D", "by_duration:-P1D", "by_duration:-P-1D", "by_duration:+P1D",
        "by_duration:PT1H1.5S", "by_duration:PT1,5S", "by_duration:PT-0.5S", "by_duration:PT-0.000000001S", "by_duration:PT0.1234567890S", "by_duration:PT.5S", "by_duration:p1dT-1h", "by_duration:P1DT-25H",
        "by_duration:P1DT", "by_duration:P1W", "by_duration:P106751991167300D", "by_duration:P106751991167301D", "by_duration:P99999999999999999999D", "by_duration:PT1M1H"};

    /** Settings of groups; what is set for the broker stands behind a bar. */
    private static final String[] GROUPS = {
        "", "consumer.session.timeout.ms=45000", "consumer.session.timeout.ms=1", "consumer.session.timeout.ms=60001", "consumer.session.timeout.ms=x", "no.such=1", "no.such=1 consumer.session.timeout.ms=x",
        "consumer.heartbeat.interval.ms=4999", "consumer.heartbeat.interval.ms=15000", "consumer.assignment.interval.ms=15001", "consumer.assignment.interval.ms=-1", "consumer.assignment.interval.ms=0",
        "consumer.heartbeat.interval.ms=9 | group.consumer.min.heartbeat.interval.ms=5", "consumer.heartbeat.interval.ms=900 consumer.session.timeout.ms=900 | group.consumer.min.heartbeat.interval.ms=5 group.consumer.min.session.timeout.ms=5",
        "consumer.session.timeout.ms=5000 | group.consumer.min.session.timeout.ms=5", "consumer.session.timeout.ms=5001 | group.consumer.min.session.timeout.ms=5", "consumer.assignor.offload.enable=false",
        "share.delivery.count.limit=11", "share.delivery.count.limit=2", "share.partition.max.record.locks=4001", "share.record.lock.duration.ms=14999", "share.auto.offset.reset=never", "share.isolation.level=serializable",
        "share.session.timeout.ms=44999", "share.heartbeat.interval.ms=15001", "share.assignment.interval.ms=15001", "streams.num.standby.replicas=3", "streams.num.standby.replicas=2", "streams.num.warmup.replicas=21",
        "streams.task.offset.interval.ms=14999", "streams.assignor.name=sticky", "streams.assignor.name=none", "streams.rack.aware.assignment.tags=a,a", "streams.rack.aware.assignment.tags=a,,b", "streams.session.timeout.ms=1",
        "streams.heartbeat.interval.ms=1", "streams.assignment.interval.ms=15001", "streams.initial.rebalance.delay.ms=-1", "errors.deadletterqueue.topic.name=__dead", "errors.deadletterqueue.topic.name=dead"};
    private static final String[] BROKERS = {
        "", "group.consumer.session.timeout.ms=44999", "group.consumer.session.timeout.ms=60001", "group.consumer.min.session.timeout.ms=60001", "group.consumer.max.session.timeout.ms=44999",
        "group.consumer.heartbeat.interval.ms=4999", "group.consumer.heartbeat.interval.ms=15001", "group.consumer.min.heartbeat.interval.ms=15001", "group.consumer.assignment.interval.ms=15001",
        "group.consumer.min.assignment.interval.ms=1001", "group.consumer.min.session.timeout.ms=1 group.consumer.session.timeout.ms=5000", "group.share.session.timeout.ms=1", "group.share.heartbeat.interval.ms=1",
        "group.share.assignment.interval.ms=15001", "group.share.min.session.timeout.ms=1 group.share.session.timeout.ms=4000", "group.streams.session.timeout.ms=1", "group.streams.heartbeat.interval.ms=1",
        "group.streams.num.standby.replicas=3", "group.streams.num.warmup.replicas=21", "group.streams.task.offset.interval.ms=14999", "group.streams.min.session.timeout.ms=1 group.streams.session.timeout.ms=4000",
        "group.consumer.assignors=range", "group.consumer.assignors=sticky", "group.streams.assignors=x", "offsets.topic.compression.codec=4", "offsets.topic.compression.codec=5", "offsets.topic.compression.codec=-1",
        "group.coordinator.rebalance.protocols=classic", "group.coordinator.rebalance.protocols=consumer", "group.coordinator.rebalance.protocols=share,classic", "group.min.session.timeout.ms=9 group.max.session.timeout.ms=8"};

    private static Map<String, String> settings(String text) {
        Map<String, String> all = new TreeMap<>();
        for (String entry : text.trim().split(" +"))
            if (!entry.isEmpty())
                all.put(entry.substring(0, entry.indexOf('=')), entry.substring(entry.indexOf('=') + 1));
        return all;
    }

    private static KafkaConfig broker(Map<String, String> settings) {
        Properties all = new Properties();
        for (String entry : List.of("process.roles=broker,controller", "node.id=1", "controller.quorum.voters=1@localhost:9093", "controller.listener.names=CONTROLLER", "listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093"))
            all.putAll(settings(entry));
        all.putAll(settings);
        return KafkaConfig.fromProps(all);
    }

    private static void check(String of, String text) {
        String[] parts = (text + " ").split("\\|");
        Map<String, String> group = settings(of.equals("group") ? parts[0] : ""), broker = settings(of.equals("broker") ? parts[0] : parts.length > 1 ? parts[1] : "");
        String error = null;
        try {
            KafkaConfig config = broker(broker);
            if (of.equals("group"))
                GroupConfig.validate(group, config.groupCoordinatorConfig(), config.shareGroupConfig());
        } catch (Exception e) {
            error = e.getMessage();
        }
        System.out.println("{\"of\":\"settings\",\"group\":" + object(group) + ",\"broker\":" + object(broker) + ",\"error\":" + quoted(error) + "}");
    }

    private static String object(Map<String, String> all) {
        return all.entrySet().stream().map(e -> quoted(e.getKey()) + ":" + quoted(e.getValue())).collect(Collectors.joining(",", "{", "}"));
    }

    private static String quoted(Object o) {
        return o == null ? "null" : "\"" + o.toString().replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }

    private static String cases(ConfigDef.ConfigKey k, String[] values) {
        StringBuilder b = new StringBuilder();
        for (String value : values) {
            String out;
            try {
                Object parsed = ConfigDef.parseType(k.name, value, k.type);
                if (k.validator != null)
                    k.validator.ensureValid(k.name, parsed);
                out = "\"is\":" + quoted(ConfigDef.convertToString(parsed, k.type));
            } catch (Exception e) {
                out = "\"error\":" + quoted(e.getMessage());
            }
            b.append(b.length() == 0 ? "" : ",").append("{\"value\":").append(quoted(value)).append(',').append(out).append('}');
        }
        return b.toString();
    }

    /** The broker keys that give a key of a topic or a group its default. */
    private static String synonyms(String of, String name) {
        if (of.equals("group"))
            return GroupConfig.brokerSynonym(name).map(s -> "{\"name\":" + quoted(s) + ",\"one\":\"1\"}").orElse("");
        StringBuilder b = new StringBuilder();
        List<ConfigSynonym> all = of.equals("topic") ? ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.get(name) : null;
        if (all != null)
            for (ConfigSynonym s : all)
                b.append(b.length() == 0 ? "" : ",").append("{\"name\":").append(quoted(s.name()))
                    .append(",\"one\":").append(quoted(s.converter().apply("1"))).append('}');
        return b.toString();
    }

    private static void print(String of, ConfigDef def) {
        for (String name : new TreeSet<>(def.names())) {
            ConfigDef.ConfigKey k = def.configKeys().get(name);
            String fallback = k.hasDefault() ? quoted(ConfigDef.convertToString(k.defaultValue, k.type)) : "null";
            System.out.println("{\"of\":" + quoted(of) + ",\"name\":" + quoted(name) + ",\"internal\":" + k.internalConfig
                + ",\"type\":" + quoted(k.type) + ",\"default\":" + fallback + ",\"valid\":" + quoted(k.validator) + ",\"synonyms\":[" + synonyms(of, name) + "]"
                + (of.equals("broker") ? ",\"mode\":" + quoted(DynamicBrokerConfig.dynamicConfigUpdateModes().getOrDefault(name, "read-only")) : ",\"cases\":[" + cases(k, of.equals("topic") ? VALUES : name.equals("share.auto.offset.reset") ? RESETS : GROUP_VALUES) + "]") + "}");
        }
    }

    public static void main(String[] args) {
        print("topic", LogConfig.configDefCopy());
        print("group", GroupConfig.CONFIG_DEF);
        print("broker", KafkaConfig.configDef());
        Arrays.stream(GROUPS).forEach(s -> check("group", s));
        Arrays.stream(BROKERS).forEach(s -> check("broker", s));
    }
}
