//go:build interop

package interop

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What package kafkaconf is tested against is what Kafka says.
func TestConfigs(t *testing.T) {
	k := newKafka(t)
	got, err := k.java(filepath.Join(t.TempDir(), "kafka.log"), "Configs").Output()
	if err != nil {
		t.Fatal(err)
	}
	pinned := filepath.Join("..", "kafkaconf", "testdata", "kafka.jsonl")
	want, err := os.ReadFile(pinned)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	now := filepath.Join(os.TempDir(), "kafka.jsonl")
	if err := os.WriteFile(now, got, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s is not what Kafka says: see %s", pinned, now)
}
