package resetplan

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// An Entry is a line of a CSV file: an offset for a partition.
type Entry struct {
	Group string // "" if the file has no groups
	TopicPartition
	Offset int64
	Line   int // from 1; not written
}

// AppendCSV appends e as kafka-consumer-groups --export writes it: topic,partition,offset,
// the group before that if withGroup, and a line feed.
func AppendCSV(dst []byte, e Entry, withGroup bool) []byte {
	if withGroup {
		dst = append(appendField(dst, e.Group), ',')
	}
	dst = append(appendField(dst, e.Topic), ',')
	dst = append(strconv.AppendInt(dst, int64(e.Partition), 10), ',')
	return append(strconv.AppendInt(dst, e.Offset, 10), '\n')
}

// appendField quotes where Jackson, with which Kafka writes CSV, does: also what needs
// no quotes by the rules of CSV, such as all texts of more than 24 characters.
//
// Source: Jackson 2.21, CsvEncoder.java.
func appendField(dst []byte, s string) []byte {
	long := len(utf16.Encode([]rune(s))) > 24
	if !long && !strings.ContainsFunc(s, func(r rune) bool { return r < '-' || r == '\\' }) {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(s, `"`, `""`)...)
	return append(dst, '"')
}

// offsetColumns are the headings that an offset may have: of what was saved for this
// purpose, of a plan of kf, and of what groups have committed.
var offsetColumns = []string{"offset", "new", "current_offset"}

// maxErrors is how many wrong lines are named before reading stops.
const maxErrors = 10

// ReadCSV reads offsets from CSV in one of these forms, which it tells apart by the
// first line:
//
//	topic,partition,offset            Kafka's for one group, without a heading
//	group,topic,partition,offset      Kafka's for any number of groups
//	a heading, in any order           columns topic, partition, offset and, perhaps, group
//
// With a heading there may be more columns, and "new" or "current_offset" may stand for
// "offset", so that what "kf groups reset -o csv" and "kf groups describe -o csv" print
// can be read back; a line with an empty offset, where nothing was committed, is left
// out. Blank lines do not count.
//
// The error names the wrong lines. A partition that comes twice is wrong.
func ReadCSV(p []byte) (entries []Entry, withGroup bool, err error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(p, []byte("\xef\xbb\xbf"))))
	r.FieldsPerRecord = -1
	var form *columns
	type key struct {
		group string
		TopicPartition
	}
	seen := make(map[key]int)
	var wrong []error
	for len(wrong) < maxErrors {
		fields, err := r.Read()
		if err == io.EOF {
			break
		}
		if e, ok := errors.AsType[*csv.ParseError](err); ok {
			wrong = append(wrong, fmt.Errorf("line %d: column %d: %w", e.Line, e.Column, e.Err))
			break // what follows may be in the middle of a quoted text
		}
		line, _ := r.FieldPos(0)
		if form == nil {
			var heading bool
			if form, heading = formOf(fields); heading {
				continue
			}
		}
		e, ok, err := form.entry(fields)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("line %d: %w", line, err))
			continue
		}
		if !ok {
			continue
		}
		e.Line = line
		k := key{e.Group, e.TopicPartition}
		if first := seen[k]; first > 0 {
			wrong = append(wrong, fmt.Errorf("line %d: %s is in line %d already", line, e.TopicPartition, first))
			continue
		}
		seen[k] = line
		entries = append(entries, e)
	}
	if len(wrong) > 0 {
		return nil, false, errors.Join(wrong...)
	}
	return entries, form != nil && form.group >= 0, nil
}

// columns says where in a line things are; -1 is nowhere.
type columns struct {
	group, topic, partition, offset int
	count                           int // of a line, 0: any that is enough
}

func formOf(first []string) (form *columns, heading bool) {
	names := make([]string, len(first))
	for i, f := range first {
		names[i] = strings.ToLower(strings.TrimSpace(f))
	}
	c := &columns{group: slices.Index(names, "group"), topic: slices.Index(names, "topic"), partition: slices.Index(names, "partition"), offset: -1}
	for _, name := range offsetColumns {
		if c.offset < 0 {
			c.offset = slices.Index(names, name)
		}
	}
	switch {
	case c.topic >= 0 && c.partition >= 0 && c.offset >= 0:
		return c, true
	case len(first) == 3:
		return &columns{group: -1, topic: 0, partition: 1, offset: 2, count: 3}, false
	}
	return &columns{group: 0, topic: 1, partition: 2, offset: 3, count: 4}, false
}

// entry reads a line; false if it has no offset.
func (c *columns) entry(fields []string) (Entry, bool, error) {
	var e Entry
	switch {
	case c.count == 0 && len(fields) <= max(c.group, c.topic, c.partition, c.offset):
		return e, false, fmt.Errorf("%d columns, fewer than the heading has", len(fields))
	case c.count == 4 && len(fields) != 4:
		return e, false, fmt.Errorf("%d columns: want group,topic,partition,offset, or topic,partition,offset in all lines", len(fields))
	case c.count == 3 && len(fields) != 3:
		return e, false, fmt.Errorf("%d columns: want topic,partition,offset as in the first line", len(fields))
	}
	if c.group >= 0 {
		e.Group = fields[c.group]
	}
	e.Topic = fields[c.topic]
	n, err := strconv.ParseInt(strings.TrimSpace(fields[c.partition]), 10, 32)
	switch {
	case e.Topic == "":
		return e, false, errors.New("the topic is empty")
	case c.group >= 0 && e.Group == "":
		return e, false, errors.New("the group is empty")
	case err != nil || n < 0:
		return e, false, fmt.Errorf("%q is no partition", fields[c.partition])
	}
	e.Partition = int32(n)
	text := strings.TrimSpace(fields[c.offset])
	if text == "" && c.count == 0 {
		return e, false, nil
	}
	if e.Offset, err = strconv.ParseInt(text, 10, 64); err != nil {
		return e, false, fmt.Errorf("%q is no offset", fields[c.offset])
	}
	return e, true, nil
}
