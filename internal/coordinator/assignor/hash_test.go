package assignor_test

import (
	"strconv"
	"strings"
	"testing"

	"kf/internal/coordinator/assignor"
	"kf/internal/wire"
)

// noRacks has no racks for any partition.
func noRacks(int32) []string { return nil }

// each has the same racks for every partition.
func each(racks ...string) func(int32) []string {
	return func(int32) []string { return racks }
}

// The values are those of Kafka 4.4.0's own classes.
func TestTopicHash(t *testing.T) {
	low, high := wire.UUID{15: 1}, wire.UUID{0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10, 0xf0, 0xe1, 0xd2, 0xc3, 0xb4, 0xa5, 0x96, 0x87}
	for _, tt := range []struct {
		name       string
		id         wire.UUID
		partitions int32
		racks      func(int32) []string
		want       int64
	}{
		{"a", low, 1, noRacks, 4222581293823117848},
		{"a", high, 1, noRacks, 2742344056702827620},
		{"orders", high, 3, noRacks, -3185111898811219091},
		{"orders", high, 50, noRacks, -8711901115260986431},
		{"orders", high, 55, noRacks, -127791866250333825},
		{"orders", high, 5000, noRacks, -1932853561959393445},
		{strings.Repeat("long.", 49), high, 1, noRacks, -7299332957795360650},
		{"orders", high, 3, each("rack-1", "rack-2", "rack-1"), 1971251013706319098},
		{"orders", high, 3, each("rack-2", "rack-1", "rack-1"), 1971251013706319098},
		{"orders", high, 2, each("ab", "c"), 202862682184561481},
		{"orders", high, 2, each("a", "bc"), -5962871449454091563},
		{"bestellungen-ä-中-😀", high, 2, each("\U00010000", "\uffff", "ü"), 190642474982585303},
		{"orders", high, 100, func(p int32) []string { return []string{"a", "b", "c"}[p%3 : 1+p%3+p%2*(2-p%3)] }, 1948076574297380474},
	} {
		if got := assignor.TopicHash(tt.id, tt.name, tt.partitions, tt.racks); got != tt.want {
			t.Errorf("%.20s, %v, %d partitions, racks %q: got %d, want %d", tt.name, tt.id, tt.partitions, tt.racks(0), got, tt.want)
		}
	}
}

func TestGroupHash(t *testing.T) {
	var many []string
	for i := range 40 {
		many = append(many, "t"+strconv.Itoa(i))
	}
	for _, tt := range []struct {
		topics []string // each with one partition
		want   int64
	}{
		{nil, 0},
		{[]string{"a"}, -644696623650522733},
		{[]string{"a", "b"}, -4081199329205180564},
		{[]string{"\uffff", "\U00010000", "b"}, -1027643056441231169},
		{many, 923973650794668006},
	} {
		hashes := make(map[string]int64)
		for _, name := range tt.topics {
			hashes[name] = assignor.TopicHash(wire.UUID{15: 1}, name, 1, noRacks)
		}
		if got := assignor.GroupHash(hashes); got != tt.want {
			t.Errorf("%q: got %d, want %d", tt.topics, got, tt.want)
		}
	}
}
