//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

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
		c := exec.Command(kf, append(args, path)...)
		err := c.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 && exit.ExitCode() != 1 {
			t.Fatalf("%q: %v, want damage", args, err)
		}
		peak := c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss // KiB
		t.Logf("%q: peak %d KiB", args, peak)
		if peak > 100_000 {
			t.Errorf("%q: peak memory %d KiB", args, peak)
		}
	}
}
