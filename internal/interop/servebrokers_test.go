//go:build interop

package interop

import "testing"

// Kafka's tools for brokers, the quorum, features and the cluster get from kf serve what
// kf gets.
func TestServeBrokers(t *testing.T) {
	b, err := startKF(t, buildKF(t, t.TempDir()), anyPort, []string{t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	k := newKafka(t)
	c := &cluster{t: t, tools: k.newTools(t, t.TempDir()), bootstrap: b.bootstrap}
	t.Run("quorum", func(t *testing.T) { c.compareQuorum(t, c.kf) })
	t.Run("versions", func(t *testing.T) {
		compareVersions(t, c.kf("brokers", "describe", "--api-versions", "-o", "csv"), c.kafka(t, "BrokerApiVersionsCommand"))
	})
	t.Run("features", func(t *testing.T) {
		kf, kafka := c.features(t, "--bootstrap-server", b.bootstrap)
		sameFacts(t, "features", kf, kafka)
	})
	t.Run("cluster", func(t *testing.T) {
		kf, kafka := c.kf("cluster", "id"), c.try(t, "org.apache.kafka.tools.ClusterTool", "cluster-id", "--bootstrap-server", b.bootstrap)
		sameFacts(t, "id", "Cluster ID: "+kf.stdout, kafka.stdout)
	})
}
