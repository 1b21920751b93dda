package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A GroupType is the protocol by which the members of a group share its work.
type GroupType string

// The types of groups, as brokers spell them.
// Source: Kafka 4.4.0, Group.java (GroupType).
const (
	ClassicGroup  GroupType = "Classic"  // also a group without members that only has commits
	ConsumerGroup GroupType = "Consumer" // KIP-848
	ShareGroup    GroupType = "Share"    // KIP-932
	StreamsGroup  GroupType = "Streams"  // KIP-1071
)

// A ListedGroup is what a broker says of a group that it coordinates when it is
// asked for all of them.
type ListedGroup struct {
	ID          string
	Type        GroupType
	Protocol    string // "consumer", "connect", "share", …; "" for a group that never had members
	State       string // "" if the broker is older than Kafka 2.6
	Coordinator kadm.BrokerDetail
}

// A GroupFilter says which groups to list: those that have one of its values, in any
// case of letters. An empty list is any value.
type GroupFilter struct {
	States []string
	Types  []string
}

func (f GroupFilter) fits(g ListedGroup) bool {
	one := func(of []string, value string) bool {
		return len(of) == 0 || slices.ContainsFunc(of, func(s string) bool { return strings.EqualFold(s, value) })
	}
	return one(f.States, g.State) && one(f.Types, string(g.Type))
}

// Groups lists the groups of a cluster by id, asking each broker once. The error is
// that of the whole, or of some of the brokers: then the groups of the others are in
// the list.
func (c *Client) Groups(ctx context.Context, filter GroupFilter) ([]ListedGroup, error) {
	ctx, cancel := patience(ctx)
	defer cancel()
	q := kmsg.NewPtrListGroupsRequest()
	q.StatesFilter, q.TypesFilter = filter.States, filter.Types
	found := make(map[string]ListedGroup)
	var errs []error
	for _, shard := range c.kgo.RequestSharded(ctx, q) {
		if shard.Err != nil {
			errs = append(errs, shardError(shard))
			continue
		}
		answer := shard.Resp.(*kmsg.ListGroupsResponse)
		if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
			shard.Err = err
			errs = append(errs, shardError(shard))
		}
		for _, g := range answer.Groups {
			// A group that moves to another coordinator may be listed by both.
			if listed := listedGroup(g, shard.Meta); filter.fits(listed) {
				found[g.Group] = listed
			}
		}
	}
	all := make([]ListedGroup, 0, len(found))
	for _, g := range found {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b ListedGroup) int { return cmp.Compare(a.ID, b.ID) })
	c.groups.learn(all)
	if len(errs) > 1 {
		return all, fmt.Errorf("%w (and %d more brokers)", errs[0], len(errs)-1)
	}
	return all, errors.Join(errs...)
}

func listedGroup(g kmsg.ListGroupsResponseGroup, by kadm.BrokerDetail) ListedGroup {
	return ListedGroup{ID: g.Group, Type: groupType(g.GroupType), Protocol: g.ProtocolType, State: g.GroupState, Coordinator: by}
}

// groupType returns the type that a broker names, whose letters other
// implementations write in another case. A broker that does not say has only classic
// groups.
func groupType(name string) GroupType {
	if name == "" {
		return ClassicGroup
	}
	for _, typ := range []GroupType{ClassicGroup, ConsumerGroup, ShareGroup, StreamsGroup} {
		if strings.EqualFold(name, string(typ)) {
			return typ
		}
	}
	return GroupType(name)
}
