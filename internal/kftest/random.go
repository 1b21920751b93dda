package kftest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Random returns random numbers that are others in each run; the test's log says
// which KF_SEED repeats them.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("KF_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("KF_SEED=%q: %v", text, err)
		}
	}
	t.Logf("KF_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
