package entryfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"kf/internal/format/entryfile"
)

// read tells what Read yields from r.
func read(r io.Reader, size int) string {
	var b strings.Builder
	for raw, err := range entryfile.Read(r, size) {
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
			continue
		}
		fmt.Fprintf(&b, "%d %x\n", raw.At, raw.P)
	}
	return b.String()
}

func TestReadAtEveryCut(t *testing.T) {
	p := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9}
	for n := range len(p) + 1 {
		want := ""
		for at := 0; at+3 <= n; at += 3 {
			want += fmt.Sprintf("%d %x\n", at, p[at:at+3])
		}
		if left := n % 3; left > 0 {
			want += fmt.Sprintf("byte %d: size is no multiple of the entry size: %d bytes left, an entry has 3\n", n-left, left)
		}
		if got := read(bytes.NewReader(p[:n]), 3); got != want {
			t.Errorf("cut at %d: got\n%swant\n%s", n, got, want)
		}
		if got := read(iotest.OneByteReader(bytes.NewReader(p[:n])), 3); got != want {
			t.Errorf("cut at %d, byte by byte: got\n%swant\n%s", n, got, want)
		}
	}
}

func TestReadBeyondTheBuffer(t *testing.T) {
	p := bytes.Repeat([]byte{7, 8, 9}, 10_000)
	entries := int64(0)
	for raw, err := range entryfile.Read(bytes.NewReader(append(p, 1)), 3) {
		if err != nil {
			var at *entryfile.Error
			if !errors.Is(err, entryfile.ErrRemainder) || !errors.As(err, &at) || at.At != 30_000 {
				t.Errorf("got %v, want ErrRemainder at byte 30000", err)
			}
			continue
		}
		if raw.At != entries*3 || !bytes.Equal(raw.P, p[:3]) {
			t.Fatalf("entry %d: got %d %x", entries, raw.At, raw.P)
		}
		entries++
	}
	if entries != 10_000 {
		t.Errorf("got %d entries, want 10000", entries)
	}
}

func TestReadFails(t *testing.T) {
	broken := errors.New("broken disk")
	r := io.MultiReader(bytes.NewReader([]byte{1, 2, 3, 4}), iotest.ErrReader(broken))
	var last error
	entries := 0
	for _, err := range entryfile.Read(r, 2) {
		if last = err; err == nil {
			entries++
		}
	}
	if entries != 2 || !errors.Is(last, broken) {
		t.Errorf("got %d entries, then %v; want 2, then %v", entries, last, broken)
	}
}

func TestScan(t *testing.T) {
	odd := errors.New("odd")
	for _, tt := range []struct{ name, bytes, want string }{
		{"nothing", "", ""},
		{"entries", "\x01\x02\x03\x04", "0102@0 0304@2"},
		{"a single zero entry", "\x00\x00", "0000@0"},
		{"a zero entry in front", "\x00\x00\x00\x01", "0000@0 0001@2"},
		{"zeros in front", "\x00\x00\x00\x00\x00\x01", "hole@0:4 0001@4"},
		{"only zeros", "\x00\x00\x00\x00", "pre@0:4"},
		{"zeros behind", "\x01\x01\x00\x00\x00\x00", "0101@0 pre@2:4"},
		{"zeros behind, odd size", "\x01\x01\x00\x00\x00", "0101@0 pre@2:2 rest@4"},
		{"zeros between", "\x01\x01\x00\x00\x02\x02", "0101@0 hole@2:2 0202@4"},
		{"finding", "\x09\x01\x02\x02", "0901!@0 0202@2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			decode := func(raw entryfile.Raw) (string, error) { return fmt.Sprintf("%x@%d", raw.P, raw.At), nil }
			check := func(e string, _ *string) error {
				if e[1] == '9' {
					return odd
				}
				return nil
			}
			for e, err := range entryfile.Scan(strings.NewReader(tt.bytes), 2, decode, check) {
				var at *entryfile.Error
				var n int
				switch {
				case err == nil:
				case !errors.As(err, &at):
					t.Fatalf("%v is no *Error", err)
				case errors.Is(err, odd):
					e = strings.Replace(e, "@", "!@", 1)
				case errors.Is(err, entryfile.ErrPreallocated):
					fmt.Sscanf(at.Err.Error(), "preallocated: %d bytes of zeros", &n)
					e = fmt.Sprintf("pre@%d:%d", at.At, n)
				case errors.Is(err, entryfile.ErrHole):
					fmt.Sscanf(at.Err.Error(), "zeros between entries: %d bytes of zeros", &n)
					e = fmt.Sprintf("hole@%d:%d", at.At, n)
				default:
					e = fmt.Sprintf("rest@%d", at.At)
				}
				got = append(got, e)
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			for stop := range len(got) { // a consumer may stop anywhere
				n := 0
				for range entryfile.Scan(strings.NewReader(tt.bytes), 2, decode, check) {
					if n++; n > stop {
						break
					}
				}
			}
		})
	}
}
