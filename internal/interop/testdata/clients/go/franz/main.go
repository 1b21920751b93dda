// Command franz is a group member of franz-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"

	"clients/member"
)

var balancers = map[string]kgo.GroupBalancer{
	"range":              kgo.RangeBalancer(),
	"roundrobin":         kgo.RoundRobinBalancer(),
	"sticky":             kgo.StickyBalancer(),
	"cooperative-sticky": kgo.CooperativeStickyBalancer(),
	"uniform":            kgo.StickyBalancer(), // its name at the broker, with ServerSideBalancer
}

func main() {
	o := member.Parse()
	balancer := balancers[o.Assignor]
	if balancer == nil {
		member.Fail(fmt.Errorf("unknown assignor %q", o.Assignor))
	}
	tell := func(say func([]int32)) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) { say(partitions[o.Topic]) }
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(o.Bootstrap), kgo.ConsumerGroup(o.Group), kgo.ConsumeTopics(o.Topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.Balancers(balancer), kgo.SessionTimeout(o.Session), kgo.HeartbeatInterval(o.Heartbeat), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(tell(member.Assigned)), kgo.OnPartitionsRevoked(tell(member.Revoked)), kgo.OnPartitionsLost(tell(member.Revoked)),
		kgo.WithLogger(kgo.BasicLogger(os.Stderr, kgo.LogLevelInfo, nil)),
	}
	if o.Static != "" {
		opts = append(opts, kgo.InstanceID(o.Static))
	}
	if o.Protocol == "consumer" {
		opts = append(opts, kgo.ServerSideBalancer())
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		member.Fail(err)
	}
	for ctx := member.Context(); ctx.Err() == nil; cl.AllowRebalance() {
		// Now and then without records, to commit what was refused in a rebalance.
		poll, cancel := context.WithTimeout(ctx, o.Heartbeat)
		fetches := cl.PollFetches(poll)
		cancel()
		fetches.EachError(func(_ string, _ int32, err error) {
			if !errors.Is(err, poll.Err()) {
				member.Refused(err)
			}
		})
		next := map[int32]int64{}
		fetches.EachRecord(func(r *kgo.Record) {
			member.Record(r.Partition, r.Offset)
			next[r.Partition] = r.Offset + 1
		})
		if err := cl.CommitUncommittedOffsets(context.Background()); err != nil {
			member.Refused(err)
			continue
		}
		for partition, offset := range next {
			member.Committed(partition, offset)
		}
	}
	cl.CloseAllowingRebalance()
}
