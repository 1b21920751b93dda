package kraftrec_test

import (
	"errors"
	"slices"
	"testing"

	"kf/internal/format/kraftrec"
)

func TestParseSnapshotName(t *testing.T) {
	for _, tt := range []struct {
		name  string
		want  kraftrec.SnapshotID
		state kraftrec.SnapshotState
		err   error
	}{
		{"00000000000000001234-0000000007.checkpoint", kraftrec.SnapshotID{Offset: 1234, Epoch: 7}, kraftrec.SnapshotComplete, nil},
		{"00000000000000001234-0000000007.checkpoint.deleted", kraftrec.SnapshotID{Offset: 1234, Epoch: 7}, kraftrec.SnapshotDeleted, nil},
		{"00000000000000001234-0000000007-8937458937.checkpoint.part", kraftrec.SnapshotID{Offset: 1234, Epoch: 7}, kraftrec.SnapshotPartial, nil},
		{"00000000000000001234x0000000007y.checkpoint", kraftrec.SnapshotID{Offset: 1234, Epoch: 7}, kraftrec.SnapshotComplete, nil},
		{"bootstrap.checkpoint", kraftrec.SnapshotID{}, 0, kraftrec.ErrSnapshotName},
		{"00000000000000001234-0000000007.snapshot", kraftrec.SnapshotID{}, 0, kraftrec.ErrSnapshotName},
		{"0000000000000000123a-0000000007.checkpoint", kraftrec.SnapshotID{}, 0, kraftrec.ErrSnapshotName},
		{"00000000000000001234-000000000b.checkpoint", kraftrec.SnapshotID{}, 0, kraftrec.ErrSnapshotName},
		{"00000000000000001234-9999999999.checkpoint", kraftrec.SnapshotID{}, 0, kraftrec.ErrSnapshotName},
	} {
		got, state, err := kraftrec.ParseSnapshotName(tt.name)
		if got != tt.want || state != tt.state || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, %v, %v", tt.name, got, state, err)
		}
		if err == nil && state == kraftrec.SnapshotComplete && tt.name[20] == '-' && got.String() != tt.name {
			t.Errorf("%s: written as %s", tt.name, got)
		}
	}
}

func TestSnapshotOrder(t *testing.T) {
	want := []kraftrec.SnapshotID{{Offset: 9, Epoch: 1}, {Offset: 2, Epoch: 2}, {Offset: 3, Epoch: 2}}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b kraftrec.SnapshotID) int {
		if a.Less(b) {
			return -1
		}
		return 1
	})
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
