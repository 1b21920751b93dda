//go:build interop

package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// onlineBrokers compares kf brokers, kf cluster and kf acls with Kafka's tools: the same
// facts are parsed out of what both print. It stops a node and starts it again.
func onlineBrokers(t *testing.T, c *cluster) {
	t.Run("logdirs", c.sameLogDirs)
	t.Run("quorum", c.sameQuorum)
	t.Run("features", c.sameFeatures)
	t.Run("mapping", c.sameMapping)
	t.Run("api versions", c.sameVersions)
	t.Run("acls", c.sameACLs)
	t.Run("cluster", c.sameCluster)
}

// kfRows returns the rows that kf prints, of which each is its fields by column.
func kfRows(t *testing.T, r ran) []map[string]string {
	t.Helper()
	if r.exit != 0 {
		t.Fatalf("kf: exit %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	return csvRows(t, r.stdout)
}

// picked joins columns of rows, and sorts.
func picked(rows []map[string]string, columns ...string) string {
	var all []string
	for _, row := range rows {
		var words []string
		for _, column := range columns {
			words = append(words, row[column])
		}
		all = append(all, strings.Join(words, " "))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func sameFacts(t *testing.T, what, kf, kafka string) {
	t.Helper()
	if kf != kafka || kf == "" {
		t.Errorf("%s: kf\n%s\nKafka\n%s", what, kf, kafka)
	}
}

// eventually tries until two answers are equal, for a state that comes to rest.
func eventually(t *testing.T, what string, ask func() (kf, kafka string)) {
	t.Helper()
	kf, kafka := ask()
	for end := time.Now().Add(20 * time.Second); kf != kafka && time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		kf, kafka = ask()
	}
	sameFacts(t, what, kf, kafka)
}

func (c *cluster) sameLogDirs(t *testing.T) {
	if r := c.kafka(t, "TopicCommand", "--create", "--topic", "b-dirs", "--partitions", "3", "--replication-factor", "2"); !strings.Contains(r.stdout, "Created topic") {
		t.Fatal(r.stdout, r.stderr)
	}
	cl := newClient(t, kgo.SeedBrokers(strings.Split(c.bootstrap, ",")...))
	for i := range 20 {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "b-dirs", Key: fmt.Append(nil, i), Value: []byte("value")}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	kafkas := func(args ...string) string {
		r := c.kafka(t, "LogDirsCommand", append([]string{"--describe"}, args...)...)
		var answer struct {
			Brokers []struct {
				Broker  int
				LogDirs []struct {
					LogDir     string
					Error      *string
					Partitions []struct {
						Partition string
						Size      int64
						OffsetLag int64
						IsFuture  bool
					}
				}
			}
		}
		lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &answer); err != nil {
			t.Fatalf("%v\n%s%s", err, r.stdout, r.stderr)
		}
		var all []string
		for _, b := range answer.Brokers {
			for _, d := range b.LogDirs {
				for _, p := range d.Partitions {
					all = append(all, fmt.Sprint(b.Broker, " ", d.LogDir, " ", p.Partition, " ", p.Size, " ", p.OffsetLag, " ", p.IsFuture))
				}
			}
		}
		slices.Sort(all)
		return strings.Join(all, "\n")
	}
	kfs := func(args ...string) string {
		rows := kfRows(t, c.kf(append([]string{"brokers", "logdirs", "--partitions", "-o", "csv"}, args...)...))
		for _, row := range rows {
			row["replica"] = row["topic"] + "-" + row["partition"]
		}
		return picked(rows, "broker", "dir", "replica", "size", "offset_lag", "future")
	}
	eventually(t, "a topic", func() (string, string) { return kfs("--topic", "b-dirs"), kafkas("--topic-list", "b-dirs") })
	eventually(t, "two brokers", func() (string, string) {
		return kfs("--topic", "b-dirs", "--broker", "1,3"), kafkas("--topic-list", "b-dirs", "--broker-list", "1,3")
	})
	eventually(t, "everything", func() (string, string) { return kfs(), kafkas() })
	// The sums are those of the replicas.
	replicas := kfRows(t, c.kf("brokers", "logdirs", "--partitions", "--topic", "b-dirs", "-o", "csv"))
	dirs := kfRows(t, c.kf("brokers", "logdirs", "--topic", "b-dirs", "-o", "csv"))
	for _, d := range dirs {
		size, n := int64(0), 0
		for _, r := range replicas {
			if r["broker"] == d["broker"] {
				var one int64
				fmt.Sscan(r["size"], &one)
				size, n = size+one, n+1
			}
		}
		if d["state"] != "online" || d["size"] != fmt.Sprint(size) || d["replicas"] != fmt.Sprint(n) || d["total"] == "" || d["free"] == "" {
			t.Errorf("%v: want %d bytes in %d replicas", d, size, n)
		}
	}
	if len(dirs) != 3 || len(replicas) != 6 {
		t.Errorf("%v\n%v", dirs, replicas)
	}
	kf, kafka := c.kf("brokers", "logdirs", "--broker", "9"), c.kafka(t, "LogDirsCommand", "--describe", "--broker-list", "9")
	if kf.exit != 1 || kafka.exit != 1 || !strings.Contains(kf.stderr, "there is no broker 9; there are 1, 2, 3") {
		t.Errorf("unknown broker: kf %+v, Kafka %+v", kf, kafka)
	}
}

var statusLine = regexp.MustCompile(`(?m)^(\w+): +(.*)$`)

// status returns what kafka-metadata-quorum describe --status says, by name.
func (c *cluster) status(t *testing.T) map[string]string {
	t.Helper()
	r := c.kafka(t, "MetadataQuorumCommand", "describe", "--status")
	said := make(map[string]string)
	for _, m := range statusLine.FindAllStringSubmatch(r.stdout, -1) {
		said[m[1]] = m[2]
	}
	if said["LeaderId"] == "" {
		t.Fatal(r.stdout, r.stderr)
	}
	return said
}

// compareQuorum compares what kf says of the metadata quorum with Kafka's tool.
func (c *cluster) compareQuorum(t *testing.T, kf func(args ...string) ran) {
	before := c.status(t)
	rows := kfRows(t, kf("brokers", "quorum", "-o", "csv"))
	replication := c.kafka(t, "MetadataQuorumCommand", "describe", "--replication")
	after := c.status(t)
	var voters, roles []string
	for _, row := range rows {
		for _, column := range []string{"high_watermark", "log_end_offset"} {
			if got, low, high := firstNumber(row[column]), firstNumber(before["HighWatermark"]), firstNumber(after["HighWatermark"]); got < low || got > high+1 {
				t.Errorf("%s of node %s is %d; Kafka has %d before and %d after", column, row["node"], got, low, high)
			}
		}
		if row["leader_epoch"] != after["LeaderEpoch"] || (row["role"] == "leader") != (row["node"] == after["LeaderId"]) {
			t.Errorf("%v, %v", row, after)
		}
		if row["fetch_age_ms"] == "" || row["caught_up_age_ms"] == "" || firstNumber(row["fetch_age_ms"]) > 10_000 {
			t.Errorf("ages: %v", row)
		}
		roles = append(roles, row["node"]+" "+row["role"])
		voters = append(voters, fmt.Sprintf(`{"id": %s, "endpoints": ["%s"]}`, row["node"], row["endpoints"]))
	}
	slices.Sort(voters)
	sameFacts(t, "voters", "["+strings.Join(voters, ", ")+"]", after["CurrentVoters"])
	var kafkas []string
	for line := range strings.Lines(replication.stdout) {
		if words := strings.Fields(line); len(words) == 7 && words[0] != "NodeId" {
			kafkas = append(kafkas, words[0]+" "+strings.ToLower(words[6]))
		}
	}
	slices.Sort(kafkas)
	slices.Sort(roles)
	sameFacts(t, "roles", strings.Join(roles, "\n"), strings.Join(kafkas, "\n"))
}

func (c *cluster) sameQuorum(t *testing.T) {
	t.Run("brokers", func(t *testing.T) { c.compareQuorum(t, c.kf) })
	t.Run("controllers", func(t *testing.T) {
		controllers := c.controllers(t)
		c.compareQuorum(t, func(args ...string) ran { return runKF(append(args, "--bootstrap-controller", controllers)...) })
	})
}

func firstNumber(s string) (n int64) {
	fmt.Sscan(s, &n)
	return n
}

var controllerAddress = regexp.MustCompile(`CONTROLLER://([^"]+)`)

// controllers returns where the controllers are reached.
func (c *cluster) controllers(t *testing.T) string {
	t.Helper()
	var all []string
	for _, m := range controllerAddress.FindAllStringSubmatch(c.status(t)["CurrentVoters"], -1) {
		all = append(all, m[1])
	}
	if len(all) != 3 {
		t.Fatalf("controllers: %q", all)
	}
	return strings.Join(all, ",")
}

var featureLine = regexp.MustCompile(`(?m)^Feature: (\S+)\s+SupportedMinVersion: (\S+)\s+SupportedMaxVersion: (\S+)\s+FinalizedVersionLevel: (\S+)`)

// features returns what kf says of features, and what Kafka's tool does; to is the flag
// that says who is asked.
func (c *cluster) features(t *testing.T, to ...string) (kf, kafka string) {
	t.Helper()
	r := c.try(t, "org.apache.kafka.tools.FeatureCommand", append(to, "describe")...)
	var all []string
	for _, m := range featureLine.FindAllStringSubmatch(r.stdout, -1) {
		all = append(all, strings.Join(m[1:], " "))
	}
	rows := kfRows(t, runKF(append([]string{"brokers", "features", "-o", "csv"}, to...)...))
	for _, row := range rows {
		for _, column := range []string{"min", "max", "finalized"} {
			if name := row[column+"_name"]; name != "" {
				row[column] = name
			}
		}
	}
	return picked(rows, "feature", "min", "max", "finalized"), strings.Join(all, "\n")
}

func (c *cluster) sameFeatures(t *testing.T) {
	controllers := c.controllers(t)
	same := func(what string) {
		t.Helper()
		eventually(t, what, func() (string, string) { return c.features(t, "--bootstrap-server", c.bootstrap) })
	}
	same("features")
	kf, kafka := c.features(t, "--bootstrap-controller", controllers)
	sameFacts(t, "of controllers", kf, kafka)

	// What is refused, in Kafka's words, and what would be done.
	for _, tt := range []struct {
		kf, kafka string
		exit      int
	}{
		{"upgrade --feature metadata.version=99", "upgrade --feature metadata.version=99", 1},
		{"upgrade --feature no.such=1", "upgrade --feature no.such=1", 1},
		{"upgrade --feature share.version=1", "upgrade --feature share.version=1", 1},
		{"upgrade --release-version 4.0", "upgrade --release-version 4.0", 1},
		{"upgrade --release-version 4.4", "upgrade --release-version 4.4", 0},
		{"downgrade --feature share.version=0", "downgrade --feature share.version=0", 0},
		{"downgrade --feature eligible.leader.replicas.version=0 --unsafe", "downgrade --feature eligible.leader.replicas.version=0 --unsafe", 0},
		{"disable --feature transaction.version", "disable --feature transaction.version", 0},
	} {
		kf := c.kf(strings.Fields("brokers features " + tt.kf + " --dry-run -o csv")...)
		kafka := c.kafka(t, "FeatureCommand", strings.Fields(tt.kafka+" --dry-run")...)
		if kf.exit != tt.exit || kafka.exit != tt.exit {
			t.Errorf("%s: kf %+v, Kafka %+v", tt.kf, kf, kafka)
			continue
		}
		for _, row := range csvRows(t, kf.stdout) {
			// "Can not upgrade x to 9. <reason>", or "x can be upgraded to 9.", "x can be disabled."
			line := regexp.MustCompile(`(?m)^(?:Can not \w+ )?` + regexp.QuoteMeta(row["feature"]) + `(?: to (-?\d+)\. (.*)| can be \w+ to (\d+)\.| can be disabled\.)$`)
			m := line.FindStringSubmatch(kafka.stdout)
			switch {
			case m == nil:
				t.Errorf("%s: Kafka does not name %s:\n%s", tt.kf, row["feature"], kafka.stdout)
			case m[1]+m[3] != "" && m[1]+m[3] != row["to"]:
				t.Errorf("%s: %v, Kafka: %s", tt.kf, row, m[0])
			case (m[2] != "") != (row["result"] == "failed"), !strings.HasSuffix(row["error"], m[2]):
				t.Errorf("%s: %v, Kafka: %s", tt.kf, row, m[0])
			}
		}
		if n := strings.Count(strings.TrimSpace(kafka.stdout), "\n") + 1; n != len(csvRows(t, kf.stdout)) {
			t.Errorf("%s: kf %s\nKafka %s", tt.kf, kf.stdout, kafka.stdout)
		}
	}

	// A change there and back, by brokers and by controllers; then Kafka sees the same.
	disabled := c.kf("brokers", "features", "disable", "--feature", "streams.version", "-o", "csv")
	if rows := kfRows(t, disabled); picked(rows, "feature", "from", "to", "result") != "streams.version 1 0 disabled" {
		t.Errorf("%s%s", disabled.stdout, disabled.stderr)
	}
	same("disabled")
	upgraded := runKF("brokers", "features", "upgrade", "--feature", "streams.version=1", "-o", "csv", "--bootstrap-controller", controllers)
	if rows := kfRows(t, upgraded); picked(rows, "feature", "to", "result") != "streams.version 1 upgraded" {
		t.Errorf("%s%s", upgraded.stdout, upgraded.stderr)
	}
	same("upgraded")
}

var mappingLine = regexp.MustCompile(`(?m)^(\S+)=(\d+)`)

func (c *cluster) sameMapping(t *testing.T) {
	for _, release := range []string{"3.3-IV3", "3.9-IV0", "4.0", "4.1-IV0", "4.2", "4.3-IV0", "4.4"} {
		r := c.kafka(t, "FeatureCommand", "version-mapping", "--release-version", release)
		want := make(map[string]string)
		for _, m := range mappingLine.FindAllStringSubmatch(r.stdout, -1) {
			want[m[1]] = m[2]
		}
		got := make(map[string]string)
		for _, row := range kfRows(t, runKF("brokers", "features", "mapping", release, "-o", "csv")) {
			got[row["feature"]] = row["level"]
		}
		if !maps.Equal(got, want) || len(got) != 7 {
			t.Errorf("%s: %v, want %v", release, got, want)
		}
	}
	all := []string{"feature-dependencies"}
	rows := kfRows(t, runKF("brokers", "features", "mapping", "4.4", "-o", "csv"))
	for _, row := range rows {
		all = append(all, "--feature", row["feature"]+"="+row["level"])
	}
	r := c.kafka(t, "FeatureCommand", all...)
	for _, row := range rows {
		feature := regexp.QuoteMeta(row["feature"] + "=" + row["level"])
		want := feature + `( \(.*\))? has no dependencies\.`
		if row["requires"] != "" {
			want = feature + ` requires:\n\s+metadata\.version=\d+ \(` + regexp.QuoteMeta(row["requires"]) + `\)`
		}
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(r.stdout) {
			t.Errorf("%v, Kafka:\n%s", row, r.stdout)
		}
	}
}

var (
	versionsOf  = regexp.MustCompile(`(?m)^(\S+):(\d+) \(id: (\d+) rack: (\S+) isFenced: false[^)]*\) -> \($`)
	versionLine = regexp.MustCompile(`(?m)^\t(\w+)\((\d+)\): (?:UNSUPPORTED|(\d+)(?: to (\d+))? \[usable: (\d+)\])`)
)

// compareVersions compares the versions of APIs that both print.
func compareVersions(t *testing.T, kf, kafka ran) {
	var want []string
	id := ""
	for line := range strings.Lines(kafka.stdout) {
		if m := versionsOf.FindStringSubmatch(line); m != nil {
			id = m[3]
		}
		if m := versionLine.FindStringSubmatch(line); m != nil && m[3] != "" {
			if m[4] == "" {
				m[4] = m[3]
			}
			want = append(want, strings.Join([]string{id, m[2], m[1], m[3], m[4], m[5]}, " "))
		}
	}
	slices.Sort(want)
	rows := kfRows(t, kf)
	sameFacts(t, "versions", picked(rows, "broker", "key", "api", "min", "max", "use"), strings.Join(want, "\n"))
}

func (c *cluster) sameVersions(t *testing.T) {
	t.Run("brokers", func(t *testing.T) {
		compareVersions(t, c.kf("brokers", "describe", "--api-versions", "-o", "csv"), c.kafka(t, "BrokerApiVersionsCommand"))
	})
	t.Run("controllers", func(t *testing.T) {
		controllers := c.controllers(t)
		compareVersions(t, runKF("brokers", "describe", "--api-versions", "-o", "csv", "--bootstrap-controller", controllers),
			c.try(t, "org.apache.kafka.tools.ClusterTool", "api-versions", "--bootstrap-controller", controllers))
	})
}

// sameCluster ends with a broker that is down, and up again.
func (c *cluster) sameCluster(t *testing.T) {
	tool := func(subcommand string, args ...string) ran {
		return c.try(t, "org.apache.kafka.tools.ClusterTool", append([]string{subcommand}, args...)...)
	}
	controllers := c.controllers(t)
	for _, to := range [][]string{{"--bootstrap-server", c.bootstrap}, {"--bootstrap-controller", controllers}} {
		kf, kafka := runKF(append([]string{"cluster", "id"}, to...)...), tool("cluster-id", to...)
		sameFacts(t, "id", "Cluster ID: "+kf.stdout, kafka.stdout)
	}
	endpoints := func(r ran) string {
		var all []string
		for line := range strings.Lines(r.stdout) {
			if words := strings.Fields(line); len(words) > 4 && words[0] != "ID" {
				all = append(all, strings.Join(words, " "))
			}
		}
		return strings.Join(all, "\n")
	}
	kfs := func(args ...string) string {
		rows := kfRows(t, runKF(append([]string{"cluster", "endpoints", "-o", "csv"}, args...)...))
		for _, row := range rows {
			if row["rack"] == "" {
				row["rack"] = "null"
			}
		}
		if slices.Contains(args, "--bootstrap-controller") {
			return picked(rows, "node", "host", "port", "rack", "endpoint_type")
		}
		return picked(rows, "node", "host", "port", "rack", "state", "endpoint_type")
	}
	same := func(what string, args ...string) {
		t.Helper()
		sameFacts(t, what, kfs(args...), endpoints(tool("list-endpoints", args...)))
	}
	same("brokers", "--bootstrap-server", c.bootstrap)
	same("controllers", "--bootstrap-controller", controllers)

	glance := kfRows(t, c.kf("cluster", "describe", "-o", "csv"))[0]
	if glance["brokers"] != "3" || glance["fenced"] != "0" || glance["racks"] != "3" || glance["voters"] != "3" || glance["metadata_version"] != "4.4-IV2" || glance["controller"] != c.status(t)["LeaderId"] {
		t.Errorf("%v", glance)
	}

	for i, row := range kfRows(t, c.kf("brokers", "describe", "-o", "csv")) {
		listeners := regexp.MustCompile(`^PLAINTEXT://` + regexp.QuoteMeta(c.nodes[i].bootstrap) + `,BROKER://127\.0\.0\.1:\d+$`)
		if row["roles"] != "broker,controller" || row["release"] != "4.4" || row["metadata_version"] != "4.4-IV2" || !listeners.MatchString(row["listeners"]) {
			t.Errorf("%v", row)
		}
	}

	// A broker that stops is fenced, and can be unregistered.
	c.running[2].stop(t)
	same("fenced", "--bootstrap-server", c.nodes[0].bootstrap, "--include-fenced-brokers")
	same("one is down", "--bootstrap-server", c.nodes[0].bootstrap)
	list := kfRows(t, runKF("brokers", "list", "-o", "csv", "--bootstrap-server", c.nodes[0].bootstrap))
	if got, want := picked(list, "broker", "rack", "state"), "1 rack-1 up\n2 rack-2 up\n3 rack-3 fenced"; got != want || list[2]["leaders"] != "0" || list[2]["out_of_sync"] != list[2]["replicas"] {
		t.Errorf("%v", list)
	}
	described := runKF("cluster", "describe", "-o", "csv", "--bootstrap-server", c.nodes[0].bootstrap)
	if row := kfRows(t, described)[0]; row["brokers"] != "2" || row["fenced"] != "1" || firstNumber(row["under_replicated"]) == 0 || row["leaderless"] != "0" {
		t.Errorf("%v", row)
	}
	down := runKF("brokers", "logdirs", "-o", "csv", "--bootstrap-server", c.nodes[0].bootstrap)
	if got := picked(csvRows(t, down.stdout), "broker", "state"); got != "1 online\n2 online" || down.exit != 1 || !strings.Contains(down.stderr, "broker 3 is fenced") {
		t.Errorf("%+v", down)
	}
	unregistered := runKF("cluster", "unregister", "3", "--yes", "-o", "csv", "--bootstrap-server", c.nodes[0].bootstrap)
	sameFacts(t, "unregister", picked(kfRows(t, unregistered), "node", "type", "result"), "3 broker unregistered")
	eventually(t, "unregistered", func() (string, string) {
		return kfs("--bootstrap-server", c.nodes[0].bootstrap, "--include-fenced"), endpoints(tool("list-endpoints", "--bootstrap-server", c.nodes[0].bootstrap))
	})
	for _, args := range [][]string{{"--bootstrap-server", c.nodes[0].bootstrap}, {"--bootstrap-controller", controllers}} {
		kf, kafka := runKF(append([]string{"cluster", "unregister", "9", "--yes"}, args...)...), tool("unregister", append(args, "--id", "9")...)
		if kf.exit != 1 || kafka.exit != 1 || !strings.Contains(kf.stderr, "9") || !strings.Contains(kf.stderr, "registered") {
			t.Errorf("kf %+v\nKafka %+v", kf, kafka)
		}
	}

	// It is there again for whoever comes next.
	c.launch(2)
	c.await(t, 2)
	eventually(t, "back", func() (string, string) {
		return kfs("--bootstrap-server", c.nodes[0].bootstrap), endpoints(tool("list-endpoints", "--bootstrap-server", c.bootstrap))
	})
	eventually(t, "in sync", func() (string, string) {
		return kfRows(t, c.kf("cluster", "describe", "-o", "csv"))[0]["under_replicated"], "0"
	})
}
