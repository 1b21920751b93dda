package group

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kf/internal/coordinator/shard"
	"kf/internal/format/batch"
	"kf/internal/format/grouprec"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/wire"
)

// A memoryLog is a partition of __consumer_offsets in memory.
type memoryLog struct {
	mu      sync.Mutex
	batches [][]byte
	next    int64
	held    bool // the high watermark stands still, at mark
	mark    int64
	failure error // of appends
}

func (l *memoryLog) Append(p []byte) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure != nil {
		return 0, l.failure
	}
	h, err := batch.DecodeHeader(p)
	if err != nil {
		return 0, err
	}
	h.BaseOffset, h.PartitionLeaderEpoch = l.next, 0
	stored := bytes.Clone(p)
	h.Put(stored)
	l.batches = append(l.batches, stored)
	l.next = h.LastOffset() + 1
	return l.next, nil
}

func (l *memoryLog) Read(offset int64, max int) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var p []byte
	for _, b := range l.batches {
		if h, err := batch.DecodeHeader(b); err != nil || h.LastOffset() >= offset {
			p = append(p, b...)
		}
	}
	return p, nil
}

func (l *memoryLog) LogStartOffset() int64 { return 0 }

func (l *memoryLog) HighWatermark() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return l.mark
	}
	return l.next
}

// fail lets appends fail from now on, or no longer if err is nil.
func (l *memoryLog) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failure = err
}

// records returns the records from offset on.
func (l *memoryLog) records(t testing.TB, offset int64) []grouprec.Record {
	t.Helper()
	p, _ := l.Read(offset, 0)
	var all []grouprec.Record
	for d := (batch.Decoder{}); len(p) > 0; {
		h, err := batch.DecodeHeader(p)
		if err != nil {
			t.Fatal(err)
		}
		rs, err := d.Open(h, p[:h.Size()])
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range rs.All() {
			if err != nil {
				t.Fatal(err)
			}
			if r.Offset < offset {
				continue
			}
			decoded, err := grouprec.Decode(bytes.Clone(r.Key), bytes.Clone(r.Value))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, decoded)
		}
		p = p[h.Size():]
	}
	return all
}

// A bench is a coordinator of one shard, on a log in memory.
type bench struct {
	t      testing.TB
	log    *memoryLog
	config Config
	image  *image.Image
	build  *image.Builder
	epoch  int32
	read   int64 // what wrote has returned
	*Coordinator
}

// newBench returns a coordinator with the settings of a Kafka that has none of its
// own, but no delay of first rebalances. It is loaded. In the image there are
// __consumer_offsets, with one partition, and topics of some partitions.
func newBench(t testing.TB, topics map[string]int32) *bench {
	b := &bench{t: t, log: new(memoryLog), build: image.NewBuilder(image.Empty()), config: Config{
		ClassicMinSessionTimeout: 6000, ClassicMaxSessionTimeout: 1800000, ClassicMaxSize: 1<<31 - 1,
		ConsumerSessionTimeout: 45000, ConsumerHeartbeatInterval: 5000, ConsumerAssignmentInterval: 1000,
		ConsumerMaxSize: 1<<31 - 1, ConsumerRegexRefresh: 600000, Assignors: []string{"uniform", "range"},
		Migration: MigrateBoth, ConsumerProtocol: true,
		OffsetMetadataBytes: 4096, OffsetRetention: 7 * 24 * time.Hour.Milliseconds(), OffsetCheckInterval: 600000,
		CommitTimeout: 5 * time.Second, BatchBytes: 1 << 20,
	}}
	b.addTopic(Topic, 1)
	for name, n := range topics {
		b.addTopic(name, n)
	}
	b.image, _ = b.build.Publish()
	b.start()
	t.Cleanup(b.stop)
	return b
}

// addTopic adds a topic to the next image.
func (b *bench) addTopic(name string, partitions int32) { b.addTopicAs(name, name, partitions) }

// addTopicAs adds a topic whose id is made of another text.
func (b *bench) addTopicAs(name, as string, partitions int32) {
	b.t.Helper()
	var id wire.UUID
	copy(id[:], as)
	records := []any{&kraftrec.TopicRecord{Name: name, TopicID: id}}
	for i := range partitions {
		records = append(records, &kraftrec.PartitionRecord{PartitionID: i, TopicID: id, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1})
	}
	for _, r := range records {
		if err := b.build.Replay(r); err != nil {
			b.t.Fatal(err)
		}
	}
}

// publish tells the coordinator of the next image.
func (b *bench) publish() {
	im, d := b.build.Publish()
	b.image = im
	b.Update(im, d)
}

// start starts a coordinator that loads what is in the log.
func (b *bench) start() {
	b.t.Helper()
	b.Coordinator = New(Options{
		Image:  func() *image.Image { return b.image },
		Config: func(string) *Config { return &b.config },
		Log:    slog.New(slog.DiscardHandler),
	})
	b.epoch++
	b.Lead(0, b.epoch, b.log)
	<-b.Loaded(0)
	if err := b.hosted(0).shard.Err(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) stop() { b.Close() }

// restart is what happens when another broker takes over.
func (b *bench) restart() {
	b.t.Helper()
	b.stop()
	b.start()
}

// hold keeps the high watermark where it is.
func (b *bench) hold() {
	b.log.mu.Lock()
	b.log.held, b.log.mark = true, b.log.next
	b.log.mu.Unlock()
}

// release lets the high watermark move to the log end.
func (b *bench) release() {
	b.log.mu.Lock()
	b.log.held = false
	b.log.mu.Unlock()
	b.Committed(0)
}

// in runs f with the shard's lock held.
func (b *bench) in(f func(m *machine)) {
	b.t.Helper()
	b.hosted(0).do(func(m *machine) shard.Result {
		f(m)
		return shard.Result{}
	}, func(err error) { b.t.Fatal(err) })
}

// group returns a group, nil if there is none.
func (b *bench) group(id string) (g group) {
	b.in(func(m *machine) { g = m.group(id) })
	return g
}

// An answer is what a request gets, now or later.
type answer[R any] struct {
	t  testing.TB
	c  chan R
	at *time.Time // when it came
}

// ask sends a request; call is a method of a coordinator with its request.
func ask[R any](t testing.TB, call func(reply func(R))) answer[R] {
	a := answer[R]{t, make(chan R, 2), new(time.Time)} // room for an answer too many
	call(func(r R) {
		*a.at = time.Now()
		a.c <- r
	})
	return a
}

// get returns the answer, which is there once everything else in the bubble waits.
func (a answer[R]) get() R {
	a.t.Helper()
	synctest.Wait()
	select {
	case r := <-a.c:
		if len(a.c) > 0 {
			a.t.Fatalf("a second answer: %+v", <-a.c)
		}
		return r
	default:
		a.t.Fatal("no answer")
		panic("unreachable")
	}
}

// waits fails if the answer is there.
func (a answer[R]) waits() {
	a.t.Helper()
	synctest.Wait()
	select {
	case r := <-a.c:
		a.t.Fatalf("answered: %+v", r)
	default:
	}
}
