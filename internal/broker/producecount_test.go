package broker

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// produceOf returns a request with so many topics, and partitions in each.
func produceOf(version int16, topics, partitions int, records []byte) *kmsg.ProduceRequest {
	q := kmsg.NewPtrProduceRequest()
	q.SetVersion(version)
	for range topics {
		t := kmsg.NewProduceRequestTopic()
		t.Topic = "t"
		for i := range partitions {
			p := kmsg.NewProduceRequestTopicPartition()
			p.Partition, p.Records = int32(i), records
			t.Partitions = append(t.Partitions, p)
		}
		q.Topics = append(q.Topics, t)
	}
	return q
}

func TestProducePartitions(t *testing.T) {
	for version := int16(3); version <= 13; version++ {
		q := produceOf(version, 3, 5, bytes.Repeat([]byte{7}, 300))
		q.TransactionID = kmsg.StringPtr("x")
		q.Topics[1].Partitions = nil
		q.Topics[2].Partitions[0].Records = nil
		if q.IsFlexible() {
			q.Topics[0].UnknownTags.Set(9, []byte("tag"))
			q.Topics[0].Partitions[2].UnknownTags.Set(200, bytes.Repeat([]byte("tag"), 100))
		}
		body := q.AppendTo(nil)
		if got, want := producePartitions(body, version, q.IsFlexible()), 3+5+5; got != want {
			t.Errorf("v%d: %d topics and partitions, want %d", version, got, want)
		}
		for n := range body {
			if got := producePartitions(body[:n], version, q.IsFlexible()); got > 13 {
				t.Fatalf("v%d, cut at %d: %d topics and partitions", version, n, got)
			}
		}
	}
}

// A request of 3 bytes a topic, which would become many times as much, is
// refused before it is decoded; records are not counted.
func TestProduceBomb(t *testing.T) {
	for name, q := range map[string]*kmsg.ProduceRequest{
		"topics":  produceOf(9, 300_000, 0, nil),
		"records": produceOf(9, 1, 1, make([]byte, 900_000)),
	} {
		synctest.Test(t, func(t *testing.T) {
			decoded := false
			h := serveTest(t, testLimits, replies(3, 13, func(c *call, q *kmsg.ProduceRequest) {
				decoded = true
				c.reply(q.ResponseKind())
			}))
			c := h.pipes.dial()
			send(c, frame(1, q))
			if name == "topics" {
				wantClosed(t, c)
			} else {
				answerTo(t, c)
			}
			if decoded != (name == "records") {
				t.Errorf("%s: decoded %v", name, decoded)
			}
			synctest.Wait()
			h.wantAllGiven(t)
		})
	}
}

// What is counted bounds what the decoder makes.
func FuzzProducePartitions(f *testing.F) {
	for version := int16(3); version <= 13; version++ {
		f.Add(produceOf(version, 2, 2, []byte{1, 2, 3}).AppendTo(nil), version)
	}
	f.Fuzz(func(t *testing.T, body []byte, version int16) {
		if version < 3 || version > 13 {
			return
		}
		q := kmsg.NewPtrProduceRequest()
		q.SetVersion(version)
		if q.ReadFrom(body) != nil {
			return
		}
		n := len(q.Topics)
		for i := range q.Topics {
			n += len(q.Topics[i].Partitions)
		}
		if got := producePartitions(body, version, q.IsFlexible()); got != n {
			t.Errorf("v%d: counted %d topics and partitions, there are %d", version, got, n)
		}
	})
}
