//go:build interop

package interop

import (
	"context"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// onlineGroups compares "kf groups" with Kafka's four tools for groups, on groups of
// every type.
func (c *cluster) onlineGroups(t *testing.T) {
	c.makeGroups(t)
	defer c.startStreams(t)()
	t.Run("list", c.sameLists)
	t.Run("describe", c.sameOffsets)
	t.Run("members", c.sameMembers)
	t.Run("state", c.sameStates)
	t.Run("lag", c.lagOfGroups)
	t.Run("delete", c.sameDeletions)
}

// Groups: g-empty and g-ahead have no members, g-classic and g-consumer one each over
// two topics, g-share reads one.
func (c *cluster) makeGroups(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cl := newClient(t, kgo.SeedBrokers(strings.Split(c.bootstrap, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	adm := kadm.NewClient(cl)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	created, err := adm.CreateTopics(ctx, 3, 3, nil, "g-orders", "g-audit", "g-jobs", "lines", "words")
	must(err)
	must(created.Error())
	var records []*kgo.Record
	for p := range int32(3) {
		for range 10 * (p + 1) {
			for _, topic := range []string{"g-orders", "g-jobs", "lines"} {
				records = append(records, &kgo.Record{Topic: topic, Partition: p, Value: []byte("a b")})
			}
		}
	}
	must(cl.ProduceSync(ctx, records...).FirstErr())
	commit := func(group string, topic string, at ...int64) {
		offsets := make(kadm.Offsets)
		for p, o := range at {
			offsets.AddOffset(topic, int32(p), o, 0)
		}
		must(adm.CommitAllOffsets(ctx, group, offsets))
	}
	commit("g-empty", "g-orders", 4, 20, 0)
	commit("g-ahead", "g-orders", 15)
	commit("g-classic", "g-orders", 3, 7)
	commit("g-consumer", "g-orders", 10, 0, 30)
	c.java(t, "org.apache.kafka.tools.ConfigCommand", "--bootstrap-server", c.bootstrap, "--alter", "--group", "g-share", "--add-config", "share.auto.offset.reset=earliest")
	join := func(opts ...kgo.Opt) *kgo.Client {
		return newClient(t, append(opts, kgo.SeedBrokers(strings.Split(c.bootstrap, ",")...))...)
	}
	join(kgo.DisableAutoCommit(), kgo.ConsumerGroup("g-classic"), kgo.ClientID("app-classic"), kgo.ConsumeTopics("g-orders", "g-audit"), kgo.InstanceID("static-1"), kgo.Balancers(kgo.RangeBalancer()))
	join(kgo.DisableAutoCommit(), kgo.ConsumerGroup("g-consumer"), kgo.ClientID("app-consumer"), kgo.ConsumeTopics("g-orders", "g-audit"), kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	share := join(kgo.ShareGroup("g-share"), kgo.ClientID("app-share"), kgo.ConsumeTopics("g-jobs"))
	for read := 0; read < 60; {
		fetches := share.PollFetches(ctx)
		must(fetches.Err0())
		fetches.EachRecord(func(r *kgo.Record) {
			read++
			r.Ack(kgo.AckAccept)
		})
	}
	must(share.FlushAcks(ctx))
	for range 5 { // these stay unread
		must(cl.ProduceSync(ctx, &kgo.Record{Topic: "g-jobs", Value: []byte("late")}).FirstErr())
	}
	c.awaitAssigned(t, "g-classic", 6)
	c.awaitAssigned(t, "g-consumer", 6)
	c.awaitAssigned(t, "g-share", 3)
}

// awaitAssigned waits until the members of a group have that many partitions, as kf sees it.
func (c *cluster) awaitAssigned(t *testing.T, group string, partitions int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		n := 0
		rows := c.kfRows(t, "members", group)
		for _, row := range rows {
			n += len(strings.Split(row["current_assignment"], ","))
			n += strings.Count(row["current_assignment"], ";")
		}
		if len(rows) > 0 && n == partitions {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s has %v", group, rows)
		}
	}
}

// startStreams starts an instance of a Kafka Streams application in the streams group
// "words" and returns what ends it.
func (c *cluster) startStreams(t *testing.T) (stop func()) {
	dir := filepath.Join(t.TempDir(), "streams")
	p := c.nodes[0].k.start(t, dir+".log", "Streams", c.bootstrap, "app-streams", dir, "group.protocol=streams", "session.timeout.ms=", "heartbeat.interval.ms=", "topology.optimization=none")
	p.await(t, "RUNNING", startLimit)
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		rows := c.kfRows(t, "describe", "words", "--topic", "lines")
		lag := slices.ContainsFunc(rows, func(r map[string]string) bool { return r["lag"] != "0" })
		if len(rows) == 3 && !lag {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the streams group has %v\n%s", rows, p.said())
		}
	}
	return func() { p.stop(t) }
}

// kfRows returns what a subcommand of "kf groups" prints, each row by column.
func (c *cluster) kfRows(t *testing.T, args ...string) []map[string]string {
	t.Helper()
	r := c.kf(append(append([]string{"groups"}, args...), "-o", "csv")...)
	if r.exit != 0 {
		t.Fatalf("kf groups %q: exit %d\n%s%s", args, r.exit, r.stdout, r.stderr)
	}
	return csvRows(t, r.stdout)
}

func csvRows(t *testing.T, text string) []map[string]string {
	t.Helper()
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 {
		t.Fatalf("%v: %q", err, text)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := make(map[string]string)
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// columns returns these columns of rows as lines, sorted, with "-" for null.
func columns(rows []map[string]string, names ...string) []string {
	var lines []string
	for _, row := range rows {
		var cells []string
		for _, name := range names {
			cell := row[name]
			if cell == "" {
				cell = "-"
			}
			cells = append(cells, cell)
		}
		lines = append(lines, strings.Join(cells, " "))
	}
	slices.Sort(lines)
	return lines
}

// kafkaRows returns the rows of the tables that one of Kafka's tools printed, sorted,
// with one blank between cells.
func (c *cluster) kafkaRows(t *testing.T, class string, args ...string) []string {
	t.Helper()
	r := c.kafka(t, class, args...)
	if class == "GroupsCommand" { // it catches its own exit, which in this process is an exception
		r.stdout, _, _ = strings.Cut(r.stdout, "null\n")
		r.exit = 0
	}
	if r.exit != 0 || strings.Contains(r.stdout, "Error:") {
		t.Fatalf("%s %q: exit %d\n%s%s", class, args, r.exit, r.stdout, r.stderr)
	}
	var lines []string
	for line := range strings.Lines(r.stdout) {
		cells := strings.Fields(line)
		if len(cells) > 0 && cells[0] != "GROUP" {
			lines = append(lines, strings.Join(cells, " "))
		}
	}
	slices.Sort(lines)
	return lines
}

const (
	consumerGroups = "consumer.group.ConsumerGroupCommand"
	shareGroups    = "consumer.group.ShareGroupCommand"
	streamsGroups  = "streams.StreamsGroupCommand"
)

func sameRows(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%s: kf\n  %s\nKafka\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (c *cluster) sameLists(t *testing.T) {
	var want []string
	for _, line := range c.kafkaRows(t, "GroupsCommand", "--list") {
		if cells := strings.Fields(line); len(cells) == 2 {
			line += " -" // no protocol
		}
		want = append(want, line)
	}
	slices.Sort(want)
	sameRows(t, "all", columns(c.kfRows(t, "list"), "group", "type", "protocol"), want)
	sameRows(t, "states", columns(c.kfRows(t, "list", "--type", "consumer,classic", "--state", "stable,empty"), "group", "type", "state"),
		c.kafkaRows(t, consumerGroups, "--list", "--type", "consumer,classic", "--state", "stable,empty"))
	sameRows(t, "share", columns(c.kfRows(t, "list", "--type", "share"), "group", "state"), c.kafkaRows(t, shareGroups, "--list", "--state"))
	sameRows(t, "streams", columns(c.kfRows(t, "list", "--type", "streams"), "group", "state"), c.kafkaRows(t, streamsGroups, "--list", "--state"))
}

func (c *cluster) sameOffsets(t *testing.T) {
	groups := []string{"g-ahead", "g-classic", "g-consumer", "g-empty"}
	args := []string{"--describe", "--verbose"}
	for _, g := range groups {
		args = append(args, "--group", g)
	}
	sameRows(t, "offsets", columns(c.kfRows(t, append([]string{"describe"}, groups...)...),
		"group", "topic", "partition", "leader_epoch", "current_offset", "log_end_offset", "lag", "consumer_id", "host", "client_id"),
		c.kafkaRows(t, consumerGroups, args...))
	sameRows(t, "share groups", columns(c.kfRows(t, "describe", "g-share"), "group", "topic", "partition", "leader_epoch", "current_offset", "lag"),
		c.kafkaRows(t, shareGroups, "--describe", "--group", "g-share", "--verbose"))
	streams := c.kafkaRows(t, streamsGroups, "--describe", "--group", "words", "--verbose")
	for i, row := range streams {
		if cells := strings.Fields(row); cells[3] == "-" { // Kafka's tool says that the lag is 0 where nothing was committed
			streams[i] = strings.Join(append(cells[:6], "-"), " ")
		}
	}
	sameRows(t, "streams groups", columns(c.kfRows(t, "describe", "words"), "group", "topic", "partition", "current_offset", "leader_epoch", "log_end_offset", "lag"), streams)

	r := c.kf("groups", "describe", "g-empty", "no-such-group", "-o", "csv")
	if r.exit != 1 || len(csvRows(t, r.stdout)) != 3 || !strings.Contains(r.stderr, "group no-such-group does not exist") {
		t.Errorf("a missing group: exit %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	// More than one type in one question.
	if rows := c.kfRows(t, "describe", "--regex", "g-.*|words"); len(columns(rows, "type")) < 3+1+6+6+3+3 || len(slices.Compact(columns(rows, "type"))) != 4 {
		t.Errorf("all types: %v", columns(rows, "group", "type", "topic", "partition"))
	}
}

func (c *cluster) sameMembers(t *testing.T) {
	names := []string{"group", "consumer_id", "host", "client_id", "partitions", "current_epoch", "current_assignment", "target_epoch", "target_assignment"}
	sameRows(t, "consumer", columns(c.kfRows(t, "members", "g-consumer"), names...), c.kafkaRows(t, consumerGroups, "--describe", "--members", "--verbose", "--group", "g-consumer"))
	static := slices.Insert(slices.Clone(names), 2, "group_instance_id")
	sameRows(t, "classic", columns(c.kfRows(t, "members", "g-classic"), static...), c.kafkaRows(t, consumerGroups, "--describe", "--members", "--verbose", "--group", "g-classic"))
	sameRows(t, "share", columns(c.kfRows(t, "members", "g-share"), "group", "consumer_id", "host", "client_id", "partitions", "current_epoch", "current_assignment"),
		c.kafkaRows(t, shareGroups, "--describe", "--members", "--verbose", "--group", "g-share"))
	rows := c.kfRows(t, "members", "words")
	if got := columns(rows, "client_id", "tasks", "current_assignment", "subscribed_topics", "protocol"); len(got) != 1 || !strings.Contains(got[0],
		"-StreamThread-1-consumer active 0:0,1,2 1:0,1,2 lines:0,1,2;words-counts-repartition:0,1,2 lines,words-counts-repartition streams") {
		t.Errorf("streams: %q", got)
	}
	want := c.kafkaRows(t, streamsGroups, "--describe", "--members", "--group", "words")
	row := rows[0]
	if got := fmt.Sprintf("words %s %s %s ACTIVE: 0:[0,1,2]; 1:[0,1,2];", row["consumer_id"], row["process_id"], row["client_id"]); len(want) != 1 || got != want[0] {
		t.Errorf("streams: %q, want %q", got, want)
	}
}

func (c *cluster) sameStates(t *testing.T) {
	names := []string{"group", "coordinator", "coordinator_id", "assignment_strategy", "state", "group_epoch", "target_assignment_epoch", "members"}
	plain := func(rows []string) []string { // the id of the coordinator is in parentheses
		for i := range rows {
			rows[i] = strings.NewReplacer("(", "", ")", "").Replace(rows[i])
		}
		return rows
	}
	groups := []string{"g-ahead", "g-classic", "g-consumer", "g-empty"}
	args := []string{"--describe", "--state", "--verbose"}
	for _, g := range groups {
		args = append(args, "--group", g)
	}
	sameRows(t, "consumer", columns(c.kfRows(t, append([]string{"describe", "--state"}, groups...)...), names...), plain(c.kafkaRows(t, consumerGroups, args...)))
	sameRows(t, "streams", columns(c.kfRows(t, "describe", "--state", "words"), names...), plain(c.kafkaRows(t, streamsGroups, "--describe", "--state", "--verbose", "--group", "words")))
	names = slices.DeleteFunc(names, func(s string) bool { return s == "assignment_strategy" })
	sameRows(t, "share", columns(c.kfRows(t, "describe", "--state", "g-share"), names...), plain(c.kafkaRows(t, shareGroups, "--describe", "--state", "--verbose", "--group", "g-share")))
}

func (c *cluster) lagOfGroups(t *testing.T) {
	total := func(args ...string) map[string]string {
		t.Helper()
		return c.kfRows(t, append([]string{"lag", "--sample", "0", "--by", "group"}, args...)...)[0]
	}
	if row := total("g-empty"); row["lag"] != "36" || row["lost"] != "0" || row["behind"] == "" || row["expires"] == "" {
		t.Errorf("g-empty: %v", row)
	}
	if row := total("g-ahead"); row["lag"] != "0" {
		t.Errorf("a commit ahead of the end lowers the total: %v", row)
	}
	if row := total("g-share"); row["lag"] != "5" || row["behind"] == "" {
		t.Errorf("g-share: %v", row)
	}
	if r := c.kf("groups", "lag", "g-empty", "--fail-if", "lag > 20", "-o", "csv"); r.exit != 3 || len(csvRows(t, r.stdout)) != 1 {
		t.Errorf("exit %d\n%s%s", r.exit, r.stdout, r.stderr)
	}

	// A batch that is larger than what is asked for at first is read too.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cl := newClient(t, kgo.SeedBrokers(strings.Split(c.bootstrap, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	adm := kadm.NewClient(cl)
	if r, err := adm.CreateTopic(ctx, 3, 3, nil, "g-large"); err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
	large, old := make([]byte, 900<<10), time.Now().Add(-2*time.Hour)
	for i := range large {
		large[i] = byte(i * i >> 7) // not to be compressed to nothing
	}
	commits := make(kadm.Offsets)
	for p := range int32(3) {
		if err := cl.ProduceSync(ctx, &kgo.Record{Topic: "g-large", Partition: p, Timestamp: old, Value: large}).FirstErr(); err != nil {
			t.Fatal(err)
		}
		commits.AddOffset("g-large", p, 0, -1)
	}
	if err := adm.CommitAllOffsets(ctx, "g-large", commits); err != nil {
		t.Fatal(err)
	}
	rows := c.kfRows(t, "lag", "--sample", "0", "g-large")
	for _, row := range rows {
		if behind, err := strconv.ParseFloat(row["behind"], 64); err != nil || behind < 7200 || behind > 7800 {
			t.Errorf("%v", row)
		}
	}

	// What was deleted before it was read is lost; reading goes on behind it.
	offsets := make(kadm.Offsets)
	offsets.AddOffset("g-orders", 2, 12, -1)
	if _, err := adm.DeleteRecords(ctx, offsets); err != nil {
		t.Fatal(err)
	}
	if row := total("g-empty"); row["lag"] != "36" || row["lost"] != "12" || row["behind"] == "" {
		t.Errorf("g-empty after records were deleted: %v", row)
	}
}

func (c *cluster) sameDeletions(t *testing.T) {
	r := c.kf("groups", "delete-offsets", "g-classic", "--topic", "g-orders", "--yes")
	if r.exit != 1 || !strings.Contains(r.stderr, "app-classic") {
		t.Errorf("of a topic that is read: exit %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	r = c.kf("groups", "delete-offsets", "g-empty", "--topic", "g-orders:0,2", "--yes")
	if left := c.kafkaRows(t, consumerGroups, "--describe", "--group", "g-empty"); r.exit != 0 || len(left) != 1 || !strings.HasPrefix(left[0], "g-empty g-orders 1 20 20 0 ") {
		t.Errorf("exit %d\n%s%s: %q is left", r.exit, r.stdout, r.stderr, left)
	}
	r = c.kf("groups", "delete", "g-empty", "g-classic", "g-share", "g-ahead", "--yes", "-o", "csv")
	if got := columns(csvRows(t, r.stdout), "group", "result"); r.exit != 1 || !slices.Equal(got, []string{"g-ahead deleted", "g-empty deleted"}) {
		t.Errorf("exit %d: %q\n%s", r.exit, got, r.stderr)
	}
	if left := c.kafka(t, consumerGroups, "--list").stdout; strings.Contains(left, "g-empty") || strings.Contains(left, "g-ahead") || !strings.Contains(left, "g-classic") {
		t.Errorf("left: %s", left)
	}
}
