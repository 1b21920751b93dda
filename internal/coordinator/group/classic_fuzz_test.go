package group

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
)

// appendRecord appends a record as FuzzClassicReplay reads it: two bytes for the size of
// the key, the key, two for that of the value, 0 for a tombstone, and the value.
func appendRecord(t testing.TB, dst []byte, r shard.Record) []byte {
	key, err := grouprec.AppendKey(nil, r.Key)
	if err != nil {
		t.Fatal(err)
	}
	var value []byte
	if r.Value != nil {
		if value, err = grouprec.AppendValue(nil, r.Value, r.Version); err != nil {
			t.Fatal(err)
		}
	}
	dst = append(binary.BigEndian.AppendUint16(dst, uint16(len(key))), key...)
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(value))), value...)
}

// cut cuts what appendRecord appended; less is there if the data ends.
func cut(data []byte) (part, rest []byte) {
	if len(data) < 2 {
		return nil, nil
	}
	n := min(int(binary.BigEndian.Uint16(data)), len(data)-2)
	return data[2 : 2+n], data[2+n:]
}

// Any records that can be decoded can be loaded in any order. What comes of them can
// be described, runs out and is deleted, and classic groups among it are sound. The
// records are few, so that many combinations are tried.
func FuzzClassicReplay(f *testing.F) {
	for _, typ := range grouprec.Types() {
		key, value := grouprec.New(typ)
		one := appendRecord(f, nil, put(key, value))
		f.Add(one)
		f.Add(appendRecord(f, one, tombstone(key)))
	}
	member := grouprec.GroupMember{MemberID: "m", GroupInstanceID: new("i"), SessionTimeout: 6000, RebalanceTimeout: -1, Subscription: []byte(subscription(f, "t"))}
	classic := &grouprec.GroupMetadataValue{ProtocolType: "consumer", Generation: 3, Protocol: new("range"), Leader: new("m"), Members: []grouprec.GroupMember{member}}
	f.Add(appendRecord(f, nil, put(&grouprec.GroupMetadataKey{}, classic)))
	f.Add(appendRecord(f, appendRecord(f, nil, put(&grouprec.OffsetCommitKey{}, &grouprec.OffsetCommitValue{ExpireTimestamp: -1})), tombstone(&grouprec.GroupMetadataKey{})))

	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, map[string]int32{"t": 2})
			b.in(func(m *machine) {
				for len(data) > 0 {
					var key, value []byte
					key, data = cut(data)
					value, data = cut(data)
					if len(value) == 0 {
						value = nil
					}
					if r, err := grouprec.Decode(key, value); err == nil {
						m.Replay(r, -1)
					}
				}
				m.Loaded()
			})
			for range 3 {
				b.in(func(m *machine) {
					for id, g := range m.groups {
						if g.id() != id {
							t.Fatalf("group %q is kept as %q", g.id(), id)
						}
						if c, ok := g.(*classicGroup); ok {
							checkClassic(t, m, c)
						}
						_, _, _ = g.state(), g.protocolType(), g.subscribed("t")
						m.describeClassic(id, 6)
					}
				})
				time.Sleep(time.Hour)
			}
			b.in(func(m *machine) {
				for _, g := range m.groups {
					for _, r := range g.tombstones(nil) {
						m.Replay(r, -1)
					}
				}
			})
		})
	})
}

// Requests of any content about a group with a member are answered, or wait, and
// the group is sound: key says which, body is what follows the header.
func FuzzClassicRequest(f *testing.F) {
	join := joinRequest("", "range=x", "sticky")
	sync := syncRequest("m", 1, "m=x")
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.Members = "g", []kmsg.LeaveGroupRequestMember{{MemberID: "m"}}
	for _, q := range []kmsg.Request{join, sync, heartbeatRequest("m", 1), leave} {
		for _, version := range []int16{0, q.MaxVersion() - 1, q.MaxVersion()} {
			q.SetVersion(version)
			f.Add(q.Key(), version, q.AppendTo(nil))
		}
	}
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		if key < 11 || key > 14 {
			return
		}
		q := kmsg.RequestForKey(key)
		if version < 0 || version > q.MaxVersion() {
			return
		}
		q.SetVersion(version)
		if q.ReadFrom(body) != nil {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			b := newClassicBench(t)
			static := staticRequest("i", "", "range=y", "roundrobin")
			static.SessionTimeoutMillis = 1800000
			id := b.stable(static)
			sound := func() {
				b.in(func(m *machine) {
					if g, ok := m.group("g").(*classicGroup); ok { // an empty one is deleted in time
						checkClassic(t, m, g)
					}
				})
			}
			answered := false
			reply := func() {
				if answered {
					t.Error("answered twice")
				}
				answered = true
			}
			for range 2 {
				answered = false
				switch q := q.(type) {
				case *kmsg.JoinGroupRequest:
					q.Group = "g"
					q.RebalanceTimeoutMillis %= 1800000
					b.JoinGroup(Client{ID: "client"}, q, func(*kmsg.JoinGroupResponse) { reply() })
				case *kmsg.SyncGroupRequest:
					q.Group, q.MemberID, q.Generation = "g", id, 1
					b.SyncGroup(q, func(*kmsg.SyncGroupResponse) { reply() })
				case *kmsg.HeartbeatRequest:
					q.Group = "g"
					b.Heartbeat(q, func(*kmsg.HeartbeatResponse) { reply() })
				case *kmsg.LeaveGroupRequest:
					q.Group = "g"
					b.LeaveGroup(q, func(*kmsg.LeaveGroupResponse) { reply() })
				}
				sound()
				time.Sleep(time.Hour) // longer than any timeout
				sound()
				if !answered {
					t.Fatalf("%T is not answered", q)
				}
			}
			b.restart()
			sound()
		})
	})
}
