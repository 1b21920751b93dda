package groups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/resetplan"
)

// A reset is one run of "kf groups reset".
type reset struct {
	env  *cli.Env
	cl   resetter
	opts ResetOptions
	file *resetFile // nil without one

	cluster string                  // its id
	commits map[string]groupCommits // of the groups, and of the one given as --to-group
	groups  []*resetGroup           // by id
	errs    []error                 // those of no group
}

// A resetGroup is a group whose commits are moved as a whole, or not at all.
type resetGroup struct {
	client.Group
	isNew bool
	moves []*resetplan.Move        // by topic and partition
	moved []string                 // those of the moves whose commits are not what a plan found, in words
	done  map[*resetplan.Move]bool // set, and read back
	err   error                    // why there are no moves
	busy  error                    // why the moves are not to be done now
}

// prepare finds out where the commits of the groups are and where they are to go.
func (r *reset) prepare(ctx context.Context) error {
	ctx, cancel := r.cl.Deadline(ctx)
	defer cancel()
	ids, err := r.ids(ctx)
	if err != nil {
		return err
	}
	for _, g := range r.cl.DescribeGroupsByID(ctx, ids) {
		to := &resetGroup{Group: g, err: g.Err, done: make(map[*resetplan.Move]bool)}
		if errors.Is(g.Err, client.ErrNoGroup) {
			to.isNew, to.err = true, nil
		}
		r.groups = append(r.groups, to)
	}
	r.commits = r.ask(ctx, r.groups)
	if err := r.scope(ctx); err != nil {
		return err
	}
	r.aim(ctx)
	return nil
}

// ids returns the groups that it is about, sorted.
func (r *reset) ids(ctx context.Context) ([]string, error) {
	named := len(r.opts.Groups.IDs) > 0 || r.opts.Groups.All || r.opts.Groups.Regex != ""
	if named {
		ids, err := r.opts.Groups.resolve(ctx, r.cl)
		if err != nil && len(ids) > 0 {
			r.errs, err = append(r.errs, err), nil
		}
		if r.file == nil || err != nil {
			return ids, err
		}
		return r.file.choose(r, ids), nil
	}
	return slices.Sorted(maps.Keys(r.file.groups)), nil
}

// ask asks what groups have committed, and the one given as --to-group.
func (r *reset) ask(ctx context.Context, groups []*resetGroup) map[string]groupCommits {
	var all []client.Group
	for _, g := range groups {
		if g.err == nil {
			all = append(all, g.Group)
		}
	}
	if to := r.opts.ToGroup; to != "" && !slices.ContainsFunc(all, func(g client.Group) bool { return g.ID == to }) {
		all = append(all, client.Group{ListedGroup: client.ListedGroup{ID: to}})
	}
	return askCommits(ctx, r.cl, all)
}

// scope gives each group its moves, without New. A topic that is named but not there
// is an error of no group.
func (r *reset) scope(ctx context.Context) error {
	wanted, err := parseScope(r.opts.Topics)
	if err != nil {
		return err
	}
	of := make(map[*resetGroup][]resetplan.TopicPartition)
	names := make(map[string]bool)
	for topic := range wanted {
		names[topic] = true
	}
	for _, g := range r.groups {
		g.err = cmp.Or(g.err, r.refusal(g))
	}
	if len(r.opts.Groups.IDs) == 0 { // of all groups those are meant that it can be about
		r.groups = slices.DeleteFunc(r.groups, func(g *resetGroup) bool { return errors.Is(g.err, errForeign) || errors.Is(g.err, errNothing) })
	}
	for _, g := range r.groups {
		if g.err != nil {
			continue
		}
		switch {
		case r.file != nil:
			of[g] = r.file.partitions(g.ID)
		case r.opts.AllTopics && r.opts.ToGroup != "":
			of[g] = slices.Collect(maps.Keys(r.commits[r.opts.ToGroup].of))
		case r.opts.AllTopics:
			of[g] = slices.Collect(maps.Keys(r.commits[g.ID].of))
		}
		for _, p := range of[g] {
			names[p.Topic] = true
		}
	}
	cluster, err := r.cl.Topics(ctx, slices.AppendSeq([]string{}, maps.Keys(names)))
	if err != nil {
		return err
	}
	r.cluster = cluster.ID
	if r.file != nil && r.file.plan != nil && r.file.plan.ClusterID != r.cluster {
		return fmt.Errorf("%s: the plan is for cluster %s, and this is %s", r.file.path, r.file.plan.ClusterID, r.cluster)
	}
	topics := make(map[string]*client.Topic)
	for i := range cluster.Topics {
		t := &cluster.Topics[i]
		topics[t.Name] = t
	}
	var named []resetplan.TopicPartition
	for _, topic := range slices.Sorted(maps.Keys(wanted)) {
		list := wanted[topic]
		switch t := topics[topic]; {
		case t == nil || t.Err != nil:
			r.errs = append(r.errs, fmt.Errorf("topic %s: %w", topic, topicError(t)))
			continue
		case len(list) == 0:
			for _, p := range t.Partitions {
				list = append(list, p.ID)
			}
		}
		for _, p := range list {
			named = append(named, resetplan.TopicPartition{Topic: topic, Partition: p})
		}
	}
	for _, g := range r.groups {
		if g.err != nil {
			continue
		}
		for _, p := range slices.Concat(of[g], named) {
			m := &resetplan.Move{Group: g.ID, TopicPartition: p}
			m.Now, m.Err = r.commits[g.ID].now(p)
			if err := locate(m, topics[p.Topic]); err != nil {
				m.Err = err // a commit that cannot be told is then no wonder
			}
			g.moves = append(g.moves, m)
		}
		slices.SortFunc(g.moves, func(a, b *resetplan.Move) int { return a.Compare(b.TopicPartition) })
	}
	return nil
}

