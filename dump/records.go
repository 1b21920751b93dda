package dump

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"kf/internal/cli"
	"kf/internal/dumptext"
	"kf/internal/format/batch"
	"kf/internal/format/codec"
	"kf/internal/format/offsetindex"
	"kf/internal/format/schema"
	"kf/internal/logdir"
	"kf/internal/render"
	"kf/internal/segment"
)

// A recordRow is a record. The columns behind the value are for programs.
type recordRow struct {
	File          string      `col:"file,multi"`
	Kind          string      `col:"kind,data"`
	Offset        int64       `col:"offset"`
	Time          recordTime  `col:"time"`
	Timestamp     int64       `col:"timestamp,data"`
	TimestampType string      `col:"timestamp_type,data"`
	Key           content     `col:"key"`
	Headers       headersCell `col:"headers"`
	Value         content     `col:"value"` // the last in tables: the longest
	Sequence      number      `col:"sequence,data"`
	ProducerID    number      `col:"producer_id,data"`
	ProducerEpoch number      `col:"producer_epoch,data"`
	LeaderEpoch   number      `col:"leader_epoch,data"`
	Transactional bool        `col:"transactional,data"`
	Control       bool        `col:"control,data"`
	Position      int64       `col:"batch_position,data"`
	Valid         bool        `col:"crc_valid,data"`
}

// A batchRow is a record batch, or a message of magic 0 or 1.
type batchRow struct {
	File            string     `col:"file,multi"`
	Kind            string     `col:"kind,data"`
	Position        int64      `col:"position"`
	Size            int64      `col:"size"`
	BaseOffset      int64      `col:"base_offset"`
	LastOffset      int64      `col:"last_offset"`
	Count           number     `col:"count"`
	MaxTime         recordTime `col:"max_time"`
	BaseTimestamp   int64      `col:"base_timestamp,data"`
	MaxTimestamp    int64      `col:"max_timestamp,data"`
	TimestampType   string     `col:"timestamp_type,data"`
	LeaderEpoch     number     `col:"leader_epoch"`
	ProducerID      number     `col:"producer_id"`
	ProducerEpoch   number     `col:"producer_epoch"`
	BaseSequence    number     `col:"base_sequence"`
	LastSequence    number     `col:"last_sequence,data"`
	Transactional   bool       `col:"transactional"`
	Control         bool       `col:"control"`
	DeleteHorizonMs *int64     `col:"delete_horizon,data"`
	Magic           int8       `col:"magic"`
	Codec           string     `col:"codec"`
	CRC             uint32     `col:"crc,data"`
	Valid           bool       `col:"crc_valid"`
}

// A content is a key or value: bytes, or the JSON of a record that kf knows.
type content struct {
	render.Cell
	json []byte // on one line; nil if it is bytes
}

// AppendJSON implements render.Value.
func (c *content) AppendJSON(dst []byte) []byte {
	if c.json != nil {
		return append(dst, c.json...)
	}
	return c.Cell.AppendJSON(dst)
}

// AppendText implements render.Value.
func (c *content) AppendText(dst []byte) ([]byte, bool) {
	if c.json != nil {
		return append(dst, c.json...), string(c.json) != "null"
	}
	return c.Cell.AppendText(dst)
}

// groupPartitions joins segments of the same directory, in the order of their
// base offsets: their last records are those of the partition. Those that the
// cleaner writes or that are about to be removed hold records of others again:
// they are not joined to them.
func (d *dumper) groupPartitions(inputs []*input) []*input {
	var out []*input
	type partition struct {
		dir   string
		state logdir.State
	}
	first := map[partition]*input{}
	for _, in := range inputs {
		if in.kind != logdir.KindLog || in.stdin != nil || !in.file.HasBase {
			out = append(out, in)
			continue
		}
		of := partition{filepath.Dir(in.path), in.file.State}
		if head := first[of]; head != nil {
			head.next = append(head.next, in)
			continue
		}
		first[of] = in
		out = append(out, in)
	}
	for i, head := range out {
		group := append([]*input{head}, head.next...)
		slices.SortStableFunc(group, func(a, b *input) int { return cmp.Compare(a.file.BaseOffset, b.file.BaseOffset) })
		for _, in := range group {
			in.next = nil
		}
		out[i] = group[0]
		out[i].next = group[1:]
	}
	return out
}

