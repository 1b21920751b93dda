//go:build interop && linux

package interop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkGroups compares the group coordinator of kf serve with that of Apache
// Kafka, and with kfake's, as [BenchmarkServe] compares brokers. Measured are:
//
//	commit     groups of one member each commit the offsets of 10 partitions: as
//	           fast as they can, each with one request under way, and then once a
//	           second
//	rebalance  members join a group, one leaves, one joins, with both protocols;
//	           they hear of each change at once, as if it were time for their
//	           heartbeats
//	load       a broker starts on a directory with many offsets in one partition of
//	           __consumer_offsets; the file of that partition is the same for all
//
// First rebalances and new target assignments are not delayed
// (group.initial.rebalance.delay.ms=0, group.consumer.assignment.interval.ms=0).
//
// KF_BENCH_ROUNDS (3) is the number of rounds, KF_BENCH_GROUPS (1000) that of groups,
// KF_BENCH_SECONDS (10) the time of one measurement of them, KF_BENCH_MEMBERS (100)
// the size of a group that rebalances, KF_BENCH_OFFSETS (1000000) the number of
// offsets. KF_BENCH_ONLY chooses among the brokers and the measurements.
func BenchmarkGroups(b *testing.B) {
	only := newSelection(b)
	if !only.wants(groupMeasurements...) {
		return
	}
	p := &groupPlan{
		only:    only,
		groups:  intFromEnv(b, "KF_BENCH_GROUPS", 1000),
		seconds: time.Duration(intFromEnv(b, "KF_BENCH_SECONDS", 10)) * time.Second,
		members: intFromEnv(b, "KF_BENCH_MEMBERS", 100),
		offsets: intFromEnv(b, "KF_BENCH_OFFSETS", 1000000),
	}
	rounds := intFromEnv(b, "KF_BENCH_ROUNDS", 3)
	brokers := only.rivals(b, "group.initial.rebalance.delay.ms=0", "group.consumer.assignment.interval.ms=0")
	compare(b, brokers, rounds, p.measure, fmt.Sprintf("groups of kf serve beside others: medians of %d rounds, %d groups of one member and %d partitions, "+
		"a group of %d members and %d partitions, %d offsets", rounds, p.groups, partitionsEach, p.members, p.members*partitionsEach, p.offsets))
}

// A groupPlan says what is measured.
type groupPlan struct {
	only    selection
	groups  int
	seconds time.Duration
	members int
	offsets int
}

// partitionsEach is how many partitions a member has.
const partitionsEach = 10

// measure does one round on one broker.
func (p *groupPlan) measure(b *testing.B, r rival, report reporter) {
	ctx, cancel := context.WithTimeout(b.Context(), 15*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "kf-bench-")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, step := range []struct {
		name    string
		measure func(context.Context, *testing.B, rival, string, reporter)
	}{{"commit", p.commit}, {"rebalance", p.rebalance}, {"load", p.load}} {
		if p.only.wants(step.name) && (step.name != "load" || r.files) {
			step.measure(ctx, b, r, filepath.Join(dir, step.name), report)
		}
	}
}

