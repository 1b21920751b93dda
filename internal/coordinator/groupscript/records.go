package groupscript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kf/internal/format/grouprec"
	"kf/internal/wire"
)

// Topics are the names and ids of topics.
type Topics struct {
	ids   map[string][16]byte
	names map[[16]byte]string // also of topics that are gone
}

func (t *Topics) learn(c Cluster) error {
	ids, err := c.Topics()
	if err != nil {
		return err
	}
	t.ids = ids
	if t.names == nil {
		t.names = make(map[[16]byte]string)
	}
	for name, id := range ids {
		t.names[id] = name
	}
	return nil
}

var (
	// times are what records have that depends on when they were written.
	times = regexp.MustCompile(`"(\w*Timestamp|Timestamp|Version)":[1-9]\d*`)
	// hashes are those of topics, which have other ids in each cluster.
	hashes = regexp.MustCompile(`"MetadataHash":-?[1-9]\d*`)
	// topicIDs are ids of topics as JSON has them.
	topicIDs = regexp.MustCompile(`"TopicID":(\[[\d,]+\])`)
	// nothing is what says nothing.
	nothing = regexp.MustCompile(`,?"\w+":(null|"")`)
)

// Records tells the records of the play's group, which are some of all, in the order
// in which they were written.
func (p *Play) Records(all []grouprec.Record) []string {
	var lines []string
	for _, r := range all {
		if groupOf(r) == p.group {
			lines = append(lines, p.Named(p.record(r)))
		}
	}
	// Records of one kind that follow each other are in the order of a hash table.
	kind := func(line string) string { return strings.Fields(line)[0] }
	key := func(line string) string { return strings.Fields(line)[2] }
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && kind(lines[to]) == kind(lines[from]) {
			to++
		}
		slices.SortStableFunc(lines[from:to], func(a, b string) int { return cmp.Compare(key(a), key(b)) })
		from = to
	}
	seen := make(map[string]string)
	for i := range lines {
		lines[i] = hashes.ReplaceAllStringFunc(lines[i], func(hash string) string {
			if seen[hash] == "" {
				seen[hash] = fmt.Sprintf(`"MetadataHash":#%d`, len(seen)+1)
			}
			return seen[hash]
		})
	}
	return lines
}

// groupOf returns the group of a record.
func groupOf(r grouprec.Record) string {
	var of struct{ GroupID, Group string }
	if err := json.Unmarshal([]byte(marshal(r.Key)), &of); err != nil {
		panic(err)
	}
	return cmp.Or(of.GroupID, of.Group)
}

// record tells what a record says. It sorts the lists of it whose order is that of a
// hash table.
func (p *Play) record(r grouprec.Record) string {
	byName := func(a, b wire.UUID) int { return cmp.Compare(p.topics.names[a], p.topics.names[b]) }
	switch v := r.Value.(type) {
	case *grouprec.ConsumerGroupTargetAssignmentMemberValue:
		slices.SortFunc(v.TopicPartitions, func(a, b grouprec.TopicPartitions) int { return byName(a.TopicID, b.TopicID) })
	case *grouprec.ConsumerGroupCurrentMemberAssignmentValue:
		for _, list := range [][]grouprec.AssignedPartitions{v.AssignedPartitions, v.PartitionsPendingRevocation} {
			slices.SortFunc(list, func(a, b grouprec.AssignedPartitions) int { return byName(a.TopicID, b.TopicID) })
		}
	case *grouprec.GroupMetadataValue:
		if p.crowd {
			v.Leader = nil
		}
		slices.SortFunc(v.Members, func(a, b grouprec.GroupMember) int {
			return cmp.Or(bytes.Compare(a.Assignment, b.Assignment), cmp.Compare(p.Named(a.MemberID), p.Named(b.MemberID)))
		})
	}
	value := "-"
	if r.Value != nil {
		value = times.ReplaceAllString(marshal(r.Value), `"$1":1`)
		value = topicIDs.ReplaceAllStringFunc(value, func(text string) string {
			var id [16]byte
			if err := json.Unmarshal([]byte(topicIDs.FindStringSubmatch(text)[1]), &id); err != nil {
				panic(err)
			}
			return p.topics.names[id]
		})
		value = strings.ReplaceAll(nothing.ReplaceAllString(value, ""), "{,", "{")
	}
	return fmt.Sprintf("%d%s v%d %s %s", r.Type, value[:1], r.Version, marshal(r.Key), value)
}

// marshal returns the JSON of a record's key or value, all of whose fields have one.
func marshal(v any) string {
	p, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(p)
}
