package group

import (
	"testing"
	"testing/synctest"

	"kf/internal/coordinator/shard"
	"kf/internal/format/batch"
	"kf/internal/format/control"
	"kf/internal/format/grouprec"
)

func offsetRecord(group, topic string, partition int32, offset int64) shard.Record {
	return put(&grouprec.OffsetCommitKey{Group: group, Topic: topic, Partition: partition},
		&grouprec.OffsetCommitValue{Offset: offset, LeaderEpoch: -1, ExpireTimestamp: -1, TopicID: topicID(topic)})
}

// appendAs appends records in a batch of a producer's transaction.
func (b *bench) appendAs(producer int64, attributes int16, records ...batch.Record) {
	b.t.Helper()
	h := batch.Header{
		Magic: 2, Attributes: attributes | batch.TransactionalBit, LastOffsetDelta: int32(len(records) - 1),
		ProducerID: producer, PartitionLeaderEpoch: -1,
	}
	p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
		for i := range records {
			records[i].Offset = int64(i)
			if !yield(&records[i]) {
				return
			}
		}
	})
	if err == nil {
		_, err = b.log.Append(p)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// transact writes records in a transaction of a producer, as TxnOffsetCommit does.
func (b *bench) transact(producer int64, records ...shard.Record) {
	b.t.Helper()
	var encoded []batch.Record
	for _, r := range records {
		key, err := grouprec.AppendKey(nil, r.Key)
		var value []byte
		if err == nil && r.Value != nil {
			value, err = grouprec.AppendValue(nil, r.Value, r.Version)
		}
		if err != nil {
			b.t.Fatal(err)
		}
		encoded = append(encoded, batch.Record{Key: key, Value: value})
	}
	b.appendAs(producer, 0, encoded...)
	b.in(func(m *machine) {
		for _, r := range records {
			m.Replay(r, producer)
		}
	})
}

// end writes the end of a producer's transaction.
func (b *bench) end(producer int64, commit bool) {
	b.t.Helper()
	kind := control.Abort
	if commit {
		kind = control.Commit
	}
	value, err := control.AppendValue(nil, &control.EndTxnMarker{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.appendAs(producer, batch.ControlBit, batch.Record{Key: control.AppendKey(nil, kind), Value: value})
	b.in(func(m *machine) { m.ReplayEnd(producer, commit) })
}

func TestTransactions(t *testing.T) {
	commit := func(b *bench, offset int64) { b.must(commitOf("g", 9, part{"t", 0, offset})) }
	pending := func(b *bench, producer, offset int64) { b.transact(producer, offsetRecord("g", "t", 0, offset)) }
	for _, tt := range []struct {
		name         string
		do           func(b *bench)
		want, stable string
	}{
		{"committed", func(b *bench) { pending(b, 1, 5); b.end(1, true) }, "t-0=5", "t-0=5"},
		{"aborted", func(b *bench) { pending(b, 1, 5); b.end(1, false) }, "", ""},
		{"open", func(b *bench) { pending(b, 1, 5) }, "", ""},
		{"open, with an offset before it", func(b *bench) { commit(b, 4); pending(b, 1, 5) }, "t-0=4", "t-0!88"},
		{"aborted, with an offset before it", func(b *bench) { commit(b, 4); pending(b, 1, 5); b.end(1, false) }, "t-0=4", "t-0=4"},
		{"the newest of a transaction", func(b *bench) { pending(b, 1, 5); pending(b, 1, 3); b.end(1, true) }, "t-0=3", "t-0=3"},
		{"a commit behind it is newer", func(b *bench) { pending(b, 1, 5); commit(b, 4); b.end(1, true) }, "t-0=4", "t-0=4"},
		{"and stays so", func(b *bench) { pending(b, 1, 5); commit(b, 4); pending(b, 2, 6); b.end(1, true) }, "t-0=4", "t-0!88"},
		{"a later record is newer again", func(b *bench) { pending(b, 1, 5); commit(b, 4); pending(b, 1, 6); b.end(1, true) }, "t-0=6", "t-0=6"},
		{"two, ended in order", func(b *bench) { pending(b, 1, 5); pending(b, 2, 6); b.end(1, true); b.end(2, true) }, "t-0=6", "t-0=6"},
		{"two, ended against it", func(b *bench) { pending(b, 1, 5); pending(b, 2, 6); b.end(2, true); b.end(1, true) }, "t-0=6", "t-0=6"},
		{"one of two open", func(b *bench) { pending(b, 1, 5); pending(b, 2, 6); b.end(2, true) }, "t-0=6", "t-0!88"},
		{"the newer one aborted", func(b *bench) { pending(b, 1, 5); pending(b, 2, 6); b.end(2, false); b.end(1, true) }, "t-0=5", "t-0=5"},
		{"a tombstone takes it", func(b *bench) {
			commit(b, 4)
			pending(b, 1, 5)
			pending(b, 2, 6)
			b.write(offsetTombstone("g", "t", 0))
			b.end(1, true)
		}, "", ""},
		{"a record behind the tombstone counts", func(b *bench) {
			pending(b, 1, 5)
			b.write(offsetTombstone("g", "t", 0))
			pending(b, 1, 6)
			b.end(1, true)
		}, "t-0=6", "t-0=6"},
		{"an end without records", func(b *bench) { commit(b, 4); b.end(1, true) }, "t-0=4", "t-0=4"},
		{"ended twice", func(b *bench) { pending(b, 1, 5); b.end(1, true); commit(b, 4); b.end(1, true) }, "t-0=4", "t-0=4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, map[string]int32{"t": 1})
				tt.do(b)
				for range 2 { // the second time from the log
					if s := b.offsets("g"); s != tt.want {
						t.Errorf("%q, want %q", s, tt.want)
					}
					if s := show(b.fetch(fetchOf("g"), true)); s != tt.stable {
						t.Errorf("stable: %q, want %q", s, tt.stable)
					}
					b.restart()
				}
			})
		})
	}
}

