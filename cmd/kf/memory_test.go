//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kf/internal/format/batch"
)

// A file of 10 GiB, most of it a hole, whose length fields claim batches of 60 MiB
// and of 2 GiB, is read in less than 100 MB.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	kf := filepath.Join(dir, "kf")
	build := exec.Command("go", "build", "-o", kf, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	path := filepath.Join(dir, "00000000000000000000.log")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at, offset := int64(0), int64(0)
	put := func(p []byte, size int64) {
		if _, err := f.WriteAt(p, at); err != nil {
			t.Fatal(err)
		}
		at += size
		offset++
	}
	for range 1000 { // sound ones
		h := batch.Header{BaseOffset: offset, Magic: 2, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
		p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
			yield(&batch.Record{Offset: offset, Value: make([]byte, 1000)})
		})
		if err != nil {
			t.Fatal(err)
		}
		put(p, int64(len(p)))
	}
	for _, size := range []int64{60 << 20, 60 << 20, 60 << 20, 60 << 20, 1<<31 - 1} {
		p := binary.BigEndian.AppendUint64(nil, uint64(offset))
		p = binary.BigEndian.AppendUint32(p, uint32(size-batch.LogSize))
		put(append(p, 0, 0, 0, 0, 2), size)
	}
	if err := f.Truncate(10 << 30); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"dump-log"}, {"dump-log", "--print-data-log"}, {"dump", "-o", "jsonl"}} {
		peak, err := peakMemory(exec.Command(kf, append(args, path)...))
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 && exit.ExitCode() != 1 {
			t.Fatalf("%q: %v, want damage", args, err)
		}
		t.Logf("%q: peak %d KiB", args, peak)
		if peak == 0 || peak > 100_000 {
			t.Errorf("%q: peak memory %d KiB", args, peak)
		}
	}
}

// peakMemory runs c and returns the most memory it had, in KiB, as last seen while
// it ran. What wait4 tells counts this process too, which c was for a moment.
func peakMemory(c *exec.Cmd) (kib int, err error) {
	if err := c.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	status := fmt.Sprintf("/proc/%d/status", c.Process.Pid)
	for {
		select {
		case err := <-done:
			return kib, err
		case <-time.After(5 * time.Millisecond):
		}
		p, err := os.ReadFile(status)
		if err != nil {
			continue // it is ending
		}
		name, _, _ := strings.Cut(string(p), "\n")
		for line := range strings.Lines(string(p)) {
			var n int
			if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &n); err == nil && name == "Name:\tkf" {
				kib = max(kib, n)
			}
		}
	}
}
