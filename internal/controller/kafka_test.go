package controller

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kf/internal/format/batch"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
)

// Whenever a controller of Kafka fenced, unfenced, registered or stopped a
// broker, this one changes the same partitions in the same way: its records are
// Kafka's, byte for byte.
func TestElectionsOfKafka(t *testing.T) {
	names, err := filepath.Glob("testdata/*.log")
	if err != nil || len(names) < 3 {
		t.Fatalf("%q, %v", names, err)
	}
	for _, name := range names {
		compared, changes := electionsOf(t, name)
		t.Logf("%s: %d events with %d changes of partitions", name, compared, changes)
		if compared < 5 || changes < 3 {
			t.Errorf("%s: only %d events with %d changes of partitions", name, compared, changes)
		}
	}
}

func electionsOf(t *testing.T, name string) (compared, changes int) {
	t.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b := image.NewBuilder(image.Empty())
	for len(p) >= batch.HeaderSize {
		h, err := batch.DecodeHeader(p)
		if err != nil || h.Size() > int64(len(p)) {
			t.Fatalf("%s: batch of %d bytes, %v", name, h.Size(), err)
		}
		one := p[:h.Size()]
		p = p[h.Size():]
		if h.Control() {
			continue
		}
		b.SetPosition(image.Position{Offset: h.BaseOffset})
		records, err := (&batch.Decoder{MaxInflated: 1 << 20}).Open(h, one)
		if err != nil {
			t.Fatal(err)
		}
		var messages []any
		for r, err := range records.All() {
			if err != nil {
				t.Fatal(err)
			}
			rec, err := kraftrec.Decode(r.Value)
			if err != nil {
				t.Fatal(err)
			}
			messages = append(messages, rec.Message)
		}
		events, n := compareBatch(t, fmt.Sprintf("%s: offset %d", name, h.BaseOffset), b, messages)
		compared += events
		changes += n
	}
	return compared, changes
}

// compareBatch replays a batch, which may have several events: who leaves or is
// back is told in front of the changes of partitions, who is fenced or registers
// behind them.
func compareBatch(t *testing.T, what string, b *image.Builder, messages []any) (events, changes int) {
	t.Helper()
	play := func(messages []any) view {
		for _, m := range messages {
			if err := b.Replay(m); err != nil {
				t.Fatal(err)
			}
		}
		im, _ := b.Publish()
		return newView(im, Configs{}, 0)
	}
	v := play(nil)
	from := 0 // first message that is not replayed
	for i, m := range messages {
		candidates, behind := v.candidates(m)
		if candidates == nil {
			continue
		}
		events++
		if behind {
			v = play(messages[from : i+1])
			candidates, _ = v.candidates(m)
			from = i + 1
		}
		found := slices.ContainsFunc(candidates, func(got []any) bool {
			to := i // the event comes last
			if behind {
				to = from + len(got)
			}
			if to > len(messages) || !sameChanges(t, v, got, partitionChanges(messages[from:to])) {
				return false
			}
			changes += len(got)
			return true
		})
		if !found {
			t.Errorf("%s: record %d: changes\n%sof\n%s", what, i, texts(candidates[0]), texts(messages))
		}
		if !behind {
			v = play(messages[from : i+1])
			from = i + 1
		}
	}
	play(messages[from:])
	return events, changes
}

// candidates returns what this controller changes for the event that the record
// tells, nil for another record; behind says that the changes follow the record.
// What a broker says when it registers is not in the log: there are two answers.
func (v view) candidates(message any) (all [][]any, behind bool) {
	none := int32(image.NoLeader)
	switch r := message.(type) {
	case *kraftrec.RegisterBrokerRecord:
		return [][]any{v.stopped(r.BrokerID, false), v.stopped(r.BrokerID, true)}, false
	case *kraftrec.BrokerRegistrationChangeRecord:
		switch {
		case r.Fenced == 1:
			return [][]any{v.reelect(cause{r.BrokerID, none, none}, inISR(r.BrokerID))}, false
		case r.InControlledShutdown == 1:
			return [][]any{v.reelect(cause{r.BrokerID, none, none}, inISR(r.BrokerID))}, true
		case r.Fenced == -1:
			return [][]any{v.reelect(cause{none, r.BrokerID, none}, func(p *image.Partition) bool { return p.Leader == image.NoLeader })}, true
		}
	}
	return nil, false
}

func sameChanges(t *testing.T, v view, got, want []any) bool {
	encode := func(records []any) [][]byte {
		var all [][]byte
		for _, r := range records {
			p, err := kraftrec.Append(nil, r, image.NewRecord(r, v.MetadataVersion()).Version)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
		slices.SortFunc(all, bytes.Compare)
		return all
	}
	return slices.EqualFunc(encode(got), encode(want), bytes.Equal)
}

// partitionChanges leaves out what else a batch has, such as NoOp records.
func partitionChanges(messages []any) []any {
	return slices.DeleteFunc(slices.Clone(messages), func(m any) bool {
		_, ok := m.(*kraftrec.PartitionChangeRecord)
		return !ok
	})
}

func texts(records []any) string {
	s := ""
	for _, r := range records {
		s += fmt.Sprintf("  %+v\n", r)
	}
	return s
}
