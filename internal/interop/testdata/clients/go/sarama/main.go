// Command sarama is a group member of sarama.
package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/IBM/sarama"

	"clients/member"
)

var strategies = map[string]func() sarama.BalanceStrategy{
	"range":      sarama.NewBalanceStrategyRange,
	"roundrobin": sarama.NewBalanceStrategyRoundRobin,
	"sticky":     sarama.NewBalanceStrategySticky,
}

func main() {
	o := member.Parse()
	strategy := strategies[o.Assignor]
	if strategy == nil || o.Protocol != "classic" {
		member.Fail(fmt.Errorf("no assignor %q of the protocol %q", o.Assignor, o.Protocol))
	}
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Consumer.Return.Errors = true
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Interval = 100 * time.Millisecond
	c.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy()}
	c.Consumer.Group.Session.Timeout = o.Session
	c.Consumer.Group.Heartbeat.Interval = o.Heartbeat
	c.Consumer.Group.InstanceId = o.Static
	group, err := sarama.NewConsumerGroup([]string{o.Bootstrap}, o.Group, c)
	if err != nil {
		member.Fail(err)
	}
	go func() {
		for err := range group.Errors() {
			member.Refused(err)
		}
	}()
	ctx := member.Context()
	for ctx.Err() == nil {
		// It ends when the group rebalances, and while there is no broker.
		if err := group.Consume(ctx, []string{o.Topic}, handler{o.Topic}); err != nil {
			member.Refused(fmt.Errorf("consuming: %w", err))
			time.Sleep(o.Heartbeat)
		}
	}
	if err := group.Close(); err != nil {
		member.Fail(err)
	}
}

type handler struct{ topic string }

func (h handler) claims(s sarama.ConsumerGroupSession) []int32 {
	return slices.Clone(s.Claims()[h.topic])
}

func (h handler) Setup(s sarama.ConsumerGroupSession) error {
	member.Assigned(h.claims(s))
	return nil
}

func (h handler) Cleanup(s sarama.ConsumerGroupSession) error {
	member.Revoked(h.claims(s))
	return nil
}

// ConsumeClaim runs for each partition. Commits happen in the background, and only
// their errors are heard of.
func (handler) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			member.Record(m.Partition, m.Offset)
			s.MarkMessage(m, "")
		case <-s.Context().Done():
			return nil
		}
	}
}
