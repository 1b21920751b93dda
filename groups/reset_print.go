package groups

import (
	"errors"
	"fmt"

	"kf/internal/render"
	"kf/internal/resetplan"
)

type resetRow struct {
	Group     string  `col:"group"`
	Topic     string  `col:"topic"`
	Partition int32   `col:"partition"`
	Now       *int64  `col:"now"` // null: nothing committed
	New       *int64  `col:"new"` // null: the commit is taken away, or an error
	Change    *int64  `col:"change"`
	Replayed  *int64  `col:"replayed"` // offsets; null if that depends on the consumer
	Skipped   *int64  `col:"skipped"`
	Note      *string `col:"note"`
	Wanted    *int64  `col:"wanted,data"` // differs from new if it was not in the log
	Start     *int64  `col:"log_start_offset,data"`
	End       *int64  `col:"log_end_offset,data"`
	Executed  bool    `col:"executed,data"`
	Error     *string `col:"error,data"`
}

// print prints the rows, or Kafka's CSV.
func (r *reset) print() error {
	if r.opts.Export {
		return r.export()
	}
	rows := render.New[resetRow](r.env.Stdout, r.opts.Output, render.Options{Command: "groups reset", Color: r.env.ColorStdout()})
	for _, g := range r.groups {
		for _, m := range g.moves {
			if err := rows.Write(newResetRow(m, g.done[m])); err != nil {
				return err
			}
		}
	}
	return rows.Close()
}

func newResetRow(m *resetplan.Move, done bool) resetRow {
	row := resetRow{Group: m.Group, Topic: m.Topic, Partition: m.Partition, Executed: done, Note: text(m.Note)}
	if m.Now != nil {
		row.Now = &m.Now.Offset
	}
	if m.Err != nil {
		row.Error = new(m.Err.Error())
		row.Note = row.Error
		return row
	}
	row.Start, row.End = &m.Log.Start, &m.Log.End
	if m.New != nil {
		row.New, row.Wanted = &m.New.Offset, &m.Wanted
	}
	if change, ok := m.Change(); ok {
		row.Change = &change
	}
	if replayed, skipped, ok := m.Records(); ok {
		row.Replayed, row.Skipped = &replayed, &skipped
	}
	return row
}

// export prints the new offsets as Kafka's tool does, sorted: with the group unless
// exactly one is named, and an empty line at the end.
//
// Source: Kafka 4.4.0, ConsumerGroupCommand.java.
func (r *reset) export() error {
	var out []byte
	for _, g := range r.groups {
		for _, m := range g.moves {
			if m.Err == nil && m.New != nil {
				out = resetplan.AppendCSV(out, resetplan.Entry{Group: m.Group, TopicPartition: m.TopicPartition, Offset: m.New.Offset}, len(r.opts.Groups.IDs) != 1)
			}
		}
	}
	_, err := r.env.Stdout.Write(append(out, '\n'))
	return err
}

// A summary adds up moves that can be done.
type summary struct {
	offsets, clamped  int
	fresh, taken      int // of them: where nothing was committed, and where nothing will be
	replayed, skipped int64
}

func summarize(groups []*resetGroup) summary {
	var s summary
	for _, g := range groups {
		for _, m := range g.moves {
			if m.Err != nil {
				continue
			}
			s.offsets++
			if m.Clamped() {
				s.clamped++
			}
			replayed, skipped, _ := m.Records()
			s.replayed += replayed
			s.skipped += skipped
			switch {
			case m.Now == nil && m.New != nil:
				s.fresh++
			case m.Now != nil && m.New == nil:
				s.taken++
			}
		}
	}
	return s
}

// effect says what consumers will see.
func (s summary) effect() string {
	text := fmt.Sprintf("%s replayed, %d skipped", plural(s.replayed, "record"), s.skipped)
	for _, part := range []struct {
		n    int
		what string
	}{{s.fresh, "where nothing was committed"}, {s.taken, "taken away"}, {s.clamped, "clamped"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}

func plural[T int | int64](n T, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// warn says what a person may not expect, each once for all partitions: NOTE has it for
// each.
func (r *reset) warn() {
	var fresh []string
	var remarks []string // in the order of their first moves
	of := make(map[string][]*resetplan.Move)
	for _, g := range r.groups {
		if g.isNew && g.err == nil {
			fresh = append(fresh, g.ID)
		}
		for _, m := range g.moves {
			if m.Err != nil || m.Note == "" || m.New == nil {
				continue
			}
			if of[m.Remark] == nil {
				remarks = append(remarks, m.Remark)
			}
			of[m.Remark] = append(of[m.Remark], m)
		}
	}
	switch len(fresh) {
	case 0:
	case 1:
		r.env.Warnf("group %s does not exist: it is created with these offsets", fresh[0])
	default:
		r.env.Warnf("%s: they do not exist, and are created with these offsets", few("group", fresh))
	}
	for _, remark := range remarks {
		moves := of[remark]
		m, text, more := moves[0], moves[0].Note, ""
		if n := len(moves) - 1; n > 0 {
			text, more = remark, fmt.Sprintf(" and %d more", n)
		}
		r.env.Warnf("group %s: %s%s: %s", m.Group, m.TopicPartition, more, text)
	}
}

// tell says what was done, or that nothing was.
func (r *reset) tell() {
	done := 0
	for _, g := range r.groups {
		done += len(g.done)
	}
	plan := ""
	if r.opts.PlanTo != "" {
		plan = " --undo " + r.opts.PlanTo
	}
	sum := summarize(r.groups)
	switch {
	case r.opts.Execute && done == 0:
		r.env.Notef("nothing was changed")
	case r.opts.Execute && plan != "":
		r.env.Notef("%s set; kf groups reset%s --execute puts the old ones back", plural(done, "offset"), plan)
	case r.opts.Execute:
		r.env.Notef("%s set", plural(done, "offset"))
	case sum.offsets > 0:
		r.env.Notef("%s of %s: %s", plural(sum.offsets, "offset"), plural(len(r.groups), "group"), sum.effect())
		r.env.Notef("dry run, nothing was changed: --execute does it")
	}
}

// failures returns all that could not be done.
func (r *reset) failures() error {
	errs := r.errs
	failed := 0
	for _, g := range r.groups {
		switch {
		case g.err != nil:
			errs = append(errs, groupError(g.ID, g.err))
			continue
		case g.busy != nil:
			errs = append(errs, groupError(g.ID, g.busy))
		}
		for _, m := range g.moves {
			if m.Err == nil || errors.Is(m.Err, errMovedOn) {
				continue
			}
			if failed++; failed <= maxNamed {
				errs = append(errs, fmt.Errorf("group %s: %s: %w", m.Group, m.TopicPartition, m.Err))
			}
		}
	}
	if failed > maxNamed {
		errs = append(errs, fmt.Errorf("%d more partitions failed", failed-maxNamed))
	}
	return errors.Join(errs...)
}
