import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A protocol with an assignor: the configs of a consumer, and whether the assignor
 * balances each topic alone.
 */
record GroupKind(String name, Map<String, Object> configs, boolean perTopic) {
    static final GroupKind RANGE = classic("range", "RangeAssignor");
    static final GroupKind COOPERATIVE = classic("cooperative", "CooperativeStickyAssignor");
    static final GroupKind UNIFORM = consumer("uniform");
    static final List<GroupKind> KINDS = List.of(RANGE, classic("roundrobin", "RoundRobinAssignor"), classic("sticky", "StickyAssignor"), COOPERATIVE,
        UNIFORM, consumer("range"));

    private static GroupKind classic(String name, String assignor) {
        return new GroupKind(name, Map.of("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor, "heartbeat.interval.ms", 200), name.equals("range"));
    }

    private static GroupKind consumer(String assignor) {
        return new GroupKind("848-" + assignor, Map.of("group.protocol", "consumer", "group.remote.assignor", assignor), assignor.equals("range"));
    }

    boolean classic() {
        return !configs.containsKey("group.protocol");
    }

    /** Lets sessions of the group be over soon. */
    void session(GroupCrowd c) throws Exception {
        if (!classic()) {
            c.configure("consumer.session.timeout.ms", "10000", "consumer.heartbeat.interval.ms", "300");
        }
    }

    /** Returns the configs of a member whose session is over soon. */
    Map<String, Object> mortal() {
        return classic() ? and("session.timeout.ms", 10_000) : configs;
    }

    /** Returns its configs and more. */
    Map<String, Object> and(Object... more) {
        var all = new HashMap<>(configs);
        for (int i = 0; i < more.length; i += 2) {
            all.put((String) more[i], more[i + 1]);
        }
        return all;
    }
}
