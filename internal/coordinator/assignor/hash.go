package assignor

import (
	"encoding/binary"
	"maps"
	"slices"
	"unicode/utf16"

	"github.com/zeebo/xxh3"

	"kf/internal/javafmt"
	"kf/internal/wire"
)

// TopicHash returns the hash of what decides the assignments of a topic's
// partitions: its id, name and number of partitions, and in which racks the replicas
// of each partition are. racks returns the racks of a partition's replicas in any
// order, one for each replica whose broker has one.
//
// It is XXH3 of 64 bits without seed, over
//
//	byte  size  field
//	   0     1  0, the version of the layout
//	   1     8  first half of the topic id
//	   9     8  second half
//	  17        name
//	         4  number of partitions
//
// and for each partition
//
//	size  field
//	   4  partition
//
// and for each rack of the partition, sorted by UTF-16 units
//
//	size  field
//	   4  length of the rack in units
//	      rack
//
// with numbers little-endian, and strings in UTF-16, little-endian, followed by the
// number of their units in 4 bytes.
func TopicHash(id wire.UUID, name string, partitions int32, racks func(partition int32) []string) int64 {
	le := binary.LittleEndian
	h := xxh3.New()
	buf := []byte{0}
	buf = le.AppendUint64(buf, binary.BigEndian.Uint64(id[:8]))
	buf = le.AppendUint64(buf, binary.BigEndian.Uint64(id[8:]))
	buf = appendString(buf, name)
	buf = le.AppendUint32(buf, uint32(partitions))
	var sorted []string
	for partition := range partitions {
		buf = le.AppendUint32(buf, uint32(partition))
		sorted = append(sorted[:0], racks(partition)...)
		slices.SortFunc(sorted, javafmt.Compare)
		for _, rack := range sorted {
			length := len(buf)
			buf = appendString(append(buf, 0, 0, 0, 0), rack)
			copy(buf[length:], buf[len(buf)-4:])
		}
		h.Write(buf)
		buf = buf[:0]
	}
	h.Write(buf)
	return int64(h.Sum64())
}

// appendString appends a string as it is hashed.
func appendString(dst []byte, s string) []byte {
	le := binary.LittleEndian
	start := len(dst)
	for _, r := range s {
		if r < 0x10000 {
			dst = le.AppendUint16(dst, uint16(r))
			continue
		}
		high, low := utf16.EncodeRune(r)
		dst = le.AppendUint16(le.AppendUint16(dst, uint16(high)), uint16(low))
	}
	return le.AppendUint32(dst, uint32(len(dst)-start)/2)
}

// GroupHash returns the hash of the topics that a group is subscribed to, from
// their hashes by name: the one that the group's metadata record keeps. Topics that
// do not exist are left out. It is 0 without topics, else XXH3 over the hashes,
// little-endian, in the order of the names by UTF-16 units.
func GroupHash(topics map[string]int64) int64 {
	if len(topics) == 0 {
		return 0
	}
	buf := make([]byte, 0, 8*len(topics))
	for _, name := range slices.SortedFunc(maps.Keys(topics), javafmt.Compare) {
		buf = binary.LittleEndian.AppendUint64(buf, uint64(topics[name]))
	}
	return int64(xxh3.Hash(buf))
}
