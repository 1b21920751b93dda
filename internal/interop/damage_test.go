//go:build interop

package interop

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// compareDamaged compares the programs on random damages, each in a copy of the
// files of its segment, and returns how many, and how often kf refused what
// Kafka inflated.
func compareDamaged(t *testing.T, j *judge, all []file, r *rand.Rand) (count, refused int) {
	count = 2000
	if s := os.Getenv("KF_DAMAGES"); s != "" {
		var err error
		if count, err = strconv.Atoi(s); err != nil {
			t.Fatalf("KF_DAMAGES: %v", err)
		}
	}
	kinds := map[string][]file{}
	for _, f := range all {
		if f.size > 0 && f.size < 2<<20 {
			kinds[filepath.Ext(f.path)] = append(kinds[filepath.Ext(f.path)], f)
		}
	}
	for n := range count {
		// Half of the damages are in segments.
		kind := []string{".log", ".log", ".log", ".log", ".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint"}[r.IntN(10)]
		victims := kinds[kind]
		if len(victims) == 0 {
			t.Fatalf("no files of the kind %s", kind)
		}
		f := victims[r.IntN(len(victims))]
		dir := filepath.Join("damaged", strconv.Itoa(n), filepath.Base(filepath.Dir(f.path)))
		what := damage(t, f.path, dir, r)
		path := filepath.Join(dir, filepath.Base(f.path))
		compare := func(path string, options ...string) {
			v := j.compare(t, append(slices.Clone(options), "--files", path)...)
			switch {
			case v.differ == "":
			case v.kf.exit == 3 && strings.Contains(v.kf.stderr, "compressed data is damaged"):
				refused++
			default:
				j.fail(t, v, fmt.Sprintf("damage %d of %s: %s\n%s", n, f.path, what, v.differ))
			}
		}
		choices := options(f, r)
		for _, i := range r.Perm(len(choices))[:2] {
			compare(path, choices[i]...)
		}
		for _, ext := range []string{".index", ".timeindex"} { // see what the log does to its indexes
			sibling := strings.TrimSuffix(path, filepath.Ext(path)) + ext
			if _, err := os.Stat(sibling); err == nil && kind == ".log" {
				compare(sibling)
			}
		}
		if err := os.RemoveAll(filepath.Dir(dir)); err != nil {
			t.Fatal(err)
		}
	}
	// The decompressors of Go and of Java do not draw quite the same line.
	if refused > max(3, count/100) {
		t.Errorf("kf refuses compressed data in %d runs in which Kafka takes it", refused)
	}
	return count, refused
}

// damage copies the files of the segment of path into dir, damages the copy of
// path and says how.
func damage(t *testing.T, path, dir string, r *rand.Rand) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	number, _, _ := strings.Cut(filepath.Base(path), ".")
	siblings, err := filepath.Glob(filepath.Join(filepath.Dir(path), number+".*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range siblings {
		if err := copyFile(s, filepath.Join(dir, filepath.Base(s))); err != nil {
			t.Fatal(err)
		}
	}
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	live := len(p) // without zeros at the end
	for live > 1 && p[live-1] == 0 {
		live--
	}
	pos := r.IntN(live)
	run := p[pos:min(pos+1+r.IntN(64), len(p))]
	hostile := []uint32{0x7fffffff, 0xffffffff, 0x80000000, 0, 1, 13, 14, 48, 49, 1 << 20, 1 << 30, uint32(len(p)), r.Uint32(), r.Uint32N(1000)}
	number32 := hostile[r.IntN(len(hostile))]
	var what string
	switch kind := r.IntN(9); {
	case kind == 0:
		what = fmt.Sprintf("cut at %d", pos)
		p = p[:pos]
	case kind == 1:
		what = fmt.Sprintf("%d zeros at %d", len(run), pos)
		clear(run)
	case kind == 2:
		for i := range run {
			run[i] = byte(r.Uint32())
		}
		what = fmt.Sprintf("%x at %d", run, pos)
	case kind == 3:
		tail := make([]byte, 1+r.IntN(100))
		if r.IntN(2) == 0 {
			for i := range tail {
				tail[i] = byte(r.Uint32())
			}
		}
		what = fmt.Sprintf("%x at the end", tail)
		p = append(p, tail...)
	case kind == 4:
		end := min(len(p), pos+1+r.IntN(200))
		what = fmt.Sprintf("bytes %d to %d left out", pos, end)
		p = slices.Delete(p, pos, end)
	case kind == 5 && len(p) >= 4:
		pos = min(pos, len(p)-4)
		what = fmt.Sprintf("%#x at %d", number32, pos)
		binary.BigEndian.PutUint32(p[pos:], number32)
	case kind <= 7 && filepath.Ext(path) == ".log":
		// A field of a header.
		pos = boundary(p, pos)
		fields := []struct{ at, size int }{{0, 8}, {8, 4}, {12, 4}, {16, 1}, {17, 4}, {21, 2}, {23, 4}, {27, 8}, {35, 8}, {43, 8}, {51, 2}, {53, 4}, {57, 4}, {61, 1}, {62, 1}, {65, 1}}
		field := fields[r.IntN(len(fields))]
		if at := pos + field.at; at+field.size <= len(p) {
			if field.size >= 4 {
				binary.BigEndian.PutUint32(p[at+field.size-4:], number32)
				what = fmt.Sprintf("%#x in the field at %d", number32, at)
			} else {
				p[at+field.size-1] = byte(r.Uint32() >> r.IntN(8))
				what = fmt.Sprintf("%#x at %d", p[at+field.size-1], at+field.size-1)
			}
			break
		}
		fallthrough
	default:
		p[pos] ^= 1 << r.IntN(8)
		what = fmt.Sprintf("a bit of byte %d", pos)
	}
	if err := writeSparse(filepath.Join(dir, filepath.Base(path)), p); err != nil {
		t.Fatal(err)
	}
	return what
}

// boundary returns where the batch begins that has byte pos.
func boundary(p []byte, pos int) int {
	start := 0
	for start+12 <= len(p) {
		size := 12 + int(binary.BigEndian.Uint32(p[start+8:]))
		if start+size > pos {
			break
		}
		start += size
	}
	return start
}
