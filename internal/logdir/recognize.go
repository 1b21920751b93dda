package logdir

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"iter"
	"path/filepath"
	"slices"

	"kf/internal/format/checkpoint"
	"kf/internal/format/entryfile"
	"kf/internal/format/metaprops"
	"kf/internal/format/offsetindex"
	"kf/internal/format/partmeta"
	"kf/internal/format/prodsnapshot"
	"kf/internal/format/timeindex"
	"kf/internal/format/txnindex"
)

// HeadSize is how many bytes of a file [Recognize] makes use of.
const HeadSize = 64 << 10

// A Basis is how sure it is what the content of a file is.
type Basis string

// The bases, from the surest on.
const (
	BasisChecksum Basis = "checksum" // a checksum over the content is right
	BasisForm     Basis = "form"     // the content has the form, which hardly happens by chance
	BasisGuess    Basis = "guess"    // nothing speaks against it; index files have no mark of their own
	BasisNone     Basis = ""
)

// A Recognition is what is known of a file before it is decoded.
type Recognition struct {
	File    File   // what the name says
	Content []Kind // what the content can be, the likeliest first; none if it is like nothing
	Basis   Basis  // of Content
}

// Kind returns what to decode the file as: what the name says, else what the
// content is most like, else "".
func (r Recognition) Kind() Kind {
	switch {
	case r.File.Kind != "":
		return r.File.Kind
	case len(r.Content) > 0:
		return r.Content[0]
	}
	return ""
}

// ByName reports whether Kind comes from the name.
func (r Recognition) ByName() bool { return r.File.Kind != "" }

// Disagrees reports whether the content is surely something else than the name
// says. Content that is like nothing, or only guessed, does not disagree.
func (r Recognition) Disagrees() bool {
	return r.File.Kind != "" && len(r.Content) > 0 && r.Basis != BasisGuess && !slices.Contains(r.Content, r.File.Kind)
}

// Recognize says what the file at path is. head is the start of its content, up
// to HeadSize bytes, and size how long the content is. The path alone decides
// where its name is one of Kafka's; the content is looked at in any case.
func Recognize(path string, head []byte, size int64) Recognition {
	r := Recognition{File: ParseFileName(filepath.Base(path))}
	head = head[:min(len(head), HeadSize)]
	c := content{head, int64(len(head)) >= size, size}
	for _, look := range []func() ([]Kind, Basis){c.batches, c.producerSnapshot, c.text, c.index} {
		if r.Content, r.Basis = look(); len(r.Content) > 0 {
			return r
		}
	}
	return r
}

// A content is what is known of the bytes of a file.
type content struct {
	head []byte
	all  bool // head is the whole file
	size int64
}

// Positions in a record batch, which are the same in all formats up to the
// magic; see the package of that format.
const (
	batchLength = 8  // int32, counts what follows it
	batchMagic  = 16 // int8
	batchFrame  = 12 // bytes that the length does not count
)

// batches recognises record batches by the first one.
func (c content) batches() ([]Kind, Basis) {
	p := c.head
	if len(p) < batchMagic+2 {
		return nil, BasisNone
	}
	base := int64(binary.BigEndian.Uint64(p))
	length := int64(int32(binary.BigEndian.Uint32(p[batchLength:])))
	kinds := []Kind{KindLog, KindMetadataSnapshot}
	end := batchFrame + length // of the first batch
	whole := end <= int64(len(p))
	var sum bool // the checksum is right
	switch magic := p[batchMagic]; {
	case base < 0:
		return nil, BasisNone
	case magic == 2 && length >= 49 && len(p) >= 61:
		attributes := binary.BigEndian.Uint16(p[21:])
		lastDelta, count := int32(binary.BigEndian.Uint32(p[23:])), int32(binary.BigEndian.Uint32(p[57:]))
		producerID, epoch := int64(binary.BigEndian.Uint64(p[43:])), int16(binary.BigEndian.Uint16(p[51:]))
		sum = whole && binary.BigEndian.Uint32(p[17:]) == crc32.Checksum(p[21:end], crc32.MakeTable(crc32.Castagnoli))
		if !sum && (attributes&7 > 4 || attributes > 0x7f || lastDelta < 0 || count < 0 || producerID < -1 || epoch < -1) {
			return nil, BasisNone
		}
		if attributes&0x20 != 0 && isSnapshotHeader(p[61:]) {
			kinds = []Kind{KindMetadataSnapshot, KindLog}
		}
	case magic == 0 && length >= 14 || magic == 1 && length >= 22:
		// This header alone is that of many an index: the checksum has to be right.
		kinds = kinds[:1]
		sum = whole && binary.BigEndian.Uint32(p[batchFrame:]) == crc32.ChecksumIEEE(p[batchMagic:end])
		if whole && !sum || end > c.size || p[batchMagic+1]&^0x0f != 0 {
			return nil, BasisNone
		}
		if !sum {
			return kinds, BasisGuess
		}
	default:
		return nil, BasisNone
	}
	if sum {
		return kinds, BasisChecksum
	}
	return kinds, BasisForm
}

// isSnapshotHeader reports whether the first record of a control batch is a
// snapshot header: length, attributes and two deltas of one byte each, a key of
// 4 bytes, then version 0 and type 3.
func isSnapshotHeader(p []byte) bool {
	return len(p) >= 9 && bytes.Equal(p[4:9], []byte{8, 0, 0, 0, 3})
}