// segments prints a segment, or with --last the segments of a partition.
func (d *dumper) segments(ctx context.Context, in *input) error {
	if d.opts.Last == 0 {
		p, err := d.newRecordPrinter(in)
		if err != nil {
			return err
		}
		return p.scan(ctx)
	}
	// The last records are in the last files: go back only as far as needed, and
	// remember places, not records, which can be large.
	group := append([]*input{in}, in.next...)
	type tail struct {
		in    *input
		start recordPlace
	}
	var tails []tail
	missing := d.opts.Last
	for _, in := range slices.Backward(group) {
		if missing == 0 {
			break
		}
		p, err := d.newRecordPrinter(in)
		if err != nil {
			return err
		}
		p.ring = &ring{size: missing}
		if err := p.scan(ctx); err != nil {
			return err
		}
		if n := len(p.ring.kept); n > 0 {
			missing -= n
			tails = append(tails, tail{in, p.ring.first()})
		}
	}
	for _, t := range slices.Backward(tails) {
		p, err := d.newRecordPrinter(t.in)
		if err != nil {
			return err
		}
		p.start, p.again = t.start, true
		if err := p.scan(ctx); err != nil {
			return err
		}
	}
	return nil
}

// A recordPlace is where a record is: the position of its batch, and its number in it.
type recordPlace struct {
	pos   int64
	index int
}

// A ring keeps the last places.
type ring struct {
	size int
	kept []recordPlace
	at   int // of the first one, once all are taken
}

func (r *ring) add(p recordPlace) {
	if len(r.kept) < r.size {
		r.kept = append(r.kept, p)
		return
	}
	r.kept[r.at] = p
	r.at = (r.at + 1) % r.size
}

func (r *ring) first() recordPlace { return r.kept[r.at] }

// A recordPrinter prints the batches and records of one segment.
type recordPrinter struct {
	d        *dumper
	in       *input
	topic    dumptext.Topic
	internal bool // topic decodes the records
	decoder  batch.Decoder
	ring     *ring       // takes the places of the records instead of printing them
	start    recordPlace // of the first record to print
	lost     bool        // damage was passed since the last batch
	again    bool        // damage was reported when the places were taken

	sequence sequence
	records  bool
	batches  bool
	key      []byte // JSON
	value    []byte
	misfits  [2]int64 // keys and values that are not of the format asked for
	unknown  int64    // records of a newer Kafka
	progress *cli.Progress
}

func (d *dumper) newRecordPrinter(in *input) (*recordPrinter, error) {
	p := &recordPrinter{d: d, in: in}
	base := int64(unknownBase)
	p.decoder.MaxInflated, p.decoder.Big = d.opts.MaxInflated, &d.big
	p.records = !d.opts.NoRecords
	data := d.opts.Output.ForPrograms()
	p.batches = d.opts.NoRecords || data && d.opts.Last == 0
	switch {
	case in.file.HasBase && in.kind == logdir.KindLog:
		base = in.file.BaseOffset
	case d.opts.BaseOffset >= 0:
		base = d.opts.BaseOffset
	}
	p.sequence = newSequence(base)
	name := d.opts.Topic
	if name == "" {
		switch partition, ok := logdir.PartitionOf(in.path); {
		case in.kind == logdir.KindMetadataSnapshot:
			name = logdir.TopicClusterMetadata
		case ok && in.stdin == nil && logdir.IsInternal(partition.Topic):
			name = partition.Topic
		}
	}
	if name != "" && name != noTopic {
		topic, err := d.opts.topic(name)
		if err != nil {
			return nil, err
		}
		p.topic, p.internal = topic, true
	}
	return p, nil
}

// scan prints the whole file.
func (p *recordPrinter) scan(ctx context.Context) error {
	f, err := p.in.openSegment()
	if err != nil {
		return err
	}
	defer f.Close()
	s := segment.NewScanner(f, p.start.pos)
	s.MaxBatch, s.Resync = p.d.opts.MaxBatch, p.d.opts.Resync
	p.progress = p.d.env.Progress(max(f.Size, 0), p.in.path)
	defer p.progress.Done()
	var c segment.Chunk
	defer func() { c.Release() }()
	for {
		err := s.Next(ctx, &c)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		done, err := p.chunk(&c)
		if err != nil {
			return err
		}
		p.progress.Add(c.Size)
		if done {
			break
		}
	}
	for i, what := range []string{"of the keys are", "of the values are"} {
		if n := p.misfits[i]; n > 0 {
			format := []render.ByteFormat{p.d.opts.Key, p.d.opts.Value}[i]
			p.d.env.Warnf("%s: %d %s not %s and shown as with \"auto\"", p.in.path, n, what, format)
		}
	}
	if p.unknown > 0 {
		p.d.env.Warnf("%s: %d of the records have a type or version that kf does not know: a newer Kafka wrote them, or they are not of %s; see \"base64\" for their bytes", p.in.path, p.unknown, p.topic)
	}
	return nil
}

