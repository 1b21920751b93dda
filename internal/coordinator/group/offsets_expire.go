package group

import (
	"time"

	"kf/internal/coordinator/shard"
)

// expiryTimer is the key of the timer that looks for what expired.
const expiryTimer = "expire offsets"

// scheduleExpiry looks for offsets that expired, and groups that nothing is left
// of, after offsets.retention.check.interval.ms.
func (m *machine) scheduleExpiry() {
	m.shard.Schedule(expiryTimer, time.Duration(m.o.Config("").OffsetCheckInterval)*time.Millisecond, m.expire)
}

// expire deletes the offsets that expired, and the groups without members that
// have no other.
//
// Source: Kafka 4.4.0, GroupCoordinatorShard.java and OffsetMetadataManager.java.
func (m *machine) expire() shard.Result {
	m.scheduleExpiry()
	var records []shard.Record
	now, retention := time.Now().UnixMilli(), m.o.Config("").OffsetRetention
	for id, g := range m.groups {
		var all bool
		if records, all = m.expireOffsets(records, id, g, now, retention); all && g.empty() && g.kind() != Share {
			records = g.tombstones(records)
		}
	}
	return shard.Result{Records: records, Split: true}
}

// expireOffsets appends the records that delete the offsets of a group that
// expired; all says that it has no other.
func (m *machine) expireOffsets(records []shard.Record, id string, g group, now, retention int64) (_ []shard.Record, all bool) {
	all = m.offsets.open[id] == nil
	offsets := m.offsets.groups[id]
	if offsets == nil {
		return records, all
	}
	since, ok := g.expires()
	if !ok {
		return records, false
	}
	for topic, t := range offsets.all() {
		if g.subscribed(topic) {
			all = false
			continue
		}
		for c := range t.all() {
			if !c.expired(since, now, retention) || m.offsets.isOpen(id, topic, c.partition) {
				all = false
				continue
			}
			records = append(records, offsetTombstone(id, topic, c.partition))
		}
	}
	return records, all
}

// expired reports whether an offset is too old: its retention counts from since,
// or from its commit if that is -1.
func (c *committed) expired(since, now, retention int64) bool {
	if c.expires != -1 {
		return now >= c.expires
	}
	if since == -1 {
		since = c.time
	}
	return now-since >= retention
}
