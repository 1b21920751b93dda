import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.errors.ConnectException;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/**
 * Connectors between a topic and the lines of a file, as those of Kafka that its
 * release 4.4.0 lacks among the published ones. Their settings are "file" and, of
 * the source, "topic".
 */
public class ConnectLines {
    private static final String VERSION = "1";

    private static ConfigDef config() {
        return new ConfigDef().define("file", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "The file.")
            .define("topic", ConfigDef.Type.STRING, "", ConfigDef.Importance.HIGH, "The topic of a source.");
    }

    /** Sends the lines of a file; its offset is the number of lines that were sent. */
    public static class Source extends SourceConnector {
        private Map<String, String> settings;

        @Override
        public void start(Map<String, String> settings) {
            this.settings = settings;
        }

        @Override
        public Class<? extends Task> taskClass() {
            return SourceLines.class;
        }

        @Override
        public List<Map<String, String>> taskConfigs(int max) {
            return List.of(settings);
        }

        @Override
        public void stop() {
        }

        @Override
        public ConfigDef config() {
            return ConnectLines.config();
        }

        @Override
        public String version() {
            return VERSION;
        }
    }

    public static class SourceLines extends SourceTask {
        private Path file;
        private String topic;
        private long sent;

        @Override
        public void start(Map<String, String> settings) {
            file = Path.of(settings.get("file"));
            topic = settings.get("topic");
            var offset = context.offsetStorageReader().offset(Map.of("file", file.toString()));
            sent = offset == null ? 0 : (Long) offset.get("lines");
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            var records = new ArrayList<SourceRecord>();
            try (var lines = Files.lines(file)) {
                for (String line : lines.skip(sent).toList()) {
                    sent++;
                    records.add(new SourceRecord(Map.of("file", file.toString()), Map.of("lines", sent), topic, Schema.STRING_SCHEMA, line));
                }
            } catch (IOException e) {
                throw new ConnectException(e);
            }
            if (records.isEmpty()) {
                Thread.sleep(100);
            }
            return records;
        }

        @Override
        public void stop() {
        }

        @Override
        public String version() {
            return VERSION;
        }
    }

    /** Appends each record to a file, a line each. */
    public static class Sink extends SinkConnector {
        private Map<String, String> settings;

        @Override
        public void start(Map<String, String> settings) {
            this.settings = settings;
        }

        @Override
        public Class<? extends Task> taskClass() {
            return SinkLines.class;
        }

        @Override
        public List<Map<String, String>> taskConfigs(int max) {
            return List.of(settings);
        }

        @Override
        public void stop() {
        }

        @Override
        public ConfigDef config() {
            return ConnectLines.config();
        }

        @Override
        public String version() {
            return VERSION;
        }
    }

    public static class SinkLines extends SinkTask {
        private Path file;

        @Override
        public void start(Map<String, String> settings) {
            file = Path.of(settings.get("file"));
        }

        @Override
        public void put(Collection<SinkRecord> records) {
            var text = new StringBuilder();
            for (SinkRecord r : records) {
                text.append(r.value()).append('\n');
            }
            try {
                Files.write(file, text.toString().getBytes(StandardCharsets.UTF_8), StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException e) {
                throw new ConnectException(e);
            }
        }

        @Override
        public void stop() {
        }

        @Override
        public String version() {
            return VERSION;
        }
    }
}