// chunk prints one chunk. It reports whether nothing that follows can be wanted.
func (p *recordPrinter) chunk(c *segment.Chunk) (done bool, err error) {
	switch {
	case c.Damage != nil && p.again:
		return false, nil
	case errors.Is(c.Damage, segment.ErrZeros) && preallocated(p.in.path):
		p.d.env.Notef("%v: its index says that the segment is active, so this is no damage", c.Damage)
		return false, nil
	case c.Damage != nil:
		p.lost = true
		p.d.damage(c.Damage)
		if !p.d.opts.Resync && c.Size > batch.HeaderSize && !errors.Is(c.Damage, segment.ErrZeros) {
			p.d.env.Notef("%s: %d bytes were not read: --resync searches them for sound batches", p.in.path, c.Size)
		}
		return false, nil
	}
	for e, err := range c.Entries(p.in.path) {
		if err != nil {
			if !p.again {
				p.d.damage(err)
			}
			return true, nil
		}
		h := &e.Header
		if p.lost {
			p.lost = false
			p.missing(e)
		}
		switch {
		case h.BaseOffset >= p.d.opts.ToOffset && h.Magic >= 2 && !p.d.opts.Resync:
			return true, nil
		case h.LastOffset() < p.d.opts.FromOffset,
			h.Magic >= 2 && h.BaseOffset >= p.d.opts.ToOffset,
			!p.d.opts.From.IsZero() && h.Magic >= 1 && h.MaxTimestamp < p.d.opts.From.UnixMilli():
			_ = p.sequence.next(h) // not asked for, but what follows is compared with it
			continue
		}
		if err := p.entry(e); err != nil {
			return false, err
		}
	}
	return false, nil
}

// missing says which offsets were lost between the last batch and e.
func (p *recordPrinter) missing(e *segment.Entry) {
	first, last := p.sequence.base, e.Header.BaseOffset-1
	if p.sequence.started {
		first = p.sequence.lastOffset + 1
	}
	switch {
	case first == unknownBase || first > last:
		p.d.env.Notef("%s: the next sound batch is at byte %d, offset %d", p.in.path, e.Pos, e.Header.BaseOffset)
	default:
		p.d.env.Notef("%s: offsets %d to %d are missing; the next sound batch is at byte %d, offset %d", p.in.path, first, last, e.Pos, e.Header.BaseOffset)
	}
}

// preallocated reports whether the index beside the segment at path is, which
// only that of an active segment can be: zeros at the end of its log are then
// what log.preallocate makes of it.
func preallocated(path string) bool {
	index, err := openIndex(sibling(path, filepath.Base(path), ".index"))
	if err != nil {
		return false
	}
	defer index.Close()
	padded, err := index.padded(offsetindex.EntrySize)
	return err == nil && padded
}

// fail reports damage of a batch.
func (p *recordPrinter) fail(e *segment.Entry, err error) {
	if !p.again {
		p.d.damage(p.at(e, err))
	}
}

func (p *recordPrinter) at(e *segment.Entry, err error) error {
	return &segment.Error{Path: p.in.path, Pos: e.Pos, BaseOffset: e.Header.BaseOffset, Err: err}
}

func (p *recordPrinter) entry(e *segment.Entry) error {
	h := &e.Header
	if err := p.sequence.next(h); err != nil {
		p.fail(e, err)
	}
	check := e.Check()
	if check != nil {
		p.fail(e, check)
	}
	if p.batches {
		if err := write(&p.d.rows, p.d.rows.batch, p.batchRow(e, check == nil)); err != nil {
			return err
		}
	}
	if !p.records {
		if !h.Codec().Known() {
			p.fail(e, fmt.Errorf("%w: id %d", codec.ErrUnknown, uint8(h.Codec())))
		}
		return nil
	}
	if err := emptyBatch(h); err != nil {
		p.fail(e, err)
	}
	rs, err := e.Open(&p.decoder)
	if err != nil {
		p.bodyFailed(e, err)
		return nil
	}
	from, to := p.d.opts.From, p.d.opts.To
	at := recordPlace{e.Pos, -1}
	for r, err := range rs.All() {
		if err != nil {
			p.bodyFailed(e, err)
			return nil
		}
		at.index++
		if at.pos == p.start.pos && at.index < p.start.index || r.Offset < p.d.opts.FromOffset || r.Offset >= p.d.opts.ToOffset ||
			!from.IsZero() && r.Timestamp < from.UnixMilli() || !to.IsZero() && !time.UnixMilli(r.Timestamp).Before(to) {
			continue
		}
		if p.ring != nil {
			p.ring.add(at)
			continue
		}
		if err := write(&p.d.rows, p.d.rows.record, p.recordRow(e, r, check == nil)); err != nil {
			return err
		}
	}
	return nil
}

