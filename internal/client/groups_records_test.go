package client

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/batch"
)

// encode returns a batch of records at these offsets, whose timestamps are ten times
// that.
func encode(t *testing.T, attributes int16, last int64, offsets ...int64) []byte {
	t.Helper()
	h := batch.Header{Magic: 2, Attributes: attributes, BaseOffset: offsets[0], LastOffsetDelta: int32(last - offsets[0]), BaseTimestamp: 10 * offsets[0], MaxTimestamp: 10 * last, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
	var records []*batch.Record
	for _, o := range offsets {
		records = append(records, &batch.Record{Offset: o, Timestamp: 10 * o, Value: []byte("x"), KeySize: -1, ValueSize: 1})
	}
	p, err := batch.Append(nil, h, slices.Values(records))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFirstRecord(t *testing.T) {
	const control = batch.ControlBit | batch.TransactionalBit
	data, gzip, appended := encode(t, 0, 9, 5, 7, 9), encode(t, 1, 13, 10, 11), encode(t, batch.LogAppendTimeBit, 21, 20, 21)
	marker := encode(t, control, 14, 14)
	join := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	broken := slices.Clone(data)
	broken[len(broken)-1]++
	for _, tt := range []struct {
		name      string
		p         []byte
		offset    int64
		found     int64 // -1: none
		timestamp int64
		next      int64
		wrong     bool
	}{
		{"nothing", nil, 5, -1, 0, 5, false},
		{"a part of a batch", data[:len(data)-1], 5, -1, 0, 5, false},
		{"less than a header", data[:10], 5, -1, 0, 5, false},
		{"the start of a batch", data, 5, 5, 50, 5, false},
		{"the middle of a batch", data, 6, 7, 70, 6, false},
		{"inflated", gzip, 11, 11, 110, 11, false},
		{"compacted to the end of a batch", gzip, 12, -1, 0, 14, false},
		{"… and on in the next", join(gzip, encode(t, 0, 30, 30)), 12, 30, 300, 14, false},
		{"a marker alone", marker, 14, -1, 0, 15, false},
		{"a marker before a record", join(marker, encode(t, 0, 15, 15)), 14, 15, 150, 15, false},
		{"a batch before the offset", join(data, gzip), 10, 10, 100, 10, false},
		{"the time of the append", appended, 20, 20, 210, 20, false},
		{"a batch and a part of one", join(marker, data[:30]), 14, -1, 0, 15, false},
		{"damage", broken, 5, -1, 0, 5, true},
		{"a size below that of a header", []byte(strings.Repeat("\x00", 100)), 0, -1, 0, 0, false},
	} {
		found, next, err := firstRecord(tt.p, tt.offset, &batch.Decoder{MaxInflated: 1 << 20})
		switch {
		case (err != nil) != tt.wrong, next != tt.next, (found != nil) != (tt.found >= 0):
			t.Errorf("%s: %+v, next %d, %v", tt.name, found, next, err)
		case found != nil && (found.Offset != tt.found || found.Timestamp != tt.timestamp):
			t.Errorf("%s: offset %d, timestamp %d; want %d, %d", tt.name, found.Offset, found.Timestamp, tt.found, tt.timestamp)
		}
	}
}

// A partition is read on behind markers, asked for more bytes where no batch fits, and
// given up where not even that helps.
func TestTake(t *testing.T) {
	marker := encode(t, batch.ControlBit|batch.TransactionalBit, 14, 14)
	answer := func(end, stable int64, p []byte) *kmsg.FetchResponseTopicPartition {
		a := kmsg.NewFetchResponseTopicPartition()
		a.HighWatermark, a.LastStableOffset, a.LogStartOffset, a.RecordBatches = end, stable, 3, p
		return &a
	}
	for _, tt := range []struct {
		name      string
		limit     int32
		answer    *kmsg.FetchResponseTopicPartition
		committed bool
		more      bool
		next      int64
		newLimit  int32
		offset    int64
		err       error
	}{
		{"a record", firstPartition, answer(20, 20, encode(t, 0, 14, 14)), false, false, 14, firstPartition, 14, nil},
		{"a marker", firstPartition, answer(20, 20, marker), false, true, 15, firstPartition, -1, errNoAnswer},
		{"a marker at the end", firstPartition, answer(15, 15, marker), false, false, 14, firstPartition, -1, nil},
		{"a record of an open transaction", firstPartition, answer(20, 14, encode(t, 0, 14, 14)), true, false, 14, firstPartition, -1, nil},
		{"nothing that is whole", firstPartition, answer(20, 20, nil), false, true, 14, 16 * firstPartition, -1, errNoAnswer},
		{"nothing at all", lastPartition, answer(20, 20, nil), false, false, 14, lastPartition, -1, errNoRecord},
	} {
		r := &reading{next: 14, limit: tt.limit, first: FirstRecord{Offset: -1, LogStart: -1, Err: errNoAnswer}}
		more := r.take(tt.answer, &batch.Decoder{MaxInflated: 1 << 20}, tt.committed)
		if more != tt.more || r.next != tt.next || r.limit != tt.newLimit || r.first.Offset != tt.offset || r.first.LogStart != 3 || !errors.Is(r.first.Err, tt.err) {
			t.Errorf("%s: more %v, %+v", tt.name, more, r)
		}
	}
	moved := answer(-1, -1, nil)
	moved.ErrorCode, moved.LogStartOffset = kerr.NotLeaderForPartition.Code, -1
	if r := (&reading{first: FirstRecord{LogStart: -1}}); r.take(moved, nil, false) || !r.again {
		t.Errorf("a leader that moved is not looked for: %+v", r)
	}
}

// A request holds a partition once, and no more than fits into an answer.
func TestSome(t *testing.T) {
	var queue []*reading
	for p := range int32(300) {
		for o := range int64(3) {
			queue = append(queue, &reading{Place: Place{Topic: "t", Partition: p, Offset: o}, limit: 16 * firstPartition})
		}
	}
	queue = append(queue, &reading{Place: Place{Topic: "u"}, limit: lastPartition}, &reading{Place: Place{Topic: "v"}, limit: lastPartition})
	requests, total := 0, 0
	for len(queue) > 0 {
		var asked []*reading
		asked, queue = some(queue)
		seen := make(map[Place]bool)
		bytes := 0
		for _, r := range asked {
			key := Place{Topic: r.Topic, Partition: r.Partition}
			if seen[key] {
				t.Fatalf("%v twice in a request", key)
			}
			seen[key] = true
			bytes += int(r.limit)
		}
		if len(asked) > 1 && bytes > fetchBytes || len(asked) == 0 {
			t.Fatalf("%d partitions of %d bytes", len(asked), bytes)
		}
		total += len(asked)
		requests++
	}
	if total != 902 || requests > 900/32+5 {
		t.Errorf("%d readings in %d requests", total, requests)
	}
}

func TestRetention(t *testing.T) {
	config := func(name, value string) kmsg.DescribeConfigsResponseResourceConfig {
		return kmsg.DescribeConfigsResponseResourceConfig{Name: name, Value: &value}
	}
	for _, tt := range []struct {
		policy, ms string
		want       Retention
	}{
		{"delete", "60000", Retention{Time: 60e9}},
		{"compact", "60000", Retention{Time: Forever}},
		{"compact,delete", "0", Retention{}},
		{"delete", "-1", Retention{Time: Forever}},
		{"delete", "9223372036854775807", Retention{Time: Forever}},
	} {
		got := retention([]kmsg.DescribeConfigsResponseResourceConfig{config("retention.ms", tt.ms), config("cleanup.policy", tt.policy)})
		if got != tt.want {
			t.Errorf("%s, %s: %+v, want %+v", tt.policy, tt.ms, got, tt.want)
		}
	}
	if r := retention([]kmsg.DescribeConfigsResponseResourceConfig{config("retention.ms", "soon")}); r.Err == nil {
		t.Errorf("%+v", r)
	}
}
