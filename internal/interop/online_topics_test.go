//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// onlineTopics compares "kf topics" with kafka-topics, kafka-get-offsets,
// kafka-delete-records and kafka-log-dirs.
func (c *cluster) onlineTopics(t *testing.T) {
	t.Run("make", c.makeTopics)
	t.Run("describe", c.sameDescriptions)
	t.Run("refuse", c.sameRefusals)
	t.Run("offsets", c.sameTopicOffsets)
	t.Run("sizes", c.sameSizes)
	t.Run("trim", c.sameTrims)
	t.Run("down", c.sameWhileDown)
	t.Run("delete", c.sameTopicDeletions)
}

// kfOK runs kf, which must succeed.
func (c *cluster) kfOK(t *testing.T, args ...string) ran {
	t.Helper()
	r := c.kf(args...)
	if r.exit != 0 {
		t.Fatalf("kf %q: exit %d\n%s%s", args, r.exit, r.stdout, r.stderr)
	}
	return r
}

func (c *cluster) makeTopics(t *testing.T) {
	c.kfOK(t, "topics", "create", "t-orders", "t-audit", "--partitions", "3", "--replication-factor", "3")
	c.kfOK(t, "topics", "create", "t.dots", "t_dots2", "--config", "cleanup.policy=compact,delete", "--config", "retention.ms=3600000", "--config", "segment.ms=600000")
	c.kfOK(t, "topics", "create", "t-placed", "--replica-assignment", "1:2,2:3,3:1", "--dry-run")
	if r := c.kf("topics", "describe", "t-placed"); r.exit != 1 {
		t.Errorf("a dry run made a topic:\n%s", r.stdout)
	}
	c.kfOK(t, "topics", "create", "t-placed", "--replica-assignment", "1:2,2:3,3:1")
	c.kfOK(t, "topics", "create", "t-one", "--replica-assignment", "3") // the broker that is stopped later
	c.kfOK(t, "topics", "create", "t-twelve", "--partitions", "10", "--replication-factor", "1")
	c.kfOK(t, "topics", "alter", "t-twelve", "--partitions", "12")
	c.kfOK(t, "topics", "alter", "t-placed", "--replica-assignment", "1:2,2:3,3:1,2:1")

	cl := newClient(t, kgo.SeedBrokers(strings.Split(c.bootstrap, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	var records []*kgo.Record
	for p := range int32(3) {
		for i := range 10 * (p + 1) {
			records = append(records, &kgo.Record{Topic: "t-orders", Partition: p, Timestamp: time.UnixMilli(1_700_000_000_000 + 60_000*int64(i)), Value: []byte("value")})
		}
	}
	for p := range int32(12) {
		records = append(records, &kgo.Record{Topic: "t-twelve", Partition: p, Value: []byte("v")}, &kgo.Record{Topic: "t-twelve", Partition: 0, Value: []byte("v")})
	}
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// kafkaFacts returns what kafka-topics --describe says, a line for each topic and
// partition, sorted.
func (c *cluster) kafkaFacts(t *testing.T, args ...string) []string {
	t.Helper()
	r := c.kafka(t, "TopicCommand", append([]string{"--describe"}, args...)...)
	if r.exit != 0 {
		t.Fatalf("kafka-topics %q: %s%s", args, r.stdout, r.stderr)
	}
	facts := []string{}
	for line := range strings.Lines(r.stdout) {
		field := make(map[string]string)
		for part := range strings.SplitSeq(strings.TrimSpace(line), "\t") {
			name, value, _ := strings.Cut(part, ":")
			field[name] = strings.TrimSpace(value)
		}
		if p, ok := field["Partition"]; ok {
			facts = append(facts, fmt.Sprintf("%s-%s leader %s replicas [%s] isr [%s] adding [%s] removing [%s] elr [%s] last [%s]", field["Topic"], p,
				field["Leader"], field["Replicas"], field["Isr"], field["Adding Replicas"], field["Removing Replicas"], field["Elr"], field["LastKnownElr"]))
			continue
		}
		// Values hold commas: an entry begins where a key does.
		configs := strings.Split(regexp.MustCompile(`,([a-z.]+=)`).ReplaceAllString(field["Configs"], "\x00$1"), "\x00")
		slices.Sort(configs)
		facts = append(facts, fmt.Sprintf("%s id %s partitions %s factor %s configs %s", field["Topic"], field["TopicId"], field["PartitionCount"], field["ReplicationFactor"], strings.Join(configs, " ")))
	}
	slices.Sort(facts)
	return facts
}

// kfFacts returns the same of "kf topics describe".
func (c *cluster) kfFacts(t *testing.T, args ...string) []string {
	t.Helper()
	r := c.kfOK(t, append([]string{"topics", "describe", "-o", "jsonl"}, args...)...)
	facts := []string{}
	for line := range strings.Lines(r.stdout) {
		var row struct {
			Kind, Topic                          string
			ID                                   string `json:"topic_id"`
			Partitions                           int
			Factor                               int `json:"replication_factor"`
			Configs                              map[string]string
			Partition                            int
			Leader                               *int
			Replicas, ISR, Adding, Removing, ELR []int32
			Last                                 []int32 `json:"last_known_elr"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list := func(ids []int32) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]") }
		if row.Kind == "partition" {
			leader := "none"
			if row.Leader != nil {
				leader = strconv.Itoa(*row.Leader)
			}
			facts = append(facts, fmt.Sprintf("%s-%d leader %s replicas [%s] isr [%s] adding [%s] removing [%s] elr [%s] last [%s]", row.Topic, row.Partition,
				leader, list(row.Replicas), list(row.ISR), list(row.Adding), list(row.Removing), list(row.ELR), list(row.Last)))
			continue
		}
		var configs []string
		for _, key := range slices.Sorted(maps.Keys(row.Configs)) {
			configs = append(configs, key+"="+row.Configs[key])
		}
		facts = append(facts, fmt.Sprintf("%s id %s partitions %d factor %d configs %s", row.Topic, row.ID, row.Partitions, row.Factor, strings.Join(configs, " ")))
	}
	slices.Sort(facts)
	return facts
}

// agree compares what the two say.
func agree(t *testing.T, what string, kf, kafka []string) {
	t.Helper()
	if !slices.Equal(kf, kafka) {
		t.Errorf("%s: kf says\n%s\nKafka says\n%s", what, strings.Join(kf, "\n"), strings.Join(kafka, "\n"))
	}
}

func (c *cluster) sameDescriptions(t *testing.T) {
	all := c.kfFacts(t, "--internal")
	if len(all) < 20 {
		t.Fatalf("kf describes %q", all)
	}
	agree(t, "all", all, c.kafkaFacts(t))
	agree(t, "without internal topics", c.kfFacts(t), c.kafkaFacts(t, "--exclude-internal"))
	agree(t, "a name", c.kfFacts(t, "t-placed"), c.kafkaFacts(t, "--topic", "t-placed"))
	agree(t, "a pattern", c.kfFacts(t, "t-o.*|t-a.*"), c.kafkaFacts(t, "--topic", "t-o.*|t-a.*"))
	agree(t, "a dot in a pattern", c.kfFacts(t, "t.dots.*", "--regex"), c.kafkaFacts(t, "--topic", "t.dots.*"))
	for _, filter := range []string{"--under-replicated-partitions", "--under-min-isr-partitions", "--at-min-isr-partitions", "--unavailable-partitions"} {
		agree(t, filter, c.kfFacts(t, filter), c.kafkaFacts(t, filter, "--exclude-internal"))
	}
	r := c.kafka(t, "TopicCommand", "--list", "--topic", "t.dots.*")
	if got := c.kfOK(t, "topics", "list", "t.dots.*", "--names").stdout; got != r.stdout {
		t.Errorf("kf lists %q, Kafka %q", got, r.stdout)
	}
}

// What Kafka's tool is refused kf is refused in the same words.
func (c *cluster) sameRefusals(t *testing.T) {
	for _, tt := range []struct{ kf, kafka string }{
		{"create t-orders", "--create --topic t-orders"},
		{"create t_dots", "--create --topic t_dots"},
		{"create t/x", "--create --topic t/x"},
		{"create ..", "--create --topic .."},
		{"create t-new --replication-factor 4", "--create --topic t-new --replication-factor 4"},
		{"create t-new --config no.such=1", "--create --topic t-new --config no.such=1"},
		{"create t-new --config retention.ms=abc", "--create --topic t-new --config retention.ms=abc"},
		{"create t-new --replica-assignment 1:9", "--create --topic t-new --replica-assignment 1:9"},
		{"create t-new --replica-assignment 1:2,3", "--create --topic t-new --replica-assignment 1:2,3"},
		{"alter t-orders --partitions 4 --replica-assignment 9:1:2", "--alter --topic t-orders --partitions 4 --replica-assignment 1:2:3,1:2:3,1:2:3,9:1:2"},
	} {
		kafka := c.kafka(t, "TopicCommand", strings.Fields(tt.kafka)...)
		_, said, ok := strings.Cut(kafka.stdout, "Error while executing topic command : ")
		said = strings.TrimSuffix(strings.TrimSpace(said), ".")
		kf := c.kf(append([]string{"topics"}, strings.Fields(tt.kf)...)...)
		if strings.HasPrefix(said, "Partition 1 has different replication factor") { // the tool finds it itself
			said = "is not consistent with previous partitions"
		}
		if !ok || kafka.exit != 1 || kf.exit != 1 || !strings.Contains(kf.stderr, said) {
			t.Errorf("kf topics %s: exit %d, %s\nKafka: exit %d, %s", tt.kf, kf.exit, kf.stderr, kafka.exit, said)
		}
	}
}

// kfOffsets returns "topic:partition:offset" lines of "kf topics offsets", without
// partitions that have none, as kafka-get-offsets prints them.
func (c *cluster) kfOffsets(t *testing.T, args ...string) []string {
	t.Helper()
	lines := []string{}
	for _, row := range csvRows(t, c.kfOK(t, append([]string{"topics", "offsets", "-o", "csv"}, args...)...).stdout) {
		if row["offset"] != "" {
			lines = append(lines, row["topic"]+":"+row["partition"]+":"+row["offset"])
		}
	}
	slices.Sort(lines)
	return lines
}

func (c *cluster) kafkaOffsets(t *testing.T, args ...string) []string {
	t.Helper()
	r := c.kafka(t, "GetOffsetShell", args...)
	if r.exit != 0 {
		t.Fatalf("kafka-get-offsets %q: %s%s", args, r.stdout, r.stderr)
	}
	lines := strings.Fields(r.stdout)
	slices.Sort(lines)
	return lines
}

func (c *cluster) sameTopicOffsets(t *testing.T) {
	for _, at := range []string{
		"-1", "-2", "-3", "-4", "-5", "-6", "latest", "earliest", "max-timestamp", "earliest-local", "latest-tiered", "earliest-pending-upload",
		"0", "1700000300000", "1700000000001", "1700000900001", "99999999999999",
	} {
		agree(t, "--time "+at, c.kfOffsets(t, "t-.*", "--time", at), c.kafkaOffsets(t, "--topic", "t-.*", "--time", at))
	}
	agree(t, "all", c.kfOffsets(t, "--internal", "--time", "-1"), c.kafkaOffsets(t))
	agree(t, "without internal topics", c.kfOffsets(t, "--time", "-1"), c.kafkaOffsets(t, "--exclude-internal-topics"))
	agree(t, "--partitions", c.kfOffsets(t, "t-twelve", "--partitions", "0,2,11", "--time", "-1"), c.kafkaOffsets(t, "--topic", "t-twelve", "--partitions", "0,2,11"))
	for _, pattern := range []string{"t-twelve:3", "t-twelve:0-3", "t-twelve:9-", "t-twelve:-2", "t-.*:1-,t-orders:0", ":0,t-twelve:11", "t-orders"} {
		agree(t, pattern, c.kfOffsets(t, pattern, "--internal", "--time", "-1"), c.kafkaOffsets(t, "--topic-partitions", pattern))
	}
	for _, args := range []struct{ kf, kafka []string }{
		{[]string{"nosuch"}, []string{"--topic", "nosuch"}},
		{[]string{"t-orders:9"}, []string{"--topic-partitions", "t-orders:9"}},
		{[]string{"t-orders:x"}, []string{"--topic-partitions", "t-orders:x"}},
		{[]string{"t-orders", "--time", "soon"}, []string{"--topic", "t-orders", "--time", "soon"}},
	} {
		kf, kafka := c.kf(append([]string{"topics", "offsets"}, args.kf...)...), c.kafka(t, "GetOffsetShell", args.kafka...)
		if kf.exit == 0 || kafka.exit == 0 {
			t.Errorf("%q: kf exit %d, Kafka exit %d", args.kf, kf.exit, kafka.exit)
		}
	}
}

// sameSizes compares sums of sizes, which the brokers tell in any order.
func (c *cluster) sameSizes(t *testing.T) {
	r := c.kafka(t, "LogDirsCommand", "--describe", "--topic-list", "t-orders,t-twelve")
	var doc struct {
		Brokers []struct {
			LogDirs []struct {
				Partitions []struct {
					Partition string
					Size      int64
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(r.stdout[strings.IndexByte(r.stdout, '{'):]), &doc); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	sum := make(map[string]int64)
	for _, b := range doc.Brokers {
		for _, d := range b.LogDirs {
			for _, p := range d.Partitions {
				sum[p.Partition] += p.Size
			}
		}
	}
	rows := csvRows(t, c.kfOK(t, "topics", "describe", "t-orders", "t-twelve", "-o", "csv").stdout)
	if len(rows) != 15 || len(sum) != 15 {
		t.Errorf("%d rows, Kafka has %v", len(rows), sum)
	}
	for _, row := range rows {
		if id := row["topic"] + "-" + row["partition"]; row["total_size"] != fmt.Sprint(sum[id]) || sum[id] == 0 {
			t.Errorf("%s: kf says %s, Kafka %d", id, row["total_size"], sum[id])
		}
	}
	listed := csvRows(t, c.kfOK(t, "topics", "list", "t-orders", "--sizes", "-o", "csv").stdout)
	if want := sum["t-orders-0"] + sum["t-orders-1"] + sum["t-orders-2"]; len(listed) != 1 || listed[0]["total_size"] != fmt.Sprint(want) {
		t.Errorf("kf lists %v, want %d", listed, want)
	}
}

// sameTrims trims by turns, by Kafka's tool and by kf, with the same files.
func (c *cluster) sameTrims(t *testing.T) {
	file := filepath.Join(t.TempDir(), "offsets.json")
	lows := func(text string) []string {
		all := []string{}
		for _, m := range regexp.MustCompile(`partition: (\S+)\s+low_watermark: (\d+)`).FindAllStringSubmatch(text, -1) {
			all = append(all, m[1]+" "+m[2])
		}
		slices.Sort(all)
		return all
	}
	for _, json := range []string{
		`{"partitions":[{"topic":"t-orders","partition":0,"offset":7},{"topic":"t-orders","partition":1,"offset":3}],"version":1}`,
		`{"partitions":[{"topic":"t-orders","partition":2,"offset":-1}]}`,
	} {
		if err := os.WriteFile(file, []byte(json), 0o644); err != nil {
			t.Fatal(err)
		}
		c.kfOK(t, "topics", "trim", "--from-file", file, "--dry-run")
		var ours []string
		for _, row := range csvRows(t, c.kfOK(t, "topics", "trim", "--from-file", file, "--yes", "-o", "csv").stdout) {
			if row["result"] != "trimmed" {
				t.Errorf("%v", row)
			}
			ours = append(ours, row["topic"]+"-"+row["partition"]+" "+row["low_watermark"])
		}
		slices.Sort(ours)
		// What is gone is gone: Kafka's tool says the same of the same file.
		agree(t, "low watermarks", ours, lows(c.kafka(t, "DeleteRecordsCommand", "--offset-json-file", file).stdout))
		agree(t, "log starts", c.kfOffsets(t, "t-orders", "--time", "-2"), c.kafkaOffsets(t, "--topic", "t-orders", "--time", "-2"))
	}
	c.kfOK(t, "topics", "trim", "t-orders:1", "--to-time", "1700000600000", "--yes")
	agree(t, "to a time", c.kfOffsets(t, "t-orders:1", "--time", "-2"), []string{"t-orders:1:10"})
	c.kfOK(t, "topics", "trim", "--regex", "t-or.*", "--to-end", "--yes")
	agree(t, "to the end", c.kafkaOffsets(t, "--topic", "t-orders", "--time", "-2"), []string{"t-orders:0:10", "t-orders:1:20", "t-orders:2:30"})
	for _, args := range [][]string{{"t-orders:0", "--to-offset", "11"}, {"__consumer_offsets:0", "--to-offset", "0", "nosuch"}} {
		if r := c.kf(append([]string{"topics", "trim", "--yes"}, args...)...); r.exit != 1 {
			t.Errorf("trim %q: exit %d, %s%s", args, r.exit, r.stdout, r.stderr)
		}
	}
	compacted := c.kf("topics", "trim", "t.dots", "--to-end", "--yes")
	if compacted.exit != 0 { // it has delete too, and no records
		t.Errorf("%s%s", compacted.stdout, compacted.stderr)
	}
}

// sameWhileDown stops the third broker: replicas are missing, one partition has no
// leader, and a reassignment to that broker does not end.
func (c *cluster) sameWhileDown(t *testing.T) {
	c.running[2].stop(t)
	defer func() {
		c.launch(2)
		c.await(t, 2)
		c.awaitHealthy(t)
	}()
	seeds := strings.Split(c.bootstrap, ",")[:2]
	adm := kadm.NewClient(newClient(t, kgo.SeedBrokers(seeds...)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var move kadm.AlterPartitionAssignmentsReq
	move.Assign("t-twelve", 0, []int32{3})
	moved, err := adm.AlterPartitionAssignments(ctx, move)
	if err == nil {
		err = moved.Error()
	}
	if err != nil {
		t.Fatal(err)
	}
	// All brokers know of it soon.
	c.awaitTopic(t, "t-one", func(row map[string]string) bool { return row["leader"] == "" })
	c.awaitTopic(t, "t-placed", func(row map[string]string) bool { return !strings.Contains(row["isr"], "3") })
	agree(t, "all", c.kfFacts(t, "--internal"), c.kafkaFacts(t))
	for _, filters := range [][]string{
		{"--under-replicated-partitions"}, {"--under-min-isr-partitions"}, {"--at-min-isr-partitions"}, {"--unavailable-partitions"},
		{"--at-min-isr-partitions", "--unavailable-partitions"},
	} {
		kf := c.kfFacts(t, append(filters, "--internal")...)
		agree(t, strings.Join(filters, " "), kf, c.kafkaFacts(t, filters...))
		if len(kf) == 0 {
			t.Errorf("%q finds nothing", filters)
		}
	}
	if r := c.kf("topics", "describe", "--unavailable", "--fail"); r.exit != 3 || !strings.Contains(r.stdout, "t-one ") {
		t.Errorf("exit %d, %s%s", r.exit, r.stdout, r.stderr)
	}
	// The partition without a leader has no offsets, is told of at once, and the rest is there.
	start := time.Now()
	r := c.kf("topics", "offsets", "t-one", "t-placed", "-o", "csv")
	if took := time.Since(start); r.exit != 1 || !strings.Contains(r.stderr, "topic t-one: partition 0: no leader") || strings.Count(r.stdout, "\nt-placed,") != 4 || took > 15*time.Second {
		t.Errorf("exit %d after %v, %s%s", r.exit, took, r.stdout, r.stderr)
	}
	c.kfOK(t, "topics", "create", "t-while-down", "--replication-factor", "2", "--partitions", "2")
	if r := c.kf("topics", "create", "t-too-many", "--replication-factor", "4"); r.exit != 1 {
		t.Errorf("exit %d, %s", r.exit, r.stderr)
	}
}

// awaitTopic waits until the first partition of a topic is as it should be for kf.
func (c *cluster) awaitTopic(t *testing.T, topic string, right func(row map[string]string) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		r := c.kf("topics", "describe", topic, "--metadata-only", "-o", "csv")
		if r.exit == 0 && !slices.ContainsFunc(csvRows(t, r.stdout), func(row map[string]string) bool { return !right(row) }) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s stays\n%s%s", topic, r.stdout, r.stderr)
		}
	}
}

// awaitHealthy waits until all replicas are in sync again.
func (c *cluster) awaitHealthy(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		r := c.kf("topics", "describe", "--under-replicated", "--unavailable", "--fail", "--internal", "--metadata-only")
		if r.exit == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("exit %d\n%s%s", r.exit, r.stdout, r.stderr)
		}
	}
}

func (c *cluster) sameTopicDeletions(t *testing.T) {
	plan := csvRows(t, c.kfOK(t, "topics", "delete", "--regex", "t.dots.?", "t-while-.*", "--dry-run", "-o", "csv").stdout)
	if len(plan) != 3 {
		t.Errorf("plan %v", plan)
	}
	c.kfOK(t, "topics", "delete", "t.dots", "t-while-down", "--yes")
	left := strings.Fields(c.kafka(t, "TopicCommand", "--list", "--topic", "t.*").stdout)
	if want := strings.Fields(c.kfOK(t, "topics", "list", "t.*", "--names").stdout); !slices.Equal(left, want) || slices.Contains(left, "t.dots") || !slices.Contains(left, "t_dots2") {
		t.Errorf("Kafka lists %q, kf %q", left, want)
	}
	kafka := c.kafka(t, "TopicCommand", "--delete", "--topic", "t.dots")
	kf := c.kf("topics", "delete", "t.dots", "--yes")
	if kafka.exit != 1 || kf.exit != 1 {
		t.Errorf("kf: exit %d, %s; Kafka: exit %d, %s", kf.exit, kf.stderr, kafka.exit, kafka.stdout)
	}
	c.kfOK(t, "topics", "delete", "--regex", "t[-_].*", "--yes")
	if r := c.kafka(t, "TopicCommand", "--list", "--topic", "t[-_.].*"); strings.TrimSpace(r.stdout) != "" {
		t.Errorf("left: %s", r.stdout)
	}
}