// bodyFailed reports records that cannot be read. A batch above a limit is no
// damage, but its records were asked for.
func (p *recordPrinter) bodyFailed(e *segment.Entry, err error) {
	switch {
	case !errors.Is(err, segment.ErrTooLarge):
		p.fail(e, err)
	case !p.again:
		p.d.fail(p.at(e, fmt.Errorf("%w: raise --max-batch to read its records", err)))
	}
}

func (p *recordPrinter) batchRow(e *segment.Entry, valid bool) batchRow {
	h := &e.Header
	row := batchRow{
		File: p.in.path, Kind: "batch", Position: e.Pos, Size: h.Size(), BaseOffset: h.BaseOffset, LastOffset: h.LastOffset(),
		MaxTime: recordTime(h.MaxTimestamp), BaseTimestamp: h.BaseTimestamp, MaxTimestamp: h.MaxTimestamp,
		TimestampType: h.TimestampType().String(), Transactional: h.Transactional(), Control: h.Control(),
		Magic: h.Magic, Codec: h.Codec().String(), CRC: h.CRC, Valid: valid,
		Count:         number(h.Count),
		LeaderEpoch:   number(h.PartitionLeaderEpoch),
		ProducerID:    number(h.ProducerID),
		ProducerEpoch: number(h.ProducerEpoch),
		BaseSequence:  number(h.BaseSequence),
		LastSequence:  number(h.LastSequence()),
	}
	if horizon, ok := h.DeleteHorizon(); ok {
		row.DeleteHorizonMs = &horizon
	}
	return row
}

func (p *recordPrinter) recordRow(e *segment.Entry, r *batch.Record, valid bool) recordRow {
	h := &e.Header
	row := recordRow{
		File: p.in.path, Kind: "record", Offset: r.Offset, Time: recordTime(r.Timestamp), Timestamp: r.Timestamp,
		TimestampType: h.TimestampType().String(), Transactional: h.Transactional(), Control: h.Control(), Position: e.Pos, Valid: valid,
		Headers:       headersCell{r},
		Sequence:      number(r.Sequence),
		ProducerID:    number(h.ProducerID),
		ProducerEpoch: number(h.ProducerEpoch),
		LeaderEpoch:   number(h.PartitionLeaderEpoch),
	}
	switch {
	case h.Control():
		var err error
		p.value, err = dumptext.AppendControlJSON(p.value[:0], r.Key, r.Value)
		row.Value.json = p.value
		p.undecoded(e, r, err)
	case p.internal:
		var err error
		before := p.unknown
		p.key, err = p.topic.AppendKeyJSON(p.key[:0], r.Key)
		p.undecoded(e, r, err)
		p.value, err = p.topic.AppendValueJSON(p.value[:0], r.Key, r.Value)
		p.undecoded(e, r, err)
		p.unknown = min(p.unknown, before+1) // key and value are one record
		row.Key.json, row.Value.json = p.key, p.value
	default:
		var fits bool
		if row.Key.Cell, fits = render.NewCell(r.Key, p.d.opts.Key); !fits {
			p.misfits[0]++
		}
		if row.Value.Cell, fits = render.NewCell(r.Value, p.d.opts.Value); !fits {
			p.misfits[1]++
		}
	}
	return row
}

// undecoded counts or reports a record that could not be decoded to fields.
func (p *recordPrinter) undecoded(e *segment.Entry, r *batch.Record, err error) {
	switch {
	case err == nil:
	case errors.Is(err, schema.ErrUnknownType), errors.Is(err, schema.ErrUnknownVersion):
		p.unknown++
	default:
		p.d.damage(p.at(e, fmt.Errorf("record at offset %d: %w", r.Offset, err)))
	}
}
