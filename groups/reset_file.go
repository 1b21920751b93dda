package groups

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"kf/internal/cli"
	"kf/internal/resetplan"
)

// A resetFile is a file that says where commits are to go.
type resetFile struct {
	path   string
	undo   bool            // back to what the plan found
	plan   *resetplan.Plan // nil for CSV
	groups map[string]map[resetplan.TopicPartition]resetplan.Saved
}

// maxFile bounds the memory that a file can take; a plan of a million partitions is
// smaller.
const maxFile = 512 << 20

// readFile reads the file that the options name, if they do.
func (r *reset) readFile(ctx context.Context) error {
	path := cmp.Or(r.opts.FromFile, r.opts.Undo)
	if path == "" {
		return nil
	}
	in, path, err := r.env.Open(ctx, path)
	if err != nil {
		return err
	}
	defer in.Close()
	p, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return err
	case len(p) > maxFile:
		return fmt.Errorf("%s: more than %s, which no plan has", path, cli.Bytes(maxFile))
	}
	r.file = &resetFile{path: path, undo: r.opts.Undo != "", groups: make(map[string]map[resetplan.TopicPartition]resetplan.Saved)}
	if resetplan.IsPlan(p) {
		err = r.file.readPlan(p)
	} else {
		err = r.file.readCSV(p, r.opts.Groups.IDs)
	}
	if err == nil && len(r.file.groups) == 0 {
		err = errors.New("no offset in it")
	}
	return inFile(path, err)
}

// inFile names the file in an error, or in each of several.
func inFile(path string, err error) error {
	many, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("%s: %w", path, err)
	}
	var all []error
	for _, e := range many.Unwrap() {
		all = append(all, fmt.Errorf("%s: %w", path, e))
	}
	return errors.Join(all...)
}

func (f *resetFile) readPlan(p []byte) (err error) {
	if f.plan, err = resetplan.Decode(p); err != nil {
		return err
	}
	for _, g := range f.plan.Groups {
		for _, s := range g.Partitions {
			f.add(g.Group, s)
		}
	}
	return nil
}

func (f *resetFile) readCSV(p []byte, ids []string) error {
	if f.undo {
		return errors.New("this is no plan, and only a plan knows what was there before: use --from-file for CSV")
	}
	entries, withGroup, err := resetplan.ReadCSV(p)
	if err != nil {
		return err
	}
	if !withGroup && len(ids) != 1 {
		return cli.Usagef("its lines name no group: name one")
	}
	for _, e := range entries {
		if !withGroup {
			e.Group = ids[0]
		}
		f.add(e.Group, resetplan.Saved{
			Topic: e.Topic, Partition: e.Partition,
			New: resetplan.CommitOrNo{Commit: &resetplan.Commit{Offset: e.Offset, LeaderEpoch: -1}},
		})
	}
	return nil
}

func (f *resetFile) add(group string, s resetplan.Saved) {
	if f.groups[group] == nil {
		f.groups[group] = make(map[resetplan.TopicPartition]resetplan.Saved)
	}
	f.groups[group][resetplan.TopicPartition{Topic: s.Topic, Partition: s.Partition}] = s
}

// choose returns those of ids that the file has; the others are errors.
func (f *resetFile) choose(r *reset, ids []string) []string {
	return slices.DeleteFunc(ids, func(id string) bool {
		if f.groups[id] != nil {
			return false
		}
		if len(r.opts.Groups.IDs) > 0 {
			r.errs = append(r.errs, fmt.Errorf("group %s: %s says nothing of it", id, f.path))
		}
		return true
	})
}

func (f *resetFile) partitions(group string) []resetplan.TopicPartition {
	all := make([]resetplan.TopicPartition, 0, len(f.groups[group]))
	for p := range f.groups[group] {
		all = append(all, p)
	}
	return all
}

