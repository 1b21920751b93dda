package txnrec_test

import (
	"testing"

	"kf/internal/format/txnrec"
)

func TestStatus(t *testing.T) {
	for status, want := range map[txnrec.Status]string{
		-1: "-1", txnrec.Empty: "Empty", txnrec.Ongoing: "Ongoing", txnrec.PrepareCommit: "PrepareCommit", txnrec.PrepareAbort: "PrepareAbort",
		txnrec.CompleteCommit: "CompleteCommit", txnrec.CompleteAbort: "CompleteAbort", txnrec.Dead: "Dead", 7: "PrepareEpochFence", 8: "8",
	} {
		if status.String() != want {
			t.Errorf("%d: got %s, want %s", int8(status), status, want)
		}
	}
}
