import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;

/**
 * Who has which partition of a group, as the members tell, and what they read. Nobody
 * may be given or read what another member has.
 */
class GroupOwners {
    private final Consumer<String> fault;
    private final Map<TopicPartition, GroupMember> owners = new HashMap<>();
    private final Map<GroupMember, Set<TopicPartition>> away = new HashMap<>(); // take themselves for owners of these
    private final Map<TopicPartition, GroupMember> late = new HashMap<>(); // have yet to hear that another one is the owner
    private final Map<TopicPartition, BitSet> read = new HashMap<>();
    private long reads;
    private int given; // partitions
    private int overlaps; // partitions that were given before another member gave them back

    GroupOwners(Consumer<String> fault) {
        this.fault = fault;
    }

    synchronized void given(GroupMember m, Collection<TopicPartition> partitions) {
        if (away.containsKey(m)) {
            away.get(m).addAll(partitions);
            return;
        }
        given += partitions.size();
        for (TopicPartition p : partitions) {
            var other = owners.put(p, m);
            if (other != null && other.type == GroupType.CONSUMER) {
                late.put(p, other);
                overlaps++;
            } else if (other != null) {
                fault.accept(m.getName() + " is given " + p + " that " + other.getName() + " has");
            }
        }
    }

    synchronized void taken(GroupMember m, Collection<TopicPartition> partitions) {
        if (away.containsKey(m)) {
            away.get(m).removeAll(partitions);
            if (away.get(m).isEmpty()) {
                away.remove(m); // it knows now
            }
            return;
        }
        for (TopicPartition p : partitions) {
            if (!owners.remove(p, m) && !late.remove(p, m)) {
                fault.accept(m.getName() + " gives back " + p + " that it does not have");
            }
        }
    }

    synchronized void read(GroupMember m, TopicPartition p, long offset) {
        if (owners.get(p) != m && late.get(p) != m && !away.containsKey(m)) {
            fault.accept(m.getName() + " reads " + p + " that it does not have");
        }
        read.computeIfAbsent(p, x -> new BitSet()).set((int) offset);
        reads++;
    }

    /** From now on a member has nothing any more, and does not know it yet. */
    synchronized void absent(GroupMember m) {
        var had = of(m);
        if (!had.isEmpty()) {
            away.put(m, new HashSet<>(had));
            owners.keySet().removeAll(had);
        }
    }

    /** A member has ended. Only one that failed or was killed may leave partitions behind. */
    synchronized void gone(GroupMember m) {
        if (m instanceof GroupConsumer && m.failure == null && owners.containsValue(m)) {
            fault.accept(m.getName() + " has partitions when it is gone");
        }
        owners.values().removeIf(o -> o == m);
        late.values().removeIf(o -> o == m);
    }

    synchronized Set<TopicPartition> of(GroupMember m) {
        return owners.entrySet().stream().filter(e -> e.getValue() == m).map(Map.Entry::getKey).collect(Collectors.toSet());
    }

    /** Tells whether a member has yet to give back what another one has. */
    synchronized boolean late() {
        return !late.isEmpty();
    }

    /** Returns how many offsets of a partition were read. */
    synchronized int offsets(TopicPartition p) {
        return read.getOrDefault(p, new BitSet()).cardinality();
    }

    synchronized long reads() {
        return reads;
    }

    synchronized int overlaps() {
        return overlaps;
    }

    /**
     * Finds fault with what must not happen often. A member of a KIP-848 group that is
     * slow to take what it was assigned may have lost it before: what it then
     * acknowledges is what it had before it was assigned that, which sets the rest free.
     * Source: Kafka 4.4.0, CurrentAssignmentBuilder.java.
     */
    synchronized void check() {
        if (overlaps * 20 > given) {
            fault.accept(overlaps + " of " + given + " partitions are given before others give them back");
        }
    }
}