// aim sets where the file says that a commit goes to. A plan is not followed where the
// group has gone on since, or where the offsets are those of another topic.
func (f *resetFile) aim(g *resetGroup, m *resetplan.Move) {
	saved := f.groups[m.Group][m.TopicPartition]
	if f.plan == nil {
		resetplan.Target{Kind: resetplan.Offset, Offset: saved.New.Offset}.Apply(m, -1, "")
		return
	}
	old, target := saved.Old.Commit, saved.New.Commit
	if f.undo {
		old, target = target, old
	}
	there := sameOffset(m.Now, old) || sameOffset(m.Now, target)
	switch {
	case saved.TopicID != "" && m.TopicID != "" && saved.TopicID != m.TopicID:
		m.Err = errNewTopic
	case f.undo:
		m.Restore(target)
		if !there && m.Note == "" {
			m.Remark = "committed since the plan"
			m.Note = fmt.Sprintf("committed since the plan, which left %s", shown(old))
		}
	case !there:
		g.moved = append(g.moved, fmt.Sprintf("%s from %s to %s", m.TopicPartition, shown(old), shown(m.Now)))
		m.Err = errMovedOn
	case target != nil && !m.Log.Has(target.Offset):
		resetplan.Target{Kind: resetplan.Offset, Offset: target.Offset}.Apply(m, -1, "")
	default:
		m.Restore(target)
	}
}

var errMovedOn = errors.New("committed since the plan was made")

// movedError returns that a group has gone on since its plan was made.
func (g *resetGroup) movedError() error {
	if len(g.moved) == 0 {
		return nil
	}
	names := g.moved
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed:maxNamed], fmt.Sprintf("%d more", more))
	}
	return fmt.Errorf("it has committed since the plan was made (%s): make a new plan", strings.Join(names, "; "))
}

func sameOffset(a, b *resetplan.Commit) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Offset == b.Offset
}

func shown(c *resetplan.Commit) string {
	if c == nil {
		return "nothing"
	}
	return fmt.Sprint(c.Offset)
}

// writePlan writes what is to be done to a file of its own, before it is done. Groups
// that are in use are left out if it is done at once: an undo must not touch what was
// never done.
func (r *reset) writePlan() error {
	if r.opts.PlanTo == "" {
		return nil
	}
	plan := resetplan.Plan{ClusterID: r.cluster, Created: r.env.Now().UTC().Truncate(time.Millisecond), Scenario: r.opts.scenario()}
	for _, g := range r.groups {
		if g.err != nil || r.opts.Execute && g.busy != nil {
			continue
		}
		saved := resetplan.Group{Group: g.ID}
		if !g.isNew {
			saved.Type = strings.ToLower(string(g.Type))
		}
		for _, m := range g.moves {
			if m.Err == nil {
				saved.Partitions = append(saved.Partitions, resetplan.Saved{
					Topic: m.Topic, TopicID: m.TopicID, Partition: m.Partition,
					Old: resetplan.CommitOrNo{Commit: m.Now}, New: resetplan.CommitOrNo{Commit: m.New},
				})
			}
		}
		if len(saved.Partitions) > 0 {
			plan.Groups = append(plan.Groups, saved)
		}
	}
	if len(plan.Groups) == 0 {
		r.env.Warnf("%s: not written, for there is nothing to do", r.opts.PlanTo)
		return nil
	}
	p, err := plan.Encode()
	if err != nil {
		return fmt.Errorf("%s: %w", r.opts.PlanTo, err)
	}
	// A plan that is there already may be the only way back from what was done with it.
	f, err := os.OpenFile(r.opts.PlanTo, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("--plan %s: the file is there already: name another, or apply it with --from-file %[1]s --execute", r.opts.PlanTo)
	}
	if err != nil {
		return fmt.Errorf("--plan: %w", err)
	}
	_, err = f.Write(p)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("--plan: %w", err)
	}
	return nil
}

// scenario says in words where to.
func (o *ResetOptions) scenario() string {
	switch {
	case o.ToGroup != "":
		return "to where group " + o.ToGroup + " is"
	case o.FromFile != "":
		return "from file " + o.FromFile
	case o.Undo != "":
		return "undo " + o.Undo
	}
	switch t := o.Target; t.Kind {
	case resetplan.Earliest:
		return "to earliest"
	case resetplan.Latest:
		return "to latest"
	case resetplan.Offset:
		return fmt.Sprintf("to offset %d", t.Offset)
	case resetplan.Shift:
		return fmt.Sprintf("shift by %+d", t.Offset)
	case resetplan.Time:
		return "to " + o.Time.UTC().Format(timeLayout)
	}
	return "to current"
}

// timeLayout is RFC 3339 with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z07:00"
