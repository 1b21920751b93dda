package groups

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/wire"
)

// execute moves the commits. No broker compares before it sets: so the groups are
// looked at again just before, and what was set is read back.
func (r *reset) execute(ctx context.Context, allow func(online.Change) error) error {
	todo := r.todo()
	if len(todo) == 0 {
		return nil
	}
	if err := allow(online.Change{What: r.what(todo)}); err != nil {
		return err
	}
	ctx, cancel := r.cl.Deadline(ctx)
	defer cancel()
	r.lookAgain(ctx, todo)
	todo = r.todo()
	r.set(ctx, todo)
	now := r.ask(ctx, todo)
	for _, g := range todo {
		g.verify(now[g.ID])
	}
	return nil
}

// todo returns the groups that are to be changed.
func (r *reset) todo() []*resetGroup {
	var todo []*resetGroup
	for _, g := range r.groups {
		if g.err == nil && g.busy == nil && g.count() > 0 {
			todo = append(todo, g)
		}
	}
	return todo
}

// count returns how many moves of the group can be done.
func (g *resetGroup) count() int {
	n := 0
	for _, m := range g.moves {
		if m.Err == nil {
			n++
		}
	}
	return n
}

// lookAgain finds groups that were used since their moves were computed.
func (r *reset) lookAgain(ctx context.Context, todo []*resetGroup) {
	var ids []string
	for _, g := range todo {
		ids = append(ids, g.ID)
	}
	for i, again := range r.cl.DescribeGroupsByID(ctx, ids) {
		g := todo[i]
		g.isNew = errors.Is(again.Err, client.ErrNoGroup)
		if again.Err != nil && !g.isNew {
			g.busy = again.Err
			continue
		}
		g.Members, g.State = again.Members, again.State
		g.busy = g.activeError()
	}
	now := r.ask(ctx, todo)
	for _, g := range todo {
		if g.busy != nil {
			continue
		}
		if g.busy = now[g.ID].err; g.busy != nil {
			continue
		}
		for _, m := range g.moves {
			c, err := now[g.ID].now(m.TopicPartition)
			if m.Err == nil && (err != nil || !sameOffset(c, m.Now)) {
				g.busy = fmt.Errorf("%s was committed at this moment, from %s to %s: a consumer is at work that is not in the group", m.TopicPartition, shown(m.Now), shown(c))
				break
			}
		}
	}
}

// set commits the new offsets of groups, and takes away those that are to be none.
func (r *reset) set(ctx context.Context, todo []*resetGroup) {
	commits := make(map[string]kadm.Offsets)
	for _, g := range todo {
		offsets, none := g.changes()
		switch {
		case len(offsets) == 0:
		case g.Type == client.ShareGroup:
			errs, err := r.cl.AlterShareGroupOffsets(ctx, g.ID, offsets)
			g.fail(offsets.TopicsSet(), errs, err)
		default:
			commits[g.ID] = offsets
		}
		if len(none) > 0 {
			errs, err := r.takeAway(ctx, g, none)
			g.fail(none, errs, err)
		}
	}
	if len(commits) == 0 {
		return
	}
	answers := r.cl.SetCommits(ctx, commits)
	for _, g := range todo {
		g.fail(commits[g.ID].TopicsSet(), answers[g.ID], nil)
	}
}

// changes returns what to commit, and what to take away.
func (g *resetGroup) changes() (kadm.Offsets, kadm.TopicsSet) {
	offsets, none := make(kadm.Offsets), make(kadm.TopicsSet)
	for _, m := range g.moves {
		switch {
		case m.Err != nil:
		case m.New != nil:
			id, _ := wire.ParseUUID(m.TopicID) // none is all zeros, for brokers that have none
			offsets.Add(kadm.Offset{
				Topic: m.Topic, TopicID: kadm.TopicID(id), Partition: m.Partition,
				At: m.New.Offset, LeaderEpoch: m.New.LeaderEpoch, Metadata: m.New.Metadata,
			})
		case m.Now != nil:
			none.Add(m.Topic, m.Partition)
		}
	}
	return offsets, none
}

// errPartly says what the protocol of share groups cannot do.
var errPartly = errors.New("a share group can only forget all partitions of a topic, and some are to stay")

// takeAway makes it that nothing is committed. Share groups forget whole topics only.
func (r *reset) takeAway(ctx context.Context, g *resetGroup, of kadm.TopicsSet) (map[string]map[int32]error, error) {
	if g.Type != client.ShareGroup {
		return r.cl.DeleteOffsets(ctx, g.ID, of)
	}
	errs := make(map[string]map[int32]error)
	kept := make(map[string]bool)
	for p := range r.commits[g.ID].of {
		kept[p.Topic] = kept[p.Topic] || !of.Lookup(p.Topic, p.Partition)
	}
	var topics []string
	for _, topic := range of.Topics() {
		if !kept[topic] {
			topics = append(topics, topic)
		}
	}
	var err error
	var answer kadm.DeleteShareGroupOffsetsResponses
	if len(topics) > 0 {
		answer, err = r.cl.DeleteShareGroupOffsets(ctx, g.ID, topics...)
	}
	of.Each(func(topic string, p int32) {
		if errs[topic] == nil {
			errs[topic] = make(map[int32]error)
		}
		errs[topic][p] = answer[topic]
		if kept[topic] {
			errs[topic][p] = errPartly
		}
	})
	return errs, err
}

// fail gives their errors to the moves of the partitions that were asked for.
func (g *resetGroup) fail(of kadm.TopicsSet, errs map[string]map[int32]error, whole error) {
	for _, m := range g.moves {
		if m.Err != nil || !of.Lookup(m.Topic, m.Partition) {
			continue
		}
		err, answered := errs[m.Topic][m.Partition]
		switch {
		case whole != nil:
			m.Err = whole
		case err != nil:
			m.Err = err
		case !answered:
			m.Err = errors.New("the coordinator did not say whether it was set")
		}
	}
}

// verify compares what is committed now with what was set.
func (g *resetGroup) verify(now groupCommits) {
	for _, m := range g.moves {
		if m.Err != nil {
			continue
		}
		c, err := now.now(m.TopicPartition)
		switch {
		case now.err != nil:
			m.Err = fmt.Errorf("set, but not read back: %w", now.err)
		case err != nil:
			m.Err = fmt.Errorf("set, but not read back: %w", err)
		case !sameOffset(c, m.New):
			m.Err = fmt.Errorf("set to %s, but %s was read back: the group is in use again", shown(m.New), shown(c))
		default:
			g.done[m] = true
		}
	}
}

// what says in a line what is about to be done.
func (r *reset) what(todo []*resetGroup) string {
	sum := summarize(todo)
	if len(todo) == 1 {
		return fmt.Sprintf("set %s of group %s: %s", plural(sum.offsets, "offset"), todo[0].ID, sum.effect())
	}
	return fmt.Sprintf("set %s of %s: %s", plural(sum.offsets, "offset"), plural(len(todo), "group"), sum.effect())
}
