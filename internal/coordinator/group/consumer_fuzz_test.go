package group

import (
	"encoding/binary"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/groupscript"
)

// FuzzScripts plays lines of the scripts in an order of its own; two bytes are a line.
// The group is in order after each, and what its log says.
func FuzzScripts(f *testing.F) {
	numbers := make(map[string]uint16)
	var lines []string
	for _, name := range groupscript.Names() {
		var seed []byte
		for line := range strings.Lines(groupscript.Script(name)) {
			n, ok := numbers[line]
			if !ok {
				n = uint16(len(lines))
				numbers[line] = n
				lines = append(lines, line)
			}
			seed = binary.BigEndian.AppendUint16(seed, n)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, groupscript.Before)
			b.config.ClassicMinSessionTimeout = groupscript.MinSession
			play, err := groupscript.Run(benchCluster{b}, "g", "")
			if err != nil {
				t.Fatal(err)
			}
			for ; len(p) >= 2; p = p[2:] {
				line := lines[int(binary.BigEndian.Uint16(p))%len(lines)]
				_ = play.Step(line) // where it makes no sense it is passed over
				synctest.Wait()
				b.expectOrder("g")
			}
			b.expectReplay()
		})
	})
}

// expectOrder checks that nothing in a group contradicts itself.
func (b *bench) expectOrder(id string) {
	b.t.Helper()
	b.in(func(m *machine) {
		if g, ok := m.groups[id].(*consumerGroup); ok {
			if wrong := checkConsumer(m, g); wrong != "" {
				b.t.Error(wrong)
			}
		}
	})
}

// FuzzHeartbeat sends heartbeats that are anything: each has its version before it and
// a byte that ends it. All of them are answered, with what can be encoded.
func FuzzHeartbeat(f *testing.F) {
	const end = "\xfe\xfe"
	for version := range int16(2) {
		var seed []byte
		for _, q := range []*kmsg.ConsumerGroupHeartbeatRequest{joins("g", "m", "t", "u"), beats("g", "m", 2), joins("g", "n", "t"), beats("g", "n", 2), beats("g", "m", -1)} {
			q.Version = version
			q.RackID, q.ServerAssignor = new("r"), new("range")
			seed = append(append(append(seed, byte(version)), q.AppendTo(nil)...), end...)
			q.InstanceID, q.SubscribedTopicRegex = new("i"), new("t|u.*")
			seed = append(append(append(seed, byte(version)), q.AppendTo(nil)...), end...)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, map[string]int32{"t": 3, "u": 1})
			for entry := range strings.SplitSeq(string(p), end) {
				if entry == "" {
					continue
				}
				q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
				q.Version = int16(entry[0] % 2)
				if err := q.ReadFrom([]byte(entry[1:])); err != nil {
					continue
				}
				group := q.Group
				a := b.heartbeat(q)
				a.Version = q.Version
				if err := kmsg.NewPtrConsumerGroupHeartbeatResponse().ReadFrom(a.AppendTo(nil)); err != nil {
					t.Errorf("the answer to %+v: %v", q, err)
				}
				b.sleep(700)
				b.expectOrder(group)
			}
			b.expectReplay()
		})
	})
}
