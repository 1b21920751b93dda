package controller

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/image"
	"kf/internal/wire"
)

// A placer chooses brokers for new partitions as Kafka does: replicas go round
// the racks, and inside a rack round its brokers, each partition one further
// than the one before; where to begin is random. Fenced brokers come last and
// never first in a partition, since its first replica leads.
//
// Source: Kafka 4.4.0, StripedReplicaPlacer.java.
type placer struct {
	random   *rand.Rand
	racks    []*rack
	offset   int // rack to begin with
	round    int // number of the partition
	shuffled int // round of the last shuffle
	unfenced int
	all      int
}

// A rack is the brokers of one rack; those without one are a rack of their own.
type rack struct{ unfenced, fenced ring }

// A ring yields its brokers once a round, each round from one further.
type ring struct {
	brokers []int32
	start   int
	taken   int
	round   int
}

func (r *ring) next(round int) (broker int32, ok bool) {
	if len(r.brokers) == 0 {
		return 0, false
	}
	if r.round != round {
		r.round, r.taken, r.start = round, 0, (r.start+1)%len(r.brokers)
	}
	if r.taken == len(r.brokers) {
		return 0, false
	}
	broker = r.brokers[(r.start+r.taken)%len(r.brokers)]
	r.taken++
	return broker, true
}

func newPlacer(v view, random *rand.Rand) *placer {
	p := &placer{random: random}
	byName := map[string]*rack{}
	for b := range v.Brokers() {
		if b.InControlledShutdown || allCordoned(b) {
			continue
		}
		name := "" // sorts first, as no rack does
		if b.Rack != nil {
			name = "r" + *b.Rack
		}
		if byName[name] == nil {
			byName[name] = &rack{}
		}
		p.all++
		if b.Fenced {
			byName[name].fenced.brokers = append(byName[name].fenced.brokers, b.ID)
		} else {
			byName[name].unfenced.brokers = append(byName[name].unfenced.brokers, b.ID)
			p.unfenced++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		r := byName[name]
		for _, ring := range []*ring{&r.unfenced, &r.fenced} {
			if n := len(ring.brokers); n > 0 {
				ring.start = random.IntN(n)
			}
		}
		p.racks = append(p.racks, r)
	}
	if len(p.racks) > 0 {
		p.offset = random.IntN(len(p.racks))
	}
	return p
}

func allCordoned(b *image.Broker) bool {
	return len(b.CordonedLogDirs) > 0 && !slices.ContainsFunc(b.LogDirs, func(dir wire.UUID) bool { return !slices.Contains(b.CordonedLogDirs, dir) })
}

// check reports whether partitions of n replicas can be placed.
func (p *placer) check(n int) error {
	switch {
	case p.unfenced == 0:
		return &Error{kerr.InvalidReplicationFactor, fmt.Sprintf("Unable to replicate the partition %d time(s): All brokers are currently fenced.", n)}
	case n > p.all:
		return &Error{kerr.InvalidReplicationFactor, fmt.Sprintf("Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because only %d broker(s) are registered.", n, n, p.all)}
	}
	return nil
}

// place returns the replicas of the next partition; check was asked before.
func (p *placer) place(n int) []int32 {
	if p.round-p.shuffled == p.unfenced && p.unfenced > 1 {
		p.shuffle() // or the same assignments came again
		p.shuffled = p.round
	}
	p.offset %= len(p.racks)
	replicas := make([]int32, 0, n)
	first := p.offset
	for len(replicas) == 0 {
		if broker, ok := p.racks[first].unfenced.next(p.round); ok {
			replicas = append(replicas, broker)
		} else {
			first = (first + 1) % len(p.racks)
		}
	}
	passed := false // the rack of the first replica has its turn behind it
	for at := p.offset; len(replicas) < n; at = (at + 1) % len(p.racks) {
		if at == first && !passed {
			passed = true
			continue
		}
		r := p.racks[at]
		broker, ok := r.unfenced.next(p.round)
		if !ok {
			broker, ok = r.fenced.next(p.round)
		}
		if ok {
			replicas = append(replicas, broker)
		}
	}
	p.round++
	p.offset++
	return replicas
}

func (p *placer) shuffle() {
	shuffle(p.random, p.racks)
	for _, r := range p.racks {
		shuffle(p.random, r.unfenced.brokers)
		shuffle(p.random, r.fenced.brokers)
	}
}

func shuffle[T any](random *rand.Rand, s []T) {
	random.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
}

// placement returns new partitions without an assignment, with ids from first on.
func (v view) placement(random *rand.Rand, first, partitions int32, factor int16) ([]*image.Partition, error) {
	p := newPlacer(v, random)
	if err := p.check(int(factor)); err != nil {
		return nil, err
	}
	all := make([]*image.Partition, partitions)
	for i := range all {
		all[i] = v.newPartition(first+int32(i), p.place(int(factor)))
	}
	return all, nil
}

// newPartition returns a new partition, in whose ISR are those that are alive.
func (v view) newPartition(id int32, replicas []int32) *image.Partition {
	p := &image.Partition{ID: id, Replicas: replicas, Leader: image.NoLeader}
	for _, broker := range replicas {
		p.Directories = append(p.Directories, v.newDirectory(broker))
		if v.active(broker) {
			p.ISR = append(p.ISR, broker)
		}
	}
	if len(p.ISR) > 0 {
		p.Leader = p.ISR[0]
	}
	return p
}

// assignment returns the partitions of a new topic as the request says.
func (v view) assignment(replicas map[int32][]int32) ([]*image.Partition, error) {
	refuse := func(format string, args ...any) ([]*image.Partition, error) {
		return nil, &Error{kerr.InvalidReplicaAssignment, fmt.Sprintf(format, args...)}
	}
	all := make([]*image.Partition, 0, len(replicas))
	for _, id := range slices.SortedFunc(maps.Keys(replicas), cmp.Compare[int32]) {
		if id != int32(len(all)) {
			return refuse("partitions should be a consecutive 0-based integer sequence")
		}
		p, err := v.assigned(id, replicas[id])
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// assigned returns a new partition with replicas that the request names.
func (v view) assigned(id int32, replicas []int32) (*image.Partition, error) {
	p := v.newPartition(id, replicas)
	if len(p.ISR) == 0 {
		return nil, &Error{kerr.InvalidReplicaAssignment,
			fmt.Sprintf("All brokers specified in the manual partition assignment for partition %d are fenced or in controlled shutdown.", id)}
	}
	return p, nil
}

// checkAssignment checks the replicas of a partition; factor is the number that
// those before it had, 0 if there was none.
func (v view) checkAssignment(replicas []int32, factor int) error {
	refuse := func(format string, args ...any) error {
		return &Error{kerr.InvalidReplicaAssignment, fmt.Sprintf(format, args...)}
	}
	if len(replicas) == 0 {
		return refuse("The manual partition assignment includes an empty replica list.")
	}
	sorted := slices.Sorted(slices.Values(replicas))
	for i, broker := range sorted {
		if v.Broker(broker) == nil {
			return refuse("The manual partition assignment includes broker %d, but no such broker is registered.", broker)
		}
		if i > 0 && broker == sorted[i-1] {
			return refuse("The manual partition assignment includes the broker %d more than once.", broker)
		}
	}
	if factor > 0 && len(replicas) != factor {
		return refuse("The manual partition assignment includes a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).", len(replicas), factor)
	}
	return nil
}
