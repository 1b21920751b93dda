// Package metaprops reads and writes meta.properties, the identity of a log
// directory. The file is a Java properties text; see [Parse] for the grammar.
//
//	key           version 0  version 1  value
//	version       optional   1          integer, blanks around it do no harm
//	cluster.id    optional   required   any text
//	broker.id     optional   not read   int32
//	node.id       not read   required   int32
//	directory.id  optional   optional   uuid, 22 characters
//
// Without a version it is 0, the form of clusters with ZooKeeper. Unknown keys do
// no harm. Kafka refuses other versions. The order of the keys and the second
// comment line, a date, differ from file to file: compare values.
//
// Source: Kafka 4.4.0, MetaProperties.java, MetaPropertiesVersion.java and
// PropertiesUtils.java; java.util.Properties of Java 17. Each rule was seen by
// running them.
package metaprops

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"kf/internal/wire"
)

// The ways a file can be damaged; match with errors.Is.
var (
	ErrEscape  = errors.New("malformed \\uxxxx escape")
	ErrVersion = errors.New("unknown version")
	ErrMissing = errors.New("key missing")
	ErrNumber  = errors.New("not a number")
	ErrUUID    = errors.New("not a uuid")
)

// The keys.
const (
	KeyVersion     = "version"
	KeyClusterID   = "cluster.id"
	KeyBrokerID    = "broker.id" // version 0
	KeyNodeID      = "node.id"   // version 1
	KeyDirectoryID = "directory.id"
)

// A Meta is the content of a file.
type Meta struct {
	Version     int        // 0 or 1
	ClusterID   *string    // nil only in version 0
	NodeID      *int32     // broker.id in version 0; nil only there
	DirectoryID *wire.UUID // nil if there is none
}

// Decode decodes the file p. An error names the key.
func Decode(p []byte) (Meta, error) {
	props, err := Parse(p)
	if err != nil {
		return Meta{}, err
	}
	return FromProperties(props)
}

// FromProperties makes a Meta of the pairs of a file, of which the last one
// counts where a key occurs twice.
func FromProperties(props []Property) (Meta, error) {
	values := map[string]Property{}
	for _, p := range props {
		values[p.Key] = p
	}
	var m Meta
	if p, ok := values[KeyVersion]; ok {
		v, err := number(p, strings.TrimFunc(p.Value, func(r rune) bool { return r <= ' ' }))
		switch {
		case err != nil:
			return m, err
		case v != 0 && v != 1:
			return m, fmt.Errorf("line %d: %s: %w %d, want 0 or 1", p.Line, p.Key, ErrVersion, v)
		}
		m.Version = int(v)
	}
	if p, ok := values[KeyClusterID]; ok {
		m.ClusterID = &p.Value
	} else if m.Version == 1 {
		return m, fmt.Errorf("%s: %w", KeyClusterID, ErrMissing)
	}
	if p, ok := values[nodeKey(m.Version)]; ok {
		id, err := number(p, p.Value)
		if err != nil {
			return m, err
		}
		m.NodeID = &id
	} else if m.Version == 1 {
		return m, fmt.Errorf("%s: %w", KeyNodeID, ErrMissing)
	}
	if p, ok := values[KeyDirectoryID]; ok {
		id, err := wire.ParseUUID(p.Value)
		if err != nil {
			return m, fmt.Errorf("line %d: %s: %w: %d characters", p.Line, p.Key, ErrUUID, len(p.Value))
		}
		m.DirectoryID = &id
	}
	return m, nil
}

func nodeKey(version int) string {
	if version == 0 {
		return KeyBrokerID
	}
	return KeyNodeID
}

func number(p Property, text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("line %d: %s: %w of 32 bits: %q", p.Line, p.Key, ErrNumber, text)
	}
	return int32(n), nil
}

// Append appends the file to dst as Kafka writes it: an empty comment, a comment
// with the date, and the keys in the order in which Java 17 stores them. Text
// beyond ASCII is written in UTF-8 and comes back in ISO-8859-1, as in Kafka:
// keep it out.
func Append(dst []byte, m Meta, date time.Time) []byte {
	dst = fmt.Appendf(dst, "#\n#%s\n", date.Format("Mon Jan 02 15:04:05 MST 2006"))
	if m.NodeID != nil {
		dst = appendProperty(dst, nodeKey(m.Version), strconv.Itoa(int(*m.NodeID)))
	}
	if m.DirectoryID != nil {
		dst = appendProperty(dst, KeyDirectoryID, m.DirectoryID.String())
	}
	dst = appendProperty(dst, KeyVersion, strconv.Itoa(m.Version))
	if m.ClusterID != nil {
		dst = appendProperty(dst, KeyClusterID, *m.ClusterID)
	}
	return dst
}
