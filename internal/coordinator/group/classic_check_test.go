package group

import (
	"reflect"
	"testing"
)

// checkClassic fails if the parts of a group contradict each other.
func checkClassic(t testing.TB, m *machine, g *classicGroup) {
	t.Helper()
	joining, unsynced, static := 0, 0, 0
	support := make(map[string]int)
	for _, member := range g.order {
		if g.members[member.id] != member {
			t.Fatalf("member %s is not found by its id", member.id)
		}
		if member.join != nil {
			joining++
		}
		if member.unsynced {
			unsynced++
		}
		if member.instance != nil {
			static++
			if g.static[*member.instance] != member {
				t.Fatalf("member %s is not found by its instance id", member.id)
			}
		}
		for _, p := range member.protocols {
			support[p.Name]++
		}
		if !m.shard.Scheduled(member.timer) && !member.waiting() {
			t.Fatalf("the session of %s does not end", member.id)
		}
		if member.sync != nil && g.now != classicCompleting {
			t.Fatalf("member %s waits for an assignment in %s", member.id, g.state())
		}
	}
	switch {
	case len(g.members) != len(g.order), len(g.static) != static, !reflect.DeepEqual(g.support, support):
		t.Fatalf("the members are kept badly: %+v", g)
	case g.joining != joining, g.unsynced != unsynced:
		t.Fatalf("counted %d that join, %d that sync; have %d, %d", g.joining, g.unsynced, joining, unsynced)
	case (g.leader == nil) != (len(g.members) == 0), g.leader != nil && g.members[g.leader.id] != g.leader:
		t.Fatalf("the leader is %+v of %d members", g.leader, len(g.members))
	case g.now == classicEmpty && len(g.members) > 0, g.now == classicDead:
		t.Fatalf("state %s with %d members", g.state(), len(g.members))
	case g.now == classicPreparing && !m.shard.Scheduled(g.joinTimer):
		t.Fatal("the join phase does not end")
	case unsynced > 0 && !m.shard.Scheduled(g.syncTimer):
		t.Fatal("the assignment is waited for without an end")
	case g.now != classicPreparing && m.shard.Scheduled(g.joinTimer), unsynced == 0 && m.shard.Scheduled(g.syncTimer):
		t.Fatalf("a timer is left over in %s", g.state())
	}
	for id := range g.pending {
		if !m.shard.Scheduled(sessionTimer(g.groupID, id)) || g.members[id] != nil {
			t.Fatalf("the id %s was given out for ever, or is in use", id)
		}
	}
}
