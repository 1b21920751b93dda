//go:build interop

package interop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// TestJavaGroups lets Kafka's Java programs use the groups of "kf serve". KF_SERVER=Kafka
// lets Kafka serve them, which shows that what the tests ask for is sound.
func TestJavaGroups(t *testing.T) {
	s := newStage(t)
	server := s.kf
	if os.Getenv("KF_SERVER") == s.kafka.name {
		server = s.kafka
	}
	t.Run("java", func(t *testing.T) { s.groups(t, server) })
	t.Run("admin", func(t *testing.T) { s.groupAdmin(t, server) })
	t.Run("streams", func(t *testing.T) { s.streams(t, server) })
	t.Run("connect", func(t *testing.T) { s.connect(t, server) })
	t.Run("swap", func(t *testing.T) { s.groupSwap(t, server) })
}

// brisk are broker configs with which groups do not wait for long.
var brisk = []string{
	"group.initial.rebalance.delay.ms=0",
	"group.consumer.min.session.timeout.ms=1000",
	"group.consumer.min.heartbeat.interval.ms=100",
	"group.consumer.heartbeat.interval.ms=300",
	"offsets.topic.num.partitions=5",
}

// groups lets Java consumers of all protocols and assignors go through all that
// happens to groups.
func (s *stage) groups(t *testing.T, server party) {
	b := server.start(t, []string{s.dir(t)}, brisk...)
	log := filepath.Join(s.root, "..", "groups.log")
	c := s.judge.tools.k.java(log, "Group", b.bootstrap)
	var text logText
	c.Stderr = &text
	out, err := c.Output()
	if err != nil {
		t.Fatalf("Group: %v\n%s\n%s", err, &text, b.log())
	}
	count := reportCounts(t, string(out))
	if t.Failed() {
		t.Logf("the log of %s:\n%s", b.name, b.log())
	}
	if count != 18 {
		t.Errorf("%d scenarios, not 18:\n%s", count, out)
	}
	b.stop(t)
}

// reportCounts makes a subtest of each line, the name of a scenario and its outcome,
// and returns their number.
func reportCounts(t *testing.T, out string) (count int) {
	t.Helper()
	for line := range strings.Lines(out) {
		name, outcome, found := strings.Cut(strings.TrimSpace(line), "\t")
		if !found {
			t.Errorf("not an outcome: %s", line)
			continue
		}
		count++
		t.Run(name, func(t *testing.T) {
			if !strings.HasPrefix(outcome, "ok ") {
				t.Fatal(strings.ReplaceAll(outcome, " / ", "\n"))
			}
			t.Log(outcome)
		})
	}
	return count
}

// A turn is the time that a party serves a directory.
type turn struct {
	party party
	kill  bool // at its end
}

// groupSwap lets kf and Kafka serve the groups of a directory in turns, on one
// address, while their members live on. Each finds the groups as the other left
// them, to the member and epoch, and no member has to join again.
func (s *stage) groupSwap(t *testing.T, server party) {
	dir, address := s.dir(t), freePort(t)
	configs := slices.Concat(calm, brisk, []string{"offsets.retention.check.interval.ms=500"})
	want := ""
	turns := []turn{{server, true}, {server, false}, {s.kafka, false}, {server, true}, {s.kafka, true}, {server, false}}
	for round, turn := range turns {
		b := turn.party.startAt(t, address, []string{dir}, configs...)
		what := fmt.Sprintf("turn %d, %s", round, turn.party.name)
		if round == 0 {
			s.java(t, "GroupKeep", "", "begin", b.bootstrap)
		} else {
			got := ""
			for end := time.Now().Add(startLimit); got != want && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				got = s.java(t, "GroupView", "", b.bootstrap)
			}
			same(t, what+": the groups are others", got, want)
		}
		commitExpired(t, b)
		s.java(t, "GroupKeep", "", "go", fmt.Sprint(round))
		if round == len(turns)-1 {
			reportCounts(t, s.java(t, "GroupKeep", "", "end"))
		}
		await(t, "an offset expires", func() bool {
			want = s.java(t, "GroupView", "", b.bootstrap)
			return !strings.Contains(want, "expired:")
		})
		if turn.kill {
			b.kill()
		} else {
			b.stop(t)
		}
		if t.Failed() {
			t.Fatalf("%s: its log:\n%s\nfiles: %s", what, b.log(), keep(t, dir))
		}
	}
	t.Logf("%d lines of groups after %d turns", strings.Count(want, "\n"), len(turns))
	s.checkFiles(t, "groups", dir, true)
	s.checkOffsets(t, dir)
}

// commitExpired commits an offset that is to be kept for one millisecond, and with
// it makes a group that is soon gone again.
func commitExpired(t *testing.T, b *serving) {
	t.Helper()
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(kmsg.OffsetCommit.Int16(), 4) // the last one that says how long
	cl := newClient(t, kgo.SeedBrokers(b.bootstrap), kgo.MaxVersions(versions))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request := kmsg.NewPtrOffsetCommitRequest()
	request.Group, request.Generation, request.RetentionTimeMillis = "expired", -1, 1
	partition := kmsg.NewOffsetCommitRequestTopicPartition()
	partition.Offset = 3
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.Partitions = "left-cooperative-topic", append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	answer, err := request.RequestWith(ctx, cl)
	if err != nil {
		t.Fatalf("OffsetCommit: %v\n%s", err, b.log())
	}
	if err := kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode); err != nil {
		t.Fatalf("OffsetCommit: %v\n%s", err, b.log())
	}
}

// checkOffsets lets both dump-log programs decode the records of groups.
func (s *stage) checkOffsets(t *testing.T, dir string) {
	t.Helper()
	relative, err := filepath.Rel(s.root, dir)
	if err != nil {
		t.Fatal(err)
	}
	decoded := 0
	for _, f := range files(t, relative) {
		if !groupSegment.MatchString(f.path) {
			continue
		}
		v := s.judge.compare(t, "--offsets-decoder", "--files", f.path)
		if v.differ != "" || v.gaveUp || v.kafka.exit != 0 || v.kafka.stderr != "" {
			s.judge.fail(t, v, "the records of groups: "+v.differ)
		}
		decoded += strings.Count(v.kafka.stdout, "payload: ")
	}
	if decoded == 0 {
		t.Errorf("no records of groups in %s", dir)
	}
	t.Logf("%d records of groups", decoded)
}

var groupSegment = regexp.MustCompile(`__consumer_offsets-\d+.\d+\.log$`)
