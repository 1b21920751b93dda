//go:build interop && clients

package interop

import (
	"reflect"
	"testing"
)

// TestGroupClientsUnbalanced checks the check of the members' shares.
func TestGroupClientsUnbalanced(t *testing.T) {
	for _, tt := range []struct {
		assignor string
		shares   [][]int32
		balanced bool
	}{
		{"range", [][]int32{{0, 1, 2, 3, 4, 5, 6}}, true},
		{"range", [][]int32{{3, 4}, {0, 1, 2}, {5, 6}}, true},
		{"range", [][]int32{{0, 3, 6}, {1, 4}, {2, 5}}, false},
		{"roundrobin", [][]int32{{0, 3, 6}, {1, 4}, {2, 5}}, true},
		{"RoundRobinAssigner", [][]int32{{1, 3, 5}, {0, 2, 4, 6}}, true},
		{"roundrobin", [][]int32{{0, 1, 2}, {3, 4}, {5, 6}}, false},
		{"sticky", [][]int32{{0, 5, 6}, {1, 4}, {2, 3}}, true},
		{"uniform", [][]int32{{0, 4, 5, 6}, {1, 2}, {3}}, false},
		{"uniform", [][]int32{{0, 1, 2, 3}, {3, 4, 5}}, false},
		{"uniform", [][]int32{{0, 1, 2}, {3, 4, 5}}, false},
		{"sticky", [][]int32{{}}, false},
	} {
		if why := unbalanced(tt.assignor, tt.shares); (why == "") != tt.balanced {
			t.Errorf("%s %v: %q", tt.assignor, tt.shares, why)
		}
	}
}

func TestGroupClientsEvents(t *testing.T) {
	for line, want := range map[string]clientEvent{
		`{"event":"assigned","partitions":[0,6]}`:      {Event: "assigned", Partitions: []int32{0, 6}},
		`{"event":"record","partition":3,"offset":41}`: {Event: "record", Partition: 3, Offset: 41},
		`record 3 41`: {Event: "record", Partition: 3, Offset: 41},
		`% Group g rebalanced (memberid rdkafka-1): assigned: t [0], t [6]`:                                                                       {Event: "assigned", Partitions: []int32{0, 6}},
		`% Group g rebalanced (memberid rdkafka-1): revoked: t [5]`:                                                                               {Event: "revoked", Partitions: []int32{5}},
		`% Group g rebalanced: incremental assignment of 2 partition(s) (memberid rdkafka-1, COOPERATIVE rebalance protocol): t [0], t [6]`:       {Event: "assigned", Partitions: []int32{0, 6}},
		`% Group g rebalanced: incremental revoke of 0 partition(s) (memberid rdkafka-1, COOPERATIVE rebalance protocol): `:                       {Event: "revoked"},
		`% Group g rebalanced: incremental revoke of 1 partition(s) (memberid rdkafka-1, assignment lost, COOPERATIVE rebalance protocol): t [3]`: {Event: "revoked", Partitions: []int32{3}},
		`% Waiting for group rebalance`: {},
		`{"level":"warn"}`:              {},
	} {
		got, ok := parseClientEvent(line)
		if !reflect.DeepEqual(got, want) || ok != (want.Event != "") {
			t.Errorf("%s: %+v, %t", line, got, ok)
		}
	}
}
