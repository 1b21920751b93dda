package kftest_test

import (
	"testing"

	"kf/internal/kftest"
)

func TestVectors(t *testing.T) {
	total := 0
	for _, format := range []string{
		"varint", "varlong", "record-batch", "legacy-message", "control-record",
		"metadata-record", "coordinator-record", "remote-log-metadata", "producer-snapshot",
		"offset-index", "time-index", "txn-index", "offset-checkpoint", "leader-epoch-checkpoint",
		"meta-properties", "partition-metadata", "quorum-state", "clean-shutdown",
	} {
		for _, v := range kftest.Vectors(t, format) {
			if v.Name == "" || len(v.Decoded) == 0 {
				t.Errorf("%s: incomplete vector: %+v", format, v)
			}
			total++
		}
	}
	if total != 199 {
		t.Errorf("found %d vectors, want all 199", total)
	}
}
