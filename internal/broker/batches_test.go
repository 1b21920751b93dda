package broker

import (
	"bytes"
	"io/fs"
	"runtime"
	"time"

	"kf/internal/format/batch"
	"kf/internal/kafkaconf"
)

type fileMode = fs.FileMode

// sendsFiles says that records go from file to socket without us.
const sendsFiles = runtime.GOOS == "linux"

// file returns broker settings as server.properties gives them.
func file(properties map[string]string) *kafkaconf.Settings {
	return &kafkaconf.Settings{File: properties}
}

// payload returns n bytes that occur nowhere else.
func payload(n int) []byte {
	return bytes.Repeat([]byte("the payload of a record, which nobody reads on the way out; "), n/60+1)[:n]
}

// plainHeader is the header of a batch of n records without a producer.
func plainHeader(n int) batch.Header {
	now := time.Now().UnixMilli()
	return batch.Header{
		Magic: 2, PartitionLeaderEpoch: -1, LastOffsetDelta: int32(n - 1), BaseTimestamp: now, MaxTimestamp: now,
		ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1,
	}
}

// makeBatch returns a batch of n records with the given header and value.
func makeBatch(h batch.Header, n int, value []byte) []byte {
	p, err := batch.Append(nil, h, func(yield func(*batch.Record) bool) {
		for i := range n {
			if !yield(&batch.Record{Offset: h.BaseOffset + int64(i), Timestamp: h.BaseTimestamp, Key: []byte("key"), Value: value}) {
				return
			}
		}
	})
	if err != nil {
		panic(err)
	}
	return p
}

// oneBatch returns a batch of n records.
func oneBatch(n int, value []byte) []byte { return makeBatch(plainHeader(n), n, value) }
