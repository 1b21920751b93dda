package broker

import "kf/internal/wire"

// producePartitions counts the topics and partitions of a Produce request,
// without decoding it: each of them takes memory, however few bytes it has on the
// wire. Of a body that cannot be read it counts those before the fault.
//
// Source: Kafka 4.4.0, ProduceRequest.json.
func producePartitions(body []byte, version int16, flexible bool) (n int) {
	in := produceCursor{wire.Cursor{B: body}, flexible}
	in.skip(2)      // transactional id
	in.Bytes(2 + 4) // acks, time-out
	for range in.length(4) {
		if version >= 13 {
			in.UUID()
		} else {
			in.skip(2)
		}
		for range in.length(4) {
			in.Int32() // partition
			in.skip(4) // records
			in.tags()
			if in.Err() != nil {
				return n
			}
			n++
		}
		in.tags()
		if in.Err() != nil {
			return n
		}
		n++
	}
	return n
}

// A produceCursor reads over fields whose length is a varint in flexible
// versions.
type produceCursor struct {
	wire.Cursor
	flexible bool
}

// length reads the length of an array, string or bytes, which takes width bytes
// in versions that are not flexible. Null has none.
func (c *produceCursor) length(width int) int {
	switch {
	case c.flexible:
		return max(0, int(c.Uvarint())-1)
	case width == 2:
		return max(0, int(c.Int16()))
	default:
		return max(0, int(c.Int32()))
	}
}

// skip reads over a string or bytes.
func (c *produceCursor) skip(width int) { c.Bytes(c.length(width)) }

// tags reads over tagged fields.
func (c *produceCursor) tags() {
	if !c.flexible {
		return
	}
	for range c.Uvarint() {
		c.Uvarint()
		c.Bytes(int(c.Uvarint()))
		if c.Err() != nil {
			return
		}
	}
}
