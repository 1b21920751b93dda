import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToIntFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A group with its topics, a load of records and members that come and go. All the
 * time it holds that nobody reads a partition that another member has, and that
 * committed offsets never go back; the rest is held when the group is stable and in
 * the end.
 */
class GroupCrowd implements GroupMember.Audience, AutoCloseable {
    private static final long PATIENCE = 60_000; // ms; far more than anything needs

    final String group;
    final Admin admin;
    private final Map<String, Object> client;
    private final Map<String, Integer> topics = new TreeMap<>(); // with their partitions
    private final List<GroupMember> present = new ArrayList<>();
    private final List<GroupMember> all = new ArrayList<>();
    private final ConcurrentLinkedQueue<String> faults = new ConcurrentLinkedQueue<>();
    private final AtomicInteger names = new AtomicInteger();
    private final GroupOwners owners = new GroupOwners(this::fault);
    private Map<TopicPartition, Long> committed = Map.of(); // by the watch only
    private volatile boolean loading;
    private volatile boolean watching = true;
    private Thread load;
    private final Thread watch;
    private final AtomicLong written = new AtomicLong();
    private volatile int generation; // at the last stable moment
    private String pattern; // subscribed to instead of topics
    private boolean perTopic; // balanced for each topic alone

    GroupCrowd(String bootstrap, String group) {
        this.group = group;
        client = Map.of("bootstrap.servers", bootstrap, "reconnect.backoff.ms", 20, "reconnect.backoff.max.ms", 200, "retry.backoff.ms", 20);
        admin = Admin.create(client);
        watch = new Thread(this::watch, "watch of " + group);
        watch.setDaemon(true);
    }

    /** Says how to subscribe and what balanced means. */
    GroupCrowd with(String pattern, boolean perTopic) {
        this.pattern = pattern;
        this.perTopic = perTopic;
        return this;
    }

