package broker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestDescribeLogDirs(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	b := startBroker(t, Options{Dirs: dirs, Topics: []NewTopic{{Name: "a", Partitions: 3}, {Name: "b", Partitions: 1}}})
	s := &stage{t: t, b: b, followers: func() {}}
	// ask returns the partitions of the answer, with sizes other than 0, by directory.
	ask := func(version int16, topics []kmsg.DescribeLogDirsRequestTopic) [2]string {
		q := kmsg.NewPtrDescribeLogDirsRequest()
		q.Topics = topics
		r := s.request(version, q).(*kmsg.DescribeLogDirsResponse)
		if r.ErrorCode != 0 || len(r.Dirs) != 2 {
			t.Fatalf("%+v", r)
		}
		var found [2]string
		for i, d := range r.Dirs {
			if d.Dir != dirs[i] || d.ErrorCode != 0 || d.IsCordoned {
				t.Errorf("%+v", d)
			}
			if told := d.TotalBytes > 0 && d.UsableBytes > 0 && d.UsableBytes <= d.TotalBytes; told != (version >= 4) {
				t.Errorf("version %d: %d bytes, %d usable", version, d.TotalBytes, d.UsableBytes)
			}
			var words []string
			for _, to := range d.Topics {
				for _, p := range to.Partitions {
					if p.OffsetLag != 0 || p.IsFuture {
						t.Errorf("%s-%d: %+v", to.Topic, p.Partition, p)
					}
					word := fmt.Sprintf("%s-%d", to.Topic, p.Partition)
					if p.Size > 0 {
						word += fmt.Sprintf(":%d", p.Size)
					}
					words = append(words, word)
				}
			}
			found[i] = strings.Join(words, " ")
		}
		return found
	}
	all := ask(5, nil)
	for i, dir := range dirs {
		var want []string
		for _, name := range []string{"a-0", "a-1", "a-2", "b-0"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				want = append(want, name)
			}
		}
		if all[i] != strings.Join(want, " ") {
			t.Errorf("%s: got %q, want %q", dir, all[i], want)
		}
	}
	if got := ask(1, nil); got != all {
		t.Errorf("version 1: got %q", got)
	}
	records := oneBatch(2, []byte("value"))
	s.request(9, s.produce(errorCase{}, "b", -1, records))
	some := []kmsg.DescribeLogDirsRequestTopic{{Topic: "b", Partitions: []int32{0, 7}}, {Topic: "c", Partitions: []int32{0}}}
	written := fmt.Sprintf("b-0:%d", len(records))
	if got := ask(5, some); got[0]+got[1] != written {
		t.Errorf("b and unknown ones: got %q, want %q", got, written)
	}
	if got := ask(2, []kmsg.DescribeLogDirsRequestTopic{}); got != [2]string{} {
		t.Errorf("none: got %q", got)
	}
	// A broker that was started again has not opened it.
	if err := b.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	b = startBroker(t, Options{Dirs: dirs})
	s = &stage{t: t, b: b, followers: func() {}}
	if got := ask(5, some); got[0]+got[1] != written {
		t.Errorf("after a start: got %q, want %q", got, written)
	}
	if d := b.describeLogDir(dirs[0], errors.New("gone"), nil); d.ErrorCode != kerr.KafkaStorageError.Code || d.TotalBytes != -1 {
		t.Errorf("an offline directory is %+v", d)
	}
	if d := b.describeLogDir(filepath.Join(dirs[0], "none"), nil, nil); d.ErrorCode != kerr.UnknownServerError.Code {
		t.Errorf("a directory that is not there is %+v", d)
	}
}
