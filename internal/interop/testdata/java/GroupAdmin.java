import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClassicGroupsOptions;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsOptions;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListConsumerGroupsOptions;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/**
 * Calls all that the Admin client can do with groups, and prints each answer:
 * <ul>
 * <li>GroupAdmin begin BOOTSTRAP makes groups and keeps their members, and prints a
 * line for each: its id and name.
 * <li>GroupAdmin calls BOOTSTRAP calls the methods, those that change much last.
 * <li>GroupAdmin end lets the members leave.
 * </ul>
 */
public class GroupAdmin {
    private static final List<GroupCrowd> LIVE = new ArrayList<>();

    private final Admin admin;

    private GroupAdmin(Admin admin) {
        this.admin = admin;
    }

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "begin" -> begin(args[1]);
            case "calls" -> {
                try (var admin = Admin.create(Map.of("bootstrap.servers", args[1]))) {
                    new GroupAdmin(admin).calls();
                }
            }
            case "end" -> {
                for (GroupCrowd c : LIVE) {
                    c.close();
                }
                LIVE.clear();
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static GroupCrowd crowd(String bootstrap, String name, GroupKind kind, boolean live, Object... configs) throws Exception {
        var c = new GroupCrowd(bootstrap, name);
        c.topic(name + "-topic", 3);
        c.write(10);
        c.join(kind.and(configs));
        c.stable();
        c.drain();
        if (live) {
            LIVE.add(c);
        } else {
            c.close();
        }
        return c;
    }

    private static void begin(String bootstrap) throws Exception {
        crowd(bootstrap, "classic-live", GroupKind.RANGE, true).join(GroupKind.RANGE.configs());
        crowd(bootstrap, "classic-static", GroupKind.COOPERATIVE, true, "group.instance.id", "i1", "client.rack", "r1");
        crowd(bootstrap, "new-live", GroupKind.UNIFORM, true);
        crowd(bootstrap, "new-static", GroupKind.UNIFORM, true, "group.instance.id", "i1", "client.rack", "r1");
        for (GroupCrowd c : LIVE) {
            c.stable();
            c.present().forEach(m -> System.out.println(m.id + " " + m.getName()));
        }
        crowd(bootstrap, "classic-empty", GroupKind.COOPERATIVE, false);
        crowd(bootstrap, "new-empty", GroupKind.UNIFORM, false);
        try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.alterConsumerGroupOffsets("simple", Map.of(partition("classic-empty", 0), new OffsetAndMetadata(3, Optional.of(0), "é"),
                partition("classic-empty", 1), new OffsetAndMetadata(4), partition("classic-empty", 2), new OffsetAndMetadata(5))).all().get();
        }
    }

    private static TopicPartition partition(String group, int partition) {
        return new TopicPartition(group + "-topic", partition);
    }

    private interface Call {
        Object answer() throws Exception;
    }

    private static void call(String what, Call call) throws Exception {
        Object answer;
        try {
            answer = call.answer();
        } catch (ExecutionException e) {
            answer = e.getCause();
        }
        System.out.println(what + ": " + sorted(answer));
    }

    /** Returns the text of an answer, in an order of its own. */
    private static String sorted(Object answer) {
        if (answer instanceof Map<?, ?> m) {
            var all = new TreeMap<String, String>();
            m.forEach((key, value) -> all.put(sorted(key), sorted(value)));
            return all.toString();
        }
        if (answer instanceof Collection<?> c) {
            var all = new ArrayList<String>();
            c.forEach(x -> all.add(sorted(x)));
            all.sort(null);
            return all.toString();
        }
        return String.valueOf(answer);
    }

    private void calls() throws Exception {
        list();
        describe();
        offsets();
        configs();
        alter();
        delete();
        call("the end", () -> admin.listGroups().all().get());
    }

    private void list() throws Exception {
        call("listGroups", () -> admin.listGroups().all().get());
        call("listGroups, those of consumers", () -> admin.listGroups(ListGroupsOptions.forConsumerGroups()).all().get());
        for (GroupState s : List.of(GroupState.STABLE, GroupState.EMPTY, GroupState.DEAD, GroupState.ASSIGNING)) {
            call("listGroups, " + s, () -> admin.listGroups(new ListGroupsOptions().inGroupStates(Set.of(s))).all().get());
            call("listConsumerGroups, " + s, () -> admin.listConsumerGroups(new ListConsumerGroupsOptions().inGroupStates(Set.of(s))).all().get());
        }
        for (GroupType type : List.of(GroupType.CLASSIC, GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS)) {
            call("listGroups, " + type, () -> admin.listGroups(new ListGroupsOptions().withTypes(Set.of(type))).all().get());
        }
        call("listGroups, without a protocol", () -> admin.listGroups(new ListGroupsOptions().withProtocolTypes(Set.of(""))).all().get());
        call("listConsumerGroups", () -> admin.listConsumerGroups().all().get());
        call("listConsumerGroups, stable classic", () -> admin.listConsumerGroups(
            new ListConsumerGroupsOptions().withTypes(Set.of(GroupType.CLASSIC)).inGroupStates(Set.of(GroupState.STABLE))).all().get());
    }

    private List<String> groups() throws Exception {
        var all = new TreeSet<>(admin.listGroups().all().get().stream().map(GroupListing::groupId).toList());
        all.addAll(List.of("unknown", ""));
        return List.copyOf(all);
    }

