import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CloseOptions.GroupMembershipOperation;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A consumer in a thread of this process, which reads and commits what it has read. */
class GroupConsumer extends GroupMember implements ConsumerRebalanceListener {
    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Set<String> topics;
    private final String pattern; // instead of topics
    private final Semaphore turn = new Semaphore(1, true); // for one poll
    private volatile CloseOptions end; // null while it is to go on
    private boolean uncommitted; // are some of the records that it has read

    GroupConsumer(Audience audience, String name, Map<String, Object> configs, Set<String> topics, String pattern) {
        super(audience, name, "consumer".equals(configs.get("group.protocol")) ? GroupType.CONSUMER : GroupType.CLASSIC);
        this.topics = topics;
        this.pattern = pattern;
        consumer = new KafkaConsumer<>(configs, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    @Override
    public void run() {
        try {
            if (pattern == null) {
                consumer.subscribe(topics, this);
            } else if (type == GroupType.CONSUMER) {
                consumer.subscribe(new SubscriptionPattern(pattern), this);
            } else {
                consumer.subscribe(Pattern.compile(pattern), this);
            }
            while (end == null) {
                turn.acquire();
                try {
                    turn();
                } finally {
                    turn.release();
                }
            }
            consumer.close(end);
        } catch (Exception e) {
            failure = e;
            consumer.close(CloseOptions.groupMembershipOperation(GroupMembershipOperation.REMAIN_IN_GROUP));
        }
        audience.gone(this);
    }

    private void turn() {
        var records = consumer.poll(Duration.ofMillis(50));
        var group = consumer.groupMetadata();
        if (group.generationId() > 0) {
            member(group.memberId(), group.generationId());
        }
        for (ConsumerRecord<byte[], byte[]> r : records) {
            audience.read(this, new TopicPartition(r.topic(), r.partition()), r.offset());
        }
        reads += records.count();
        uncommitted |= !records.isEmpty();
        if (!uncommitted) {
            return;
        }
        try {
            consumer.commitSync();
            uncommitted = false;
            commits++;
        } catch (CommitFailedException | RebalanceInProgressException | RetriableException e) {
            refusedCommits++; // what it does not keep others read again
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        audience.given(this, partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        revoked += partitions.size();
        audience.taken(this, partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        lost += partitions.size();
        audience.taken(this, partitions);
    }

    /** Lets it poll no more; its heartbeats go on. */
    void pause() throws InterruptedException {
        turn.acquire();
    }

    void unpause() {
        turn.release();
    }

    @Override
    void leave(GroupMembershipOperation how) {
        end = CloseOptions.groupMembershipOperation(how).withTimeout(Duration.ofSeconds(20));
    }
}
