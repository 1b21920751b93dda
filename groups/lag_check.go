package groups

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"kf/internal/cli"
	"kf/internal/condition"
)

// lagMeasures are what the condition of --fail-if may use.
var lagMeasures = condition.Measures{
	"lag": condition.Number, "lost": condition.Number, "in": condition.Number, "out": condition.Number,
	"behind": condition.Duration, "expires": condition.Duration, "catch_up": condition.Duration,
	"committed": condition.YesNo, "owned": condition.YesNo,
	"total_lag": condition.Number, "members": condition.Number, "uncommitted": condition.Number, "unowned": condition.Number,
}

// groupMeasures are those that are the same in all partitions of a group.
var groupMeasures = []string{"total_lag", "members", "uncommitted", "unowned"}

// measured returns the value of a measure, of p unless that is nil, and whether it is
// known.
func (g *groupSample) measured(name string, p *partitionSample, total *summed) (float64, bool) {
	n := nan
	switch name {
	case "total_lag":
		n = total.lag
	case "members":
		n = float64(len(g.Members))
	case "uncommitted":
		n = float64(total.uncommitted)
	case "unowned":
		n = float64(total.unowned)
	case "lag":
		n = p.records()
	case "lost":
		n = p.lost
	case "in":
		n = p.in
	case "out":
		n = p.out
	case "behind":
		if n = p.behind; p.records() == 0 {
			n = 0
		}
	case "expires":
		if n = p.expires; p.records() <= 0 {
			n = math.Inf(1) // there is nothing that could
		}
	case "catch_up":
		n = p.catchUp
	case "owned":
		n = yesNo(p.owners > 0)
	case "committed":
		if p.err == nil || p.commit >= 0 {
			n = yesNo(p.commit >= 0)
		}
	}
	return n, !math.IsNaN(n)
}

func yesNo(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// check returns the rows of what meets the condition, the finding that says so, and
// why it could not be told of some.
func (g *groupSample) check(opts *LagOptions) (rows []lagRow, found, untold error) {
	cond := opts.failIf
	all := g.all()
	total := totals(all)
	if !slices.ContainsFunc(cond.Names(), func(name string) bool { return !slices.Contains(groupMeasures, name) }) {
		switch cond.Eval(func(name string) (float64, bool) { return g.measured(name, nil, &total) }) {
		case condition.True:
			return []lagRow{g.total("group", nil, all, opts)}, cli.Found(fmt.Errorf("group %s: %v", g.ID, cond)), nil
		case condition.Unknown:
			return nil, nil, fmt.Errorf("group %s: cannot tell whether %v: nothing is known of its partitions", g.ID, cond)
		}
		return nil, nil, nil
	}
	if len(all) == 0 {
		return nil, nil, fmt.Errorf("group %s: cannot tell whether %v: it has committed nothing, and its members read nothing", g.ID, cond)
	}
	slices.SortFunc(all, worst)
	var met, unknown []*partitionSample
	for _, p := range all {
		switch cond.Eval(func(name string) (float64, bool) { return g.measured(name, p, &total) }) {
		case condition.True:
			met = append(met, p)
			rows = append(rows, g.partition(p, opts))
		case condition.Unknown:
			unknown = append(unknown, p)
		}
	}
	if len(met) > 0 {
		found = cli.Found(fmt.Errorf("group %s: %v in %d of %d partitions: %s", g.ID, cond, len(met), len(all), and(positions(met))))
	}
	if len(unknown) > 0 {
		untold = g.untold(unknown, &total, cond)
	}
	return rows, found, untold
}

// untold says why the condition could not be told of partitions.
func (g *groupSample) untold(partitions []*partitionSample, total *summed, cond *condition.Condition) error {
	p := partitions[0]
	var missing []string
	for _, name := range cond.Names() {
		if _, known := g.measured(name, p, total); !known {
			missing = append(missing, name)
		}
	}
	text := fmt.Sprintf("group %s: cannot tell whether %v for %s: %s not known", g.ID, cond, and(positions(partitions)), strings.Join(missing, ", "))
	if p.commit < 0 && p.err == nil {
		text += fmt.Sprintf(" where nothing was committed ('committed and (%v)' leaves such partitions out)", cond)
	}
	return fmt.Errorf("%s", text)
}

func positions(partitions []*partitionSample) []*position {
	all := make([]*position, 0, len(partitions))
	for _, p := range partitions {
		all = append(all, p.position)
	}
	return all
}
