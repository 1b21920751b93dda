package topics

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/render"
	"kf/internal/wire"
)

// A describer is what Describe asks of the cluster.
type describer interface {
	offsetSource
	dirSource
	DescribeTopics(ctx context.Context, names []string) ([]client.Topic, error)
	TopicConfigs(ctx context.Context, names []string) (map[string]client.TopicConfigs, error)
	Reassignments(ctx context.Context) (map[string]map[int32]client.Reassignment, error)
}

// facts is what is known of the topics to describe.
type facts struct {
	cluster  *client.Cluster // its topics have the partitions to print
	configs  map[string]client.TopicConfigs
	moving   map[string]map[int32]client.Reassignment
	sizes    sizes
	listed   []answers // where logs start and end
	haveMore bool      // configs were asked for
	haveMove bool      // moving was
}

// Describe prints topics, then partitions, by name and number. It asks one broker for
// the topics, which takes two requests, and one for their configurations, the
// controller for reassignments, and each broker once for sizes and each leader twice
// for offsets, as far as it takes that for what is printed.
func Describe(ctx context.Context, env *cli.Env, cl describer, opts DescribeOptions) error {
	if err := opts.validate(); err != nil {
		return err
	}
	m, err := opts.matcher()
	if err != nil {
		return err
	}
	for _, id := range opts.IDs {
		u, _ := wire.ParseUUID(id) // validate has tried
		m.ids = append(m.ids, u)
	}
	cluster, failed, err := m.choose(ctx, cl)
	if err != nil {
		return err
	}
	report := failures{env: env}
	report.topics(failed, opts.IfExists)
	if len(cluster.Topics) == 0 {
		m.none(&report, opts.IfExists)
	}
	f := &facts{cluster: cluster}
	if opts.filters() {
		f.askMoving(ctx, cl, &report)
		if opts.UnderMinISR || opts.AtMinISR {
			f.askConfigs(ctx, cl, &report)
		}
		f.filter(&opts)
	}
	f.askRest(ctx, cl, &opts, &report)
	found, err := f.print(env, &opts)
	if err == nil && found > 0 && opts.Fail {
		err = cli.ErrFindings
	}
	return errors.Join(err, report.end())
}

// askMoving asks which partitions move. Whoever may not know that does without.
func (f *facts) askMoving(ctx context.Context, cl describer, report *failures) {
	moving, err := cl.Reassignments(ctx)
	if err != nil && !client.Unsupported(err) && !errors.Is(err, kerr.ClusterAuthorizationFailed) {
		report.add("the controller does not say which partitions are reassigned: %s", reason(err))
	}
	f.moving, f.haveMove = moving, true
}

// askConfigs asks for the configurations of the topics.
func (f *facts) askConfigs(ctx context.Context, cl describer, report *failures) {
	f.haveMore = true
	configs, err := cl.TopicConfigs(ctx, names(f.cluster.Topics))
	if err != nil {
		report.add("configurations are unknown: %s", reason(err))
	}
	for _, t := range f.cluster.Topics {
		if err := configs[t.Name].Err; err != nil {
			report.add("topic %s: its configurations are unknown: %s", t.Name, reason(err))
			delete(configs, t.Name)
		}
	}
	f.configs = configs
}

// filter leaves the partitions that a filter takes.
func (f *facts) filter(opts *DescribeOptions) {
	var some []client.Topic
	for _, t := range f.cluster.Topics {
		t.Partitions = slices.DeleteFunc(t.Partitions, func(p client.Partition) bool {
			s := f.status(t.Name, &p)
			has := func(name string, wanted bool) bool { return wanted && slices.Contains(s, name) }
			return !has(underReplicated, opts.UnderReplicated) && !has(underMinISR, opts.UnderMinISR) &&
				!has(atMinISR, opts.AtMinISR) && !has(unavailable, opts.Unavailable)
		})
		if len(t.Partitions) > 0 {
			some = append(some, t)
		}
	}
	f.cluster.Topics = some
}

// askRest asks for what is not known yet and is to be printed, all at the same time.
func (f *facts) askRest(ctx context.Context, cl describer, opts *DescribeOptions, report *failures) {
	if len(f.cluster.Topics) == 0 {
		return
	}
	var all sync.WaitGroup
	later := make([]failures, 4)
	for i := range later {
		later[i].env = report.env
	}
	if !f.haveMove && !opts.topicsOnly() {
		all.Go(func() { f.askMoving(ctx, cl, &later[0]) })
	}
	if !f.haveMore {
		all.Go(func() { f.askConfigs(ctx, cl, &later[1]) })
	}
	var newer []client.Topic
	if !opts.topicsOnly() {
		all.Go(func() {
			var err error
			newer, err = cl.DescribeTopics(ctx, names(f.cluster.Topics))
			if err != nil && !client.Unsupported(err) {
				later[2].add("eligible leader replicas are unknown: %s", reason(err))
			}
		})
	}
	if !opts.MetadataOnly {
		all.Go(func() {
			var err error
			f.sizes, err = askSizes(ctx, cl, f.cluster, false)
			if err == nil || client.Unsupported(err) || errors.Is(err, kerr.ClusterAuthorizationFailed) {
				return
			}
			for _, err := range each(err) {
				report.env.Warnf("sizes are not complete: %s", reason(err))
			}
		})
		if !opts.topicsOnly() {
			all.Go(func() {
				f.listed = listAll(ctx, cl, []int64{client.Earliest, client.Latest}, false, ledPartitions(f.cluster.Topics))
				if err := firstError(f.listed); err != nil {
					report.env.Warnf("offsets are not complete: %s", reason(err))
				}
			})
		}
	}
	all.Wait()
	f.learn(newer)
	for _, r := range later {
		report.some, report.late = report.some || r.some, report.late || r.late
	}
}

