package storage

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"kf/internal/format/offsetindex"
	"kf/internal/storage/disk"
)

// A reader may have found an entry that a truncation cuts off before it is read.
func TestEntryBehindCut(t *testing.T) {
	name := filepath.Join(t.TempDir(), "00000000000000000000.index")
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	x := newIndex(newFile(NewFiles(10), disk.OS, name), offsetKind, 0)
	for i := range uint32(5) {
		if err := x.prepare(1 << 10); err != nil {
			t.Fatal(err)
		}
		x.add(func(p []byte) { binary.BigEndian.PutUint32(p, i); binary.BigEndian.PutUint32(p[4:], 10*i) })
	}
	n, err := x.search(offsetKey, 3)
	if err != nil || n != 4 {
		t.Fatalf("%d entries up to offset 3, %v", n, err)
	}
	if err := x.cut(1); err != nil {
		t.Fatal(err)
	}
	var p [offsetindex.EntrySize]byte
	if err := x.entry(n-1, p[:]); err != nil || positionKey(p[:]) != 30 {
		t.Errorf("entry of position %d, %v; want 30", positionKey(p[:]), err)
	}
	if x.count() != 1 {
		t.Errorf("%d entries, want 1", x.count())
	}
}
