// Command kafkago is a group member of segmentio/kafka-go. It uses the generations of
// ConsumerGroup, on which the library's Reader is built, to see assignments.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"

	"clients/member"
)

var balancers = map[string]kafka.GroupBalancer{
	"range":      kafka.RangeGroupBalancer{},
	"roundrobin": kafka.RoundRobinGroupBalancer{},
}

func main() {
	o := member.Parse()
	balancer := balancers[o.Assignor]
	if balancer == nil || o.Protocol != "classic" || o.Static != "" {
		member.Fail(fmt.Errorf("no assignor %q of the protocol %q, or static members", o.Assignor, o.Protocol))
	}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: o.Group, Brokers: []string{o.Bootstrap}, Topics: []string{o.Topic}, GroupBalancers: []kafka.GroupBalancer{balancer},
		SessionTimeout: o.Session, HeartbeatInterval: o.Heartbeat, JoinGroupBackoff: o.Heartbeat,
	})
	if err != nil {
		member.Fail(err)
	}
	ctx := member.Context()
	for ctx.Err() == nil {
		generation, err := group.Next(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			member.Refused(err)
		default:
			consume(o, generation)
		}
	}
	if err := group.Close(); err != nil {
		member.Fail(err)
	}
}

// consume starts a goroutine for each partition; the library ends them with the
// generation.
func consume(o member.Options, generation *kafka.Generation) {
	var mine []int32
	for _, p := range generation.Assignments[o.Topic] {
		mine = append(mine, int32(p.ID))
	}
	member.Assigned(mine)
	generation.Start(func(ctx context.Context) {
		<-ctx.Done()
		member.Revoked(mine)
	})
	for _, p := range generation.Assignments[o.Topic] {
		generation.Start(func(ctx context.Context) {
			r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{o.Bootstrap}, Topic: o.Topic, Partition: p.ID})
			defer r.Close()
			if err := r.SetOffset(p.Offset); err != nil {
				member.Fail(err)
			}
			for {
				m, err := r.ReadMessage(ctx)
				switch {
				case errors.Is(err, kafka.ErrGenerationEnded) || errors.Is(err, io.EOF):
					return
				case err != nil:
					member.Refused(err)
					continue
				}
				member.Record(int32(m.Partition), m.Offset)
				if err := generation.CommitOffsets(map[string]map[int]int64{m.Topic: {m.Partition: m.Offset + 1}}); err != nil {
					member.Refused(err)
					continue
				}
				member.Committed(int32(m.Partition), m.Offset+1)
			}
		})
	}
}