    void topic(String name, int partitions) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, Optional.of(partitions), Optional.empty()))).all().get();
        synchronized (this) {
            topics.put(name, partitions);
        }
        // A producer whose first batch comes before its partition is ready may lose the order.
        await(() -> ends().isEmpty() ? "no offsets" : null);
    }

    /** Returns the log end offsets. */
    private Map<TopicPartition, Long> ends() throws Exception {
        var latest = partitions().stream().collect(Collectors.toMap(p -> p, p -> OffsetSpec.latest()));
        var ends = new HashMap<TopicPartition, Long>();
        admin.listOffsets(latest).all().get().forEach((p, o) -> ends.put(p, o.offset()));
        return ends;
    }

    /** Sets configs of the group; KIP-848 has the session timeout there. */
    void configure(String... configs) throws Exception {
        var ops = new ArrayList<AlterConfigOp>();
        for (int i = 0; i < configs.length; i += 2) {
            ops.add(new AlterConfigOp(new ConfigEntry(configs[i], configs[i + 1]), AlterConfigOp.OpType.SET));
        }
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), ops)).all().get();
    }

    private KafkaProducer<byte[], byte[]> producer() {
        var configs = new HashMap<>(client);
        configs.put("linger.ms", 5);
        return new KafkaProducer<>(configs, new ByteArraySerializer(), new ByteArraySerializer());
    }

    private void write(KafkaProducer<byte[], byte[]> p, int records) {
        byte[] value = new byte[50];
        for (TopicPartition tp : partitions()) {
            for (int i = 0; i < records; i++) {
                p.send(new ProducerRecord<>(tp.topic(), tp.partition(), null, value), (m, e) -> {
                    if (e != null) {
                        fault("producing: " + e);
                    }
                    written.incrementAndGet();
                });
            }
        }
        p.flush();
    }

    /** Writes so many records to each partition. */
    void write(int records) {
        try (var p = producer()) {
            write(p, records);
        }
    }

    /** Begins to write records to all partitions again and again, and to look at the offsets. */
    void load() {
        loading = true;
        load = new Thread(() -> {
            try (var p = producer()) {
                write(p, 100);
                while (loading) {
                    Thread.sleep(250);
                    write(p, 5);
                }
            } catch (InterruptedException e) {
                fault("producing: " + e);
            }
        }, "load of " + group);
        load.setDaemon(true);
        load.start();
        if (watch.getState() == Thread.State.NEW) {
            watch.start();
        }
    }

    /** Ends the load and waits until the members have read and committed all of it. */
    void drain() throws Exception {
        loading = false;
        if (load != null) {
            load.join();
        }
        var ends = ends();
        await(() -> {
            var have = offsets();
            return have.equals(ends) ? null : "the group has committed " + have + " of " + ends;
        });
        ends.forEach((p, end) -> {
            int n = owners.offsets(p);
            if (n != end) {
                fault(p + ": " + n + " of " + end + " records are read");
            }
        });
    }

    synchronized Set<TopicPartition> partitions() {
        var all = new HashSet<TopicPartition>();
        topics.forEach((topic, n) -> {
            for (int i = 0; i < n; i++) {
                all.add(new TopicPartition(topic, i));
            }
        });
        return all;
    }

    Map<TopicPartition, Long> offsets() throws Exception {
        var out = new HashMap<TopicPartition, Long>();
        for (Map.Entry<TopicPartition, OffsetAndMetadata> e : admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().entrySet()) {
            out.put(e.getKey(), e.getValue() == null ? -1 : e.getValue().offset());
        }
        return out;
    }

    private void watch() {
        while (watching) {
            try {
                var now = offsets();
                committed.forEach((p, offset) -> {
                    if (now.getOrDefault(p, -1L) < offset) {
                        fault(p + ": the committed offset goes from " + offset + " to " + now.get(p));
                    }
                });
                committed = now;
                Thread.sleep(200);
            } catch (Exception e) {
                fault("looking at offsets: " + e);
                return;
            }
        }
    }

    private Map<String, Object> configs(String name, Map<String, Object> more) {
        var all = new HashMap<String, Object>(client);
        // A client that finds no broker does not forget its topics, lest it asks for a rebalance.
        all.put("metadata.recovery.strategy", "none");
        all.putAll(Map.of("group.id", group, "client.id", name, "auto.offset.reset", "earliest", "enable.auto.commit", false,
            "max.poll.records", 50, "metadata.max.age.ms", 500, "fetch.max.wait.ms", 100));
        all.putAll(more);
        return all;
    }

    private <M extends GroupMember> M begin(M m) {
        present.add(m);
        all.add(m);
        m.start();
        return m;
    }

    private String name() {
        return group + "-" + names.incrementAndGet();
    }

    private synchronized Set<String> topics() {
        return Set.copyOf(topics.keySet());
    }

    /** Lets a member with these configs join. */
    GroupConsumer join(Map<String, Object> configs) {
        String name = name();
        return begin(new GroupConsumer(this, name, configs(name, configs), topics(), pattern));
    }

    /** Lets n members join at once. */
    List<GroupConsumer> join(int n, Map<String, Object> configs) {
        return Stream.generate(() -> join(configs)).limit(n).toList();
    }

    /** Lets a process join. */
    GroupProcess joinProcess(Map<String, Object> configs) throws IOException {
        String name = name();
        return begin(new GroupProcess(this, name, configs(name, configs), topics()));
    }

    /** Ends members as they are told to, and waits until they have ended. */
    void leave(GroupMembershipOperation how, List<? extends GroupMember> members) throws Exception {
        for (GroupMember m : members) {
            m.leave(how);
        }
        for (GroupMember m : members) {
            m.join();
        }
        present.removeAll(members);
    }

    /** From now on a member is none any more, and does not know it yet. */
    void absent(GroupMember m) {
        owners.absent(m);
        present.remove(m);
    }

    /** A member that was absent comes back. */
    void back(GroupMember m) {
        present.add(m);
    }

    List<GroupMember> present() {
        return List.copyOf(present);
    }

    @Override
    public void given(GroupMember m, Collection<TopicPartition> partitions) {
        owners.given(m, partitions);
    }

    @Override
    public void taken(GroupMember m, Collection<TopicPartition> partitions) {
        owners.taken(m, partitions);
    }

    @Override
    public void read(GroupMember m, TopicPartition p, long offset) {
        owners.read(m, p, offset);
    }

    @Override
    public void changed(GroupMember m) {
        // It is asked when the group is stable.
    }

    @Override
    public void gone(GroupMember m) {
        owners.gone(m);
    }

    Set<TopicPartition> owned(GroupMember m) {
        return owners.of(m);
    }

    ConsumerGroupDescription describe() throws Exception {
        return admin.describeConsumerGroups(List.of(group)).describedGroups().get(group).get();
    }

    /** Waits until all partitions have one owner each, and the coordinator says the same. */
    ConsumerGroupDescription stable() throws Exception {
        var stable = new ConsumerGroupDescription[1];
        await(() -> {
            stable[0] = describe();
            return unstable(stable[0]);
        });
        int now = present.get(0).generation;
        if (now < generation) {
            fault("the group is in generation " + now + ", and was in " + generation);
        }
        generation = now;
        balanced();
        return stable[0];
    }

    private String unstable(ConsumerGroupDescription d) {
        if (d.groupState() != GroupState.STABLE || d.members().size() != present.size()) {
            return d.members().size() + " of " + present.size() + " members, " + d.groupState();
        }
        var byId = d.members().stream().collect(Collectors.toMap(MemberDescription::consumerId, m -> m));
        int owned = 0;
        for (GroupMember m : present) {
            MemberDescription known = byId.get(m.id);
            if (m.failure != null) {
                return m.getName() + " has failed: " + m.failure;
            }
            if (known == null) {
                return m.getName() + " is no member: " + m.id;
            }
            var mine = owned(m);
            if (!known.assignment().topicPartitions().equals(mine)) {
                return m.getName() + " has " + mine + ", not " + known.assignment();
            }
            owned += mine.size();
            if (d.type() == GroupType.CONSUMER) {
                boolean upgraded = known.upgraded().orElse(true);
                if (!known.memberEpoch().equals(d.groupEpoch()) || !d.groupEpoch().equals(d.targetAssignmentEpoch()) || upgraded && m.generation != known.memberEpoch().get()) {
                    return m.getName() + " is at epoch " + m.generation + " and " + known.memberEpoch() + " of " + d.groupEpoch() + ", " + d.targetAssignmentEpoch();
                }
            } else if (m.generation != present.get(0).generation) {
                return m.getName() + " is in generation " + m.generation + ", not " + present.get(0).generation;
            }
        }
        if (owners.late()) {
            return "members have yet to give back partitions that others have";
        }
        return owned == partitions().size() ? null : owned + " of " + partitions().size() + " partitions are assigned";
    }

    private void balanced() {
        var sums = new TreeMap<String, TreeMap<String, Integer>>(); // by topic, or of all, and member
        for (GroupMember m : present) {
            for (String t : topics.keySet()) {
                int n = (int) owned(m).stream().filter(p -> p.topic().equals(t)).count();
                sums.computeIfAbsent(perTopic ? t : "all", x -> new TreeMap<>()).merge(m.getName(), n, Integer::sum);
            }
        }
        sums.forEach((what, counts) -> {
            var sorted = counts.values().stream().mapToInt(x -> x).summaryStatistics();
            if (sorted.getMax() - sorted.getMin() > 1) {
                fault("not balanced: " + what + ": " + counts);
            }
        });
    }

    /** Waits until the group has no members; its offsets stay. */
    void empty() throws Exception {
        var before = offsets();
        await(() -> {
            var d = describe();
            return d.groupState() == GroupState.EMPTY && d.members().isEmpty() ? null : d.toString();
        });
        if (!before.equals(offsets())) {
            fault("the empty group has the offsets " + offsets() + ", before " + before);
        }
    }

    @Override
    public void fault(String text) {
        faults.add(text);
    }

    /** Fails if anything was wrong. */
    void check() throws Exception {
        owners.check();
        for (GroupMember m : present) {
            if (m.failure != null) {
                fault(m.getName() + " has failed: " + m.failure);
            }
        }
        if (!faults.isEmpty()) {
            throw new Exception(faults.size() + " faults: " + faults.stream().limit(10).collect(Collectors.joining("\n")));
        }
    }

    interface Lacking {
        /** Returns what is lacking yet, or null. */
        String now() throws Exception;
    }

    /** Waits until nothing is lacking. An answer that comes too early is lacking too. */
    static void await(Lacking lacking) throws Exception {
        String why;
        for (long end = System.currentTimeMillis() + PATIENCE;; Thread.sleep(100)) {
            try {
                why = lacking.now();
            } catch (ExecutionException e) {
                if (!(e.getCause() instanceof RetriableException || e.getCause() instanceof GroupIdNotFoundException)) {
                    throw e;
                }
                why = e.getCause().toString();
            }
            if (why == null) {
                return;
            }
            if (System.currentTimeMillis() > end) {
                throw new Exception("still after " + PATIENCE + " ms: " + why);
            }
        }
    }

    int generation() {
        return generation;
    }

    String counts() {
        return "members=" + all.size() + " written=" + written + " read=" + owners.reads() + " generations=" + generation + " commits=" + sum(m -> m.commits)
            + " refused=" + sum(m -> m.refusedCommits) + " revoked=" + sum(m -> m.revoked) + " lost=" + sum(m -> m.lost) + " overlaps=" + owners.overlaps();
    }

    private int sum(ToIntFunction<GroupMember> what) {
        return all.stream().mapToInt(what).sum();
    }

    @Override
    public void close() throws Exception {
        loading = false;
        watching = false;
        for (GroupMember m : present) {
            m.leave(GroupMembershipOperation.LEAVE_GROUP);
        }
        for (GroupMember m : all) {
            m.join(5000);
        }
        admin.close();
    }
}