// firstError returns an error of a partition that was asked about, nil if there is
// none.
func firstError(listed []answers) error {
	for _, a := range listed {
		if err := kadm.ListedOffsets(a).Error(); err != nil {
			return err
		}
	}
	return nil
}

// learn takes what DescribeTopics says of partitions that are to be printed.
func (f *facts) learn(newer []client.Topic) {
	type key struct {
		id        wire.UUID
		partition int32
	}
	known := make(map[key]client.Partition)
	for _, t := range newer {
		for _, p := range t.Partitions {
			known[key{t.ID, p.ID}] = p
		}
	}
	for _, t := range f.cluster.Topics {
		for i, p := range t.Partitions {
			if n, ok := known[key{t.ID, p.ID}]; ok {
				t.Partitions[i] = n
			}
		}
	}
}

// What may be wrong with a partition.
const (
	underReplicated = "under-replicated"
	underMinISR     = "under-min-isr"
	atMinISR        = "at-min-isr"
	unavailable     = "unavailable"
	reassigning     = "reassigning"
)

// status returns what is not well with a partition, as far as it is known.
//
// Source: Kafka 4.4.0, TopicCommand.java.
func (f *facts) status(topic string, p *client.Partition) status {
	var s status
	adding := 0
	if move, ok := f.moving[topic][p.ID]; ok {
		s = append(s, reassigning)
		adding = len(move.Adding)
	}
	if len(p.Replicas)-adding > len(p.ISR) {
		s = append(s, underReplicated)
	}
	if minimum := f.configs[topic].MinISR; minimum > 0 {
		switch {
		case len(p.ISR) < minimum, p.Leader < 0:
			s = append(s, underMinISR)
		case len(p.ISR) == minimum:
			s = append(s, atMinISR)
		}
	}
	if p.Leader < 0 {
		s = append(s, unavailable)
	}
	return s
}

// overridden returns the configurations that differ from Kafka's defaults, and
// whether one is set for the topic itself.
func (f *facts) overridden(topic string) (all settings, own bool) {
	configs, ok := f.configs[topic]
	if !ok {
		return nil, false
	}
	all = settings{}
	for _, c := range configs.Set {
		own = own || c.Own
		all = append(all, setting{c.Key, c.Value})
	}
	return all, own
}

// print prints what is known, and returns how many partitions that is.
func (f *facts) print(env *cli.Env, opts *DescribeOptions) (found int, err error) {
	out := render.Open(env.Stdout, opts.Output, render.Options{Command: "topics describe", Color: env.ColorStdout()})
	topics, partitions := render.Rows[topicRow](out), render.Rows[partitionRow](out)
	onlyPartitions := opts.filters() || opts.Output == render.CSV && !opts.topicsOnly()
	if onlyPartitions {
		partitions.Expect()
	}
	for _, t := range f.cluster.Topics {
		configs, own := f.overridden(t.Name)
		if onlyPartitions || opts.WithOverrides && !own {
			continue
		}
		row := topicRow{
			Kind: "topic", Topic: t.Name, ID: topicID(t.ID), Partitions: len(t.Partitions), Replication: f.replication(&t),
			Internal: t.Internal, Configs: configs,
		}
		row.Size, row.Total = f.sizes.of(t.Name, t.Partitions...)
		if err := topics.Write(row); err != nil {
			return 0, err
		}
	}
	for _, t := range f.cluster.Topics {
		if opts.topicsOnly() {
			break
		}
		for _, p := range t.Partitions {
			found++
			if err := partitions.Write(f.partition(t.Name, p)); err != nil {
				return found, err
			}
		}
	}
	return found, out.Close()
}

// replication returns the replication factor of a topic, without replicas that are
// being added.
func (f *facts) replication(t *client.Topic) int {
	n := t.Replicas()
	if n > 0 {
		n -= len(f.moving[t.Name][t.Partitions[0].ID].Adding)
	}
	return n
}

func (f *facts) partition(topic string, p client.Partition) partitionRow {
	row := partitionRow{
		Kind: "partition", Topic: topic, Partition: p.ID, Replicas: noNull(p.Replicas), ISR: noNull(p.ISR), Offline: noNull(p.Offline),
		ELR: p.ELR, LastKnownELR: p.LastKnownELR, Status: f.status(topic, &p),
	}
	if p.Leader >= 0 {
		row.Leader = &p.Leader
	}
	if p.LeaderEpoch >= 0 {
		row.LeaderEpoch = &p.LeaderEpoch
	}
	if f.moving != nil {
		move := f.moving[topic][p.ID]
		row.Adding, row.Removing = noNull(move.Adding), noNull(move.Removing)
	}
	if f.listed != nil {
		row.Start, row.End = offset(f.listed[0].at(topic, p.ID)), offset(f.listed[1].at(topic, p.ID))
	}
	row.Size, row.Total = f.sizes.of(topic, p)
	return row
}

// noNull returns an empty list for one that is known to have none.
func noNull(ids []int32) brokers {
	if ids == nil {
		return brokers{}
	}
	return ids
}