// Who asks for the partition of an open transaction is told to wait, also if it
// never had an offset.
func TestUnstable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 2})
		b.transact(1, offsetRecord("g", "t", 0, 5))
		for stable, want := range map[bool]string{true: "t-0!88 t-1=-1", false: "t-0=-1 t-1=-1"} {
			if s := show(b.fetch(fetchOf("g", part{topic: "t"}, part{"t", 1, 0}), stable)); s != want {
				t.Errorf("stable %v: %s, want %s", stable, s, want)
			}
		}
		if code, codes := b.deleted("g", part{topic: "t"}, part{"t", 1, 0}); code != 0 || len(codes) != 2 {
			t.Errorf("delete: %d %v", code, codes)
		}
		if s := brief(b.log.records(t, 1)); s != "-g/t-0" {
			t.Errorf("records %s", s)
		}
		if s := show(b.fetch(fetchOf("g", part{topic: "t"}), true)); s != "t-0=-1" {
			t.Error(s)
		}
	})
}

// Offsets from before Kafka 0.9 are read as they are, and deleted as new ones.
func TestLegacyOffsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"t": 2})
		key := func(partition int32) *grouprec.LegacyOffsetCommitKey {
			return &grouprec.LegacyOffsetCommitKey{Group: "g", Topic: "t", Partition: partition}
		}
		b.write(
			shard.Record{Key: key(0), Value: &grouprec.LegacyOffsetCommitValue{Offset: 5, Metadata: "m", CommitTimestamp: 1}},
			shard.Record{Key: key(1), Value: &grouprec.LegacyOffsetCommitValue{Offset: 6}},
			tombstone(key(1)))
		for range 2 {
			got := b.fetch(fetchOf("g"), false)
			if s := show(got); s != "t-0=5:m" || got.Topics[0].Partitions[0].LeaderEpoch != -1 {
				t.Errorf("%s, %+v", s, got)
			}
			b.restart()
		}
	})
}
