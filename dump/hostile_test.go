package dump

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kf/internal/cli"
	"kf/internal/dumptext"
	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/logdir"
)

const segmentName = "00000000000000000000.log"

// dumpLog runs "kf dump-log" on the first of files in a directory that has them
// all, and returns what it printed behind the line that names the file. Paths in
// the messages are without the directory.
func dumpLog(t *testing.T, name string, files map[string][]byte, opts LogOptions) (stdout, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	for name, p := range files {
		if err := os.WriteFile(filepath.Join(dir, name), p, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	opts.Files = []string{filepath.Join(dir, name)}
	opts.Limits = Limits{MaxBatch: 64 << 20, MaxInflated: defaultMaxInflated}
	def := func(s *single, v string) {
		if s.def == "" {
			s.def = v
		}
	}
	def(&opts.maxBytes, "2147483647")
	def(&opts.maxMessageSize, "5242880")
	def(&opts.keyDecoder, stringDecoder)
	def(&opts.valueDecoder, stringDecoder)
	var out, errs bytes.Buffer
	env := &cli.Env{Stdout: &out, Stderr: &errs}
	code = env.Exit(DumpLog(t.Context(), env, opts))
	_, stdout, _ = strings.Cut(out.String(), "\n")
	return stdout, strings.ReplaceAll(errs.String(), dir+string(filepath.Separator), ""), code
}

// message returns a message of magic 0 or 1 with a sound checksum and what is
// given behind its timestamp.
func message(offset int64, magic, attributes byte, rest string) []byte {
	p := binary.BigEndian.AppendUint64(nil, uint64(offset))
	p = append(p, 0, 0, 0, 0, 0, 0, 0, 0, magic, attributes)
	if magic != 0 {
		p = binary.BigEndian.AppendUint64(p, 7)
	}
	p = append(p, rest...)
	binary.BigEndian.PutUint32(p[8:], uint32(len(p)-batch.LogSize))
	binary.BigEndian.PutUint32(p[12:], crc32.ChecksumIEEE(p[16:]))
	return p
}

func field(s string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s
}

const noField = "\xff\xff\xff\xff"

func wrap(t *testing.T, offset int64, magic byte, inner ...[]byte) []byte {
	t.Helper()
	p, err := codec.Deflate(nil, bytes.Join(inner, nil), codec.Gzip, int8(magic))
	if err != nil {
		t.Fatal(err)
	}
	return message(offset, magic, byte(codec.Gzip), noField+field(string(p)))
}

// Kafka looks at a key or value of a message of magic 0 or 1 only when it prints
// it, and at an inner message when it comes to it.
func TestMisfitMessages(t *testing.T) {
	sound, long := field("k")+field("v"), field("k")+"\x00\x00\x00\x05v"
	next := message(2, 1, 0, sound)
	const one = "| offset: 1 CreateTime: 7 keySize: 1 valueSize: "
	for _, tt := range []struct {
		name   string
		log    []byte
		opts   LogOptions
		want   string // what is printed of records, without "isValid: true crc: …"
		damage string
	}{
		{"value too long", message(1, 1, 0, long), LogOptions{PrintData: true}, one + "5", "value of 5 bytes, 1 left"},
		{"value too long, not printed", message(1, 1, 0, long), LogOptions{DeepIteration: true},
			one + "5\n| offset: 2 CreateTime: 7 keySize: 1 valueSize: 1\n", "value of 5 bytes, 1 left"},
		// The decoders of internal topics go on behind it, as seen of Kafka 4.4.0.
		{"value too long, for a group", message(1, 1, 0, long), LogOptions{SkipMetadata: true, topics: [5]bool{dumptext.ConsumerOffsets: true}},
			"| key: Error at offset 1, skipping. newLimit > capacity: (5 > 1)\n| key: Error at offset 2, skipping. Could not read version from key's buffer.\n", "value of 5 bytes, 1 left"},
		{"value too long, for metadata", message(1, 1, 0, long), LogOptions{SkipMetadata: true, topics: [5]bool{dumptext.ClusterMetadata: true}},
			"| payload: Error at 1, skipping. newLimit > capacity: (5 > 1)\n| payload: Error at 2, skipping. Could not deserialize metadata record due to unknown frame version 118(only frame version 1 is supported)\n", "value of 5 bytes, 1 left"},
		{"value too long, for remote storage", message(1, 1, 0, long), LogOptions{SkipMetadata: true, topics: [5]bool{dumptext.RemoteLogMetadata: true}},
			"| payload: Error at offset 1, skipping. newLimit > capacity: (5 > 1)\n| payload: Error at offset 2, skipping. Could not deserialize metadata record due to unknown frame version 118(only frame version 1 is supported)\n", "value of 5 bytes, 1 left"},
		{"no sizes", message(1, 1, 0, "\x00\x00\x00\x64k"), LogOptions{DeepIteration: true}, "", "record structure"},
		{"no sizes, not looked at", message(1, 1, 0, "\x00\x00\x00\x64k"), LogOptions{DeepIteration: true, SkipMetadata: true}, "\n\n", "record structure"},
		{"second inner too long", wrap(t, 1, 1, message(0, 1, 0, sound), message(1, 1, 0, long)), LogOptions{PrintData: true, SkipMetadata: true},
			"| key: k payload: v\n", "record 1, byte 36 of the records: value of 5 bytes, 1 left"},
		{"second inner compressed", wrap(t, 1, 0, message(0, 0, 0, sound), wrap(t, 1, 0, message(1, 0, 0, sound))), LogOptions{PrintData: true, SkipMetadata: true},
			"| key: k payload: v\n", "record 1, byte 28 of the records: message with codec gzip inside"},
		{"second inner of magic 3", wrap(t, 1, 1, message(0, 1, 0, sound), message(1, 3, 0, sound)), LogOptions{DeepIteration: true},
			"| offset: 0 CreateTime: 7 keySize: 1 valueSize: 1\n" + one + "1\n| offset: 2 CreateTime: 7 keySize: 1 valueSize: 1\n", ""},
		{"no inner", wrap(t, 1, 1), LogOptions{PrintData: true}, "", "holds no message"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := dumpLog(t, segmentName, map[string][]byte{segmentName: append(tt.log, next...)}, tt.opts)
			if (code == cli.ExitFound) != (tt.damage != "") || !strings.Contains(stderr, tt.damage) || tt.damage == "" && !strings.HasPrefix(stderr, "Non-consecutive") && stderr != "" {
				t.Errorf("exit %d, %s", code, stderr)
			}
			got := regexp.MustCompile(`(?m)^(offset|Log).*\n| isValid: true crc: \d+`).ReplaceAllString(stdout, "")
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Kafka gives up on the key that is missing before it comes to the value.
func TestMisfitMessageWithoutKey(t *testing.T) {
	log := message(1, 1, 0, noField+"\x00\x00\x00\x05v")
	stdout, stderr, code := dumpLog(t, segmentName, map[string][]byte{segmentName: log}, LogOptions{SkipMetadata: true, topics: [5]bool{dumptext.ConsumerOffsets: true}})
	if code != cli.ExitFailed || strings.Contains(stdout, "skipping") || !strings.Contains(stderr, "message had a missing key") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
}

func sound(t *testing.T, n int) []byte {
	t.Helper()
	var log []byte
	for i := range int64(n) {
		h := batch.Header{BaseOffset: i, Magic: 2, BaseTimestamp: i, MaxTimestamp: i, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
		var err error
		log, err = batch.Append(log, h, func(yield func(*batch.Record) bool) {
			yield(&batch.Record{Offset: i, Timestamp: i})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return log
}

// Kafka reads the offset of a message without a look at its magic.
func TestIndexedMagic(t *testing.T) {
	log := sound(t, 3)
	size := len(log) / 3
	log[size+16] = 0xff
	be := binary.BigEndian
	index := be.AppendUint64(be.AppendUint64(nil, 1<<32|uint64(size)), 2<<32|uint64(2*size))
	name := strings.TrimSuffix(segmentName, ".log") + ".index"
	stdout, stderr, code := dumpLog(t, name, map[string][]byte{segmentName: log, name: index}, LogOptions{})
	if want := fmt.Sprintf("offset: 1 position: %d\noffset: 2 position: %d\n", size, 2*size); stdout != want || stderr != "" || code != cli.ExitOK {
		t.Errorf("got %s%s, exit %d; want %s", stdout, stderr, code, want)
	}
	index[3] = 7
	stdout, stderr, code = dumpLog(t, name, map[string][]byte{segmentName: log, name: index}, LogOptions{})
	if !strings.HasPrefix(stdout, "offset: 7") || !strings.Contains(stderr, "invalid magic: -1") || code != cli.ExitFound {
		t.Errorf("with another offset: got %s%s, exit %d", stdout, stderr, code)
	}
}

func TestBareOptions(t *testing.T) {
	for _, tt := range []struct {
		values []string
		want   string
		ok     bool
	}{
		{nil, "default", true},
		{[]string{bareValue, bareValue}, "default", true},
		{[]string{bareValue, "x", bareValue}, "x", true},
		{[]string{"x", bareValue, "x"}, "", false},
	} {
		s := single{def: "default"}
		for _, v := range tt.values {
			if err := s.Set(v); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := s.value(); got != tt.want || (err == nil) != tt.ok || s.given() != (tt.values != nil) {
			t.Errorf("%q: %q, %v, given %t", tt.values, got, err, s.given())
		}
	}
	got := normalizeLogArgs([]string{"--key-decoder-class", "-", "-value-decoder-class", "-x", "--files", "--"})
	if want := []string{"--key-decoder-class=-", "--value-decoder-class", "-x", "--files=--"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Batches that inflate to more than a worker keeps for itself are opened in file
// order; two workers that hold what the other waits for would never end.
func TestManyLargeInflated(t *testing.T) {
	value := bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16)
	var log []byte
	const n = 10
	for i := range int64(n) {
		h := batch.Header{BaseOffset: i, Magic: 2, Attributes: int16(codec.Zstd), ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1}
		v := value
		if i%2 == 1 { // makes the next large one part of another chunk
			h.Attributes, v = int16(codec.None), value[:300<<10]
		}
		var err error
		log, err = batch.Append(log, h, func(yield func(*batch.Record) bool) { yield(&batch.Record{Offset: i, Value: v}) })
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		stdout, stderr, code := dumpLog(t, segmentName, map[string][]byte{segmentName: log}, LogOptions{PrintData: true})
		if code != cli.ExitOK || strings.Count(stdout, "\n| offset: ") != n {
			t.Fatalf("exit %d, %d records, %s", code, strings.Count(stdout, "\n| offset: "), stderr)
		}
	}
}

// A device may never end.
func TestDevice(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"0.log", "0.snapshot", "0.txnindex"} {
		path := filepath.Join(dir, name)
		if err := os.Symlink("/dev/zero", path); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		var errs bytes.Buffer
		env := &cli.Env{Stdout: io.Discard, Stderr: &errs}
		opts := LogOptions{Files: []string{path}, maxBytes: single{def: "2147483647"}, maxMessageSize: single{def: "1"}, keyDecoder: single{def: stringDecoder}, valueDecoder: single{def: stringDecoder}}
		if code := env.Exit(DumpLog(t.Context(), env, opts)); code != cli.ExitFailed || !strings.Contains(errs.String(), name+": ") {
			t.Errorf("dump-log %s: exit %d, %s", name, code, errs.String())
		}
	}
	for _, kind := range logdir.Kinds() {
		var errs bytes.Buffer
		env := &cli.Env{Stdout: io.Discard, Stderr: &errs}
		opts := Options{Paths: paths, Kind: kind, ToOffset: 1, Limits: Limits{MaxBatch: 1, MaxInflated: 1}}
		if code := env.Exit(Dump(t.Context(), env, opts)); code != cli.ExitFailed || strings.Count(errs.String(), "is a device") != len(paths) {
			t.Errorf("dump --kind %s: exit %d, %s", kind, code, errs.String())
		}
	}
}
