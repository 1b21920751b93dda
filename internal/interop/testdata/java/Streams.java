import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;

/**
 * Counts the words of the topic "lines" into the topic "words": Streams BOOTSTRAP
 * NAME DIR [KEY=VALUE...] runs an instance of that name, with its state in DIR, until
 * the process ends. A key without a value is not set.
 */
public class Streams {
    public static void main(String[] args) {
        var configs = new Properties();
        configs.put("application.id", "words");
        configs.put("client.id", args[1]);
        configs.put("bootstrap.servers", args[0]);
        configs.put("state.dir", args[2]);
        configs.put("default.key.serde", Serdes.StringSerde.class);
        configs.put("default.value.serde", Serdes.StringSerde.class);
        configs.put("dsl.store.suppliers.class", BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers.class);
        configs.put("commit.interval.ms", 200);
        configs.put("repartition.purge.interval.ms", 1000);
        configs.put("heartbeat.interval.ms", 300);
        configs.put("session.timeout.ms", 6000);
        configs.put("auto.offset.reset", "earliest");
        for (int i = 3; i < args.length; i++) {
            var pair = args[i].split("=", 2);
            if (pair[1].isEmpty()) configs.remove(pair[0]); else configs.put(pair[0], pair[1]);
        }
        var words = new StreamsBuilder();
        words.<String, String>stream("lines").flatMapValues(line -> List.of(line.split(" "))).groupBy((key, word) -> word)
            .count(Materialized.as("counts")).toStream().to("words", Produced.valueSerde(Serdes.Long()));
        var instance = new KafkaStreams(words.build(), configs);
        instance.setUncaughtExceptionHandler(e -> {
            e.printStackTrace();
            return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        instance.setStateListener((now, before) -> System.out.println(now));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> instance.close(Duration.ofSeconds(30))));
        instance.start();
    }
}
