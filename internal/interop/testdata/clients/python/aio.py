"""A group member of aiokafka."""

import asyncio
import signal

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError

import member

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


pending = {}  # partition: next offset, what is not committed yet


class Listener(ConsumerRebalanceListener):
    async def on_partitions_assigned(self, assigned):
        member.assigned(assigned)

    async def on_partitions_revoked(self, revoked):
        for p in revoked:
            pending.pop(p, None)
        member.revoked(revoked)


async def main():
    o = member.options()
    if o.protocol != "classic":
        raise SystemExit(f"aiokafka has no protocol {o.protocol}")
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    consumer = AIOKafkaConsumer(
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
    await consumer.start()
    while not stop.is_set():
        for partition, records in (await consumer.getmany(timeout_ms=100)).items():
            for r in records:
                member.record(r.partition, r.offset)
                pending[partition] = r.offset + 1
        if not pending:
            continue
        committing = dict(pending)
        try:
            await consumer.commit(committing)
        except KafkaError as e:
            member.refused(e)
            continue
        for partition, offset in committing.items():
            member.committed(partition.partition, offset)
            pending.pop(partition, None)
    await consumer.stop()


asyncio.run(main())
