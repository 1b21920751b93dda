package group

import (
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/shard"
)

// gather asks for each of qs, and calls done with the answers in the order of qs
// when all are there: at once, or later on the goroutine of the last answer.
func gather[Q, R any](qs []Q, ask func(q Q, answer func(R)), done func([]R)) {
	rs := make([]R, len(qs))
	if len(qs) == 0 {
		done(rs)
		return
	}
	var left atomic.Int64
	left.Store(int64(len(qs)))
	for i, q := range qs {
		ask(q, func(r R) {
			rs[i] = r
			if left.Add(-1) == 0 {
				done(rs)
			}
		})
	}
}

// read answers with what of says of a machine, once that is committed.
func read[R any](m *machine, of func(m *machine) R, refused func(code int16) R, answer func(R)) shard.Result {
	r := of(m)
	return shard.Result{Then: func(err error) {
		if err != nil {
			r = refused(codeOf(err))
		}
		answer(r)
	}}
}

// DescribeGroups answers a DescribeGroups, group by group in the order of q.
func (c *Coordinator) DescribeGroups(q *kmsg.DescribeGroupsRequest, reply func(*kmsg.DescribeGroupsResponse)) {
	gather(q.Groups, func(id string, answer func(kmsg.DescribeGroupsResponseGroup)) {
		refused := func(code int16) kmsg.DescribeGroupsResponseGroup {
			g := kmsg.NewDescribeGroupsResponseGroup()
			g.Group, g.ErrorCode = id, code
			return g
		}
		describe := func(m *machine) kmsg.DescribeGroupsResponseGroup { return m.describeClassic(id, q.Version) }
		c.do(id, func(m *machine) shard.Result { return read(m, describe, refused, answer) }, func(code int16) { answer(refused(code)) })
	}, func(groups []kmsg.DescribeGroupsResponseGroup) {
		answer := q.ResponseKind().(*kmsg.DescribeGroupsResponse)
		answer.Groups = groups
		reply(answer)
	})
}

// ConsumerGroupDescribe answers a ConsumerGroupDescribe, group by group in the
// order of q.
func (c *Coordinator) ConsumerGroupDescribe(q *kmsg.ConsumerGroupDescribeRequest, reply func(*kmsg.ConsumerGroupDescribeResponse)) {
	gather(q.Groups, func(id string, answer func(kmsg.ConsumerGroupDescribeResponseGroup)) {
		refused := func(code int16) kmsg.ConsumerGroupDescribeResponseGroup {
			g := kmsg.NewConsumerGroupDescribeResponseGroup()
			g.Group, g.ErrorCode = id, code
			return g
		}
		switch {
		case !c.o.Config(id).ConsumerProtocol:
			answer(refused(kerr.UnsupportedVersion.Code))
			return
		case id == "":
			answer(refused(kerr.InvalidGroupID.Code))
			return
		}
		describe := func(m *machine) kmsg.ConsumerGroupDescribeResponseGroup { return m.describeConsumer(id) }
		c.do(id, func(m *machine) shard.Result { return read(m, describe, refused, answer) }, func(code int16) { answer(refused(code)) })
	}, func(groups []kmsg.ConsumerGroupDescribeResponseGroup) {
		answer := q.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
		answer.Groups = groups
		reply(answer)
	})
}

// DeleteGroups answers a DeleteGroups, group by group in the order of q, whose
// groups are different ones.
//
// Source: Kafka 4.4.0, GroupCoordinatorShard.java.
func (c *Coordinator) DeleteGroups(q *kmsg.DeleteGroupsRequest, reply func(*kmsg.DeleteGroupsResponse)) {
	gather(q.Groups, func(id string, answer func(kmsg.DeleteGroupsResponseGroup)) {
		refused := func(code int16) {
			g := kmsg.NewDeleteGroupsResponseGroup()
			g.Group, g.ErrorCode = id, code
			answer(g)
		}
		c.do(id, func(m *machine) shard.Result {
			records, err := m.deleteGroup(id)
			if err != nil {
				g := kmsg.NewDeleteGroupsResponseGroup()
				g.Group, g.ErrorCode, g.ErrorMessage = id, codeOf(err), messageOf(err)
				answer(g)
				return shard.Result{}
			}
			// A group with thousands of offsets does not fit in one batch, in which
			// Kafka wants it. The offsets go first: what is left if the rest cannot
			// be written can be deleted again.
			return shard.Result{Records: records, Split: true, Then: func(err error) { refused(codeOf(err)) }}
		}, refused)
	}, func(groups []kmsg.DeleteGroupsResponseGroup) {
		answer := q.ResponseKind().(*kmsg.DeleteGroupsResponse)
		answer.Groups = groups
		reply(answer)
	})
}

// deleteGroup returns the records that delete a group and its offsets.
func (m *machine) deleteGroup(id string) ([]shard.Record, error) {
	g := m.groups[id]
	if g == nil {
		return nil, refuse(kerr.GroupIDNotFound, "")
	}
	if err := g.checkDelete(); err != nil {
		return nil, err
	}
	return g.tombstones(m.offsetTombstones(nil, id)), nil
}