    private void describe() throws Exception {
        for (String g : groups()) {
            call("describeConsumerGroups " + g, () -> {
                var d = admin.describeConsumerGroups(List.of(g), new DescribeConsumerGroupsOptions().includeAuthorizedOperations(true)).all().get().get(g);
                return List.of(d.groupId(), d.isSimpleConsumerGroup(), d.members(), d.partitionAssignor(), d.type(), d.groupState(), d.coordinator().id(),
                    d.authorizedOperations(), d.groupEpoch(), d.targetAssignmentEpoch());
            });
            call("describeClassicGroups " + g, () -> {
                var d = admin.describeClassicGroups(List.of(g), new DescribeClassicGroupsOptions().includeAuthorizedOperations(true)).all().get().get(g);
                return List.of(d.groupId(), d.protocol(), d.protocolData(), d.isSimpleConsumerGroup(), d.members(), d.state(), d.coordinator().id(), d.authorizedOperations());
            });
        }
    }

    private void offsets() throws Exception {
        for (String g : groups()) {
            for (boolean stable : new boolean[] {false, true}) {
                call("listConsumerGroupOffsets " + g + (stable ? ", stable" : ""),
                    () -> admin.listConsumerGroupOffsets(g, new ListConsumerGroupOffsetsOptions().requireStable(stable)).partitionsToOffsetAndMetadata().get());
            }
            var some = new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(partition("classic-empty", 1), partition("classic-empty", 99), partition("unknown", 0)));
            call("listConsumerGroupOffsets " + g + ", some", () -> admin.listConsumerGroupOffsets(Map.of(g, some)).partitionsToOffsetAndMetadata(g).get());
        }
        var many = new HashMap<String, ListConsumerGroupOffsetsSpec>();
        for (String g : List.of("simple", "new-empty", "classic-live", "unknown")) {
            many.put(g, new ListConsumerGroupOffsetsSpec());
        }
        call("listConsumerGroupOffsets, many", () -> admin.listConsumerGroupOffsets(many).all().get());
    }

    private void configs() throws Exception {
        var group = new ConfigResource(ConfigResource.Type.GROUP, "new-live");
        Call described = () -> {
            var all = new TreeMap<String, String>();
            for (ConfigEntry e : admin.describeConfigs(List.of(group)).all().get().get(group).entries()) {
                all.put(e.name(), e.value() + " " + e.source());
            }
            return all;
        };
        call("describeConfigs", described);
        for (String[] config : new String[][] {{"consumer.session.timeout.ms", "50000"}, {"consumer.heartbeat.interval.ms", "1"}, {"consumer.session.timeout.ms", "99999999"},
            {"consumer.session.timeout.ms", "x"}, {"no.such.key", "1"}, {"consumer.heartbeat.interval.ms", "60000"}}) {
            call("set " + config[0] + "=" + config[1], () -> admin.incrementalAlterConfigs(Map.of(group,
                List.of(new AlterConfigOp(new ConfigEntry(config[0], config[1]), AlterConfigOp.OpType.SET)))).all().get());
        }
        call("describeConfigs", described);
        call("unset", () -> admin.incrementalAlterConfigs(Map.of(group,
            List.of(new AlterConfigOp(new ConfigEntry("consumer.session.timeout.ms", null), AlterConfigOp.OpType.DELETE)))).all().get());
    }

    private void alter(String group, TopicPartition p, OffsetAndMetadata o) throws Exception {
        call("alterConsumerGroupOffsets " + group + " " + p, () -> admin.alterConsumerGroupOffsets(group, Map.of(p, o)).all().get());
    }

    private void alter() throws Exception {
        for (String g : groups()) {
            alter(g, partition("classic-empty", 0), new OffsetAndMetadata(7, Optional.of(0), "m " + g));
        }
        alter("simple", partition("classic-empty", 99), new OffsetAndMetadata(1));
        alter("simple", partition("unknown", 0), new OffsetAndMetadata(1));
        alter("simple", partition("classic-empty", 1), new OffsetAndMetadata(1, "x".repeat(4096)));
        alter("simple", partition("classic-empty", 1), new OffsetAndMetadata(2, "x".repeat(4097)));
        alter("simple", partition("new-live", 1), new OffsetAndMetadata(1_000_000));
        call("listConsumerGroupOffsets simple", () -> admin.listConsumerGroupOffsets("simple").partitionsToOffsetAndMetadata().get());
    }

    private void remove(String group, RemoveMembersFromConsumerGroupOptions options) throws Exception {
        call("removeMembersFromConsumerGroup " + group, () -> admin.removeMembersFromConsumerGroup(group, options).all().get());
    }

    private void delete() throws Exception {
        for (String g : groups()) {
            for (TopicPartition p : List.of(partition("classic-empty", 0), partition("classic-live", 0), partition("new-live", 1), partition("unknown", 0))) {
                call("deleteConsumerGroupOffsets " + g + " " + p, () -> admin.deleteConsumerGroupOffsets(g, Set.of(p)).all().get());
            }
        }
        remove("classic-static", new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("i1"), new MemberToRemove("i2"))));
        remove("unknown", new RemoveMembersFromConsumerGroupOptions(Set.of(new MemberToRemove("i1"))));
        for (String g : List.of("new-static", "classic-live")) {
            var options = new RemoveMembersFromConsumerGroupOptions();
            options.reason("why not");
            remove(g, options);
        }
        for (String g : List.of("new-live", "unknown", "")) {
            call("deleteConsumerGroups " + g, () -> admin.deleteConsumerGroups(List.of(g)).all().get());
        }
        for (GroupCrowd c : LIVE) {
            c.leave(GroupMembershipOperation.LEAVE_GROUP, c.present());
            c.empty();
        }
        for (String g : groups()) {
            call("deleteConsumerGroups " + g, () -> admin.deleteConsumerGroups(List.of(g)).all().get());
        }
        call("deleteConsumerGroups, many", () -> admin.deleteConsumerGroups(new HashSet<>(List.of("unknown", "simple"))).all().get());
    }
}
