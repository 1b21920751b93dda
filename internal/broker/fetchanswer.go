package broker

import (
	"encoding/binary"

	"kf/internal/storage"
	"kf/internal/wire"
)

// A fetchAnswer is the body of a Fetch response, versions 4 to 18. kmsg would
// want the records as bytes in memory; here they are regions of files, and
// appendTo leaves holes for them.
//
// Source: Kafka 4.4.0, FetchResponse.json.
type fetchAnswer struct {
	errorCode int16
	sessionID int32
	topics    []fetchAnswerTopic
	nodes     []fetchAnswerNode // endpoints of current leaders, from v16
}

type fetchAnswerTopic struct {
	topic      string    // up to v12
	id         wire.UUID // from v13
	partitions []fetchAnswerPartition
}

type fetchAnswerPartition struct {
	partition        int32
	errorCode        int16
	highWatermark    int64
	lastStableOffset int64
	logStartOffset   int64 // from v5
	// aborted is nil where null is wanted, as for read_uncommitted.
	aborted          []storage.AbortedTxn
	preferredReplica int32 // from v11
	records          storage.Region

	// Tagged fields of v12 and later, absent when both values are -1.
	divergingEpoch      int32
	divergingEnd        int64
	leader, leaderEpoch int32
}

// A fetchAnswerNode is where a node can be reached.
type fetchAnswerNode struct {
	id   int32
	host string
	port int32
	rack *string
}

// failedFetch returns the answer for a partition that cannot be read.
func failedFetch(partition int32, code int16) fetchAnswerPartition {
	return fetchAnswerPartition{
		partition: partition, errorCode: code,
		highWatermark: -1, lastStableOffset: -1, logStartOffset: -1, preferredReplica: -1,
		divergingEpoch: -1, divergingEnd: -1, leader: -1, leaderEpoch: -1,
	}
}

// appendTo appends the answer in the given version to dst, and returns the holes
// where the records belong. The regions become theirs.
func (f *fetchAnswer) appendTo(dst []byte, version int16) ([]byte, []hole) {
	e := fetchEncoder{p: dst, version: version, flexible: version >= 12}
	e.int32(0) // throttle time
	if version >= 7 {
		e.int16(f.errorCode)
		e.int32(f.sessionID)
	}
	e.length(len(f.topics))
	for i := range f.topics {
		t := &f.topics[i]
		if version >= 13 {
			e.p = append(e.p, t.id[:]...)
		} else {
			e.string(t.topic)
		}
		e.length(len(t.partitions))
		for j := range t.partitions {
			e.partition(&t.partitions[j])
		}
		e.noTags()
	}
	switch {
	case !e.flexible:
	case len(f.nodes) == 0:
		e.noTags()
	default:
		e.p = append(e.p, 1)
		e.tag(0, f.nodes)
	}
	return e.p, e.holes
}

type fetchEncoder struct {
	p        []byte
	holes    []hole
	version  int16
	flexible bool
}

func (e *fetchEncoder) int16(v int16) { e.p = binary.BigEndian.AppendUint16(e.p, uint16(v)) }
func (e *fetchEncoder) int32(v int32) { e.p = binary.BigEndian.AppendUint32(e.p, uint32(v)) }
func (e *fetchEncoder) int64(v int64) { e.p = binary.BigEndian.AppendUint64(e.p, uint64(v)) }

// length appends the length of an array or of bytes; -1 for null.
func (e *fetchEncoder) length(n int) {
	if e.flexible {
		e.p = wire.AppendUvarint(e.p, uint32(n+1))
	} else {
		e.int32(int32(n))
	}
}

func (e *fetchEncoder) string(s string) {
	if e.flexible {
		e.p = wire.AppendUvarint(e.p, uint32(len(s)+1))
	} else {
		e.int16(int16(len(s)))
	}
	e.p = append(e.p, s...)
}

// noTags ends a structure that has no tagged field.
func (e *fetchEncoder) noTags() {
	if e.flexible {
		e.p = append(e.p, 0)
	}
}

func (e *fetchEncoder) partition(p *fetchAnswerPartition) {
	e.int32(p.partition)
	e.int16(p.errorCode)
	e.int64(p.highWatermark)
	e.int64(p.lastStableOffset)
	if e.version >= 5 {
		e.int64(p.logStartOffset)
	}
	if p.aborted == nil {
		e.length(-1)
	} else {
		e.length(len(p.aborted))
	}
	for _, a := range p.aborted {
		e.int64(a.ProducerID)
		e.int64(a.FirstOffset)
		e.noTags()
	}
	if e.version >= 11 {
		e.int32(p.preferredReplica)
	}
	e.length(p.records.Len()) // never null: some clients cannot read that
	if p.records.Len() > 0 {
		e.holes = append(e.holes, hole{len(e.p), p.records})
	} else {
		p.records.Release()
	}
	if !e.flexible {
		return
	}
	diverging := p.divergingEpoch != -1 || p.divergingEnd != -1
	leader := p.leader != -1 || p.leaderEpoch != -1
	n := byte(0)
	if diverging {
		n++
	}
	if leader {
		n++
	}
	e.p = append(e.p, n)
	if diverging {
		e.p = append(e.p, 0, 4+8+1)
		e.int32(p.divergingEpoch)
		e.int64(p.divergingEnd)
		e.noTags()
	}
	if leader {
		e.p = append(e.p, 1, 4+4+1)
		e.int32(p.leader)
		e.int32(p.leaderEpoch)
		e.noTags()
	}
}

// tag appends the tagged field of the nodes.
func (e *fetchEncoder) tag(key byte, nodes []fetchAnswerNode) {
	body := fetchEncoder{version: e.version, flexible: true}
	body.length(len(nodes))
	for _, n := range nodes {
		body.int32(n.id)
		body.string(n.host)
		body.int32(n.port)
		if n.rack == nil {
			body.length(-1)
		} else {
			body.string(*n.rack)
		}
		body.noTags()
	}
	e.p = append(e.p, key)
	e.p = wire.AppendUvarint(e.p, uint32(len(body.p)))
	e.p = append(e.p, body.p...)
}
