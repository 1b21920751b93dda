import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataDelta;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.Utils;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.PartitionAssignorException;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;
import org.apache.kafka.coordinator.group.modern.ModernGroup;
import org.apache.kafka.coordinator.group.modern.SubscriptionCount;

/**
 * Answers each line of the input with one line: what Kafka's assignors and hashes make of it.
 * Names and ids are in hex, a list that is empty is "-".
 *
 *   assign ordered|hashed uniform|range same|differ TOPICS MEMBER…
 *     TOPICS  id=partitions,…
 *     MEMBER  name/instance or -/rack or -/topic,…/OWNED
 *     OWNED   topic=partition+partition…,…
 *   "ordered" keeps members, topics and partitions in the order given, "hashed" has them in hash tables as Kafka does.
 *   The answer is the assignment of each member, or "error MESSAGE".
 *
 *   hash NAMES TOPIC…
 *     NAMES   name,… that the group is subscribed to
 *     TOPIC   id/name/racks of partition 0,racks of partition 1,… with racks as rack+rack…
 *   The answer is the hash of the group and those of the topics.
 */
public class Assign {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] f = line.split(" ");
            System.out.println(f[0].equals("assign") ? assign(f) : hash(f));
            System.out.flush();
        }
    }

    private static String assign(String[] f) {
        boolean ordered = f[1].equals("ordered");
        ConsumerGroupPartitionAssignor assignor = f[2].equals("range") ? new RangeAssignor() : new UniformAssignor();
        SubscriptionType type = f[3].equals("same") ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        Map<Uuid, Integer> topics = new HashMap<>();
        for (String s : list(f[4], ","))
            topics.put(uuid(s.split("=")[0]), Integer.parseInt(s.split("=")[1]));
        Map<String, MemberSubscriptionAndAssignmentImpl> members = ordered ? new LinkedHashMap<>() : new HashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        List<String> names = new ArrayList<>();
        for (String s : Arrays.asList(f).subList(5, f.length)) {
            String[] m = s.split("/");
            String name = text(m[0]);
            names.add(name);
            Set<Uuid> subscribed = ordered ? new LinkedHashSet<>() : new HashSet<>();
            for (String topic : list(m[3], ","))
                subscribed.add(uuid(topic));
            Map<Uuid, Set<Integer>> owned = ordered ? new LinkedHashMap<>() : new HashMap<>();
            for (String o : list(m[4], ",")) {
                Uuid topic = uuid(o.split("=")[0]);
                Set<Integer> partitions = ordered ? new LinkedHashSet<>() : new HashSet<>();
                for (String p : o.split("=")[1].split("\\+")) {
                    partitions.add(Integer.parseInt(p));
                    owners.computeIfAbsent(topic, t -> new HashMap<>()).put(Integer.parseInt(p), name);
                }
                owned.put(topic, partitions);
            }
            members.put(name, new MemberSubscriptionAndAssignmentImpl(optional(m[2]), optional(m[1]), subscribed, new Assignment(owned)));
        }
        SubscribedTopicDescriber describer = new SubscribedTopicDescriber() {
            public int numPartitions(Uuid id) { return topics.getOrDefault(id, -1); }
            public Set<String> racksForPartition(Uuid id, int partition) { return Set.of("r" + partition % 3); }
        };
        Map<String, MemberAssignment> assignment;
        try {
            assignment = assignor.assign(new GroupSpecImpl(Collections.unmodifiableMap(members), type, owners), describer).members();
        } catch (PartitionAssignorException e) {
            return "error " + e.getMessage();
        }
        List<String> out = new ArrayList<>();
        for (String name : names) {
            MemberAssignment of = assignment.get(name);
            List<String> topicsOf = new ArrayList<>();
            for (Map.Entry<Uuid, Set<Integer>> e : (of == null ? Map.<Uuid, Set<Integer>>of() : of.partitions()).entrySet()) {
                List<String> partitions = new ArrayList<>();
                for (int p : new TreeSet<>(e.getValue()))
                    partitions.add(Integer.toString(p));
                topicsOf.add(hex(e.getKey()) + "=" + String.join("+", partitions));
            }
            Collections.sort(topicsOf);
            out.add(topicsOf.isEmpty() ? "-" : String.join(",", topicsOf));
        }
        return String.join(" ", out);
    }

    private static String hash(String[] f) {
        Map<String, CoordinatorMetadataImage.TopicMetadata> topics = new LinkedHashMap<>();
        for (String s : Arrays.asList(f).subList(2, f.length)) {
            String[] t = s.split("/");
            List<List<String>> racks = new ArrayList<>();
            for (String p : t[2].split(",")) {
                List<String> of = new ArrayList<>();
                for (String rack : list(p, "\\+"))
                    of.add(text(rack));
                racks.add(of);
            }
            topics.put(text(t[1]), new CoordinatorMetadataImage.TopicMetadata() {
                public String name() { return text(t[1]); }
                public Uuid id() { return uuid(t[0]); }
                public int partitionCount() { return racks.size(); }
                public List<String> partitionRacks(int partition) { return racks.get(partition); }
            });
        }
        CoordinatorMetadataImage image = new CoordinatorMetadataImage() {
            public Set<Uuid> topicIds() { throw new UnsupportedOperationException(); }
            public Set<String> topicNames() { return topics.keySet(); }
            public Optional<TopicMetadata> topicMetadata(String name) { return Optional.ofNullable(topics.get(name)); }
            public Optional<TopicMetadata> topicMetadata(Uuid id) { throw new UnsupportedOperationException(); }
            public CoordinatorMetadataDelta emptyDelta() { throw new UnsupportedOperationException(); }
            public long version() { return 1; }
            public boolean isEmpty() { return topics.isEmpty(); }
        };
        Map<String, SubscriptionCount> subscribed = new HashMap<>();
        for (String name : list(f[1], ","))
            subscribed.put(text(name), new SubscriptionCount(1, 0));
        List<String> out = new ArrayList<>();
        out.add(Long.toString(ModernGroup.computeMetadataHash(subscribed, new HashMap<>(), image)));
        for (String name : topics.keySet())
            out.add(Long.toString(Utils.computeTopicHash(name, image)));
        return String.join(" ", out);
    }

    private static List<String> list(String s, String separator) {
        return s.equals("-") ? List.of() : List.of(s.split(separator));
    }

    private static Optional<String> optional(String s) {
        return s.equals("-") ? Optional.empty() : Optional.of(text(s));
    }

    private static String text(String hex) {
        return new String(HexFormat.of().parseHex(hex), StandardCharsets.UTF_8);
    }

    private static Uuid uuid(String hex) {
        return new Uuid(Long.parseUnsignedLong(hex.substring(0, 16), 16), Long.parseUnsignedLong(hex.substring(16), 16));
    }

    private static String hex(Uuid id) {
        return String.format("%016x%016x", id.getMostSignificantBits(), id.getLeastSignificantBits());
    }
}
