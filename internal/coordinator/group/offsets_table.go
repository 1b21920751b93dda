package group

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"unique"

	"kf/internal/wire"
)

// A committed is how far a group has come in a partition. A shard may hold
// millions of them, so that what is seldom of their own they share.
type committed struct {
	offset    int64 // of the next record to read; any value that a client sent
	time      int64 // of the commit, ms since the Unix epoch
	partition int32
	epoch     int32 // leader epoch of the record before offset, -1 if unknown
	*detail
}

// A detail is what the offsets of one topic mostly have in common. It does not
// change.
type detail struct {
	topicID  wire.UUID // zero if unknown
	metadata string
	expires  int64 // ms since the Unix epoch, -1 for the retention of the broker
}

// groupOffsets are the committed offsets of a group by topic. The names of topics
// are there once in the process, however many groups read them.
type groupOffsets map[unique.Handle[string]]*topicOffsets

// get returns the offset of a partition.
func (g groupOffsets) get(topic string, partition int32) (committed, bool) {
	if t := g[unique.Make(topic)]; t != nil {
		if i, j, ok := t.find(partition); ok {
			return t.chunks[i][j], true
		}
	}
	return committed{}, false
}

// topic returns the offsets of a topic, which are none if it is nil.
func (g groupOffsets) topic(topic string) *topicOffsets { return g[unique.Make(topic)] }

// put replaces the offset of a partition; c has everything but its detail.
func (g groupOffsets) put(topic string, c committed, d detail) {
	key := unique.Make(topic)
	t := g[key]
	if t == nil {
		t = new(topicOffsets)
		g[key] = t
	}
	if t.shared == nil || *t.shared != d {
		t.shared = new(d)
	}
	c.detail = t.shared
	t.put(c)
}

// remove forgets the offset of a partition.
func (g groupOffsets) remove(topic string, partition int32) {
	key := unique.Make(topic)
	if t := g[key]; t != nil {
		t.remove(partition)
		if len(t.chunks) == 0 {
			delete(g, key)
		}
	}
}

// all yields the topics by name.
func (g groupOffsets) all() iter.Seq2[string, *topicOffsets] {
	keys := slices.SortedFunc(maps.Keys(g), func(a, b unique.Handle[string]) int { return cmp.Compare(a.Value(), b.Value()) })
	return func(yield func(string, *topicOffsets) bool) {
		for _, key := range keys {
			if !yield(key.Value(), g[key]) {
				return
			}
		}
	}
}

// chunkLen is the number of offsets in a chunk, at most: a commit for another
// partition moves no more of them than this.
const chunkLen = 128

// topicOffsets are the offsets of a group in a topic, by partition.
type topicOffsets struct {
	chunks [][]committed // in order, none empty
	shared *detail       // of the newest offset
}

// find returns where an offset is, or belongs.
func (t *topicOffsets) find(partition int32) (chunk, index int, ok bool) {
	// The chunk is the first one whose last partition is not below.
	chunk, _ = slices.BinarySearchFunc(t.chunks, partition, func(c []committed, partition int32) int {
		return cmp.Compare(c[len(c)-1].partition, partition)
	})
	if chunk == len(t.chunks) {
		if chunk == 0 {
			return 0, 0, false
		}
		return chunk - 1, len(t.chunks[chunk-1]), false
	}
	index, ok = slices.BinarySearchFunc(t.chunks[chunk], partition, func(c committed, partition int32) int {
		return cmp.Compare(c.partition, partition)
	})
	return chunk, index, ok
}

func (t *topicOffsets) put(c committed) {
	i, j, ok := t.find(c.partition)
	switch {
	case ok:
		t.chunks[i][j] = c
		return
	case len(t.chunks) == 0:
		t.chunks = append(t.chunks, []committed{c})
		return
	case len(t.chunks[i]) < chunkLen:
	case j == chunkLen: // behind the last one: what comes in order fills the chunks
		t.chunks = slices.Insert(t.chunks, i+1, []committed{c})
		return
	default:
		t.chunks = slices.Insert(t.chunks, i+1, slices.Clone(t.chunks[i][chunkLen/2:]))
		t.chunks[i] = slices.Delete(t.chunks[i], chunkLen/2, chunkLen)
		if j > chunkLen/2 {
			i, j = i+1, j-chunkLen/2
		}
	}
	t.chunks[i] = slices.Insert(t.chunks[i], j, c)
}

func (t *topicOffsets) remove(partition int32) {
	i, j, ok := t.find(partition)
	if !ok {
		return
	}
	if t.chunks[i] = slices.Delete(t.chunks[i], j, j+1); len(t.chunks[i]) == 0 {
		t.chunks = slices.Delete(t.chunks, i, i+1)
	}
}

// all yields the offsets by partition.
func (t *topicOffsets) all() iter.Seq[committed] {
	return func(yield func(committed) bool) {
		for _, chunk := range t.chunks {
			for _, c := range chunk {
				if !yield(c) {
					return
				}
			}
		}
	}
}
