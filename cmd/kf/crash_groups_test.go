package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// commits are what groups commit while a broker is killed: by group, the highest
// offset of each partition that was acknowledged, 0 for none.
type commits struct {
	mu    sync.Mutex
	topic string
	acked map[string][]int64
	n     int // acknowledged requests
}

func (c *commits) note(group string, partition int32, offset int64) {
	c.acked[group][partition] = max(c.acked[group][partition], offset)
}

// commitAll commits offsets of a topic until ctx ends: in groups without members, the
// numbers 1, 2, 3 and so on, and in one whose member reads the topic.
func commitAll(ctx context.Context, t *testing.T, wg *sync.WaitGroup, addr, topic string, partitions int) *commits {
	all := &commits{topic: topic, acked: map[string][]int64{}}
	const alone = 4
	for g := range alone {
		group := fmt.Sprintf("alone-%d", g)
		all.acked[group] = make([]int64, partitions)
		admin := kadm.NewClient(newClient(t, addr))
		wg.Go(func() {
			for n := int64(1); ctx.Err() == nil; n++ {
				var to kadm.Offsets
				for p := range partitions {
					to.AddOffset(topic, int32(p), n, -1)
				}
				done, err := admin.CommitOffsets(ctx, group, to)
				if err == nil {
					err = done.Error()
				}
				if err != nil {
					continue
				}
				all.mu.Lock()
				all.n++
				for p := range partitions {
					all.note(group, int32(p), n)
				}
				all.mu.Unlock()
			}
		})
	}
	const reader = "reader"
	all.acked[reader] = make([]int64, partitions)
	member := newClient(t, addr, kgo.ConsumerGroup(reader), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	wg.Go(func() {
		for ctx.Err() == nil {
			fetches := member.PollRecords(ctx, 500)
			if fetches.NumRecords() == 0 || member.CommitRecords(ctx, fetches.Records()...) != nil {
				continue
			}
			all.mu.Lock()
			all.n++
			fetches.EachRecord(func(r *kgo.Record) { all.note(reader, r.Partition, r.Offset+1) })
			all.mu.Unlock()
		}
	})
	return all
}

// begun reports whether every group has committed something.
func (c *commits) begun() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, acked := range c.acked {
		if slices.Max(acked) == 0 {
			return false
		}
	}
	return true
}

// check fails the test unless every commit that was acknowledged is there, and returns
// how many there were.
func (c *commits) check(t *testing.T, admin *kadm.Client) int {
	t.Helper()
	for group, acked := range c.acked {
		have, err := admin.FetchOffsets(t.Context(), group)
		if err == nil {
			err = have.Error()
		}
		if err != nil {
			t.Fatal(group, err)
		}
		for p, want := range acked {
			got, _ := have.Lookup(c.topic, int32(p))
			if got.At < want {
				t.Errorf("group %s: %s-%d is at offset %d, and %d was acknowledged", group, c.topic, p, got.At, want)
			}
		}
	}
	return c.n
}
