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
const pending = new Map() // partition: next offset, what is not committed yet
const revoke = () => {
  if (owned.length > 0) say({ event: 'revoked', partitions: owned })
  owned = []
  pending.clear()
}
consumer.on(consumer.events.REBALANCING, revoke)
consumer.on(consumer.events.CRASH, revoke)
consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
  revoke()
  owned = payload.memberAssignment[topic] ?? []
  say({ event: 'assigned', partitions: owned })
})

// Its own commits are made when a record comes: one that is refused would wait for
// the next record.
const commit = async () => {
  const committing = [...pending]
  if (committing.length === 0) return
  try {
    await consumer.commitOffsets(committing.map(([partition, offset]) => ({ topic, partition, offset: String(offset) })))
  } catch (error) {
    say({ event: 'refused', error: String(error) })
    return
  }
  for (const [partition, offset] of committing) {
    say({ event: 'committed', partition, offset })
    if (pending.get(partition) === offset) pending.delete(partition)
  }
}
let commits = Promise.resolve() // one after the other
const timer = setInterval(() => (commits = commits.then(commit)), 100)

process.on('SIGTERM', async () => {
  clearInterval(timer)
  await commits.then(commit)
  await consumer.disconnect()
  process.exit(0)
})

const main = async () => {
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      say({ event: 'record', partition, offset: Number(message.offset) })
      pending.set(partition, Number(message.offset) + 1)
    },
  })
}
main().catch(error => {
  console.error(error)
  process.exit(1)
})
