//go:build interop

package interop

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A cluster is three nodes of Kafka, each a broker in a rack of its own and a
// controller, with the features of a new 4.4.
type cluster struct {
	t         testing.TB // of the test that has it: its nodes end with that
	nodes     []*node
	running   []*process // by index of the node
	bootstrap string     // of all three
	tools     *tools
}

// clusterProperties are those of newNode's nodes that a cluster has otherwise.
const clusterProperties = `process.roles=broker,controller
node.id=%[1]d
broker.rack=rack-%[1]d
controller.quorum.voters=%[2]s
listeners=PLAINTEXT://%[3]s,BROKER://%[4]s,CONTROLLER://%[5]s
advertised.listeners=PLAINTEXT://%[6]s,BROKER://%[4]s
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=BROKER
log.dirs=%[7]s
num.partitions=2
default.replication.factor=3
auto.create.topics.enable=false
offsets.topic.num.partitions=6
transaction.state.log.num.partitions=3
share.coordinator.state.topic.num.partitions=3
group.initial.rebalance.delay.ms=0
group.consumer.min.heartbeat.interval.ms=200
group.consumer.heartbeat.interval.ms=200
group.consumer.assignment.interval.ms=0
group.share.min.heartbeat.interval.ms=200
group.share.heartbeat.interval.ms=200
group.streams.min.heartbeat.interval.ms=200
group.streams.heartbeat.interval.ms=200
log.retention.check.interval.ms=86400000
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
`

// threeNodes starts a cluster; t ends it.
func threeNodes(t testing.TB) *cluster {
	return threeNodesBehind(t, func(broker string) string { return broker })
}

// threeNodesBehind is threeNodes with brokers that clients reach at the addresses
// that advertise returns for theirs.
func threeNodesBehind(t testing.TB, advertise func(broker string) string) *cluster {
	t.Helper()
	k := newKafka(t)
	c := &cluster{t: t, tools: k.newTools(t, t.TempDir())}
	var voters, controllers, advertised []string
	for i := range 3 {
		controllers = append(controllers, freePort(t))
		voters = append(voters, fmt.Sprintf("%d@%s", i+1, controllers[i]))
	}
	for i, controller := range controllers {
		n := &node{k: k, dir: t.TempDir(), bootstrap: freePort(t)}
		advertised = append(advertised, advertise(n.bootstrap))
		properties := fmt.Sprintf(clusterProperties, i+1, strings.Join(voters, ","), n.bootstrap, freePort(t), controller, advertised[i], filepath.ToSlash(n.data()))
		if err := os.WriteFile(n.path("server.properties"), []byte(properties), 0o644); err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, n)
		c.java(t, "kafka.tools.StorageTool", "format", "--cluster-id", "kfInteropCluster000003", "--config", n.path("server.properties"))
	}
	c.bootstrap = strings.Join(advertised, ",")
	for i := range c.nodes {
		c.running = append(c.running, nil)
		c.launch(i)
	}
	for i := range c.nodes {
		c.await(t, i)
	}
	return c
}

// launch starts the node with this index, which needs a second one to get ready.
func (c *cluster) launch(i int) {
	c.t.Helper()
	n := c.nodes[i]
	c.running[i] = n.k.start(c.t, n.path("server.log"), "kafka.Kafka", n.path("server.properties"))
}

// await waits until the node with this index answers.
func (c *cluster) await(t testing.TB, i int) {
	t.Helper()
	for end := time.Now().Add(startLimit); ; time.Sleep(100 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", c.nodes[i].bootstrap, time.Second)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-c.running[i].ended:
			t.Fatalf("node %d has ended:\n%s\n%s", i+1, c.running[i].said(), c.nodes[i].log())
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("node %d does not start:\n%s\n%s", i+1, c.running[i].said(), c.nodes[i].log())
		}
	}
}

// java runs the main method of a class and returns what it printed; it must
// succeed.
func (c *cluster) java(t testing.TB, class string, args ...string) string {
	t.Helper()
	r := c.try(t, class, args...)
	if r.exit != 0 {
		t.Fatalf("%s %q: exit %d\n%s%s", class, args, r.exit, r.stdout, r.stderr)
	}
	return r.stdout
}

// try runs the main method of a class.
func (c *cluster) try(t testing.TB, class string, args ...string) ran {
	t.Helper()
	r, err := c.tools.run(class, "", args...)
	if err != nil {
		t.Fatalf("%s %q: %v", class, args, err)
	}
	return r
}

// kafka runs one of Kafka's tools on the cluster.
func (c *cluster) kafka(t testing.TB, class string, args ...string) ran {
	t.Helper()
	return c.try(t, "org.apache.kafka.tools."+class, append([]string{"--bootstrap-server", c.bootstrap}, args...)...)
}

// kf runs kf on the cluster.
func (c *cluster) kf(args ...string) ran {
	return runKF(append(args, "--bootstrap-server", c.bootstrap)...)
}

// TestOnline compares the commands for clusters with Kafka's tools, on one cluster
// for all of them.
func TestOnline(t *testing.T) {
	c := threeNodes(t)
	t.Run("lists", func(t *testing.T) {
		c.kafka(t, "TopicCommand", "--create", "--topic", "lists", "--partitions", "3")
		want := c.kafka(t, "TopicCommand", "--list")
		got := c.kf("topics", "list", "-o", "csv")
		if got.exit != 0 || strings.Count(got.stdout, "\n") != strings.Count(want.stdout, "\n")+1 || !strings.Contains(got.stdout, "lists,3,3,") {
			t.Errorf("kf: exit %d\n%s%sKafka:\n%s", got.exit, got.stdout, got.stderr, want.stdout)
		}
	})
	t.Run("topics", c.onlineTopics)
	t.Run("groups", c.onlineGroups)
	t.Run("configs", func(t *testing.T) { onlineConfigs(t, c) })
	t.Run("reset", c.onlineReset)
	t.Run("brokers", func(t *testing.T) { onlineBrokers(t, c) })
}
