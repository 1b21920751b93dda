package metalog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/control"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/storage/disk"
)

// replaySegments replays the .log files of a directory up to an offset.
func replaySegments(t *testing.T, dir string, upTo int64) *image.Image {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no segments in %s: %v", dir, err)
	}
	b := image.NewBuilder(image.Empty())
	for _, name := range names {
		f, err := disk.OS.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		rd := &reader{path: name, f: f, size: info.Size()}
		for {
			pos := rd.pos
			h, p, err := rd.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			b.SetPosition(image.Position{Offset: h.BaseOffset, Epoch: h.PartitionLeaderEpoch, Timestamp: h.MaxTimestamp})
			err = walk(name, pos, h, p, visitor{
				control: func(control.Record) error { return nil },
				data: func(offset int64, r kraftrec.Record) error {
					if offset >= upTo {
						return nil
					}
					return b.Replay(r.Message)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	im, _ := b.Publish()
	return im
}

// encoded returns the values of the records of a snapshot.
func encoded(t *testing.T, im *image.Image) [][]byte {
	t.Helper()
	var all [][]byte
	for r := range im.Records() {
		p, err := encode(r.Message, r.Version)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// encode encodes a record with its features sorted: Kafka's are in the order of
// a hash map.
func encode(message any, version int16) ([]byte, error) {
	byName := func(a, b kraftrec.BrokerFeature) int { return strings.Compare(a.Name, b.Name) }
	switch r := message.(type) {
	case *kraftrec.RegisterBrokerRecord:
		c := *r
		c.Features = slices.SortedFunc(slices.Values(r.Features), byName)
		message = &c
	case *kraftrec.RegisterControllerRecord:
		c := *r
		c.Features = slices.SortedFunc(slices.Values(r.Features), byName)
		message = &c
	}
	return kraftrec.Append(nil, message, version)
}

// A snapshot that Kafka wrote has the records that the image of the log below it
// has, byte for byte; where Kafka's order is that of a hash map, in another order.
func TestSnapshotsOfKafka(t *testing.T) {
	const dir = "testdata/kafka-4.4"
	names, err := filepath.Glob(filepath.Join(dir, "*.checkpoint"))
	if err != nil || len(names) < 4 {
		t.Fatalf("%d snapshots, %v", len(names), err)
	}
	for _, name := range names {
		id, _, err := kraftrec.ParseSnapshotName(filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		if id.Offset == 0 {
			continue
		}
		var want [][]byte
		b := image.NewBuilder(image.Empty())
		err = readSnapshot(disk.OS, name, visitor{
			control: func(control.Record) error { return nil },
			data: func(_ int64, r kraftrec.Record) error {
				p, err := encode(r.Message, r.Version)
				if err != nil {
					return err
				}
				want = append(want, p)
				return b.Replay(r.Message)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := encoded(t, replaySegments(t, dir, id.Offset))
		restored, _ := b.Publish()
		if again := encoded(t, restored); !slices.EqualFunc(again, got, bytes.Equal) {
			t.Errorf("%s: its image gives other records than that of the log", name)
		}
		if kafka, ours := kinds(want), kinds(got); !slices.Equal(kafka, ours) {
			t.Errorf("%s: records are of the types %v in order, Kafka's of %v", name, ours, kafka)
		}
		slices.SortFunc(want, bytes.Compare)
		slices.SortFunc(got, bytes.Compare)
		if !slices.EqualFunc(want, got, bytes.Equal) {
			t.Errorf("%s: %d records of the image differ from %d of Kafka's", name, len(got), len(want))
			report(t, want, got)
		}
	}
}

// kinds returns the record types in the order in which they begin. Topics and
// partitions alternate.
func kinds(records [][]byte) []byte {
	var all []byte
	for _, p := range records {
		kind := p[1]
		if kind == 3 {
			kind = 2
		}
		if !slices.Contains(all, kind) {
			all = append(all, kind)
		}
	}
	return all
}

func report(t *testing.T, want, got [][]byte) {
	t.Helper()
	contains := func(list [][]byte, p []byte) bool {
		return slices.ContainsFunc(list, func(other []byte) bool { return bytes.Equal(p, other) })
	}
	for _, p := range want {
		if !contains(got, p) {
			r, err := kraftrec.Decode(p)
			t.Logf("only Kafka: %s v%d %+v %v", kraftrec.Name(r.Type), r.Version, r.Message, err)
		}
	}
	for _, p := range got {
		if !contains(want, p) {
			r, err := kraftrec.Decode(p)
			t.Logf("only kf:    %s v%d %+v %v", kraftrec.Name(r.Type), r.Version, r.Message, err)
		}
	}
}

// A memFile is a file in memory that is only read.
type memFile struct{ *bytes.Reader }

func (memFile) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }
func (memFile) Close() error                       { return nil }
func (memFile) Stat() (os.FileInfo, error)         { return nil, errors.ErrUnsupported }
func (memFile) Truncate(int64) error               { return errors.ErrUnsupported }
func (memFile) Sync() error                        { return nil }
func (memFile) OS() *os.File                       { return nil }

// Whatever a segment holds, reading it ends with a place or at its end.
func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"testdata/*/*.log", "testdata/*/*.checkpoint", "testdata/*.checkpoint"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			p, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(p[:min(len(p), 4000)])
		}
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		rd := &reader{path: "log", f: memFile{bytes.NewReader(p)}, size: int64(len(p))}
		b := image.NewBuilder(image.Empty())
		var q quorum
		for {
			pos := rd.pos
			h, batch, err := rd.next()
			if err == io.EOF {
				break
			}
			if err != nil {
				e, ok := errors.AsType[*Error](err)
				if !ok || e.Pos != pos {
					t.Fatalf("byte %d: %v", pos, err)
				}
				at, err := rd.sound(pos+1, 0)
				if err != nil || at >= 0 && at <= pos {
					t.Fatalf("sound batch at %d behind %d, %v", at, pos, err)
				}
				break
			}
			err = walk("log", pos, h, batch, visitor{
				control: func(c control.Record) error { return q.apply(c, true) },
				data:    func(_ int64, r kraftrec.Record) error { return b.Replay(r.Message) },
			})
			if err != nil {
				if _, ok := errors.AsType[*Error](err); !ok {
					t.Fatal(err)
				}
				break
			}
		}
	})
}