func (c content) producerSnapshot() ([]Kind, Basis) {
	kinds := []Kind{KindProducerSnapshot}
	if len(c.head) < prodsnapshot.HeaderSize || binary.BigEndian.Uint16(c.head) != prodsnapshot.Version {
		return nil, BasisNone
	}
	if c.all {
		if _, err := prodsnapshot.Decode(c.head); err == nil {
			return kinds, BasisChecksum
		}
	}
	count := int64(int32(binary.BigEndian.Uint32(c.head[6:])))
	if c.size == prodsnapshot.HeaderSize+count*prodsnapshot.EntrySize {
		return kinds, BasisForm
	}
	return nil, BasisNone
}

func (c content) text() ([]Kind, Basis) {
	p := c.head
	if !c.all { // whole lines
		p = p[:bytes.LastIndexByte(p, '\n')+1]
	}
	if len(p) == 0 || bytes.IndexByte(p, 0) >= 0 {
		return nil, BasisNone
	}
	if p[0] == '{' {
		return jsonKind(p)
	}
	if kinds := c.checkpoint(p); len(kinds) > 0 {
		return kinds, BasisForm
	}
	if _, err := partmeta.Decode(p); err == nil && bytes.HasPrefix(p, []byte("version:")) {
		return []Kind{KindPartitionMetadata}, BasisForm
	}
	if props, err := metaprops.Parse(p); err == nil {
		known := 0
		for _, prop := range props {
			switch prop.Key {
			case metaprops.KeyVersion, metaprops.KeyClusterID, metaprops.KeyNodeID, metaprops.KeyBrokerID, metaprops.KeyDirectoryID:
				known++
			}
		}
		// Other properties files have a version or a broker.id, too.
		if known >= 2 && known == len(props) {
			return []Kind{KindMetaProperties}, BasisForm
		}
	}
	return nil, BasisNone
}

func jsonKind(p []byte) ([]Kind, Basis) {
	var fields map[string]json.RawMessage
	if json.NewDecoder(bytes.NewReader(p)).Decode(&fields) != nil {
		return nil, BasisNone
	}
	has := func(name string) bool { _, ok := fields[name]; return ok }
	switch {
	case has("data_version") && has("leaderEpoch"):
		return []Kind{KindQuorumState}, BasisForm
	case has("brokerEpoch"):
		return []Kind{KindCleanShutdown}, BasisForm
	}
	return nil, BasisNone
}

// checkpoint recognises a checkpoint file by its two numbers and by its entries,
// as far as the head goes. Without entries it can be either kind.
func (c content) checkpoint(p []byte) []Kind {
	both := []Kind{KindOffsetCheckpoint, KindLeaderEpochCheckpoint}
	if !bytes.HasPrefix(p, []byte("0\n")) && !bytes.HasPrefix(p, []byte("0\r\n")) {
		return nil
	}
	var kinds []Kind
	for _, kind := range both {
		if entries, sound := c.reads(kind, p); sound {
			if entries == 0 {
				return both
			}
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// reads tells how many entries of a kind p has, and whether it has nothing else.
func (c content) reads(kind Kind, p []byte) (entries int, sound bool) {
	r := bytes.NewReader(p)
	if kind == KindOffsetCheckpoint {
		return tally(checkpoint.Offsets(r), c.all)
	}
	return tally(checkpoint.Epochs(r), c.all)
}

func tally[E any](seq iter.Seq2[E, error], all bool) (entries int, sound bool) {
	for _, err := range seq {
		switch {
		case err == nil:
			entries++
		case all || !errors.Is(err, checkpoint.ErrCount):
			return entries, false
		}
	}
	return entries, true
}

// Times that a time index can reasonably hold, in ms: the years 2000 to 2100.
const (
	earliest = 946_684_800_000
	latest   = 4_102_444_800_000
)

// index guesses at the three index formats, which have no mark of their own: a
// size that is a multiple, and entries that are sound and rise up to the zeros
// at the end.
func (c content) index() ([]Kind, Basis) {
	if c.size == 0 || isText(c.head) {
		return nil, BasisNone
	}
	var kinds []Kind
	if c.size%txnindex.EntrySize == 0 && rises(txnindex.Scan(c.entries(txnindex.EntrySize), 0),
		func(e txnindex.Entry) bool { return e.ProducerID >= 0 && e.FirstOffset >= 0 && e.LastStableOffset >= 0 }) > 0 {
		kinds = append(kinds, KindTxnIndex)
	}
	if c.size%timeindex.EntrySize == 0 && rises(timeindex.Scan(c.entries(timeindex.EntrySize), 0),
		func(e timeindex.Entry) bool { return earliest <= e.Timestamp && e.Timestamp < latest }) > 0 {
		kinds = append(kinds, KindTimeIndex)
	}
	// A single pair of numbers could be anything.
	if c.size%offsetindex.EntrySize == 0 && rises(offsetindex.Scan(c.entries(offsetindex.EntrySize), 0),
		func(offsetindex.Entry) bool { return true }) > 1 {
		kinds = append(kinds, KindIndex)
	}
	if len(kinds) == 0 {
		return nil, BasisNone
	}
	return kinds, BasisGuess
}

// entries is the head as far as it holds whole entries.
func (c content) entries(size int) io.Reader {
	return bytes.NewReader(c.head[:len(c.head)-len(c.head)%size])
}

// rises returns how many entries there are, 0 if one is unsound.
func rises[E any](seq iter.Seq2[E, error], sound func(E) bool) int {
	n := 0
	for e, err := range seq {
		switch {
		case errors.Is(err, entryfile.ErrPreallocated):
		case err != nil, !sound(e):
			return 0
		default:
			n++
		}
	}
	return n
}

// isText reports whether p is printable ASCII.
func isText(p []byte) bool {
	return !slices.ContainsFunc(p, func(c byte) bool { return c >= 0x7f || c < ' ' && (c < '\t' || c > '\r') })
}
