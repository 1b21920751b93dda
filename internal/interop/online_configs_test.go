//go:build interop

package interop

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kf/internal/javafmt"
)

// onlineConfigs compares kf configs with kafka-configs: what the one changed the other
// shows, for every type of entity, and both show the same.
func onlineConfigs(t *testing.T, c *cluster) {
	for _, topic := range []string{"configs-a", "configs-b"} {
		if r := c.kafka(t, "TopicCommand", "--create", "--topic", topic, "--partitions", "1"); !strings.Contains(r.stdout, "Created topic") {
			t.Fatal(r.stdout, r.stderr)
		}
	}
	configsDir := t.TempDir()
	properties := filepath.Join(configsDir, "topic.properties")
	if err := os.WriteFile(properties, []byte("segment.ms=600000\ncompression.type=zstd\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	// Each step is a change by one of the two, then all that it is about is compared.
	for _, step := range []struct {
		kf, kafka string   // the change; of kf without "configs alter"
		show      []string // as kf names it, and as kafka-configs does
	}{
		{"topic configs-a configs-b --set retention.ms=3600000 --set cleanup.policy=compact,delete --set max.message.bytes=200000", "",
			[]string{"topic configs-a|--topic configs-a", "topic configs-b --all|--entity-type topics --entity-name configs-b --all", "topic|--entity-type topics"}},
		{"topic configs-a --subtract cleanup.policy=delete --delete max.message.bytes", "", []string{"topic configs-a --all|--topic configs-a --all"}},
		{"topic configs-b --delete cleanup.policy", "", []string{"topic configs-b|--topic configs-b"}},
		{"topic configs-b --append cleanup.policy=compact", "", []string{"topic configs-b|--topic configs-b"}},
		{"topic configs-b --from-file " + properties, "", []string{"topic configs-b|--topic configs-b"}},
		{"", "--alter --topic configs-a --add-config cleanup.policy=[delete,compact],leader.replication.throttled.replicas=[0:1,0:2] --delete-config retention.ms",
			[]string{"topic configs-a|--topic configs-a"}},
		{"topic --regex configs-.* --delete-all", "", []string{"topic|--entity-type topics"}},

		{"broker 1 --set log.cleaner.threads=2", "", []string{"broker 1|--broker 1", "broker 2 --all|--broker 2 --all"}},
		{"broker-defaults --set log.retention.ms=7200000 --set log.cleaner.threads=2", "",
			[]string{"broker-defaults|--broker-defaults", "broker|--entity-type brokers", "broker 1 --all|--broker 1 --all", "topic configs-a --all|--topic configs-a --all"}},
		{"", "--alter --broker 1 --delete-config log.cleaner.threads", []string{"broker 1|--broker 1"}},
		{"broker-defaults --delete log.retention.ms --delete log.cleaner.threads", "", []string{"broker|--entity-type brokers"}},

		{"broker-logger 2 --set kafka.server.ReplicaManager=DEBUG", "", []string{"broker-logger 2|--broker-logger 2"}},
		{"", "--alter --broker-logger 2 --delete-config kafka.server.ReplicaManager", []string{"broker-logger 2|--broker-logger 2"}},

		{"group configs-g --set consumer.session.timeout.ms=50000", "", []string{"group configs-g|--group configs-g", "group configs-g --all|--group configs-g --all"}},
		{"", "--alter --group configs-s --add-config share.auto.offset.reset=earliest", []string{"group --all|--entity-type groups --all"}},
		{"group configs-g configs-s --delete-all", "", nil},

		{"client-metrics configs-m --set metrics=org.apache.kafka.producer.,org.apache.kafka.consumer. --set interval.ms=30000 --set match=client_id=app.*", "",
			[]string{"client-metrics configs-m|--client-metrics configs-m", "client-metrics|--entity-type client-metrics"}},
		{"", "--alter --client-metrics configs-m --add-config interval.ms=20000 --delete-config match", []string{"client-metrics|--entity-type client-metrics", "client-metrics configs-m --all|--client-metrics configs-m --all"}},

		{"user alice --set producer_byte_rate=1024 --set consumer_byte_rate=10485760", "", []string{"user alice|--user alice", "user|--entity-type users"}},
		{"user-defaults --set request_percentage=50.5", "", []string{"user-defaults|--user-defaults", "user|--entity-type users"}},
		{"", "--alter --user alice --client app --add-config controller_mutation_rate=2", []string{"user:alice,client:app|--user alice --client app"}},
		{"user-defaults,client-defaults --set producer_byte_rate=1e12", "", []string{"user,client|--entity-type users --entity-type clients", "user-defaults,client-defaults|--user-defaults --client-defaults"}},
		{"client app --set request_percentage=75", "", []string{"client app|--client app", "client|--entity-type clients"}},
		{"client-defaults --set consumer_byte_rate=2048", "", []string{"client-defaults|--client-defaults", "client|--entity-type clients"}},
		{"ip 127.0.0.1 --set connection_creation_rate=100", "", []string{"ip 127.0.0.1|--ip 127.0.0.1", "ip|--entity-type ips"}},
		{"ip-defaults --set connection_creation_rate=10000", "", []string{"ip-defaults|--ip-defaults", "ip|--entity-type ips"}},
		{"user alice bob --set SCRAM-SHA-256=[iterations=8192,password=x] --set SCRAM-SHA-512=password=y", "", []string{"user|--entity-type users", "user bob|--user bob"}},
		{"", "--alter --user bob --add-config SCRAM-SHA-256=[iterations=5000,password=z]", []string{"user bob|--user bob"}},
		{"user bob --delete-all --yes", "", []string{"user bob|--user bob"}},
		{"user:alice,client:app --delete controller_mutation_rate", "", []string{"user,client|--entity-type users --entity-type clients"}},
		{"user alice --delete producer_byte_rate,consumer_byte_rate,SCRAM-SHA-256,SCRAM-SHA-512 --yes", "", []string{"user|--entity-type users"}},
		{"ip 127.0.0.1 --delete connection_creation_rate", "", []string{"ip|--entity-type ips"}},
	} {
		if step.kf != "" {
			if r := c.kf(append([]string{"configs", "alter"}, strings.Fields(step.kf)...)...); r.exit != 0 {
				t.Errorf("kf configs alter %s: exit %d\n%s%s", step.kf, r.exit, r.stdout, r.stderr)
				continue
			}
		} else if r := c.kafka(t, "ConfigCommand", strings.Fields(step.kafka)...); r.exit != 0 {
			t.Errorf("kafka-configs %s: exit %d\n%s%s", step.kafka, r.exit, r.stdout, r.stderr)
			continue
		}
		for _, show := range step.show {
			ours, kafkas, _ := strings.Cut(show, "|")
			c.compareConfigs(t, ours, kafkas)
		}
	}
	onlineConfigErrors(t, c)
	onlineControllerConfigs(t, c)
}

// onlineControllerConfigs asks and changes the nodes as controllers.
func onlineControllerConfigs(t *testing.T, c *cluster) {
	text, err := os.ReadFile(c.nodes[0].path("server.properties"))
	if err != nil {
		t.Fatal(err)
	}
	_, address, _ := strings.Cut(string(text), "CONTROLLER://")
	address, _, _ = strings.Cut(address, "\n")
	at := []string{"--bootstrap-controller", strings.TrimSpace(address)}
	for _, change := range []string{"broker 3 --set log.cleaner.threads=2", "broker-logger 3 --set kafka.server.ControllerApis=DEBUG"} {
		if r := runKF(slices.Concat([]string{"configs", "alter"}, strings.Fields(change), at)...); r.exit != 0 {
			t.Errorf("kf configs alter %s at a controller: exit %d\n%s", change, r.exit, r.stderr)
		}
	}
	c.compareConfigsAt(t, at, "broker 3 --all", "--broker 3 --all")
	c.compareConfigsAt(t, at, "broker-logger 3", "--broker-logger 3")
	c.compareConfigsAt(t, at, "broker-defaults", "--broker-defaults")
	if r := runKF(append([]string{"configs", "describe", "user", "alice"}, at...)...); r.exit != 1 {
		t.Errorf("quotas of controllers: exit %d\n%s", r.exit, r.stderr)
	}
}

// compareConfigs fails unless kf and kafka-configs describe the same.
func (c *cluster) compareConfigs(t *testing.T, ours, kafkas string) {
	t.Helper()
	c.compareConfigsAt(t, []string{"--bootstrap-server", c.bootstrap}, ours, kafkas)
}

// compareConfigsAt compares what those at an address say. A change takes a moment to
// reach every node.
func (c *cluster) compareConfigsAt(t *testing.T, at []string, ours, kafkas string) {
	t.Helper()
	var got, want string
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		theirs := c.try(t, "org.apache.kafka.tools.ConfigCommand", slices.Concat(at, []string{"--describe"}, strings.Fields(kafkas))...)
		want = strings.Join(configBlocks(theirs.stdout), "\n")
		all := strings.Contains(ours, "--all")
		r := runKF(slices.Concat([]string{"configs", "describe", "-o", "jsonl"}, strings.Fields(ours), at)...)
		if r.exit != 0 || theirs.exit != 0 {
			t.Fatalf("kf %s: exit %d\n%s\nkafka-configs %s: exit %d\n%s", ours, r.exit, r.stderr, kafkas, theirs.exit, theirs.stderr)
		}
		got = strings.Join(asKafkaConfigs(t, r.stdout, all), "\n")
		if got == want {
			return
		}
		if time.Now().After(end) {
			break
		}
	}
	t.Errorf("kf configs describe %s, as kafka-configs writes it:\n%s\nkafka-configs %s:\n%s", ours, got, kafkas, want)
}

// configBlocks returns the blocks of an output of kafka-configs, each a heading with
// its lines, sorted. Entities without a line are left out.
func configBlocks(text string) []string {
	var blocks []string
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "  ") && len(blocks) > 0:
			blocks[len(blocks)-1] += line
		case strings.HasPrefix(line, "SCRAM "): // in the order of a hash table
			heading, values, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " are ")
			mechanisms := strings.Split(values, ", ")
			slices.Sort(mechanisms)
			blocks = append(blocks, heading+" are "+strings.Join(mechanisms, ", ")+"\n")
		default:
			blocks = append(blocks, line)
		}
	}
	blocks = slices.DeleteFunc(blocks, func(b string) bool { return strings.HasSuffix(b, " are:\n") && strings.Count(b, "\n") == 1 })
	slices.Sort(blocks)
	return blocks
}

