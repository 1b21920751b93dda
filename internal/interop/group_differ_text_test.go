//go:build interop

package interop

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/batch"
	"kf/internal/format/grouprec"
)

// A differText writes requests, answers and records so that those of one broker can be
// compared with those of another: what coordinators make up is left out of member
// ids, times are left out, lists sorted.
type differText struct {
	topics map[[16]byte]string
	group  string // the one that is listed
}

func newDifferText(topics []differTopic, group string) differText {
	x := differText{make(map[[16]byte]string), group}
	for _, t := range topics {
		x.topics[t.id] = t.name
	}
	return x
}

// madeUp is what coordinators put into ids.
var madeUp = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func (x *differText) rename(s string) string { return madeUp.ReplaceAllString(s, "*") }

// differOmits are fields that are not compared.
var differOmits = map[string]bool{
	"ThrottleMillis": true, "Version": true, "Unknown": true, "UnknownTags": true,
	"CommitTimestamp": true, "CurrentStateTimestamp": true,
	"Leader": true, // of a record: the first of a hash table
}

func (x *differText) of(v any) string {
	if l, ok := v.(*kmsg.ListGroupsResponse); ok {
		l.Groups = slices.DeleteFunc(l.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return g.Group != x.group })
	}
	var b strings.Builder
	x.write(&b, "", reflect.ValueOf(v))
	return b.String()
}

func (x *differText) write(b *strings.Builder, field string, v reflect.Value) {
	switch field {
	case "AssignmentTimestamp", "ExpireTimestamp":
		fmt.Fprintf(b, "%v", v.Int() > 0)
		return
	case "Assignment", "MemberAssignment":
		if p, ok := v.Interface().([]byte); ok {
			if a, version, err := grouprec.DecodeAssignment(p); err == nil {
				fmt.Fprintf(b, "v%d ", version)
				x.write(b, "", reflect.ValueOf(*a))
				return
			}
		}
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			b.WriteString("null")
			return
		}
		x.write(b, field, v.Elem())
	case reflect.Struct:
		b.WriteString("{")
		for i := range v.NumField() {
			if f := v.Type().Field(i); !differOmits[f.Name] && f.IsExported() {
				fmt.Fprintf(b, " %s=", f.Name)
				x.write(b, f.Name, v.Field(i))
			}
		}
		b.WriteString(" }")
	case reflect.Slice, reflect.Array:
		x.list(b, v)
	case reflect.String:
		b.WriteString(strconv.Quote(x.rename(v.String())))
	default:
		fmt.Fprint(b, v.Interface())
	}
}

func (x *differText) list(b *strings.Builder, v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		name := ""
		if id := reflect.TypeFor[[16]byte](); v.Kind() == reflect.Array && v.Type().ConvertibleTo(id) {
			name = x.topics[v.Convert(id).Interface().([16]byte)]
		}
		b.WriteString(cmp.Or(name, fmt.Sprintf("%x", v.Interface())))
		return
	}
	elements := make([]string, v.Len())
	for i := range elements {
		var e strings.Builder
		x.write(&e, "", v.Index(i))
		elements[i] = e.String()
	}
	slices.Sort(elements)
	fmt.Fprint(b, elements)
}

// A groupRecord is a record of a group.
type groupRecord struct {
	kind, text string
	member     string
	tombstone  bool
}

// recordsIn returns the records of the group in a data directory.
func (x *differText) recordsIn(dir string) ([]groupRecord, error) {
	files, err := filepath.Glob(filepath.Join(dir, "__consumer_offsets-*", "*.log"))
	if err != nil {
		return nil, err
	}
	var all []groupRecord
	d := batch.Decoder{MaxInflated: 1 << 26}
	for _, name := range files {
		p, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for len(p) > batch.HeaderSize {
			h, err := batch.DecodeHeader(p)
			if err != nil || h.Size() > int64(len(p)) || h.Size() <= 0 {
				break // zeros of a file that is larger than its records
			}
			rs, err := d.Open(h, p[:h.Size()])
			if err != nil {
				return nil, err
			}
			p = p[h.Size():]
			for r, err := range rs.All() {
				if err != nil && !errors.Is(err, io.EOF) {
					return nil, err
				}
				one, err := grouprec.Decode(bytes.Clone(r.Key), bytes.Clone(r.Value))
				if err != nil {
					return nil, fmt.Errorf("%s: offset %d: %w", name, r.Offset, err)
				}
				if keyField(one, "Group")+keyField(one, "GroupID") == x.group {
					all = append(all, x.record(one))
				}
			}
		}
	}
	return all, nil
}

// keyField returns a text in the key of a record, "" if it has none of that name.
func keyField(r grouprec.Record, name string) string {
	if f := reflect.ValueOf(r.Key).Elem().FieldByName(name); f.IsValid() {
		return f.String()
	}
	return ""
}

func (x *differText) record(r grouprec.Record) groupRecord {
	g := groupRecord{kind: fmt.Sprintf("%T", r.Key), member: x.rename(keyField(r, "MemberID")), tombstone: r.Value == nil}
	g.text = fmt.Sprintf("%s %s tombstone", g.kind, x.of(r.Key))
	if !g.tombstone {
		g.text = fmt.Sprintf("%s %s v%d %s", g.kind, x.of(r.Key), r.Version, x.of(r.Value))
	}
	return g
}

// ordered are the kinds of records whose order tells something.
var ordered = []string{"*grouprec.GroupMetadataKey", "*grouprec.OffsetCommitKey", "*grouprec.ConsumerGroupMetadataKey"}

// arranged sorts records that follow each other in the order of a hash table: those of
// members that leave together, by member, and those of one kind.
func arranged(rs []groupRecord) []string {
	sortRuns(rs, func(a, b groupRecord) bool { return a.tombstone && a.member != "" && b.tombstone && b.member != "" },
		func(a, b groupRecord) int { return strings.Compare(a.member, b.member) })
	sortRuns(rs, func(a, b groupRecord) bool {
		return a.kind == b.kind && a.tombstone == b.tombstone && (a.tombstone || !slices.Contains(ordered, a.kind))
	}, func(a, b groupRecord) int { return strings.Compare(a.text, b.text) })
	texts := make([]string, len(rs))
	for i, r := range rs {
		texts[i] = r.text
	}
	return texts
}

// sortRuns sorts the runs of records of which each belongs to the first.
func sortRuns(rs []groupRecord, together func(a, b groupRecord) bool, compare func(a, b groupRecord) int) {
	for len(rs) > 0 {
		n := 1
		for n < len(rs) && together(rs[0], rs[n]) {
			n++
		}
		slices.SortStableFunc(rs[:n], compare)
		rs = rs[n:]
	}
}

// compareRecords compares what both wrote of the group, and returns how many records
// that are.
func (s *scenario) compareRecords() (int, error) {
	var texts twin[[]string]
	for side, dir := range s.p.dirs {
		rs, err := s.d.recordsIn(dir)
		if err != nil {
			return 0, err
		}
		texts[side] = append(arranged(rs), "the end")
	}
	kf, kafka := texts[ofKF], texts[ofKafka]
	for i := range min(len(kf), len(kafka)) {
		if kf[i] != kafka[i] {
			return i, fmt.Errorf("record %d\nkf:    %s\nKafka: %s\nbefore that:\n%s", i, kf[i], kafka[i], strings.Join(kf[max(0, i-3):i], "\n"))
		}
	}
	return len(kf) - 1, nil
}
