package group

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/batch"
	"kf/internal/format/grouprec"
	"kf/internal/kftest"
)

// FuzzReplay replays records as a damaged or foreign log might have them, then
// lets the coordinator work on what they left: it must not fall over, whatever it
// makes of them, and all groups that it then says are deleted are gone. A record
// is its producer, the lengths of key and value, -1 for a tombstone, and both.
func FuzzReplay(f *testing.F) {
	dir := f.TempDir()
	kftest.Unpack(f, filepath.Join("testdata", "directories.tar.gz"), dir)
	logs, err := filepath.Glob(filepath.Join(dir, "*", "*.log"))
	if err != nil || len(logs) == 0 {
		f.Fatal(logs, err)
	}
	for _, log := range logs {
		f.Add(packed(f, readLog(f, log)))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, map[string]int32{"orders": 3, "visits": 4})
			b.in(func(m *machine) {
				for r, producer := range unpacked(p) {
					m.Replay(r, producer)
				}
				m.Loaded()
			})
			b.exercise()
		})
	})
}

// exercise does what clients and time do to groups of any kind.
func (b *bench) exercise() {
	b.list(nil, nil)
	b.addTopic("new", 1)
	b.publish()
	var ids []string
	b.in(func(m *machine) {
		for id := range m.groups {
			ids = append(ids, id)
		}
	})
	slices.Sort(ids)
	for _, id := range ids {
		b.fetch(fetchOf(id), true)
		b.commit(commitOf(id, 9, part{"orders", 0, 1}))
		d := kmsg.NewPtrDescribeGroupsRequest()
		d.Version, d.Groups = 6, []string{id}
		ask(b.t, func(reply func(*kmsg.DescribeGroupsResponse)) { b.DescribeGroups(d, reply) }).get()
		c := kmsg.NewPtrConsumerGroupDescribeRequest()
		c.Groups = []string{id}
		ask(b.t, func(reply func(*kmsg.ConsumerGroupDescribeResponse)) { b.ConsumerGroupDescribe(c, reply) }).get()
	}
	time.Sleep(time.Hour) // sessions end
	synctest.Wait()
	b.deleteTopic("orders")
	b.publish()
	for _, id := range ids {
		if got := b.deleteGroups(id); got == id+"=0" && b.group(id) != nil {
			b.t.Errorf("%q is deleted and still there", id)
		}
	}
	time.Sleep(8 * 24 * time.Hour) // the rest expires
	synctest.Wait()
	b.list(nil, nil)
}

// packed returns the records of a log as FuzzReplay takes them.
func packed(t testing.TB, l *memoryLog) []byte {
	var p []byte
	for _, entry := range l.batches {
		h, err := batch.DecodeHeader(entry)
		if err != nil {
			t.Fatal(err)
		}
		if h.Control() {
			continue
		}
		rs, err := new(batch.Decoder).Open(h, entry)
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range rs.All() {
			if err != nil {
				t.Fatal(err)
			}
			p = append(p, byte(h.ProducerID))
			p = binary.BigEndian.AppendUint16(p, uint16(len(r.Key)))
			if r.Value == nil {
				p = binary.BigEndian.AppendUint16(p, 0xffff)
			} else {
				p = binary.BigEndian.AppendUint16(p, uint16(len(r.Value)))
			}
			p = append(append(p, r.Key...), r.Value...)
		}
	}
	return p
}

// unpacked yields the records that can be decoded, with their producers.
func unpacked(p []byte) func(yield func(shard.Record, int64) bool) {
	return func(yield func(shard.Record, int64) bool) {
		for len(p) >= 5 {
			producer := int64(int8(p[0]))
			key, value := int(binary.BigEndian.Uint16(p[1:])), int(binary.BigEndian.Uint16(p[3:]))
			p = p[5:]
			tombstone := value == 0xffff
			if tombstone {
				value = 0
			}
			key = min(key, len(p))
			k := bytes.Clone(p[:key])
			p = p[key:]
			value = min(value, len(p))
			v := p[:value:value]
			p = p[value:]
			if v = bytes.Clone(v); tombstone {
				v = nil
			} else if v == nil {
				v = []byte{}
			}
			r, err := grouprec.Decode(k, v)
			if err == nil && !yield(r, max(producer, -1)) {
				return
			}
		}
	}
}
