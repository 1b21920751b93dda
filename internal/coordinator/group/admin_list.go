package group

import (
	"cmp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
)

// A listing is what ListGroups says of one shard.
type listing struct {
	groups []kmsg.ListGroupsResponseGroup
	code   int16
}

// ListGroups answers a ListGroups with the groups of all shards by id. While one
// of them is loading it fails.
//
// Source: Kafka 4.4.0, GroupCoordinatorService.java.
func (c *Coordinator) ListGroups(q *kmsg.ListGroupsRequest, reply func(*kmsg.ListGroupsResponse)) {
	wanted := newGroupFilter(q.StatesFilter, q.TypesFilter)
	list := func(m *machine) listing { return listing{groups: m.list(wanted)} }
	refused := func(code int16) listing {
		if code == kerr.NotCoordinator.Code { // somebody else lists them
			code = 0
		}
		return listing{code: code}
	}
	gather(c.all(), func(h *hosted, answer func(listing)) {
		h.do(func(m *machine) shard.Result { return read(m, list, refused, answer) }, func(err error) { answer(refused(codeOf(err))) })
	}, func(ls []listing) {
		answer := q.ResponseKind().(*kmsg.ListGroupsResponse)
		for _, l := range ls {
			answer.ErrorCode = cmp.Or(answer.ErrorCode, l.code)
			answer.Groups = append(answer.Groups, l.groups...)
		}
		if answer.ErrorCode != 0 {
			answer.Groups = nil
		}
		slices.SortFunc(answer.Groups, func(a, b kmsg.ListGroupsResponseGroup) int { return strings.Compare(a.Group, b.Group) })
		reply(answer)
	})
}

func (m *machine) list(f groupFilter) []kmsg.ListGroupsResponseGroup {
	var groups []kmsg.ListGroupsResponseGroup
	for id, g := range m.groups {
		if state := g.state(); f.takes(state, g.kind()) {
			e := kmsg.NewListGroupsResponseGroup()
			e.Group, e.ProtocolType, e.GroupState, e.GroupType = id, g.protocolType(), state, g.kind().String()
			groups = append(groups, e)
		}
	}
	return groups
}

// A groupFilter says which groups are listed. Without states, or types, any will
// do; one that nobody knows takes none.
type groupFilter struct{ states, types map[string]bool }

func newGroupFilter(states, types []string) groupFilter {
	f := groupFilter{make(map[string]bool), make(map[string]bool)}
	for _, s := range states {
		f.states[strings.TrimSpace(strings.ToLower(s))] = true
	}
	for _, t := range types {
		f.types[strings.ToLower(t)] = true
	}
	return f
}

func (f groupFilter) takes(state string, kind Type) bool {
	name := strings.ToLower(state)
	if state == notReady { // the one state that is asked for by another name than it is shown with
		name = "not_ready"
	}
	return (len(f.states) == 0 || f.states[name]) && (len(f.types) == 0 || f.types[kind.String()])
}
