//go:build interop

package interop

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// logDirs lets kf, then Kafka, describe the same log directories.
func (s *stage) logDirs(t *testing.T) {
	dirs := []string{filepath.Join(s.dir(t), "a"), filepath.Join(s.dir(t), "b")}
	kf := s.kf.start(t, dirs, calm...)
	write(t, kf, 0, 50) // to "kept"
	written := describedDirs(t, kf)
	kf.stop(t)
	kf = s.kf.start(t, dirs, calm...)
	same(t, "kf started again", describedDirs(t, kf), written)
	kf.stop(t)
	kafka := s.kafka.start(t, dirs, calm...)
	defer kafka.kill()
	same(t, "kf", written, describedDirs(t, kafka))
	if !strings.Contains(written, "kept-0 ") {
		t.Error(written)
	}
}

// describedDirs returns what a broker says of its log directories in each version, and
// whichever partitions it is asked for.
func describedDirs(t *testing.T, b *serving) string {
	t.Helper()
	var text strings.Builder
	for version := int16(1); version <= 5; version++ {
		versions := kversion.Stable()
		versions.SetMaxKeyVersion(35, version)
		cl := newClient(t, kgo.SeedBrokers(b.bootstrap), kgo.MaxVersions(versions))
		for i, topics := range [][]kmsg.DescribeLogDirsRequestTopic{
			nil, {}, {{Topic: "kept", Partitions: []int32{0, 9}}, {Topic: "nosuch", Partitions: []int32{0}}},
		} {
			q := kmsg.NewPtrDescribeLogDirsRequest()
			q.Topics = topics
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			r, err := cl.Broker(1).Request(ctx, q)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			answer := r.(*kmsg.DescribeLogDirsResponse)
			var lines []string
			for _, d := range answer.Dirs {
				lines = append(lines, fmt.Sprintf("%s: error %d, %d bytes, usable %v, cordoned %v", d.Dir, d.ErrorCode, d.TotalBytes, d.UsableBytes > 0, d.IsCordoned))
				for _, to := range d.Topics {
					for _, p := range to.Partitions {
						lines = append(lines, fmt.Sprintf("%s: %s-%d %d bytes, lag %d, future %v", d.Dir, to.Topic, p.Partition, p.Size, p.OffsetLag, p.IsFuture))
					}
				}
			}
			slices.Sort(lines)
			fmt.Fprintf(&text, "version %d, question %d: error %d\n%s\n", answer.Version, i, answer.ErrorCode, strings.Join(lines, "\n"))
		}
		cl.Close()
	}
	return text.String()
}
