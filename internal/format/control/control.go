// Package control has the records of control batches.
//
//	key: int16 version (0; higher is read as 0, negative is an error), int16 type, rest ignored
//
//	type  name             value
//	   0  ABORT            int16 version 0, int32 coordinator epoch; rest ignored
//	   1  COMMIT           the same
//	   2  LEADER_CHANGE    body of [LeaderChangeMessage]
//	   3  SNAPSHOT_HEADER  body of [SnapshotHeaderRecord]
//	   4  SNAPSHOT_FOOTER  body of [SnapshotFooterRecord]
//	   5  KRAFT_VERSION    body of [KRaftVersionRecord]
//	   6  KRAFT_VOTERS     body of [VotersRecord]
//
// Types 2 to 6 are flexible message bodies whose first field is their version.
// Kafka decodes them with schema version 0 whatever it says, and shows them as
// JSON of the version that it says. Clients skip other types; in the metadata log
// they are an error.
//
// Source: Kafka 4.4.0, ControlRecordType.java, ControlRecordUtils.java,
// EndTransactionMarker.java and the schemas in clients/src/main/resources/common/message.
package control

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"kf/internal/format/schema"
	"kf/internal/wire"
)

// KeySize is the size of a key, in bytes; a longer one has its type there too.
const KeySize = 4

// A Type is the type of a control record.
type Type int16

// The types that Kafka 4.4 knows.
const (
	Abort Type = iota
	Commit
	LeaderChange
	SnapshotHeader
	SnapshotFooter
	KRaftVersion
	KRaftVoters
)

var typeNames = [...]string{
	"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS",
}

// Known reports whether Kafka 4.4 knows the type.
func (t Type) Known() bool { return t >= 0 && int(t) < len(typeNames) }

// String returns Kafka's name of the type, UNKNOWN(n) if it has none.
func (t Type) String() string {
	if !t.Known() {
		return "UNKNOWN(" + strconv.Itoa(int(t)) + ")"
	}
	return typeNames[t]
}

// The ways a control record can be damaged, beside those of its body; match with
// errors.Is.
var (
	ErrKey     = errors.New("invalid key of a control record")
	ErrVersion = errors.New("negative version")
	ErrMissing = errors.New("control record has no value")
)

// An EndTxnMarker is the value of ABORT and COMMIT.
type EndTxnMarker struct {
	_                struct{} `kf:"v0"`
	Version          int16    `kf:"version"`
	CoordinatorEpoch int32    `kf:"coordinatorEpoch"`
}

// A Record is a decoded control record.
type Record struct {
	Type    Type
	Message any // pointer to a struct of this package; nil for an unknown type
	Unread  int // bytes behind the body
}

// Version returns the version that the body says it has.
func (r Record) Version() int16 {
	switch m := r.Message.(type) {
	case *EndTxnMarker:
		return m.Version
	case *LeaderChangeMessage:
		return m.Version
	case *SnapshotHeaderRecord:
		return m.Version
	case *SnapshotFooterRecord:
		return m.Version
	case *KRaftVersionRecord:
		return m.Version
	case *VotersRecord:
		return m.Version
	}
	return 0
}

// DecodeKey returns the type that key says. It fails with ErrKey if key is too
// short, and with ErrVersion too if its version is below 0.
func DecodeKey(key []byte) (Type, error) {
	if len(key) < KeySize {
		return 0, fmt.Errorf("%w: %d bytes, want %d", ErrKey, len(key), KeySize)
	}
	if version := int16(binary.BigEndian.Uint16(key)); version < 0 {
		return 0, fmt.Errorf("%w: %w: %d", ErrKey, ErrVersion, version)
	}
	return Type(binary.BigEndian.Uint16(key[2:])), nil
}

// Decode decodes a control record. It fails as [DecodeKey] does, with ErrMissing
// if a known type has a nil value, with ErrVersion, and as [schema.Decode] does.
// The value of an unknown type is not looked at.
func Decode(key, value []byte) (Record, error) { return decode(key, value, false) }

// DecodeOwnVersion is like [Decode], but reads the body with the schema of the
// version that it says it has, which Kafka 4.4 does not do.
func DecodeOwnVersion(key, value []byte) (Record, error) { return decode(key, value, true) }

func decode(key, value []byte, own bool) (Record, error) {
	t, err := DecodeKey(key)
	if err != nil || !t.Known() {
		return Record{Type: t}, err
	}
	rec := Record{Type: t}
	if value == nil {
		return rec, ErrMissing
	}
	c := wire.Cursor{B: value}
	message := newMessage(t)
	version := int16(0)
	if own && len(value) >= 2 {
		version = int16(binary.BigEndian.Uint16(value))
	}
	if err := schema.Decode(&c, message, version); err != nil {
		return rec, err
	}
	if m, ok := message.(*EndTxnMarker); ok && m.Version < 0 {
		return rec, fmt.Errorf("%w: %d", ErrVersion, m.Version)
	}
	rec.Message, rec.Unread = message, c.Len()
	return rec, nil
}

func newMessage(t Type) any {
	switch t {
	case Abort, Commit:
		return new(EndTxnMarker)
	case LeaderChange:
		return new(LeaderChangeMessage)
	case SnapshotHeader:
		return new(SnapshotHeaderRecord)
	case SnapshotFooter:
		return new(SnapshotFooterRecord)
	case KRaftVersion:
		return new(KRaftVersionRecord)
	case KRaftVoters:
		return new(VotersRecord)
	}
	return nil
}

// AppendKey appends the key of a control record.
func AppendKey(dst []byte, t Type) []byte {
	return binary.BigEndian.AppendUint16(append(dst, 0, 0), uint16(t))
}

// AppendValue appends the value that message, a pointer to a struct of this
// package, is, in schema version 0. Fields of a later one must not be set.
func AppendValue(dst []byte, message any) ([]byte, error) { return schema.Append(dst, message, 0) }
