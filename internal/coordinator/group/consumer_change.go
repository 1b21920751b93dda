package group

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/coordinator/assignor"
	"kf/internal/coordinator/shard"
)

// A consumerChange is what a request of a member does to its group: the records
// that it makes, step by step in Kafka's order. The group itself changes when they
// are replayed, so a request that is refused on the way leaves nothing behind.
type consumerChange struct {
	m      *machine
	g      *consumerGroup
	config *Config
	now    int64 // ms since the Unix epoch

	records  []shard.Record
	old      *consumerMember // as it was; one that joins, or replaces another one, is not in the group
	updated  *consumerMember // as it will be
	replaced *consumerMember // the static member whose place it takes, nil for none

	epoch    int32               // of the group, as it will be
	targeted int32               // the assignment epoch, as it will be
	target   assignor.Partitions // of the member, in that epoch

	// done is what else happens once nothing refuses the request any more.
	done []func()
}

// changeConsumer begins a change of a group. With create one that is not there is
// made, and one that is classic becomes a consumer group if that may be. It fails
// with GROUP_ID_NOT_FOUND.
func (m *machine) changeConsumer(id string, create bool) (*consumerChange, error) {
	ch := &consumerChange{m: m, config: m.o.Config(id), now: nowMillis()}
	switch g := m.groups[id].(type) {
	case *consumerGroup:
		ch.g = g
	case nil:
		if !create {
			return nil, refuse(kerr.GroupIDNotFound, fmt.Sprintf("Consumer group %s not found.", id))
		}
		ch.g = newConsumerGroup(id)
	case *classicGroup:
		if !create {
			return nil, refuse(kerr.GroupIDNotFound, fmt.Sprintf("Group %s is not a consumer group.", id))
		}
		if err := ch.upgrade(g); err != nil {
			return nil, err
		}
	default:
		return nil, refuse(kerr.GroupIDNotFound, fmt.Sprintf("Group %s is not a consumer group.", id))
	}
	ch.epoch = ch.g.epoch
	return ch, nil
}

// finish does what else belongs to the change.
func (ch *consumerChange) finish() {
	for _, f := range ch.done {
		f()
	}
}

func (ch *consumerChange) write(r ...shard.Record) { ch.records = append(ch.records, r...) }

// checkRoom checks that a member has room in the group.
func (ch *consumerChange) checkRoom(member string, instance *string) error {
	g, limit := ch.g, ch.config.ConsumerMaxSize
	if g.static(instance) != nil || len(g.members) < int(limit) || member != "" && g.members[member] != nil {
		return nil
	}
	return refuse(kerr.GroupMaxSizeReached, fmt.Sprintf("The consumer group has reached its maximum capacity of %d members.", limit))
}

// findMember sets the member that the change is of. One that joins is new, or
// takes the place of the static member of its instance.
func (ch *consumerChange) findMember(member string, instance *string, joins, classic bool) (err error) {
	g := ch.g
	switch {
	case instance == nil && joins:
		ch.old = g.orNew(g.members[member], member)
	case instance == nil:
		ch.old, err = g.member(member)
	case !joins:
		ch.old, err = g.knownStatic(member, *instance)
	default:
		ch.old, err = ch.joinStatic(member, *instance, classic)
	}
	return err
}

func (ch *consumerChange) joinStatic(member, instance string, classic bool) (*consumerMember, error) {
	g := ch.g
	before := g.static(&instance)
	switch {
	case before == nil:
		return g.orNew(g.members[member], member), nil
	case !classic && before.classic == nil && before.epoch != epochAway:
		return nil, refuse(kerr.UnreleasedInstanceID, fmt.Sprintf("Static member %s with instance id %s cannot join the group because the "+
			"instance id is owned by %s member.", member, instance, before.id))
	}
	next := *before
	next.id, next.epoch, next.previous = member, 0, 0
	ch.records = g.memberTombstones(ch.records, before.id)
	ch.write(g.memberRecord(&next), g.targetRecord(member, g.targets[before.id]), g.currentRecord(&next))
	ch.replaced = before // whose timers find out that it is gone
	return &next, nil
}

func (ch *consumerChange) update(m *consumerMember) { ch.updated = m }

// writeMember writes what the member says of itself, if that is new, and reports
// whether it wants other topics by name.
func (ch *consumerChange) writeMember() bool {
	if ch.updated.equal(ch.old) {
		return false
	}
	ch.write(ch.g.memberRecord(ch.updated))
	return !slices.Equal(ch.updated.topics, ch.old.topics)
}

// assignorChanged reports whether most members want another assignor now.
func (ch *consumerChange) assignorChanged() bool {
	return preferred(ch.g.votes, ch.config.Assignors) != preferred(ch.votes(), ch.config.Assignors)
}

// votes are those for the assignors, as they will be.
func (ch *consumerChange) votes() map[string]int {
	votes := maps.Clone(ch.g.votes)
	if ch.old.assignor != nil {
		count(votes, *ch.old.assignor, -1)
	}
	if ch.updated.assignor != nil {
		count(votes, *ch.updated.assignor, 1)
	}
	return votes
}

// refreshAfter is how long a group's topics hold that do not change, in ms.
//
// Source: Kafka 4.4.0, GroupMetadataManager.java.
const refreshAfter = 1<<31 - 1

// updateEpoch raises the group epoch if the member wants something else, or its
// topics have changed.
func (ch *consumerChange) updateEpoch(raise bool) {
	g := ch.g
	if !raise && ch.now < g.fresh.until && g.epoch >= g.fresh.epoch {
		return
	}
	hash := ch.m.metadataHash(g.demandWith(ch.old, ch.updated).topics)
	if raise || hash != g.hash {
		ch.epoch++
		ch.write(g.epochRecord(ch.epoch, hash))
	}
	g.fresh = freshness{ch.now + refreshAfter, ch.epoch}
	if g.described {
		ch.write(g.describedTombstone())
	}
}

// updateTarget computes the target assignment, if the group epoch is ahead of it and
// the last one is long enough ago; else the last one stands.
func (ch *consumerChange) updateTarget() error {
	g := ch.g
	ch.targeted, ch.target = g.targetedIn, g.target(ch.updated)
	interval := int64(ch.config.ConsumerAssignmentInterval)
	if g.targetedIn >= ch.epoch || g.targetedAt != 0 && interval != 0 && ch.now < g.targetedAt+interval {
		return nil
	}
	records, target, err := ch.assign()
	if err != nil {
		return err
	}
	ch.write(records...)
	ch.targeted, ch.target = ch.epoch, target
	return nil
}

// reconcile leads the member towards its target: what it has, says that it has, and
// may have by now.
func (ch *consumerChange) reconcile(owned *claim, subscriptionChanged bool) error {
	if !subscriptionChanged && ch.updated.reconciled(ch.targeted) {
		return nil
	}
	r := reconciliation{
		g: ch.g, image: ch.m.image, member: ch.updated, epoch: ch.targeted, target: ch.target,
		owned: owned, subscriptionChanged: subscriptionChanged,
	}
	next, err := r.next()
	if err != nil || next.equal(ch.updated) {
		return err
	}
	ch.updated = next
	ch.write(ch.g.currentRecord(next))
	if next.classic == nil {
		ch.done = append(ch.done, func() { ch.m.scheduleRebalance(ch.g.groupID, next) })
	}
	return nil
}
