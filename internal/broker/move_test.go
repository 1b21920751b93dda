package broker

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"kf/internal/storage"
)

// Clients go on with a partition that moves to another log directory and back,
// in the middle of what they write and read, and the metadata learns where it is.
func TestMoved(t *testing.T) {
	b := startBroker(t, Options{Dirs: []string{t.TempDir(), t.TempDir()}, Topics: []NewTopic{{Name: "t", Partitions: 1}}})
	tp := storage.TopicPartition{Topic: "t"}
	fast := kgo.MetadataMinAge(10 * time.Millisecond)
	producer := client(t, b, fast)
	reader := client(t, b, fast, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}}))
	ctx := testContext(t)
	var got, want []string
	for round := range 4 {
		more := values(20 * (round + 1))
		produceAll(t, producer, "t", more)
		want = append(want, more...)
		for len(got) < len(want) { // the reader waits for more when the partition moves
			fetches := reader.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				t.Fatalf("round %d, after %d of %d records: %v", round, len(got), len(want), err)
			}
			for _, r := range fetches.Records() {
				got = append(got, string(r.Value))
			}
		}
		to := (b.replicas.dirOf(tp) + 1) % 2
		if err := b.store.Move(ctx, tp, to); err != nil {
			t.Fatal(err)
		}
		id := b.replicas.dirs[to]
		for known := false; !known; {
			if ctx.Err() != nil {
				t.Fatalf("round %d: the metadata does not learn that the partition moved", round)
			}
			have, _ := b.image.Load().Topic("t").Partition(0).Directory(b.node)
			known = have == id
			runtime.Gosched()
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d records, want %d, or they differ", len(got), len(want))
	}
}