func microseconds(name string) metric { return metric{name: name, unit: "µs"} }

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// commit measures many groups that commit.
func (p *groupPlan) commit(ctx context.Context, b *testing.B, r rival, dir string, report reporter) {
	s := startServer(b, r, dir)
	s.createTopics(ctx, b, partitionsEach, "orders")
	var groups []*committer
	for i, conn := range dialGroups(ctx, b, s, "group-0", p.groups) {
		defer conn.close()
		groups = append(groups, &committer{classicMember: &classicMember{groupConn: conn, group: fmt.Sprintf("group-%d", i)}})
	}
	start := time.Now()
	each(b, s, groups, (*committer).start)
	report(milliseconds("groups start and commit"), ms(time.Since(start)))

	fast := func(d time.Duration) commitLoad {
		return commitAll(b, s, groups, func(c *committer, start time.Time) error {
			for time.Since(start) < d {
				if err := c.commit(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	fast(p.seconds) // Kafka is slow until its code is compiled
	l := fast(p.seconds)
	report(metric{name: "commits, full speed", unit: "/s", higher: true}, float64(len(l.took))/l.time.Seconds())
	report(microseconds("broker CPU per commit, full speed"), us(l.broker)/float64(len(l.took)))
	report(metric{name: "client CPU per commit, full speed, µs"}, us(l.client)/float64(len(l.took)))
	report(mebibytes("memory, peak"), s.memory(b, "VmHWM"))

	l = commitAll(b, s, groups, func(c *committer, start time.Time) error {
		// Their seconds do not begin at the same time.
		next := start.Add(time.Duration(slices.Index(groups, c)) * time.Second / time.Duration(len(groups)))
		for ; next.Sub(start) < p.seconds; next = next.Add(time.Second) {
			time.Sleep(time.Until(next))
			if err := c.commit(); err != nil {
				return err
			}
		}
		return nil
	})
	report(milliseconds("commit, each once a second, p50"), ms(l.took[len(l.took)/2]))
	report(milliseconds("commit, each once a second, p99"), ms(l.took[len(l.took)*99/100]))
	report(metric{name: "broker CPU, each once a second", unit: "ms/s"}, ms(l.broker)/l.time.Seconds())
	report(metric{name: "client CPU, each once a second, ms/s"}, ms(l.client)/l.time.Seconds())
	s.stop(b)
}

// rebalanceRounds is how often a group forms and changes: the first half warms up.
const rebalanceRounds = 20

// rebalance measures a group whose members change.
func (p *groupPlan) rebalance(ctx context.Context, b *testing.B, r rival, dir string, report reporter) {
	s := startServer(b, r, dir)
	s.createTopics(ctx, b, int32(p.members*partitionsEach), "orders")
	s.produceToEach(ctx, b, int32(p.members*partitionsEach), "orders") // now they are all there
	for _, protocol := range []struct {
		name    string
		members func(ctx context.Context, b *testing.B, s *server, group string, size int) []groupMember
	}{{"classic", newClassicMembers}, {"KIP-848", newConsumerMembers}} {
		var joined, left, rejoined []time.Duration
		processor, client := s.cpuSeconds(b), clientCPU()
		for i := range rebalanceRounds {
			members := protocol.members(ctx, b, s, fmt.Sprintf("%s-%d", protocol.name, i), p.members)
			settle := func(size int) time.Duration {
				start := time.Now()
				each(b, s, members[:size], func(m groupMember) error { return m.settle(size) })
				return time.Since(start)
			}
			all := settle(p.members)
			each(b, s, members[p.members-1:], groupMember.leave)
			less := settle(p.members - 1)
			more := settle(p.members)
			if i >= rebalanceRounds/2 {
				joined, left, rejoined = append(joined, all), append(left, less), append(rejoined, more)
			}
			for _, m := range members {
				each(b, s, []groupMember{m}, groupMember.leave)
				m.close()
			}
		}
		report(milliseconds(protocol.name+", all members join"), ms(median(joined)))
		report(milliseconds(protocol.name+", one member leaves"), ms(median(left)))
		report(milliseconds(protocol.name+", one member joins"), ms(median(rejoined)))
		report(metric{name: "broker CPU, all of " + protocol.name, unit: "s"}, s.cpuSeconds(b)-processor)
		report(metric{name: "client CPU, all of " + protocol.name + ", s"}, (clientCPU() - client).Seconds())
	}
	s.stop(b)
}

// load measures a start with many offsets.
func (p *groupPlan) load(ctx context.Context, b *testing.B, r rival, dir string, report reporter) {
	f := newOffsetsFile(p.offsets)
	s := startServer(b, r, dir)
	s.createTopics(ctx, b, 1, "orders")
	if err := s.commitFirst(ctx, f.first); err != nil {
		b.Fatalf("%s: %v\n%s", r.name, err, &s.output)
	}
	time.Sleep(time.Second) // what it does after its start is over
	report(mebibytes("memory, one offset"), s.memory(b, "VmRSS"))
	s.stop(b)
	f.write(b, filepath.Join(dir, "data"))
	// The first start makes the indexes of what it finds.
	s = startServer(b, r, dir)
	s.awaitOffsets(ctx, b, f.groups, f.each())
	s.stop(b)

	s = startServer(b, r, dir)
	elsewhere := make(chan error, 1)
	var sooner time.Duration
	go func() {
		err := s.offsets(ctx, f.elsewhere, 0)
		sooner = time.Since(s.started)
		elsewhere <- err
	}()
	s.awaitOffsets(ctx, b, f.groups[:1], f.each())
	took, used := time.Since(s.started), s.cpuSeconds(b)
	if err := <-elsewhere; err != nil {
		b.Fatalf("%s: %v\n%s", r.name, err, &s.output)
	}
	report(milliseconds("start, the offsets are served"), ms(took))
	report(milliseconds("start, a group elsewhere is served"), ms(sooner))
	report(metric{name: "broker CPU, start with offsets", unit: "s"}, used)
	report(mebibytes("memory, peak of the load"), s.memory(b, "VmHWM"))
	s.awaitOffsets(ctx, b, f.groups, f.each())
	time.Sleep(time.Second)
	report(mebibytes("memory, offsets loaded"), s.memory(b, "VmRSS"))
	s.stop(b)
}
