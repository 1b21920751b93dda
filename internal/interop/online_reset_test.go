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

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The topics of onlineReset; Kafka quotes the longer one in CSV.
const (
	resetTopic = "reset"
	resetLong  = "reset.invoices.of-the-last-quarter"
)

// onlineReset compares "kf groups reset" with Kafka's tools: what both would do, as
// CSV, and what is committed after both have done it.
func (c *cluster) onlineReset(t *testing.T) {
	adm := c.makeResets(t)
	t.Run("scenarios", func(t *testing.T) { c.sameResets(t, adm) })
	t.Run("files", func(t *testing.T) { c.sameResetFiles(t, adm) })
	t.Run("types", func(t *testing.T) { c.resetTypes(t, adm) })
	t.Run("peek", func(t *testing.T) { c.peeks(t, adm) })
}

// makeResets makes two topics with three partitions: one with records of two times,
// the first of which are deleted, one with records of the earlier time only, and one
// without records.
func (c *cluster) makeResets(t *testing.T) *kadm.Client {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cl := newClient(t, kgo.SeedBrokers(strings.Split(c.bootstrap, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	adm := kadm.NewClient(cl)
	forever := map[string]*string{"retention.ms": kadm.StringPtr("-1")} // the records are old
	created, err := adm.CreateTopics(ctx, 3, 3, forever, resetTopic, resetLong)
	if err == nil {
		err = created.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	early, late := time.UnixMilli(1786010400000), time.UnixMilli(1786017600000) // 2026-08-06, 10 and 12 in UTC
	var records []*kgo.Record
	for _, topic := range []string{resetTopic, resetLong} {
		for i := range 20 {
			at := early
			if i >= 12 {
				at = late
			}
			records = append(records,
				&kgo.Record{Topic: topic, Partition: 0, Timestamp: at, Value: []byte("x")},
				&kgo.Record{Topic: topic, Partition: 1, Timestamp: early, Value: []byte("x")})
		}
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	deleted, err := adm.DeleteRecords(ctx, kadm.Offsets{resetTopic: {0: {Topic: resetTopic, Partition: 0, At: 3}}})
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	return adm
}

// commitResets makes what a group has committed, in both topics, the same again.
func commitResets(t *testing.T, adm *kadm.Client, groups ...string) {
	t.Helper()
	for _, g := range groups {
		offsets := make(kadm.Offsets)
		offsets.AddOffset(resetTopic, 0, 9, -1)
		offsets.AddOffset(resetTopic, 1, 15, -1)
		offsets.AddOffset(resetLong, 0, 2, -1)
		if err := adm.CommitAllOffsets(t.Context(), g, offsets); err != nil {
			t.Fatal(err)
		}
		none := make(kadm.TopicsSet)
		none.Add(resetTopic, 2)
		none.Add(resetLong, 1, 2)
		if _, err := adm.DeleteOffsets(t.Context(), g, none); err != nil {
			t.Fatal(err)
		}
	}
}

const groupCommand = "consumer.group.ConsumerGroupCommand"

// emptyWarning is what Kafka prints among its rows where no record is that new.
var emptyWarning = regexp.MustCompile(`\nWarn: Partition \d+ from topic \S+ is empty\. Falling back to latest known offset\.\n`)

// csvLines returns the lines of an export, whose order in Kafka is that of a hash
// table, sorted. The empty line at the end is one.
func csvLines(out string) []string {
	lines := strings.Split(emptyWarning.ReplaceAllString(out, ""), "\n")
	slices.Sort(lines)
	return lines
}

func (c *cluster) kafkaReset(t *testing.T, args ...string) ran {
	t.Helper()
	return c.kafka(t, groupCommand, append([]string{"--reset-offsets"}, args...)...)
}

// described returns what Kafka says that a group has committed, without the group.
func (c *cluster) described(t *testing.T, group string) string {
	t.Helper()
	out := c.kafka(t, groupCommand, "--describe", "--verbose", "--group", group).stdout
	var rows []string
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, group); ok {
			rows = append(rows, strings.Join(strings.Fields(rest), " "))
		}
	}
	return strings.Join(rows, "\n")
}

func (c *cluster) sameResets(t *testing.T, adm *kadm.Client) {
	for _, args := range [][]string{
		{"--topic", resetTopic, "--to-earliest"},
		{"--topic", resetTopic, "--topic", resetLong, "--to-latest"},
		{"--all-topics", "--to-earliest"},
		{"--topic", resetTopic, "--to-current"},
		{"--all-topics", "--to-current"},
		{"--topic", resetTopic + ":0,1", "--to-offset", "5"},
		{"--topic", resetTopic, "--to-offset", "-1"},
		{"--topic", resetTopic, "--to-offset", "1000"},
		{"--all-topics", "--shift-by", "-2"},
		{"--all-topics", "--shift-by", "3"},
		{"--all-topics", "--shift-by", "-1000"},
		{"--all-topics", "--shift-by", "1000"},
		{"--topic", resetTopic, "--to-datetime", "2026-08-06T10:00:00.000"},
		{"--topic", resetTopic, "--to-datetime", "2026-08-06T10:00:00.001"},
		{"--topic", resetTopic, "--to-datetime", "2026-08-06T13:00:00.000+02:00"},
		{"--topic", resetTopic, "--to-datetime", "2030-01-01T00:00:00.000Z"},
		{"--topic", resetTopic, "--by-duration", "PT1H"},
		{"--topic", resetTopic, "--by-duration", "P20000D"},
	} {
		commitResets(t, adm, "reset-kf", "reset-kafka")
		want := c.kafkaReset(t, append([]string{"--group", "reset-kf", "--export", "--dry-run"}, args...)...)
		got := c.kf(append([]string{"groups", "reset", "reset-kf", "--export", "--execute"}, args...)...)
		if got.exit != 0 || want.exit != 0 || !strings.Contains(want.stdout, ",") || !slices.Equal(csvLines(got.stdout), csvLines(want.stdout)) {
			t.Errorf("%q: kf: exit %d\n%s%sKafka: exit %d\n%s%s", args, got.exit, got.stdout, got.stderr, want.exit, want.stdout, want.stderr)
		}
		if warned, said := strings.Contains(want.stdout, "Warn:"), strings.Contains(got.stderr, "no record"); warned != said {
			t.Errorf("%q: kf:\n%sKafka:\n%s", args, got.stderr, want.stdout)
		}
		c.kafkaReset(t, append([]string{"--group", "reset-kafka", "--execute"}, args...)...)
		if got, want := c.described(t, "reset-kf"), c.described(t, "reset-kafka"); got != want || got == "" {
			t.Errorf("%q: kf has set\n%s\nKafka has set\n%s", args, got, want)
		}
	}
	// What Kafka's tool does not do at all for one partition, kf does for the others.
	commitResets(t, adm, "reset-kf")
	for _, args := range [][]string{
		{"--topic", resetTopic, "--shift-by", "1"},
		{"--topic", resetTopic + ":0,9", "--to-latest"},
		{"--topic", resetTopic + ":0", "--topic", "nowhere", "--to-latest"},
	} {
		want := c.kafkaReset(t, append([]string{"--group", "reset-kf", "--export", "--dry-run"}, args...)...)
		got := c.kf(append([]string{"groups", "reset", "reset-kf", "--export"}, args...)...)
		if got.exit != 1 || !strings.Contains(got.stdout, resetTopic+",0,") || strings.Contains(want.stdout, ",0,") {
			t.Errorf("%q: kf: exit %d\n%s%sKafka: exit %d\n%s", args, got.exit, got.stdout, got.stderr, want.exit, want.stdout)
		}
	}
}

// Either program takes the files of the other, for one group and for several, whatever
// their names are made of.
func (c *cluster) sameResetFiles(t *testing.T, adm *kadm.Client) {
	dir := t.TempDir()
	names := []string{"reset a,b", `reset "größe" \ 1`, "reset-plain"}
	commitResets(t, adm, names...)
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, groups := range [][]string{names[:1], names} {
		var theirs []string
		for _, g := range groups {
			theirs = append(theirs, "--group", g)
		}
		saved := []string{"--all-topics", "--to-current", "--export", "--dry-run"}
		want := c.kafkaReset(t, append(slices.Clone(theirs), saved...)...)
		got := c.kf(slices.Concat([]string{"groups", "reset"}, groups, saved)...)
		if got.exit != 0 || strings.Count(got.stdout, "\n") != 3*len(groups)+1 || !slices.Equal(csvLines(got.stdout), csvLines(want.stdout)) {
			t.Errorf("%q: kf: exit %d\n%s%sKafka:\n%s", groups, got.exit, got.stdout, got.stderr, want.stdout)
		}
		ours, kafkas := file("kf.csv", got.stdout), file("kafka.csv", want.stdout)

		c.kf(slices.Concat([]string{"groups", "reset"}, groups, []string{"--all-topics", "--to-latest", "--execute"})...)
		c.kafkaReset(t, append(slices.Clone(theirs), "--from-file", ours, "--execute")...)
		again := c.kf(slices.Concat([]string{"groups", "reset"}, groups, saved)...)
		if again.stdout != got.stdout {
			t.Errorf("Kafka makes of kf's\n%s\nthis:\n%s", got.stdout, again.stdout)
		}
		c.kf(slices.Concat([]string{"groups", "reset"}, groups, []string{"--all-topics", "--to-latest", "--execute"})...)
		if r := c.kf(slices.Concat([]string{"groups", "reset"}, groups, []string{"--from-file", kafkas, "--execute"})...); r.exit != 0 {
			t.Errorf("kf does not take Kafka's file: exit %d\n%s%s", r.exit, r.stdout, r.stderr)
		}
		again = c.kf(slices.Concat([]string{"groups", "reset"}, groups, saved)...)
		if again.stdout != got.stdout {
			t.Errorf("kf makes of Kafka's\n%s\nthis:\n%s", want.stdout, again.stdout)
		}
	}
}

// resetTypes resets groups of the newer protocols, and puts back what was there.
func (c *cluster) resetTypes(t *testing.T, adm *kadm.Client) {
	undo := filepath.Join(t.TempDir(), "undo.json")
	reset := func(args ...string) {
		t.Helper()
		if r := c.kf(append([]string{"groups", "reset"}, args...)...); r.exit != 0 {
			t.Errorf("%q: exit %d\n%s%s", args, r.exit, r.stdout, r.stderr)
		}
	}

	// A share group that only has start offsets.
	c.kafka(t, "consumer.group.ShareGroupCommand", "--reset-offsets", "--group", "reset-share", "--topic", resetTopic, "--to-earliest", "--execute")
	share := func(args ...string) ran {
		return c.kafka(t, "consumer.group.ShareGroupCommand", append(args, "--group", "reset-share")...)
	}
	before := share("--describe").stdout
	want := share("--reset-offsets", "--topic", resetTopic, "--to-latest", "--export", "--dry-run")
	got := c.kf("groups", "reset", "reset-share", "--all-topics", "--to-latest", "--export")
	if !strings.Contains(got.stdout, resetTopic+",1,20\n") || !slices.Equal(csvLines(got.stdout), csvLines(want.stdout)) {
		t.Errorf("kf: exit %d\n%s%sKafka:\n%s%s", got.exit, got.stdout, got.stderr, want.stdout, want.stderr)
	}
	reset("reset-share", "--all-topics", "--to-latest", "--plan", undo, "--execute")
	if after := share("--describe").stdout; after == before || !regexp.MustCompile(`reset +1 +20 `).MatchString(after) {
		t.Errorf("after the reset:\n%s", after)
	}
	reset("--undo", undo, "--execute")
	if after := share("--describe").stdout; after != before {
		t.Errorf("after the undo:\n%s\nbefore:\n%s", after, before)
	}

	// A consumer and a streams group whose member has left.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c.beatOnce(t, ctx)
	for group, typ := range map[string]string{"reset-consumer": "Consumer", "reset-streams": "Streams"} {
		commitResets(t, adm, group)
		if r := c.kf("groups", "list", "-o", "csv"); !strings.Contains(r.stdout, group+","+typ+",") {
			t.Errorf("%s is not of type %s:\n%s", group, typ, r.stdout)
		}
		saved := c.kf("groups", "reset", group, "--all-topics", "--to-current", "--export").stdout
		undo := filepath.Join(t.TempDir(), group+".json")
		reset(group, "--topic", resetTopic, "--to-earliest", "--plan", undo, "--execute")
		got := c.kf("groups", "reset", group, "--all-topics", "--to-current", "--export").stdout
		if want := fmt.Sprintf("%[1]s,0,3\n%[1]s,1,0\n%[1]s,2,0\n\"%[2]s\",0,2\n\n", resetTopic, resetLong); got != want {
			t.Errorf("%s:\n%s", group, got)
		}
		reset(group, "--undo", undo, "--execute")
		if got := c.kf("groups", "reset", group, "--all-topics", "--to-current", "--export").stdout; got != saved || !strings.Contains(got, resetTopic+",0,9\n") {
			t.Errorf("%s:\n%s", group, got)
		}
	}
}

// beatOnce makes the groups reset-consumer and reset-streams: a member of each joins
// and leaves.
func (c *cluster) beatOnce(t *testing.T, ctx context.Context) {
	t.Helper()
	cl := newClient(t, kgo.SeedBrokers(strings.Split(c.bootstrap, ",")...))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Group, q.MemberID, q.RebalanceTimeoutMillis = "reset-consumer", "AAAAAAAAAAAAAAAAAAAAAQ", 60_000
	q.SubscribedTopicNames, q.Topics = []string{resetTopic}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	a, err := q.RequestWith(ctx, cl)
	must(err)
	must(kerr.ErrorForCode(a.ErrorCode))
	q = kmsg.NewPtrConsumerGroupHeartbeatRequest()
	q.Group, q.MemberID, q.MemberEpoch = "reset-consumer", "AAAAAAAAAAAAAAAAAAAAAQ", -1
	a, err = q.RequestWith(ctx, cl)
	must(err)
	must(kerr.ErrorForCode(a.ErrorCode))

	coordinators := kadm.NewClient(cl).FindGroupCoordinators(ctx, "reset-streams")
	must(coordinators.Error())
	b := cl.Broker(int(coordinators["reset-streams"].NodeID))
	s := kmsg.NewPtrStreamsGroupHeartbeatRequest()
	s.Group, s.MemberID, s.RebalanceTimeoutMillis = "reset-streams", "AAAAAAAAAAAAAAAAAAAAAg", 60_000
	process := "p"
	s.ProcessID = &process
	sub := kmsg.NewStreamsGroupHeartbeatRequestTopologySubtopology()
	sub.SubtopologyID, sub.SourceTopics = "0", []string{resetTopic}
	s.Topology = &kmsg.StreamsGroupHeartbeatRequestTopology{Subtopologies: []kmsg.StreamsGroupHeartbeatRequestTopologySubtopology{sub}}
	s.ActiveTasks, s.StandbyTasks, s.WarmupTasks = []kmsg.TaskIDs{}, []kmsg.TaskIDs{}, []kmsg.TaskIDs{}
	streams, err := b.Request(ctx, s)
	must(err)
	must(kerr.ErrorForCode(streams.(*kmsg.StreamsGroupHeartbeatResponse).ErrorCode))
	s = kmsg.NewPtrStreamsGroupHeartbeatRequest()
	s.Group, s.MemberID, s.MemberEpoch = "reset-streams", "AAAAAAAAAAAAAAAAAAAAAg", -1
	streams, err = b.Request(ctx, s)
	must(err)
	must(kerr.ErrorForCode(streams.(*kmsg.StreamsGroupHeartbeatResponse).ErrorCode))
}

// peeks looks at records around a commit, in batches of every codec, with a transaction
// that was aborted and one that was not.
func (c *cluster) peeks(t *testing.T, adm *kadm.Client) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const topic = "peeked"
	if _, err := adm.CreateTopic(ctx, 1, 3, nil, topic); err != nil {
		t.Fatal(err)
	}
	seeds := kgo.SeedBrokers(strings.Split(c.bootstrap, ",")...)
	for i, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		cl := newClient(t, seeds, kgo.ProducerBatchCompression(codec), kgo.DefaultProduceTopic(topic))
		for j := range 2 {
			value := fmt.Appendf(nil, "%d", 2*i+j)
			if err := cl.ProduceSync(ctx, &kgo.Record{Value: value, Headers: []kgo.RecordHeader{{Key: "h", Value: value}}}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	txn := newClient(t, seeds, kgo.TransactionalID("peek"), kgo.DefaultProduceTopic(topic))
	for _, how := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} {
		if err := txn.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := txn.ProduceSync(ctx, &kgo.Record{Value: fmt.Appendf(nil, "commit %v", how)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := txn.EndTransaction(ctx, how); err != nil {
			t.Fatal(err)
		}
	}
	// 0 to 9, 10 aborted, 11 its marker, 12 committed, 13 its marker.
	offsets := make(kadm.Offsets)
	offsets.AddOffset(topic, 0, 9, -1)
	if err := adm.CommitAllOffsets(ctx, "peeker", offsets); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string // offsets and states
	}{
		{[]string{"--before", "2", "--after", "5"}, "7 read,8 read,9 next,10 unread,12 unread"},
		{[]string{"--before", "2", "--after", "5", "--read-committed"}, "7 read,8 read,9 next,12 unread"},
		{[]string{"--before", "1000", "--after", "0"}, "0 read,1 read,2 read,3 read,4 read,5 read,6 read,7 read,8 read"},
	} {
		r := c.kf(append([]string{"groups", "peek", "peeker", "-o", "csv"}, tt.args...)...)
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(r.stdout), "\n")[1:] {
			fields := strings.Split(line, ",")
			got = append(got, fields[2]+" "+fields[3])
			if len(fields[2]) == 1 && (fields[6] != fields[2] || fields[7] != "h="+fields[2]) {
				t.Errorf("%q: %s", tt.args, line)
			}
		}
		if r.exit != 0 || strings.Join(got, ",") != tt.want {
			t.Errorf("%q: exit %d, %s; want %s\n%s", tt.args, r.exit, strings.Join(got, ","), tt.want, r.stderr)
		}
	}
}