// refusal returns why the commits of a group are left alone whatever they are. That it
// has members is no reason to hide the plan, and comes later.
func (r *reset) refusal(g *resetGroup) error {
	other := r.commits[r.opts.ToGroup]
	switch {
	case r.commits[g.ID].err != nil:
		return r.commits[g.ID].err
	case r.opts.ToGroup != "" && other.err != nil:
		return fmt.Errorf("the commits of group %s: %w", r.opts.ToGroup, other.err)
	case r.opts.ToGroup != "" && len(other.of) == 0:
		return fmt.Errorf("group %s, given as --to-group, has committed nothing", r.opts.ToGroup)
	case g.Protocol != "" && g.Protocol != "consumer" && g.Type == client.ClassicGroup:
		return fmt.Errorf("it is a group of %s: %w", g.Protocol, errForeign)
	case !r.opts.AllTopics || r.opts.ToGroup != "":
		return nil
	case g.isNew:
		return errors.New("it does not exist: name topics with --topic")
	case len(r.commits[g.ID].of) == 0:
		return errNothing
	}
	return nil
}

// locate sets the topic id of a move, and returns why the partition cannot be read.
func locate(m *resetplan.Move, t *client.Topic) error {
	if t != nil && !t.ID.IsZero() {
		m.TopicID = t.ID.String()
	}
	_, err := findPartition(t, m.Partition)
	return err
}

// aim sets where each move goes to.
func (r *reset) aim(ctx context.Context) {
	set := make(kadm.TopicsSet)
	for _, g := range r.groups {
		for _, m := range g.moves {
			if m.Err == nil {
				set.Add(m.Topic, m.Partition)
			}
		}
	}
	points := []int64{client.Earliest, client.Latest}
	var since string
	if t := r.opts.Target; t != nil && t.Kind == resetplan.Time {
		points = append(points, r.opts.Time.UnixMilli())
		since = r.opts.Time.UTC().Format(timeLayout)
	}
	listed := make([]kadm.ListedOffsets, len(points))
	var all sync.WaitGroup
	for i, at := range points {
		all.Go(func() {
			// What some leaders did not answer is an error of their partitions.
			listed[i], _ = r.cl.ListOffsets(ctx, at, false, set)
		})
	}
	all.Wait()
	for _, g := range r.groups {
		for _, m := range g.moves {
			if m.Err != nil {
				continue
			}
			at := []int64{-1, -1, -1}
			for i := range points {
				o, ok := listed[i].Lookup(m.Topic, m.Partition)
				switch {
				case !ok:
					m.Err = errNoOffsets
				case o.Err != nil:
					m.Err = o.Err
				}
				at[i] = o.Offset
			}
			if m.Err != nil {
				continue
			}
			m.Log = resetplan.Log{Start: at[0], End: at[1]}
			if r.file != nil {
				r.file.aim(g, m)
				continue
			}
			if r.opts.ToGroup != "" {
				r.follow(m)
				continue
			}
			r.opts.Target.Apply(m, at[2], since)
		}
		if g.err == nil {
			g.busy = cmp.Or(g.movedError(), g.activeError())
		}
	}
}

// follow moves to where the other group is.
func (r *reset) follow(m *resetplan.Move) {
	c, err := r.commits[r.opts.ToGroup].now(m.TopicPartition)
	switch {
	case err != nil:
		m.Err = err
	case c == nil:
		m.Err = fmt.Errorf("group %s has committed nothing there", r.opts.ToGroup)
	default:
		resetplan.Target{Kind: resetplan.Offset, Offset: c.Offset}.Apply(m, -1, "")
	}
}

// activeError returns why the group cannot be changed now, nil if it can.
func (g *resetGroup) activeError() error {
	if g.isNew || !g.Active() && (g.State == "Empty" || g.State == "Dead") {
		return nil
	}
	if !g.Active() {
		return fmt.Errorf("it is in state %s: its offsets can be reset when it is Empty", g.State)
	}
	var names []string
	static := ", or its session times out"
	for _, m := range g.Members {
		name := m.ClientID + " at " + strings.TrimPrefix(m.Host, "/")
		if m.InstanceID != nil {
			name = "static member " + *m.InstanceID + ", " + name
			static = ", a static one only when its session times out"
		}
		names = append(names, name)
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", more))
	}
	return fmt.Errorf("it is in state %s with %s (%s): stop them first; a member leaves when it is closed%s", g.State, plural(len(g.Members), "member"), strings.Join(names, "; "), static)
}

// maxNamed is how many members, or partitions, a message names.
const maxNamed = 10