// A configLine is what a line of "kf configs describe -o jsonl" says.
type configLine struct {
	Entity     string  `json:"entity"`
	EntityType string  `json:"entity_type"`
	EntityName *string `json:"entity_name"`
	Client     *string `json:"client"`
	Key        string  `json:"key"`
	Value      *string `json:"value"`
	Source     string  `json:"source"`
	Type       string  `json:"type"`
	Sensitive  bool    `json:"sensitive"`
	Synonyms   []struct {
		Source, Key string
		Value       *string
	} `json:"synonyms"`
}

// asKafkaConfigs writes rows of kf as kafka-configs does, in sorted blocks. Without all
// only what was set for the entity itself counts, as Kafka has it.
func asKafkaConfigs(t *testing.T, rows string, all bool) []string {
	t.Helper()
	null := func(s *string) string {
		if s == nil {
			return "null"
		}
		return *s
	}
	blocks := make(map[string]string)
	quotas := make(map[string][]string)
	for line := range strings.Lines(rows) {
		var r configLine
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch r.EntityType {
		case "user", "client", "ip", "user,client":
			if r.Type == "PASSWORD" {
				heading := "SCRAM credential configs for " + principal(r) + " are "
				quotas[heading] = append(quotas[heading], r.Key+"="+null(r.Value))
				continue
			}
			var f float64
			if _, err := fmt.Sscan(null(r.Value), &f); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			heading := "Quota configs for " + principal(r) + " are "
			quotas[heading] = append(quotas[heading], r.Key+"="+string(javafmt.AppendDouble(nil, f)))
			continue
		}
		own := map[string]string{"topic": "DYNAMIC_TOPIC_CONFIG", "group": "DYNAMIC_GROUP_CONFIG", "broker": "DYNAMIC_BROKER_CONFIG",
			"broker-logger": "DYNAMIC_BROKER_LOGGER_CONFIG", "client-metrics": "DYNAMIC_CLIENT_METRICS_CONFIG"}[r.EntityType]
		heading := fmt.Sprintf("Dynamic configs for %s %s are:\n", strings.TrimSuffix(r.EntityType, "s"), null(r.EntityName))
		switch {
		case r.EntityName == nil:
			own, heading = "DYNAMIC_DEFAULT_BROKER_CONFIG", "Default configs for brokers in the cluster are:\n"
		case all:
			heading = strings.Replace(heading, "Dynamic", "All", 1)
		}
		if r.Source != own && !all {
			continue
		}
		var synonyms []string
		for _, s := range r.Synonyms {
			synonyms = append(synonyms, fmt.Sprintf("%s:%s=%s", s.Source, s.Key, null(s.Value)))
		}
		blocks[heading] += fmt.Sprintf("  %s=%s sensitive=%v synonyms={%s}\n", r.Key, null(r.Value), r.Sensitive, strings.Join(synonyms, ", "))
	}
	for heading, values := range quotas {
		blocks[heading] = strings.Join(values, ", ") + "\n"
	}
	var written []string
	for heading, lines := range blocks {
		written = append(written, heading+lines)
	}
	slices.Sort(written)
	return written
}

