package dump

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"kf/internal/segment"
)

// Kafka walks to the end of the log for each entry of a time index.
func TestWalksCost(t *testing.T) {
	log := sound(t, 20_000)
	path := filepath.Join(t.TempDir(), segmentName)
	if err := os.WriteFile(path, log, 0o400); err != nil {
		t.Fatal(err)
	}
	f, err := segment.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	batches := int64(20_000)
	size := int64(len(log)) / batches
	for _, tt := range []struct {
		name string
		pos  func(i int64) int64 // of batch i in the index
	}{
		{"healthy index", func(i int64) int64 { return i * size }},
		{"empty index", func(int64) int64 { return 0 }},
		{"every 100th entry", func(i int64) int64 { return i / 100 * 100 * size }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newWalks(f, batches)
			for i := range batches {
				if err := c.toEnd(tt.pos(i)); err != nil {
					t.Fatal(err)
				}
				at, h, err := c.find(tt.pos(i), i)
				if err != nil || at != i*size || h.BaseOffset != i {
					t.Fatalf("offset %d: found %d at %d, %v", i, h.BaseOffset, at, err)
				}
			}
			if limit := batches * (c.block/size + 50); c.w.Cost > limit || c.exhausted() {
				t.Errorf("cost %d, want at most %d", c.w.Cost, limit)
			}
			if _, _, err := c.find(0, batches); err != io.EOF {
				t.Errorf("behind the end: %v", err)
			}
			if at, _, err := c.find(0, 5); err != nil || at != 5*size {
				t.Errorf("a lower offset: at %d, %v", at, err)
			}
		})
	}
	c := newWalks(f, 0)
	c.budget = 1000
	if err := c.toEnd(0); err != nil {
		t.Error(err)
	}
	if err := c.toEnd(0); err != errBudget {
		t.Errorf("budget: %v", err)
	}
	if _, _, err := c.find(0, 0); err != errBudget {
		t.Errorf("budget: %v", err)
	}
}
