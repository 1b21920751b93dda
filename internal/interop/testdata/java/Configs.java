import java.util.List;
import java.util.TreeSet;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.storage.internals.log.LogConfig;

/** Prints Kafka's configuration keys, a JSON object a line, and what it says about some values of topic keys. */
public class Configs {
    private static final String[] VALUES = {
        "", "0", "1", "-1", "-2", "-3", "9", "10", "22", " 5 ", "+7", "-131073", "1048575", "1048576", "2147483640", "2147483648",
        "9223372036854775807", "9223372036854775808", "0.5", "1.5", "1e-5", "1.0E10", "NaN", "0x1p-2", "1_0", "1d", "true", "TRUE", " false", "compact",
        "delete , compact", " compact,delete ", "compact,compact", ",", "compact,", "zap", "gzip", "Gzip", "uncompressed", "LogAppendTime",
        "*", "*,0:1", "0:1", "0:1,1:2", "0:1,,1:2", "0:1,x"};

    private static String quoted(Object o) {
        return o == null ? "null" : "\"" + o.toString().replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }

    private static String cases(ConfigDef.ConfigKey k) {
        StringBuilder b = new StringBuilder();
        for (String value : VALUES) {
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

    private static void print(boolean topic, ConfigDef def) {
        for (String name : new TreeSet<>(def.names())) {
            ConfigDef.ConfigKey k = def.configKeys().get(name);
            if (topic && k.internalConfig)
                continue;
            StringBuilder synonyms = new StringBuilder();
            List<ConfigSynonym> all = topic ? ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.get(name) : null;
            if (all != null)
                for (ConfigSynonym s : all)
                    synonyms.append(synonyms.length() == 0 ? "" : ",").append("{\"name\":").append(quoted(s.name()))
                        .append(",\"one\":").append(quoted(s.converter().apply("1"))).append('}');
            String fallback = k.hasDefault() ? quoted(ConfigDef.convertToString(k.defaultValue, k.type)) : "null";
            System.out.println("{\"topic\":" + topic + ",\"name\":" + quoted(name) + ",\"type\":" + quoted(k.type) + ",\"default\":" + fallback
                + ",\"valid\":" + quoted(k.validator) + ",\"synonyms\":[" + synonyms + "]"
                + (topic ? ",\"cases\":[" + cases(k) + "]" : ",\"mode\":" + quoted(DynamicBrokerConfig.dynamicConfigUpdateModes().getOrDefault(name, "read-only"))) + "}");
        }
    }

    public static void main(String[] args) {
        print(true, LogConfig.configDefCopy());
        print(false, kafka.server.KafkaConfig.configDef());
    }
}
