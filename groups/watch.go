package groups

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"kf/internal/cli"
	"kf/internal/render"
)

const (
	rateSamples = 6  // rates are those since so many samples ago, or since the first commit
	plotWidth   = 20 // samples
)

// A watchRow is one sample of a group.
type watchRow struct {
	Time          clock    `col:"time"`
	Group         string   `col:"group"`
	Lag           *int64   `col:"lag"`
	Behind        seconds  `col:"behind"`
	InRate        *float64 `col:"in_rate"`
	OutRate       *float64 `col:"out_rate"`
	CatchUp       seconds  `col:"catch_up"`
	Trend         *string  `col:"trend,data"`
	End           clock    `col:"end"` // when it will have caught up
	Slowest       *string  `col:"slowest"`
	SlowestLag    *int64   `col:"slowest_lag,data"`
	SlowestBehind seconds  `col:"slowest_behind,data"`
	Expires       seconds  `col:"expires,data"`
	Uncommitted   int      `col:"uncommitted"`
	Unowned       int      `col:"unowned,data"`
}

// A plottedRow is what a table shows: the lag of the last samples as bars, too.
type plottedRow struct {
	watchRow
	Plot string `col:"plot"`
}

// Watch takes a sample each opts.Watch and prints a row for each group, until ctx
// ends, or a group meets the condition. What cannot be told of a group at first is an
// error; later it is a warning, and the watch goes on.
func Watch(ctx context.Context, env *cli.Env, cl lagger, opts LagOptions) error {
	ids, err := resolveNow(ctx, cl, opts)
	if err != nil && len(ids) == 0 {
		return err
	}
	errs := []error{err}
	print := watchPrinter(env, opts)
	uncommitted := make(map[string]int)
	var history []sample
	start := time.Now()
	for n := 0; opts.Count == 0 || n < opts.Count; n++ {
		if n > 0 {
			if err := sleep(ctx, time.Until(start.Add(time.Duration(n)*opts.Watch))); err != nil {
				return errors.Join(print.close(), err)
			}
		}
		s := takeNow(ctx, env, cl, ids, opts)
		if ctx.Err() != nil {
			return errors.Join(print.close(), context.Cause(ctx))
		}
		if n == 0 {
			ids = nil
			for _, g := range s.groups {
				if g.err != nil {
					errs = append(errs, groupError(g.ID, g.err))
				} else {
					ids = append(ids, g.ID)
				}
			}
			if len(ids) == 0 {
				return errors.Join(errs...)
			}
		}
		s.rate(history)
		history = append(history, s)
		if len(history) > rateSamples {
			history = slices.Delete(history, 0, 1)
		}
		found, err := watchSample(env, &s, n, &opts, print, uncommitted)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			errs = append(errs, found...)
			break
		}
	}
	return errors.Join(append(errs, print.close())...)
}

// watchSample prints a sample, and returns which groups meet the condition. It keeps in
// uncommitted how many partitions of each group were said to have no commit.
func watchSample(env *cli.Env, s *sample, n int, opts *LagOptions, print watchRows, uncommitted map[string]int) (found []error, err error) {
	for i := range s.groups {
		g := &s.groups[i]
		if g.err != nil {
			if n > 0 {
				env.Warnf("%v", groupError(g.ID, g.err))
			}
			continue
		}
		if n == 0 {
			(&notes{env: env}).add(g.Group)
			g.explain(env)
		} else if totals(g.all()).uncommitted != uncommitted[g.ID] {
			g.noteUncommitted(env)
		}
		uncommitted[g.ID] = totals(g.all()).uncommitted
		if err := print.write(g, s.at); err != nil {
			return nil, err
		}
		if opts.failIf == nil {
			continue
		}
		_, met, untold := g.check(opts)
		if met != nil {
			found = append(found, met)
		}
		if untold != nil {
			env.Warnf("%v", untold)
		}
	}
	return found, nil
}

// watchRows prints samples of groups.
type watchRows struct {
	write func(*groupSample, time.Time) error
	close func() error
}

func watchPrinter(env *cli.Env, opts LagOptions) watchRows {
	ropts := render.Options{Command: "groups lag", Color: env.ColorStdout(), Live: true}
	if opts.Output != render.Table {
		out := render.New[watchRow](env.Stdout, opts.Output, ropts)
		return watchRows{func(g *groupSample, at time.Time) error { return out.Write(g.watchRow(at, false)) }, out.Close}
	}
	out := render.New[plottedRow](env.Stdout, opts.Output, ropts)
	past := make(map[string][]float64)
	return watchRows{func(g *groupSample, at time.Time) error {
		lags := append(past[g.ID], totals(g.all()).lag)
		past[g.ID] = lags[max(0, len(lags)-plotWidth):]
		return out.Write(plottedRow{g.watchRow(at, true), plot(past[g.ID])})
	}, out.Close}
}

func (g *groupSample) watchRow(at time.Time, table bool) watchRow {
	all := g.all()
	total := totals(all)
	row := watchRow{
		Time: clock{t: at}, Group: g.ID, Lag: whole(total.lag), Behind: seconds{n: total.behind, table: table},
		InRate: float(total.in), OutRate: float(total.out), CatchUp: seconds{n: catchUp(total.lag, total.in, total.out), table: table},
		Trend: trend(total.lag, total.in, total.out), SlowestBehind: seconds{n: nan, table: table},
		Expires: seconds{n: total.expires, table: table, zero: "due"}, Uncommitted: total.uncommitted, Unowned: total.unowned,
	}
	if !math.IsInf(row.CatchUp.n, 1) && slices.ContainsFunc(all, (*partitionSample).unknownLag) {
		row.CatchUp.n, row.Trend = nan, nil // never stays true
	}
	if table {
		row.Time.now, row.End.now = at, at
	}
	if n := row.CatchUp.n; !math.IsNaN(n) && n < 100*365*24*60*60 {
		row.End.t = at.Add(time.Duration(n * float64(time.Second)))
	}
	if len(all) > 0 {
		if p := slices.MinFunc(all, worst); p.lagging() {
			row.Slowest, row.SlowestLag, row.SlowestBehind.n = new(p.name()), &p.lag, p.behind
		}
	}
	return row
}
