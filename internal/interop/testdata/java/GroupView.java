import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.MemberAssignment;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.common.TopicPartition;

/**
 * Prints all that the Admin client sees of groups: GroupView BOOTSTRAP. A line for
 * each group, member and committed offset, in a fixed order.
 */
public class GroupView {
    public static void main(String[] args) throws Exception {
        try (var admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
            System.out.print(of(admin));
        }
    }

    static String of(Admin admin) throws Exception {
        var out = new StringBuilder();
        var groups = new TreeMap<String, GroupListing>();
        admin.listGroups().all().get().forEach(g -> groups.put(g.groupId(), g));
        for (GroupListing g : groups.values()) {
            out.append(g.groupId()).append(": ").append(g.type().map(Object::toString).orElse("?")).append(", protocol '").append(g.protocol()).append("', ")
                .append(g.groupState().map(Object::toString).orElse("?")).append(g.isSimpleConsumerGroup() ? ", simple\n" : "\n");
            String type = g.type().map(Object::toString).orElse("");
            if (g.protocol().equals("consumer") || g.protocol().isEmpty()) {
                var d = admin.describeConsumerGroups(List.of(g.groupId())).all().get().get(g.groupId());
                out.append("  ").append(d.type()).append(", ").append(d.groupState()).append(", assignor '").append(d.partitionAssignor()).append("', coordinator ")
                    .append(d.coordinator().id()).append(", epoch ").append(text(d.groupEpoch())).append(", target ").append(text(d.targetAssignmentEpoch()))
                    .append(d.isSimpleConsumerGroup() ? ", simple\n" : "\n");
                members(out, d.members());
            }
            if (type.equals("Classic")) {
                var d = admin.describeClassicGroups(List.of(g.groupId())).all().get().get(g.groupId());
                out.append("  classic: ").append(d.state()).append(", protocol '").append(d.protocol()).append("', '").append(d.protocolData()).append("'\n");
                members(out, d.members());
            }
            var offsets = new TreeMap<TopicPartition, String>(Comparator.comparing(TopicPartition::toString));
            admin.listConsumerGroupOffsets(g.groupId()).partitionsToOffsetAndMetadata().get().forEach((p, o) ->
                offsets.put(p, o == null ? "none" : o.offset() + " '" + o.metadata() + "' epoch " + text(o.leaderEpoch())));
            offsets.forEach((p, o) -> out.append("  offset ").append(p).append(": ").append(o).append('\n'));
        }
        return out.toString();
    }

    private static void members(StringBuilder out, Collection<MemberDescription> members) {
        var sorted = new ArrayList<>(members);
        sorted.sort(Comparator.comparing(MemberDescription::consumerId));
        for (MemberDescription m : sorted) {
            out.append("  member ").append(m.consumerId()).append(" '").append(m.clientId()).append("' ").append(m.host()).append(" instance ")
                .append(text(m.groupInstanceId())).append(" rack ").append(text(m.rackId())).append(" epoch ").append(text(m.memberEpoch())).append(" upgraded ")
                .append(text(m.upgraded())).append(": ").append(text(m.assignment())).append(", target ").append(m.targetAssignment().map(GroupView::text).orElse("-")).append('\n');
        }
    }

    private static String text(Optional<?> value) {
        return value.map(Object::toString).orElse("-");
    }

    private static String text(MemberAssignment a) {
        return a.topicPartitions().stream().map(TopicPartition::toString).sorted().collect(Collectors.joining(" "));
    }
}
