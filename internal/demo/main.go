// Command demo is the client in "make demo": it writes a few records, always the
// same, so that a test knows what the demo prints.
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

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want an address and a topic, got %q", args)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(args[0]), kgo.DefaultProduceTopic(args[1]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.ZstdCompression()))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
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
	fmt.Printf("3 records are acknowledged by the broker at %s\n", args[0])
	return nil
}
