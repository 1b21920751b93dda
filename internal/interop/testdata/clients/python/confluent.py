"""A group member of confluent-kafka, which is librdkafka."""

import signal

from confluent_kafka import Consumer, KafkaException, TopicPartition

import member

o = member.options()
config = {
    "bootstrap.servers": o.bootstrap,
    "group.id": o.group,
    "group.protocol": o.protocol,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
}
if o.static:
    config["group.instance.id"] = o.static
if o.protocol == "consumer":
    # The broker decides on the session and the heartbeats.
    config["group.remote.assignor"] = o.assignor
else:
    config["partition.assignment.strategy"] = o.assignor
    config["session.timeout.ms"] = o.session
    config["heartbeat.interval.ms"] = o.heartbeat

running = True
pending = {}  # partition: next offset, what is not committed yet


def stop(_signal, _frame):
    global running
    running = False


def revoked(_, partitions):
    for p in partitions:
        pending.pop(p.partition, None)
    member.revoked(partitions)


signal.signal(signal.SIGTERM, stop)
consumer = Consumer(config)
consumer.subscribe(
    [o.topic],
    on_assign=lambda _, partitions: member.assigned(partitions),
    on_revoke=revoked,
    on_lost=revoked,
)
while running:
    message = consumer.poll(0.1)
    if message is not None and message.error():
        member.refused(message.error())
    elif message is not None:
        member.record(message.partition(), message.offset())
        pending[message.partition()] = message.offset() + 1
    if not pending:
        continue
    try:
        offsets = [TopicPartition(o.topic, p, offset) for p, offset in pending.items()]
        for p in consumer.commit(offsets=offsets, asynchronous=False):
            if p.error:
                member.refused(p.error)
            else:
                member.committed(p.partition, p.offset)
                pending.pop(p.partition, None)
    except KafkaException as e:
        member.refused(e)
consumer.close()