// principal writes an entity with quotas as kafka-configs does.
func principal(r configLine) string {
	one := func(kind string, name *string) string {
		if name == nil {
			return "the default " + kind
		}
		return kind + " '" + *name + "'"
	}
	switch r.EntityType {
	case "client":
		return one("client-id", r.EntityName)
	case "ip":
		return one("ip", r.EntityName)
	case "user,client":
		return one("user-principal", r.EntityName) + ", " + one("client-id", r.Client)
	}
	return one("user-principal", r.EntityName)
}

// onlineConfigErrors: what Kafka refuses kf reports in Kafka's words and with exit code
// 1, and a dry run says the same.
func onlineConfigErrors(t *testing.T, c *cluster) {
	for args, want := range map[string]string{
		"topic configs-a --set no.such=1":                          "Unknown topic config name: no.such",
		"topic configs-a --set retention.ms=soon":                  "Invalid value soon for configuration retention.ms: Not a number of type LONG",
		"topic configs-a --append retention.ms=1":                  "Can't APPEND to key retention.ms because its type is not LIST.",
		"broker 1 --set node.id=7":                                 "Cannot update these configs dynamically: [node.id]",
		"broker-defaults --delete min.insync.replicas":             "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
		"broker-logger 1 --set kafka.server.ReplicaManager=LOUD":   "is not a supported log level",
		"group configs-g --set consumer.session.timeout.ms=1":      "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.",
		"client-metrics configs-m --set interval.ms=1":             "interval.ms",
		"user alice --set producer_byte_rate=-1":                   "Quota producer_byte_rate must be greater than 0",
		"user alice --set producer_byte_rate=1.5":                  "producer_byte_rate cannot be a fractional value.",
		"ip not.a.host.invalid --set connection_creation_rate=1":   "is not a valid IP or resolvable host.",
		"topic configs-nope --set retention.ms=1":                  "there is no such topic",
		"broker 9 --set log.cleaner.threads=1":                     "no node has this id: there are 1, 2, 3",
		"user alice --delete SCRAM-SHA-256":                        "SCRAM-SHA-256 is not set",
		"broker-logger 1 --delete no.such.Logger":                  "there is no logger no.such.Logger",
		"user alice --set SCRAM-SHA-256=[iterations=1,password=x]": "Kafka takes 4096 to 16384",
	} {
		for _, dry := range []string{"", " --dry-run"} {
			r := c.kf(strings.Fields("configs alter " + args + dry)...)
			if r.exit != 1 && r.exit != 2 || !strings.Contains(r.stderr, want) {
				t.Errorf("kf configs alter %s%s: exit %d, want %q:\n%s", args, dry, r.exit, want, r.stderr)
			}
		}
	}
	for args, want := range map[string]string{"topic configs-nope": "there is no such topic", "broker 9": "no node has this id",
		"group configs-nope": "there is no such group", "client-metrics configs-nope": "there is no such subscription"} {
		if r := c.kf(strings.Fields("configs describe " + args)...); r.exit != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("kf configs describe %s: exit %d\n%s", args, r.exit, r.stderr)
		}
	}
	// The values of "after" are those that Kafka has afterwards, computed beforehand.
	changes := map[string]string{
		"--append cleanup.policy=compact": "delete,compact", "--subtract cleanup.policy=delete": "compact", "--set retention.ms=5": "5",
	}
	for _, args := range slices.Sorted(maps.Keys(changes)) {
		r := c.kf(strings.Fields("configs alter topic configs-a -o csv " + args)...)
		if !strings.Contains(r.stdout, changes[args]) {
			t.Errorf("%s: %s", args, r.stdout)
		}
		c.compareConfigs(t, "topic configs-a", "--topic configs-a")
	}
}
