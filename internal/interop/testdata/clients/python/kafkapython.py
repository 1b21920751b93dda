"""A group member of kafka-python."""

import signal

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

import member

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


pending = {}  # partition: next offset, what is not committed yet


class Listener(ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        member.assigned(assigned)

    def on_partitions_revoked(self, revoked):
        for p in revoked:
            pending.pop(p, None)
        member.revoked(revoked)

    def on_partitions_lost(self, lost):
        self.on_partitions_revoked(lost)


o = member.options()
if o.protocol != "classic":
    raise SystemExit(f"kafka-python has no protocol {o.protocol}")
running = True


def stop(_signal, _frame):
    global running
    running = False


signal.signal(signal.SIGTERM, stop)
consumer = KafkaConsumer(
    bootstrap_servers=o.bootstrap,
    group_id=o.group,
    group_instance_id=o.static,
    partition_assignment_strategy=[ASSIGNORS[o.assignor]],
    session_timeout_ms=o.session,
    heartbeat_interval_ms=o.heartbeat,
    auto_offset_reset="earliest",
    enable_auto_commit=False,
)
consumer.subscribe([o.topic], listener=Listener())
while running:
    try:
        # A time-out in the middle of a join lets the member join once more.
        for partition, records in consumer.poll(timeout_ms=2000).items():
            for r in records:
                member.record(r.partition, r.offset)
                pending[partition] = OffsetAndMetadata(r.offset + 1, "", -1)
        if not pending:
            continue
        committing = dict(pending)
        consumer.commit(committing)
    except KafkaError as e:
        member.refused(e)
        continue
    for partition, next_offset in committing.items():
        member.committed(partition.partition, next_offset.offset)
        pending.pop(partition, None)
consumer.close()
