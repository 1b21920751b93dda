package groups

import (
	"math"
	"slices"

	"kf/internal/client"
	"kf/internal/render"
)

// A lagRow is a group in total, one of its topics, or a partition. What is null for
// totals is what only a partition has.
type lagRow struct {
	Scope         string   `col:"scope,data"` // one of levels
	Group         string   `col:"group"`
	Topic         *string  `col:"topic"`
	Partition     *int32   `col:"partition"`
	CurrentOffset *int64   `col:"current_offset"`
	LogEndOffset  *int64   `col:"log_end_offset"`
	Lag           *int64   `col:"lag"`
	Behind        seconds  `col:"behind"`
	InRate        *float64 `col:"in_rate"`  // records per second
	OutRate       *float64 `col:"out_rate"` // records per second
	CatchUp       seconds  `col:"catch_up"` // null with the trend growing or standing is never
	Trend         *string  `col:"trend,data"`
	Expires       seconds  `col:"expires"` // 0 is that records may be deleted already
	Lost          *int64   `col:"lost"`
	ConsumerID    *string  `col:"consumer_id"`
	Host          *string  `col:"host,data"`
	ClientID      *string  `col:"client_id,data"`
	LogStart      *int64   `col:"log_start_offset,data"`
	UnreadSince   clock    `col:"unread_since,data"` // timestamp of the first unread record
	Retention     *int64   `col:"retention_ms,data"` // -1: age deletes nothing
	Uncommitted   int      `col:"uncommitted,data"`  // partitions without a commit
	Unowned       int      `col:"unowned,data"`      // partitions that no member reads
	Error         error    `col:"error,data"`
}

// The trends of a lag.
const (
	caughtUp = "caught_up"
	draining = "draining"
	growing  = "growing"
	stands   = "standing"
)

// rows returns those of the group, down to the level that was asked for.
func (g *groupSample) rows(opts *LagOptions) []lagRow {
	all := g.all()
	rows := []lagRow{g.total("group", nil, all, opts)}
	if opts.By == "group" {
		return rows
	}
	slices.SortFunc(all, worst)
	of := make(map[string][]*partitionSample)
	var topics []string // in the order of their worst partition
	for _, p := range all {
		if of[p.topic] == nil {
			topics = append(topics, p.topic)
		}
		of[p.topic] = append(of[p.topic], p)
	}
	for _, topic := range first(topics, opts.Top) {
		rows = append(rows, g.total("topic", &topic, of[topic], opts))
	}
	if opts.By == "topic" {
		return rows
	}
	for _, p := range first(all, opts.Top) {
		rows = append(rows, g.partition(p, opts))
	}
	return rows
}

// first returns the first n of all, or all if n is 0.
func first[T any](all []T, n int) []T {
	if n == 0 {
		return all
	}
	return all[:min(n, len(all))]
}

// total returns the row of several partitions.
func (g *groupSample) total(scope string, topic *string, partitions []*partitionSample, opts *LagOptions) lagRow {
	s := totals(partitions)
	table := opts.Output == render.Table
	return lagRow{
		Scope: scope, Group: g.ID, Topic: topic,
		Lag: whole(s.lag), Behind: seconds{n: s.behind, table: table},
		InRate: float(s.in), OutRate: float(s.out), CatchUp: seconds{n: catchUp(s.lag, s.in, s.out), table: table}, Trend: trend(s.lag, s.in, s.out),
		Expires: seconds{n: s.expires, table: table, zero: "due"}, Lost: whole(s.lost), Uncommitted: s.uncommitted, Unowned: s.unowned,
	}
}

func (g *groupSample) partition(p *partitionSample, opts *LagOptions) lagRow {
	row := g.total("partition", &p.topic, []*partitionSample{p}, opts)
	row.Partition = &p.partition
	row.CurrentOffset, row.LogEndOffset, row.LogStart = number(p.commit), number(p.end), number(p.start)
	row.InRate, row.OutRate, row.CatchUp.n = float(p.in), float(p.out), p.catchUp
	row.UnreadSince.t = p.unread
	row.Lag = nil
	if p.lagKnown {
		row.Lag = &p.lag
	}
	if p.lagging() && !opts.NoTimes && p.retention.Err == nil {
		row.Retention = new(int64(-1))
		if p.retention.Time != client.Forever {
			row.Retention = new(p.retention.Time.Milliseconds())
		}
	}
	if m := p.owner; m != nil {
		row.ConsumerID, row.Host, row.ClientID = &m.ID, &m.Host, &m.ClientID
	}
	if row.Error = p.err; p.err == nil {
		row.Error = p.readErr
	}
	return row
}

// trend says where a lag goes, nil if that is not known.
func trend(lag, in, out float64) *string {
	switch {
	case math.IsNaN(lag) || math.IsNaN(in) || math.IsNaN(out):
		return nil
	case lag <= 0:
		return new(caughtUp)
	case out > in:
		return new(draining)
	case out < in:
		return new(growing)
	}
	return new(stands)
}
