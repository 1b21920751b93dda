//go:build interop && clients

package interop

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kf/internal/format/grouprec"
)

// groupRecords returns the decoded records of __consumer_offsets, those of a
// partition in their order.
func (s *clientStage) groupRecords(t *testing.T) []grouprec.Record {
	t.Helper()
	const topic = "__consumer_offsets"
	ends, err := s.admin.ListEndOffsets(t.Context(), topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	left := 0 // partitions that are not read to their end
	start := map[int32]kgo.Offset{}
	for p, o := range ends[topic] {
		if o.Offset > 0 {
			start[p] = kgo.NewOffset().AtStart()
			left++
		}
	}
	cl := newClient(t, kgo.SeedBrokers(s.address), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: start}), kgo.KeepControlRecords())
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var records []grouprec.Record
	for left > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("reading %s: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			rec, err := grouprec.Decode(r.Key, r.Value)
			if err != nil {
				t.Fatalf("%s-%d, offset %d: %v", topic, r.Partition, r.Offset, err)
			}
			records = append(records, rec)
			if r.Offset == ends[topic][r.Partition].Offset-1 {
				left--
			}
		})
	}
	return records
}

// generation returns the generation of a group, or its epoch.
func (g *clientGroup) generation(t *testing.T) int32 {
	t.Helper()
	if d, ok := g.describedConsumer(t); ok {
		return d.Epoch
	}
	generation := int32(-1)
	for _, rec := range g.stage.groupRecords(t) {
		key, ok := rec.Key.(*grouprec.GroupMetadataKey)
		if v, alive := rec.Value.(*grouprec.GroupMetadataValue); ok && alive && key.Group == g.name {
			generation = v.Generation
		}
	}
	return generation
}

// commits checks that no commit of all groups ever went back, and that generations
// and epochs only rise.
func (s *clientStage) commits(t *testing.T) {
	last := map[string]int64{}
	count := 0
	rises := func(what string, value int64) {
		if value < last[what] {
			t.Errorf("%s went from %d back to %d", what, last[what], value)
		}
		last[what] = value
		count++
	}
	for _, rec := range s.groupRecords(t) {
		switch v := rec.Value.(type) { // tombstones have none
		case *grouprec.OffsetCommitValue:
			key := rec.Key.(*grouprec.OffsetCommitKey)
			rises(fmt.Sprintf("the commit of %s for %s-%d", key.Group, key.Topic, key.Partition), v.Offset)
		case *grouprec.GroupMetadataValue:
			rises("the generation of "+rec.Key.(*grouprec.GroupMetadataKey).Group, int64(v.Generation))
		case *grouprec.ConsumerGroupMetadataValue:
			rises("the epoch of "+rec.Key.(*grouprec.ConsumerGroupMetadataKey).GroupID, int64(v.Epoch))
		}
	}
	if count == 0 {
		t.Error("no group has left a record")
	}
	t.Logf("%d commits and generations", count)
}
