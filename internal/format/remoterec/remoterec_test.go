package remoterec_test

import (
	"testing"

	"kf/internal/format/remoterec"
)

func TestStates(t *testing.T) {
	for state, want := range map[remoterec.SegmentState]string{
		-1: "-1", 0: "COPY_SEGMENT_STARTED", 1: "COPY_SEGMENT_FINISHED", 2: "DELETE_SEGMENT_STARTED", 3: "DELETE_SEGMENT_FINISHED", 4: "4",
	} {
		if state.String() != want || state.Known() != (state >= 0 && state < 4) {
			t.Errorf("segment state %d: got %s, known %v", int8(state), state, state.Known())
		}
	}
	for state, want := range map[remoterec.DeleteState]string{
		-1: "-1", 0: "DELETE_PARTITION_MARKED", 1: "DELETE_PARTITION_STARTED", 2: "DELETE_PARTITION_FINISHED", 3: "3",
	} {
		if state.String() != want || state.Known() != (state >= 0 && state < 3) {
			t.Errorf("delete state %d: got %s, known %v", int8(state), state, state.Known())
		}
	}
}
