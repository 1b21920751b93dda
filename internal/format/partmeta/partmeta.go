// Package partmeta reads and writes partition.metadata, which holds the topic id
// of a partition directory. It is text of two lines without a line end behind
// the second:
//
//	version: 0
//	topic_id: J8aAPcfLQt2bqs1JT_rMgQ
//
// A reader of Kafka wants two parts from each line when it splits it at ':' and
// one blank or more. It does not look at the labels nor at further lines, and
// takes any version from 0 on. What a defect does to a broker:
//
//	a line of other than two parts, a version that is no   the log directory goes
//	number or negative, the zero uuid                      offline: ErrFormat, ErrVersion, ErrZero
//	one line or none                                       the start fails: ErrMissing
//	a uuid of another length or alphabet                   the start fails: ErrUUID
//
// Source: Kafka 4.4.0, PartitionMetadataFile.java and
// PartitionMetadataReadBuffer.java; each rule was seen by running its reader.
package partmeta

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"kf/internal/format/textlines"
	"kf/internal/wire"
)

// Version is what Kafka writes.
const Version = 0

// The ways a file can be damaged; match with errors.Is.
var (
	ErrFormat  = errors.New("malformed line")
	ErrVersion = errors.New("negative version")
	ErrZero    = errors.New("topic id is the zero uuid")
	ErrMissing = errors.New("line missing")
	ErrUUID    = errors.New("malformed topic id")
)

// FailsDir reports whether a broker takes the log directory offline because of
// err. For the other errors its start fails.
func FailsDir(err error) bool {
	return errors.Is(err, ErrFormat) || errors.Is(err, ErrVersion) || errors.Is(err, ErrZero)
}

// A Metadata is the content of a file.
type Metadata struct {
	Version int32
	TopicID wire.UUID
}

// Decode decodes the file p.
func Decode(p []byte) (Metadata, error) {
	var lines [][]byte
	for line := range textlines.Lines(p) {
		if lines = append(lines, line); len(lines) == 2 {
			break
		}
	}
	if len(lines) == 0 {
		return Metadata{}, fmt.Errorf("line 1: %w", ErrMissing)
	}
	text, err := value(lines[0])
	if err != nil {
		return Metadata{}, fmt.Errorf("line 1: version: %w", err)
	}
	version, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil:
		return Metadata{}, fmt.Errorf("line 1: version: %w: not a number", ErrFormat)
	case version < 0:
		return Metadata{}, fmt.Errorf("line 1: %w: %d", ErrVersion, version)
	}
	m := Metadata{Version: int32(version)}
	if len(lines) < 2 {
		return m, fmt.Errorf("line 2: %w", ErrMissing)
	}
	if text, err = value(lines[1]); err != nil {
		return m, fmt.Errorf("line 2: topic id: %w", err)
	}
	if m.TopicID, err = wire.ParseUUID(text); err != nil {
		return m, fmt.Errorf("line 2: %w: %d characters", ErrUUID, len(text))
	}
	if m.TopicID.IsZero() {
		return m, fmt.Errorf("line 2: %w", ErrZero)
	}
	return m, nil
}

var separator = regexp.MustCompile(`:[ \t\v\f]+`)

// value returns the second of the two parts of a line.
func value(line []byte) (string, error) {
	parts := separator.Split(string(line), -1)
	// Java's split drops empty parts at the end.
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	if len(parts) != 2 {
		return "", fmt.Errorf("%w: %d parts, want 2", ErrFormat, len(parts))
	}
	return parts[1], nil
}

// Append appends the file to dst.
func Append(dst []byte, m Metadata) []byte {
	return fmt.Appendf(dst, "version: %d\ntopic_id: %s", m.Version, m.TopicID)
}
