package dump

import (
	"errors"
	"io"

	"kf/internal/format/batch"
	"kf/internal/segment"
)

// walks answers the questions of many index entries about one log without
// walking over its batches for each: a healthy index has an entry for every few
// batches, and a damaged one can ask for anything.
type walks struct {
	w      *segment.Walker
	budget int64 // of the walker's cost

	// What the walk from a batch to the end of the log meets, nil for nothing.
	// Kept for the first batch of each walk and the first one in each block: walks
	// that meet go on together.
	ends    map[int64]error
	block   int64
	visited []int64

	// The answer to the last search: all batches from start to at have a last
	// offset below offset.
	start, offset, at int64
	searched          bool
}

const (
	walkBlock = 16 << 10
	maxEnds   = 256 << 10 // blocks, a few of each walk if there are several
)

var errBudget = errors.New("too many different walks over the log: it, or an index, is damaged throughout")

// newWalks returns the answers about a log for an index with so many entries.
func newWalks(log *segment.File, entries int64) *walks {
	const least = batch.LogSize + batch.MinLength
	size := max(log.Size, 0)
	block := max(walkBlock, size/(maxEnds/4))
	return &walks{
		w: segment.NewWalker(log), block: block, ends: map[int64]error{},
		// More than enough for a healthy log: all of it a few times, and for each
		// entry a block.
		budget: 50e6 + 4*(size/least) + entries*(block/least+100),
	}
}

// exhausted reports whether answers have cost more than those about a healthy
// log do.
func (c *walks) exhausted() bool { return c.w.Cost > c.budget }

// toEnd returns what the walk from pos to the end of the log meets.
func (c *walks) toEnd(pos int64) error {
	if c.exhausted() {
		return errBudget
	}
	c.visited = c.visited[:0]
	var end error
	for before := int64(-1); ; {
		if b := pos / c.block; b != before {
			before = b
			known, ok := c.ends[pos]
			if ok {
				end = known
				break
			}
			c.visited = append(c.visited, pos)
		}
		prefix, err := c.w.Prefix(pos)
		if err != nil {
			if err != io.EOF {
				end = err
			}
			break
		}
		pos += prefix.Size()
	}
	if len(c.ends) > maxEnds {
		clear(c.ends)
	}
	for _, pos := range c.visited {
		c.ends[pos] = end
	}
	return end
}

// find is [segment.Walker.Find].
func (c *walks) find(pos, offset int64) (int64, batch.Header, error) {
	if c.exhausted() {
		return pos, batch.Header{}, errBudget
	}
	from := pos
	if c.searched && pos == c.start && offset >= c.offset {
		from = c.at
	}
	at, h, err := c.w.Find(from, offset)
	c.start, c.offset, c.at, c.searched = pos, offset, at, true
	return at, h, err
}
