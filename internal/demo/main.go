// Command demo is the client in "make demo": it writes a few records, always the
// same, so that a test knows what the demo prints, and reads some of them in a group.
//
//	demo ADDR TOPIC
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// group is the group that reads the records.
const group = "fulfilment"

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want an address and a topic, got %q", args)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	addr, topic := kgo.SeedBrokers(args[0]), args[1]
	if err := produce(ctx, addr, topic); err != nil {
		return err
	}
	fmt.Printf("3 records are acknowledged by the broker at %s\n", args[0])
	return consume(ctx, addr, topic)
}

func produce(ctx context.Context, addr kgo.Opt, topic string) error {
	client, err := kgo.NewClient(addr, kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	if err != nil {
		return err
	}
	defer client.Close()
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for _, batch := range [][]*kgo.Record{
		{
			{Key: []byte("4711"), Value: []byte(`{"item":"lamp","count":2}`), Timestamp: at},
			{Key: []byte("4712"), Value: []byte(`{"item":"desk","count":1}`), Timestamp: at.Add(time.Second)},
		},
		{
			{Key: []byte("4711"), Value: nil, Timestamp: at.Add(time.Minute), Headers: []kgo.RecordHeader{{Key: "reason", Value: []byte("cancelled")}}},
		},
	} {
		if err := client.ProduceSync(ctx, batch...).FirstErr(); err != nil {
			return err
		}
	}
	return nil
}

// consume reads a record as a member of the group, and commits that.
func consume(ctx context.Context, addr kgo.Opt, topic string) error {
	client, err := kgo.NewClient(addr, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	for left := 1; left > 0; {
		fetches := client.PollRecords(ctx, left)
		if err := fetches.Err(); err != nil {
			return err
		}
		left -= fetches.NumRecords()
		for _, r := range fetches.Records() {
			fmt.Printf("group %s read %s-%d offset %d, key %s\n", group, r.Topic, r.Partition, r.Offset, r.Key)
		}
		if err := client.CommitRecords(ctx, fetches.Records()...); err != nil {
			return err
		}
	}
	return client.LeaveGroupContext(ctx)
}
