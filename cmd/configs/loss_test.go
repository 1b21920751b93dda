package configs

import (
	"testing"

	"kf/internal/client"
)

func TestLoss(t *testing.T) {
	a := &alteration{before: map[string]*entry{
		"retention.ms":    {value: new("604800000")},
		"retention.bytes": {value: new("-1")},
		"cleanup.policy":  {value: new("delete")},
	}}
	for _, tt := range []struct {
		op         client.ConfigOp
		key, value string
		lost       bool
	}{
		{client.SetConfig, "retention.ms", "1000", true},
		{client.SetConfig, "retention.ms", "604800000", false},
		{client.SetConfig, "retention.ms", "-1", false},
		{client.SetConfig, "retention.ms", "soon", false}, // the cluster refuses it
		{client.SetConfig, "retention.bytes", "5", true},
		{client.SetConfig, "log.retention.ms", "7200000", true}, // not set, so hours hold
		{client.DeleteConfig, "retention.ms", "", false},
		{client.SetConfig, "cleanup.policy", "delete", false},
		{client.SetConfig, "cleanup.policy", "delete,compact", true},
		{client.AppendConfig, "cleanup.policy", "compact", true},
		{client.SubtractConfig, "cleanup.policy", "delete", false},
		{client.SetConfig, "segment.bytes", "1", false},
	} {
		if got := a.loss(&change{op: tt.op, key: tt.key, value: tt.value}); (got != "") != tt.lost {
			t.Errorf("%s=%s: %q", tt.key, tt.value, got)
		}
	}
}
