package controller

import (
	"slices"

	"kf/internal/format/kraftrec"
	"kf/internal/format/schema"
	"kf/internal/image"
	"kf/internal/wire"
)

// An alteration is what becomes of a partition: it starts as the partition is,
// is changed, and then settled, which elects a leader and keeps the eligible
// leader replicas (KIP-966).
//
// While the ISR is smaller than min.insync.replicas, who leaves it stays
// eligible: it has all that was committed. When nobody is left in the ISR the
// last leader is noted in lastKnownElr; if it is all that remains, it is elected
// when it returns, though records may be missing.
//
// Source: Kafka 4.4.0, PartitionChangeBuilder.java; measured on its brokers.
type alteration struct {
	v     view
	topic *image.Topic
	old   *image.Partition
	next  image.Partition

	// acceptable reports whether a broker may lead, apart from being in sync.
	acceptable func(broker int32) bool
	unclean    int32 // broker that lost what it had, image.NoLeader if none
}

func (v view) alter(t *image.Topic, p *image.Partition, active func(int32) bool) *alteration {
	return &alteration{
		v: v, topic: t, old: p, next: *p, unclean: image.NoLeader,
		acceptable: func(broker int32) bool { return active(broker) && v.online(p, broker) },
	}
}

// record settles the alteration and returns the record of it, nil if nothing
// changes.
func (a *alteration) record() *kraftrec.PartitionChangeRecord {
	version, elr := a.v.MetadataVersion(), a.v.ELREnabled()
	a.completeReassignment()
	wasEligible := a.next.LastKnownELR
	if elr {
		a.keepEligible()
	}
	leader, unclean := a.elect(elr)
	elected := leader != a.old.Leader
	if elected {
		switch {
		case unclean:
			a.next.ISR, a.next.Recovering = []int32{leader}, true
		case slices.Contains(a.next.ELR, leader):
			a.next.ISR, a.next.ELR = []int32{leader}, without(a.next.ELR, leader)
		}
		a.next.Leader = leader
	}
	if unclean && elected || !elr {
		a.next.ELR = nil
	}
	if len(a.next.ISR) == 0 && !elr {
		a.next.ISR = a.old.ISR // it never gets empty
	}
	a.next.LastKnownELR = a.lastKnown(elr, wasEligible)

	r := schema.New[kraftrec.PartitionChangeRecord]()
	r.PartitionID, r.TopicID = a.old.ID, a.topic.ID
	if elected || a.bumpEpoch(version) {
		r.Leader = a.next.Leader
	}
	changed := r.Leader != -2
	for _, list := range []struct {
		to       *[]int32
		old, now []int32
	}{
		{&r.ISR, a.old.ISR, a.next.ISR},
		{&r.Replicas, a.old.Replicas, a.next.Replicas},
		{&r.RemovingReplicas, a.old.RemovingReplicas, a.next.RemovingReplicas},
		{&r.AddingReplicas, a.old.AddingReplicas, a.next.AddingReplicas},
		{&r.EligibleLeaderReplicas, a.old.ELR, a.next.ELR},
		{&r.LastKnownELR, a.old.LastKnownELR, a.next.LastKnownELR},
	} {
		if !slices.Equal(list.old, list.now) {
			*list.to = append([]int32{}, list.now...)
			changed = true
		}
	}
	if version.Directories() && !slices.Equal(a.old.Directories, a.next.Directories) {
		r.Directories, changed = a.next.Directories, true
	}
	if a.old.Recovering != a.next.Recovering {
		r.LeaderRecoveryState, changed = 0, true
		if a.next.Recovering {
			r.LeaderRecoveryState = 1
		}
	}
	if !changed {
		return nil
	}
	return r
}

// bumpEpoch reports whether the leader epoch rises although the leader stays:
// when a replica is gone, and before 3.6 when the ISR shrinks.
func (a *alteration) bumpEpoch(version image.MetadataVersion) bool {
	return !containsAll(a.next.Replicas, a.old.Replicas) || version.EpochBumpOnShrink() && !containsAll(a.next.ISR, a.old.ISR)
}

