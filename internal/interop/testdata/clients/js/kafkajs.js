// A group member of kafkajs, whose only assignor is named RoundRobinAssigner.
'use strict'

const { parseArgs } = require('node:util')
const { Kafka, logLevel } = require('kafkajs')

const { values: o, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    static: { type: 'string' },
    protocol: { type: 'string', default: 'classic' },
    assignor: { type: 'string', default: 'RoundRobinAssigner' },
    session: { type: 'string', default: '6000' },
    heartbeat: { type: 'string', default: '500' },
  },
})
const [bootstrap, topic, group] = positionals
if (o.static !== undefined || o.protocol !== 'classic' || o.assignor !== 'RoundRobinAssigner') {
  console.error('kafkajs has neither static members nor another protocol or assignor')
  process.exit(1)
}

const say = event => process.stdout.write(JSON.stringify(event) + '\n')

const consumer = new Kafka({
  brokers: [bootstrap],
  // Log lines are JSON too and belong to standard error.
  logCreator: () => ({ namespace, log }) => console.error(namespace, log.message, log.error ?? ''),
  logLevel: logLevel.WARN,
}).consumer({
  groupId: group,
  sessionTimeout: Number(o.session),
  rebalanceTimeout: Number(o.session),
  heartbeatInterval: Number(o.heartbeat),
  maxWaitTimeInMs: 500,
})

// The library tells of whole assignments, and of the beginning of a rebalance.
let owned = []
const revoke = () => {
  if (owned.length > 0) say({ event: 'revoked', partitions: owned })
  owned = []
}
consumer.on(consumer.events.REBALANCING, revoke)
consumer.on(consumer.events.CRASH, revoke)
consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  revoke()
  owned = payload.memberAssignment[topic] ?? []
  say({ event: 'assigned', partitions: owned })
})
consumer.on(consumer.events.COMMIT_OFFSETS, ({ payload }) => {
  for (const t of payload.topics) {
    for (const p of t.partitions) say({ event: 'committed', partition: p.partition, offset: Number(p.offset) })
  }
})

process.on('SIGTERM', async () => {
  await consumer.disconnect()
  process.exit(0)
})

const main = async () => {
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommitThreshold: 1,
    eachMessage: async ({ partition, message }) => {
      say({ event: 'record', partition, offset: Number(message.offset) })
    },
  })
}
main().catch(error => {
  console.error(error)
  process.exit(1)
})
