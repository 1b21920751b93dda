import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;
import org.apache.kafka.clients.admin.UserScramCredentialAlteration;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Fills a node with all kinds of data: Fill BOOTSTRAP SEED LOG-DIR. It says
 * "filled" and keeps its transactions open and its group members alive until it
 * is ended. On a node that it has filled before, it adds to what is there.
 */
public class Fill {
    private final String bootstrap;
    private final Path dir;
    private final Noise noise;
    private final Admin admin;
    private final boolean again;
    private final String run; // makes names of this run
    private final List<Thread> members = new ArrayList<>();

    private Fill(String bootstrap, long seed, Path dir) throws Exception {
        this.bootstrap = bootstrap;
        this.dir = dir;
        noise = new Noise(seed);
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        again = admin.listTopics().names().get().contains("codec-none");
        run = again ? "-again" : "";
    }

    public static void main(String[] args) throws Exception {
        try {
            var fill = new Fill(args[0], Long.parseLong(args[1]), Path.of(args[2]));
            fill.all();
            System.out.println("filled");
            System.out.flush();
            Thread.sleep(Long.MAX_VALUE);
        } catch (Throwable e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    private interface Step {
        void run() throws Exception;
    }

    private void step(String name, Step step) throws Exception {
        long start = System.nanoTime();
        try {
            step.run();
        } catch (Exception e) {
            throw new Exception("filling: " + name, e);
        }
        System.out.printf("%s %d ms%n", name, (System.nanoTime() - start) / 1_000_000);
    }

    private void all() throws Exception {
        if (!again) {
            step("topics", this::topics);
        }
        step("metadata", this::metadata);
        step("groups", this::groups); // they run beside what follows
        step("codecs", this::codecs);
        step("large", this::large);
        step("transactions", this::transactions);
        step("rolls", this::rolls);
        step("compaction", this::compaction);
        step("deletion", this::deletion);
        step("group changes", this::groupChanges);
        step("remote", this::remote);
    }

    private static final String[] CODECS = {"none", "gzip", "snappy", "lz4", "zstd"};

    private void topic(String name, int partitions, String... configs) throws Exception {
        var all = new HashMap<String, String>();
        for (int i = 0; i < configs.length; i += 2) {
            all.put(configs[i], configs[i + 1]);
        }
        admin.createTopics(List.of(new NewTopic(name, Optional.of(partitions), Optional.empty()).configs(all))).all().get();
    }

    private void topics() throws Exception {
        // An index of 20 entries is full after as many batches: small segments.
        String[] small = {"segment.index.bytes", "240", "index.interval.bytes", "0"};
        for (String codec : CODECS) {
            topic("codec-" + codec, 2);
        }
        topic("rebuilt-gzip", 1, "compression.type", "gzip", "compression.gzip.level", "1");
        topic("rebuilt-zstd", 1, "compression.type", "zstd", "compression.zstd.level", "10");
        topic("rebuilt-lz4", 1, "compression.type", "lz4", "compression.lz4.level", "12");
        topic("rebuilt-none", 1, "compression.type", "uncompressed");
        topic("append-time", 2, "message.timestamp.type", "LogAppendTime", small[0], small[1], small[2], small[3]);
        topic("large", 1);
        topic("txn", 2, small);
        topic("txn-lone", 1);
        topic("rolls", 2, small);
        topic("megabytes", 1, "segment.bytes", "1048576");
        for (String t : new String[] {"compact", "compact-txn"}) {
            topic(t, 2, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.0", "delete.retention.ms", t.equals("compact") ? "300" : "86400000",
                small[0], small[1], small[2], small[3]);
        }
        topic("both", 1, "cleanup.policy", "compact,delete", "retention.bytes", "2000", "min.cleanable.dirty.ratio", "0.0", small[0], small[1], small[2], small[3]);
        topic("retention", 1, "retention.bytes", "3000", small[0], small[1], small[2], small[3]);
        topic("deleted-records", 1, small);
        topic("tiered", 2, "remote.storage.enable", "true", "local.retention.bytes", "3000", "file.delete.delay.ms", "1000", small[0], small[1], small[2], small[3]);
    }

    private KafkaProducer<byte[], byte[]> producer(Object... configs) {
        var all = new HashMap<String, Object>(Map.of("bootstrap.servers", bootstrap, "linger.ms", 5, "max.request.size", 3_000_000));
        for (int i = 0; i < configs.length; i += 2) {
            all.put((String) configs[i], configs[i + 1]);
        }
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private void send(KafkaProducer<byte[], byte[]> p, String topic, int partition, int records, int flushes) {
        for (int i = 0; i < records; i++) {
            p.send(noise.record(topic, partition));
            if (noise.random.nextInt(records) < flushes) {
                p.flush();
            }
        }
        p.flush();
    }

    private void codecs() throws Exception {
        Object[][] levels = {
            {"none"}, {"gzip"}, {"gzip", "compression.gzip.level", 1}, {"gzip", "compression.gzip.level", 9}, {"snappy"}, {"lz4"},
            {"lz4", "compression.lz4.level", 1}, {"lz4", "compression.lz4.level", 17}, {"zstd"}, {"zstd", "compression.zstd.level", -7},
            {"zstd", "compression.zstd.level", 1}, {"zstd", "compression.zstd.level", 19},
        };
        for (Object[] level : levels) {
            String codec = (String) level[0];
            var configs = new ArrayList<Object>(List.of("compression.type", codec, "enable.idempotence", noise.random.nextBoolean()));
            configs.addAll(List.of(level).subList(1, level.length));
            try (var p = producer(configs.toArray())) {
                for (String topic : new String[] {"codec-" + codec, "rebuilt-gzip", "rebuilt-zstd", "rebuilt-lz4", "rebuilt-none", "append-time"}) {
                    send(p, topic, 0, topic.startsWith("codec-") ? 150 : 30, 6);
                }
                // One record, none with a value, values that do not compress.
                String topic = "codec-" + codec;
                p.send(new ProducerRecord<>(topic, 1, null, null)).get();
                p.send(new ProducerRecord<>(topic, 1, noise.key(), noise.bytes(100_000)));
                p.send(new ProducerRecord<>(topic, 1, noise.key(), noise.words(100_000)));
                p.send(new ProducerRecord<>(topic, 1, noise.key(), new byte[200_000])).get();
            }
        }
    }

    private void large() throws Exception {
        for (String codec : CODECS) {
            try (var p = producer("compression.type", codec, "batch.size", 1_000_000, "linger.ms", 100)) {
                p.send(new ProducerRecord<>("large", 0, noise.key(), noise.words(300_000), noise.headers())).get();
                p.send(new ProducerRecord<>("large", 0, noise.words(70_000), noise.bytes(300))).get();
                for (int i = 0; i < 3000; i++) { // one batch of almost a megabyte
                    p.send(new ProducerRecord<>("large", 0, noise.bytes(20), noise.bytes(600)));
                }
            }
        }
        try (var p = producer("compression.type", "none")) {
            p.send(new ProducerRecord<>("large", 0, null, noise.bytes(1_040_000)));
        }
    }

    private KafkaProducer<byte[], byte[]> transactional(String id, Object... configs) {
        var all = new ArrayList<Object>(List.of("transactional.id", id, "transaction.timeout.ms", 600_000));
        all.addAll(List.of(configs));
        var p = producer(all.toArray());
        p.initTransactions();
        return p;
    }

    private void transactions() throws Exception {
        var producers = new ArrayList<KafkaProducer<byte[], byte[]>>();
        for (int i = 0; i < 4; i++) {
            producers.add(transactional("txn-" + i + (i == 3 ? noise.name() : ""), "compression.type", CODECS[i]));
        }
        var open = new boolean[producers.size()];
        for (int i = 0; i < 120; i++) {
            int n = noise.random.nextInt(producers.size());
            var p = producers.get(n);
            if (!open[n]) {
                p.beginTransaction();
                open[n] = true;
            }
            send(p, "txn", noise.random.nextInt(2), 1 + noise.random.nextInt(6), 1);
            switch (noise.random.nextInt(6)) {
                case 0:
                    p.sendOffsetsToTransaction(Map.of(new TopicPartition("codec-none", 0), new OffsetAndMetadata(i, Optional.of(0), noise.name())),
                        new org.apache.kafka.clients.consumer.ConsumerGroupMetadata("txn-group"));
                    break;
                case 1:
                case 2:
                    p.commitTransaction();
                    open[n] = false;
                    break;
                case 3:
                case 4:
                    p.abortTransaction();
                    open[n] = false;
                    break;
                default:
            }
        }
        // The first one ends, a new one of its name fences the second, the rest stays open.
        if (open[0]) {
            producers.get(0).abortTransaction();
        }
        producers.get(0).close();
        transactional("txn-1");
        var lone = transactional("lone" + run);
        lone.beginTransaction();
        send(lone, "txn-lone", 0, 5, 2);
        admin.fenceProducers(List.of("txn-0")).all().get();
    }

    private void rolls() throws Exception {
        try (var p = producer("batch.size", 500); var q = producer("enable.idempotence", false, "compression.type", "lz4", "batch.size", 500)) {
            for (int i = 0; i < 60; i++) {
                send(p, "rolls", i % 2, 3, 2);
                send(q, "rolls", 0, 2, 1);
                send(p, "append-time", 1, 2, 1);
            }
            for (int i = 0; i < 30; i++) {
                p.send(new ProducerRecord<>("megabytes", 0, noise.key(), noise.bytes(200_000)));
            }
        }
    }

    private long cleaned(String topic) {
        try {
            long sum = 0;
            for (String line : Files.readAllLines(dir.resolve("cleaner-offset-checkpoint"))) {
                String[] words = line.split(" ");
                if (words.length == 3 && words[0].equals(topic)) {
                    sum += Long.parseLong(words[2]);
                }
            }
            return sum;
        } catch (java.io.IOException e) {
            return 0;
        }
    }

    private static void await(String what, BooleanSupplier done) throws Exception {
        long end = System.currentTimeMillis() + 30_000;
        while (!done.getAsBoolean()) {
            if (System.currentTimeMillis() > end) {
                throw new Exception("30 s are not enough to wait for " + what);
            }
            Thread.sleep(50);
        }
    }

    private byte[] compactKey() {
        return Noise.text("key-" + noise.random.nextInt(40) + (noise.random.nextInt(10) == 0 ? noise.name() : ""));
    }

    private void compaction() throws Exception {
        // Two rounds: the second drops the tombstones of the first.
        for (int round = 0; round < 2; round++) {
            long before = cleaned("compact");
            try (var p = producer("batch.size", 400, "compression.type", CODECS[noise.random.nextInt(5)]);
                var q = transactional("compact-txn", "batch.size", 400)) {
                for (int i = 0; i < 90; i++) {
                    for (int j = 0; j < 3; j++) {
                        p.send(new ProducerRecord<>("compact", i % 2, noise.timestamp(), compactKey(), noise.random.nextInt(3) == 0 ? null : noise.value(), noise.headers()));
                    }
                    p.send(new ProducerRecord<>("both", 0, compactKey(), noise.value()));
                    p.flush();
                    if (i % 2 == 0) {
                        q.beginTransaction();
                        q.send(new ProducerRecord<>("compact-txn", 0, compactKey(), noise.random.nextInt(3) == 0 ? null : noise.value()));
                        q.send(new ProducerRecord<>("compact-txn", 1, compactKey(), noise.value()));
                        if (noise.random.nextBoolean()) {
                            q.commitTransaction();
                        } else {
                            q.abortTransaction();
                        }
                    }
                }
            }
            await("the cleaner", () -> cleaned("compact") > before && cleaned("compact-txn") > 0);
            Thread.sleep(1200); // above delete.retention.ms
        }
    }

    private void deletion() throws Exception {
        try (var p = producer("batch.size", 400)) {
            for (int i = 0; i < 60; i++) {
                send(p, "deleted-records", 0, 2, 1);
                send(p, "retention", 0, 2, 1);
                send(p, "tiered", 0, 3, 2);
                send(p, "tiered", 1, 3, 2);
            }
        }
        var tp = new TopicPartition("deleted-records", 0);
        admin.deleteRecords(Map.of(tp, RecordsToDelete.beforeOffset(again ? 130 : 55))).all().get();
        topic("gone" + run, 2);
        try (var p = producer()) {
            send(p, "gone" + run, 0, 10, 3);
        }
        admin.deleteTopics(List.of("gone" + run)).all().get();
    }

    private static void each(Collection<? extends KafkaFuture<?>> futures) {
        for (KafkaFuture<?> f : futures) {
            try {
                f.get(30, TimeUnit.SECONDS);
            } catch (Exception e) {
                System.out.println("refused: " + e.getMessage()); // some of what is tried may be
            }
        }
    }

    private AlterConfigOp set(String name, String value) {
        return new AlterConfigOp(new ConfigEntry(name, value), value == null ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET);
    }

    private void configs(ConfigResource.Type type, String name, AlterConfigOp... ops) {
        each(List.of(admin.incrementalAlterConfigs(Map.of(new ConfigResource(type, name), List.of(ops))).all()));
    }

    private void metadata() throws Exception {
        configs(ConfigResource.Type.TOPIC, "codec-none", set("retention.ms", "123456789012"), set("max.message.bytes", "1200000"));
        configs(ConfigResource.Type.TOPIC, "codec-none", set("retention.ms", null));
        configs(ConfigResource.Type.BROKER, "1", set("log.cleaner.threads", "1"), set("background.threads", "5"));
        configs(ConfigResource.Type.BROKER, "", set("log.retention.ms", "987654321"));
        configs(ConfigResource.Type.GROUP, "share", set("share.auto.offset.reset", "earliest"), set("share.record.lock.duration.ms", "15000"));
        configs(ConfigResource.Type.GROUP, "g\"\\é\u0001", set("consumer.session.timeout.ms", "46000"));
        configs(ConfigResource.Type.CLIENT_METRICS, "metrics", set("metrics", "org.apache.kafka.producer."), set("interval.ms", "5000"), set("match", "client_id=a\\d+"));
        configs(ConfigResource.Type.CLIENT_METRICS, "metrics", set("match", null));

        var quotas = new ArrayList<ClientQuotaAlteration>();
        for (int i = 0; i < 60; i++) {
            var entity = new HashMap<String, String>();
            if (i % 3 != 0) {
                entity.put("user", i % 7 == 0 ? null : noise.name() + i);
            }
            if (i % 3 != 1) {
                entity.put("client-id", i % 5 == 0 ? null : "client" + noise.name() + i);
            }
            String key = "request_percentage";
            double value = noise.number();
            if (i % 4 == 1) {
                entity.clear();
                entity.put("ip", i % 5 == 0 ? null : "10.0.0." + i);
                key = "connection_creation_rate";
                value = noise.random.nextInt(Integer.MAX_VALUE);
            }
            if (entity.containsValue(null)) { // a default, which holds for the clients here
                value = 1_000_000_000 + noise.random.nextInt(1_000_000_000);
            }
            quotas.add(new ClientQuotaAlteration(new ClientQuotaEntity(entity), List.of(new ClientQuotaAlteration.Op(key, value))));
        }
        for (int i = 0; i < 60; i++) {
            quotas.add(new ClientQuotaAlteration(new ClientQuotaEntity(Map.of("user", "double-" + i)),
                List.of(new ClientQuotaAlteration.Op("request_percentage", noise.number()))));
        }
        var quotaFutures = new ArrayList<KafkaFuture<?>>();
        for (var q : quotas) {
            quotaFutures.add(admin.alterClientQuotas(List.of(q)).all());
        }
        each(quotaFutures);
        each(List.of(admin.alterClientQuotas(List.of(new ClientQuotaAlteration(quotas.get(60).entity(),
            List.of(new ClientQuotaAlteration.Op("request_percentage", null))))).all()));

        var users = new ArrayList<UserScramCredentialAlteration>();
        for (ScramMechanism m : new ScramMechanism[] {ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512}) {
            users.add(new UserScramCredentialUpsertion("alice" + noise.name(), new ScramCredentialInfo(m, 4096 + noise.random.nextInt(100)), "secret"));
            users.add(new UserScramCredentialUpsertion("bob", new ScramCredentialInfo(m, 4096), "secret"));
        }
        for (UserScramCredentialAlteration u : users) { // not two of one user at once
            each(admin.alterUserScramCredentials(List.of(u)).values().values());
        }
        each(List.of(admin.alterUserScramCredentials(List.of(new UserScramCredentialDeletion("bob", ScramMechanism.SCRAM_SHA_256))).all()));

        var acls = new ArrayList<AclBinding>();
        for (int i = 0; i < 12; i++) {
            var types = new ResourceType[] {ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID, ResourceType.USER};
            acls.add(new AclBinding(new ResourcePattern(types[i % 4], "acl-" + i + noise.name(), i % 3 == 0 ? PatternType.PREFIXED : PatternType.LITERAL),
                new AccessControlEntry("User:nobody" + i, i % 2 == 0 ? "*" : "10.1.2." + i, i % 4 == 3 ? AclOperation.CREATE_TOKENS : AclOperation.DESCRIBE,
                    i % 5 == 0 ? AclPermissionType.DENY : AclPermissionType.ALLOW)));
        }
        each(admin.createAcls(acls).values().values());
        each(admin.deleteAcls(List.of(new AclBindingFilter(acls.get(1).pattern().toFilter(), acls.get(1).entry().toFilter()))).values().values());

        each(List.of(admin.createPartitions(Map.of("codec-none", NewPartitions.increaseTo(again ? 4 : 3))).all()));
        for (var u : List.of(Map.of("transaction.version", new FeatureUpdate((short) 2, FeatureUpdate.UpgradeType.UPGRADE)),
            Map.of("eligible.leader.replicas.version", new FeatureUpdate((short) (again ? 0 : 1), again ? FeatureUpdate.UpgradeType.SAFE_DOWNGRADE : FeatureUpdate.UpgradeType.UPGRADE)))) {
            each(admin.updateFeatures(u, new UpdateFeaturesOptions()).values().values());
        }
    }

    private interface Poll {
        void run() throws Exception;
    }

    /** Polls until the process ends, or for a number of polls. */
    private void member(String name, AutoCloseable consumer, int polls, Poll poll) {
        var t = new Thread(() -> {
            try {
                for (int i = 0; i < polls; i++) {
                    poll.run();
                }
                consumer.close();
            } catch (Exception e) {
                System.out.println(name + " ended: " + e);
            }
        }, name);
        t.setDaemon(true);
        t.start();
        members.add(t);
    }

    private HashMap<String, Object> group(String id, String... configs) {
        var all = new HashMap<String, Object>(Map.of("bootstrap.servers", bootstrap, "group.id", id, "auto.offset.reset", "earliest",
            "enable.auto.commit", false, "max.poll.records", 50, "metadata.max.age.ms", 1000));
        for (int i = 0; i < configs.length; i += 2) {
            all.put(configs[i], configs[i + 1]);
        }
        return all;
    }

    private void consumer(Map<String, Object> configs, List<String> topics, String pattern, int polls) {
        var c = new KafkaConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        if (pattern != null) {
            c.subscribe(new SubscriptionPattern(pattern));
        } else {
            c.subscribe(topics);
        }
        var mine = new Noise(noise.random.nextLong());
        member("member of " + configs.get("group.id"), c, polls, () -> {
            c.poll(Duration.ofMillis(200));
            var offsets = new HashMap<TopicPartition, OffsetAndMetadata>();
            for (TopicPartition tp : c.assignment()) {
                offsets.put(tp, new OffsetAndMetadata(c.position(tp), mine.random.nextBoolean() ? Optional.empty() : Optional.of(0), mine.random.nextBoolean() ? "" : mine.name()));
            }
            if (!offsets.isEmpty() && mine.random.nextInt(3) == 0) {
                try {
                    c.commitSync(offsets);
                } catch (RebalanceInProgressException | CommitFailedException e) {
                    // the next one
                }
            }
        });
    }

    private void groups() throws Exception {
        int forever = Integer.MAX_VALUE;
        var topics = List.of("codec-none", "codec-gzip");
        String assignors = "partition.assignment.strategy";
        String package_ = "org.apache.kafka.clients.consumer.";
        consumer(group("classic"), topics, null, forever);
        consumer(group("classic", "group.instance.id", "static-1", "client.rack", "r1"), topics, null, forever);
        consumer(group("classic"), topics, null, 20);
        consumer(group("cooperative", assignors, package_ + "CooperativeStickyAssignor"), topics, null, forever);
        consumer(group("cooperative", assignors, package_ + "CooperativeStickyAssignor"), topics, null, 25);
        consumer(group("sticky" + run, assignors, package_ + "StickyAssignor"), topics, null, 10);
        consumer(group("new", "group.protocol", "consumer"), topics, null, forever);
        consumer(group("new", "group.protocol", "consumer", "group.remote.assignor", "range", "group.instance.id", "static-2", "client.rack", "r2"), topics, null, forever);
        consumer(group("new", "group.protocol", "consumer"), topics, null, 20);
        consumer(group("pattern", "group.protocol", "consumer"), null, "codec-.*", forever);
        consumer(group("pattern", "group.protocol", "consumer"), null, "codec-(lz4|zstd)", 20);
        // From the classic protocol to the new one.
        consumer(group("migrating"), topics, null, 30);
        consumer(group("migrating", "group.protocol", "consumer"), topics, null, forever);
        for (int i = 0; i < 2; i++) {
            var configs = new HashMap<String, Object>(Map.of("bootstrap.servers", bootstrap, "group.id", "share", "share.acknowledgement.mode", "explicit", "max.poll.records", 20));
            var c = new KafkaShareConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            c.subscribe(List.of("codec-snappy", "codec-lz4"));
            var mine = new Noise(noise.random.nextLong());
            AcknowledgeType[] types = {AcknowledgeType.ACCEPT, AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT};
            member("share", c, i == 0 ? forever : 40, () -> {
                for (var r : c.poll(Duration.ofMillis(200))) {
                    c.acknowledge(r, types[mine.random.nextInt(types.length)]);
                }
                c.commitSync();
            });
        }
    }

    private void groupChanges() throws Exception {
        // What the coordinators write becomes old segments that the cleaner takes.
        for (String t : new String[] {"__consumer_offsets", "__transaction_state", "__share_group_state"}) {
            each(List.of(admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, t),
                List.of(set("segment.ms", "2000"), set("min.cleanable.dirty.ratio", "0.0")))).all()));
        }
        var tp = new TopicPartition("codec-none", 0);
        for (String g : new String[] {"offsets-only", "to-delete", "g" + noise.name()}) {
            each(List.of(admin.alterConsumerGroupOffsets(g, Map.of(tp, new OffsetAndMetadata(3, Optional.of(0), noise.name()),
                new TopicPartition("codec-gzip", 1), new OffsetAndMetadata(1))).all()));
        }
        each(List.of(admin.alterShareGroupOffsets("share-offsets", Map.of(tp, 2L)).all(), admin.deleteConsumerGroups(List.of("to-delete")).all(),
            admin.deleteConsumerGroupOffsets("offsets-only", Set.of(tp)).all(), admin.deleteShareGroupOffsets("share-offsets", Set.of("codec-none")).all()));
        each(List.of(admin.deleteShareGroups(List.of("share-offsets")).all(), admin.alterShareGroupOffsets("share-more", Map.of(tp, 1L)).all()));
        each(List.of(admin.deleteConsumerGroups(List.of("sticky" + run)).all()));
    }

    private void remote() throws Exception {
        String[] dirs = dir.toFile().list((d, name) -> name.startsWith("__remote_log_metadata"));
        if (dirs == null || dirs.length == 0) {
            throw new Exception("no partition of __remote_log_metadata is in " + dir);
        }
        await("the remote log metadata", () -> {
            long bytes = 0;
            for (String d : dirs) {
                bytes += dir.resolve(d).resolve("00000000000000000000.log").toFile().length();
            }
            return bytes > 1500;
        });
    }
}