// completeReassignment drops the replicas that are to go once those that stay
// are all in sync.
func (a *alteration) completeReassignment() {
	n := &a.next
	if !n.Reassigning() {
		return
	}
	isr, replicas := without(n.ISR, n.RemovingReplicas...), without(n.Replicas, n.RemovingReplicas...)
	if len(isr) == 0 || len(replicas) == 0 || !containsAll(isr, replicas) {
		return
	}
	n.ISR, n.AddingReplicas, n.RemovingReplicas = isr, nil, nil
	a.setReplicas(replicas)
}

// setReplicas changes the replicas; those that stay keep their directories.
func (a *alteration) setReplicas(replicas []int32) {
	directories := make([]wire.UUID, len(replicas))
	for i, broker := range replicas {
		dir, ok := a.next.Directory(broker)
		if !ok {
			dir = a.v.newDirectory(broker)
		}
		directories[i] = dir
	}
	a.next.Replicas, a.next.Directories = replicas, directories
}

// keepEligible makes those eligible that leave an ISR below the minimum.
func (a *alteration) keepEligible() {
	n := &a.next
	if len(n.ISR) >= a.v.minISR(a.topic) {
		n.ELR = nil
		return
	}
	candidates := slices.Concat(n.ELR, a.old.ISR)
	slices.Sort(candidates)
	candidates = without(slices.Compact(candidates), n.ISR...)
	n.ELR = without(candidates, a.unclean)
}

// elect returns the leader; unclean says that records may be missing.
func (a *alteration) elect(elr bool) (leader int32, unclean bool) {
	n := &a.next
	if a.fit(a.old.Leader) {
		return a.old.Leader, false
	}
	for _, broker := range n.Replicas {
		if a.fit(broker) {
			return broker, false
		}
	}
	if last := a.old.LastKnownELR; elr && len(n.ISR) == 0 && len(n.ELR) == 0 && len(last) == 1 && a.acceptable(last[0]) {
		return last[0], true
	}
	if a.v.topicConfig(a.topic.Name, uncleanElection) == "true" {
		for _, broker := range n.Replicas {
			if a.acceptable(broker) {
				return broker, true
			}
		}
	}
	return image.NoLeader, false
}

// fit reports whether a broker has all that is committed and may lead.
func (a *alteration) fit(broker int32) bool {
	in := slices.Contains(a.next.ISR, broker) || len(a.next.ISR) == 0 && slices.Contains(a.next.ELR, broker)
	return in && a.acceptable(broker)
}

// lastKnown returns the new lastKnownElr: the leader that was lost with the last
// of the ISR, until there is a leader again.
func (a *alteration) lastKnown(elr bool, was []int32) []int32 {
	switch {
	case !elr:
		return was
	case len(a.next.ISR) == 0 && len(a.old.ISR) > 0 && a.old.Leader != image.NoLeader:
		return []int32{a.old.Leader}
	case a.next.Leader != image.NoLeader:
		return nil
	}
	return was
}

func without(list []int32, drop ...int32) []int32 {
	return slices.DeleteFunc(slices.Clone(list), func(n int32) bool { return slices.Contains(drop, n) })
}

func containsAll(list, all []int32) bool {
	return !slices.ContainsFunc(all, func(n int32) bool { return !slices.Contains(list, n) })
}

// A cause is why partitions are looked at.
type cause struct {
	gone    int32 // broker that leaves ISRs and leads no more
	back    int32 // broker that may lead from now on
	unclean int32 // broker that lost what it had: gone, and not eligible either
}

// reelect returns the changes of the partitions that concern a broker.
func (v view) reelect(c cause, concerned func(*image.Partition) bool) []any {
	var records []any
	active := func(broker int32) bool {
		return broker != c.gone && broker != c.unclean && (broker == c.back || v.active(broker))
	}
	for t := range v.Topics() {
		for p := range t.Partitions() {
			if !concerned(p) {
				continue
			}
			a := v.alter(t, p, active)
			a.unclean = c.unclean
			a.next.ISR = without(p.ISR, c.gone, c.unclean)
			if r := a.record(); r != nil {
				records = append(records, r)
			}
		}
	}
	return records
}
