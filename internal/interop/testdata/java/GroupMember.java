import java.util.Collection;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;

/** A member of a group, in this process or in one of its own. */
abstract class GroupMember extends Thread {
    /** Who hears what happens to a member, in the order in which it happens. */
    interface Audience {
        void given(GroupMember m, Collection<TopicPartition> partitions);

        /** The member has given the partitions back, or has lost them. */
        void taken(GroupMember m, Collection<TopicPartition> partitions);

        void read(GroupMember m, TopicPartition p, long offset);

        /** The member has another id or generation. */
        void changed(GroupMember m);

        void gone(GroupMember m);

        void fault(String text);
    }

    final Audience audience;
    final GroupType type; // of the protocol that it speaks

    volatile String id = ""; // by which the coordinator knows it
    volatile int generation = -1; // or member epoch
    volatile long reads; // records
    volatile int revoked; // partitions that it gave back
    volatile int lost; // partitions that others may have had for long
    volatile int commits;
    volatile int refusedCommits;
    volatile Exception failure; // it has ended with it

    GroupMember(Audience audience, String name, GroupType type) {
        super(name);
        this.audience = audience;
        this.type = type;
        setDaemon(true);
    }

    /** Tells it to end. */
    abstract void leave(GroupMembershipOperation how) throws Exception;

    /** Notes under which id and in which generation it is a member. */
    void member(String id, int generation) {
        boolean same = id.equals(this.id);
        if (same && generation < this.generation) {
            audience.fault(getName() + " goes from generation " + this.generation + " to " + generation);
        }
        boolean changed = !same || generation != this.generation;
        this.id = id;
        this.generation = generation;
        if (changed) {
            audience.changed(this);
        }
    }
}
