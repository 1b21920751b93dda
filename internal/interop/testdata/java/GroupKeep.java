import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * Groups that outlive the brokers that serve them. It keeps them between its runs
 * in one process:
 * <ul>
 * <li>GroupKeep begin BOOTSTRAP makes groups of all kinds, with members.
 * <li>GroupKeep go ROUND: they must have the same members in the same generation with
 * the same partitions as the round before left them. They read and commit a load; then
 * a member of each leaves and another joins, and groups without members change.
 * <li>GroupKeep end lets all members leave.
 * </ul>
 */
public class GroupKeep {
    private record Kept(GroupCrowd crowd, GroupKind kind) {
    }

    private static final List<Kept> ALL = new ArrayList<>();
    private static String bootstrap;
    private static Map<String, Seat> before = Map.of(); // by the names of members

    /** What a member has in its group. */
    private record Seat(String id, int generation, Set<TopicPartition> owned, int revoked, int lost) {
    }

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "begin" -> begin(args[1]);
            case "go" -> go(Integer.parseInt(args[1]));
            case "end" -> end();
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static GroupCrowd crowd(String name) throws Exception {
        var c = new GroupCrowd(bootstrap, name);
        c.topic(name + "-topic", 6);
        return c;
    }

    private static void begin(String address) throws Exception {
        bootstrap = address;
        for (GroupKind kind : GroupKind.KINDS) {
            var c = crowd("keep-" + kind.name());
            c.join(kind.and("group.instance.id", "static", "client.rack", "r1"));
            c.join(2, kind.configs());
            ALL.add(new Kept(c, kind));
        }
        var pattern = crowd("keep-pattern").with("keep-pattern-.*", false);
        pattern.join(3, GroupKind.UNIFORM.configs());
        ALL.add(new Kept(pattern, GroupKind.UNIFORM));
        var mixed = crowd("keep-mixed"); // members of both protocols
        mixed.join(2, GroupKind.COOPERATIVE.configs());
        mixed.stable();
        mixed.join(GroupKind.UNIFORM.configs());
        ALL.add(new Kept(mixed, GroupKind.UNIFORM));
        for (GroupKind kind : List.of(GroupKind.COOPERATIVE, GroupKind.UNIFORM)) {
            try (var c = crowd("left-" + kind.name())) {
                c.load();
                c.join(2, kind.configs());
                c.stable();
                c.drain();
            }
        }
        before = members();
    }

    /** Waits until the groups are stable and stay so, and tells all of their members. */
    private static Map<String, Seat> members() throws Exception {
        // A member of the classic protocol may still want to join again.
        for (boolean settled = false; !settled;) {
            for (Kept k : ALL) {
                k.crowd.stable();
            }
            var generations = ALL.stream().map(k -> k.crowd.generation()).toList();
            Thread.sleep(500);
            for (Kept k : ALL) {
                k.crowd.stable();
            }
            settled = generations.equals(ALL.stream().map(k -> k.crowd.generation()).toList());
        }
        var all = new TreeMap<String, Seat>();
        for (Kept k : ALL) {
            k.crowd.check();
            for (GroupMember m : k.crowd.present()) {
                all.put(m.getName(), new Seat(m.id, m.generation, k.crowd.owned(m), m.revoked, m.lost));
            }
        }
        return all;
    }

    private static void go(int round) throws Exception {
        for (Kept k : ALL) {
            k.crowd.load();
        }
        var now = members();
        for (String name : before.keySet()) {
            if (!before.get(name).equals(now.get(name))) {
                throw new Exception(name + " has " + now.get(name) + ", and had " + before.get(name));
            }
        }
        for (Kept k : ALL) {
            k.crowd.leave(GroupMembershipOperation.LEAVE_GROUP, k.crowd.present().subList(2, 3));
            k.crowd.join(k.kind.configs());
        }
        before = members();
        for (Kept k : ALL) {
            k.crowd.drain();
            k.crowd.check();
        }
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            String topic = "left-cooperative-topic";
            var p = new TopicPartition(topic, 1);
            admin.alterConsumerGroupOffsets("simple", Map.of(p, new OffsetAndMetadata(round, Optional.of(0), "round é " + round),
                new TopicPartition(topic, 2 + round % 4), new OffsetAndMetadata(1))).all().get();
            admin.alterConsumerGroupOffsets("round-" + round, Map.of(p, new OffsetAndMetadata(7))).all().get();
            admin.alterConsumerGroupOffsets("left-cooperative", Map.of(p, new OffsetAndMetadata(round, "moved"))).all().get();
            if (round > 0) {
                admin.deleteConsumerGroups(List.of("round-" + (round - 1))).all().get();
                admin.deleteConsumerGroupOffsets("simple", Set.of(new TopicPartition(topic, 2 + (round - 1) % 4))).all().get();
            }
        }
    }

    private static void end() throws Exception {
        for (Kept k : ALL) {
            k.crowd.leave(GroupMembershipOperation.LEAVE_GROUP, k.crowd.present());
            k.crowd.empty();
            System.out.println(k.crowd.group + "\tok " + k.crowd.counts());
            k.crowd.close();
        }
        ALL.clear();
    }
}
