// Package quorumstate reads and writes quorum-state, in which a node keeps the
// epoch, leader and vote of the metadata quorum. It is one line of JSON without
// a line end, in one of two versions:
//
//	{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}
//	{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":1}
//
//	field             versions  meaning
//	clusterId         0         always written empty
//	leaderId          0-1       -1 if unknown
//	leaderEpoch       0-1       current epoch
//	votedId           0-1       -1 if no vote was given
//	votedDirectoryId  1         directory id of the voter, zero uuid if none
//	appliedOffset     0         always 0
//	currentVoters     0         for information only
//	data_version      0-1       0 with kraft.version 0, 1 with 1; read either way
//
// Only the first line of the file is read. Every field of the version must be
// there; others are ignored, as is what follows the object. A file that cannot
// be read stops the node.
//
// Source: Kafka 4.4.0, FileQuorumStateStore.java and QuorumStateData.json, and
// runs of its reader. Not followed: it cuts data_version to 16 bits, so that
// 65537 is 1, and takes text for 0.
package quorumstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"kf/internal/format/textlines"
	"kf/internal/wire"
)

// The versions that exist.
const (
	Version0 = 0
	Version1 = 1
)

// The ways a file can be damaged; match with errors.Is.
var (
	ErrEmpty   = errors.New("first line is empty")
	ErrJSON    = errors.New("first line is not a JSON object")
	ErrVersion = errors.New("unknown data_version")
	ErrField   = errors.New("field missing or malformed")
)

// A State is the content of a file. Fields that its version does not have are
// zero.
type State struct {
	Version          int16 // data_version
	ClusterID        string
	LeaderID         int32 // -1 if unknown
	LeaderEpoch      int32
	VotedID          int32 // -1 if no vote was given
	VotedDirectoryID wire.UUID
	AppliedOffset    int64
	CurrentVoters    []int32 // node ids
}

// Decode decodes the file p.
func Decode(p []byte) (State, error) {
	var line []byte
	for line = range textlines.Lines(p) {
		break
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return State{}, ErrEmpty
	}
	var fields map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(line)).Decode(&fields); err != nil {
		return State{}, fmt.Errorf("%w: %w", ErrJSON, err)
	}
	d := &decoder{fields: fields}
	version := get[int64](d, "data_version")
	switch {
	case d.err != nil:
		return State{}, d.err
	case version != Version0 && version != Version1:
		return State{}, fmt.Errorf("%w %d, want %d or %d", ErrVersion, version, Version0, Version1)
	}
	s := State{
		Version:     int16(version),
		LeaderID:    get[int32](d, "leaderId"),
		LeaderEpoch: get[int32](d, "leaderEpoch"),
		VotedID:     get[int32](d, "votedId"),
	}
	if version == Version0 {
		s.ClusterID = get[string](d, "clusterId")
		s.AppliedOffset = get[int64](d, "appliedOffset")
		s.CurrentVoters = voters(d)
		return s, d.err
	}
	text := get[string](d, "votedDirectoryId")
	if d.err != nil {
		return s, d.err
	}
	var err error
	if s.VotedDirectoryID, err = wire.ParseUUID(text); err != nil {
		return s, fmt.Errorf("%w: votedDirectoryId: no uuid: %d characters", ErrField, len(text))
	}
	return s, nil
}

// A decoder keeps the first failure.
type decoder struct {
	fields map[string]json.RawMessage
	err    error
}

// get returns a mandatory field. Unlike json.Unmarshal it minds case, and does
// not take null for a zero value.
func get[T any](d *decoder, name string) T {
	v := new(T)
	raw, ok := d.fields[name]
	switch {
	case d.err != nil:
		return *v
	case !ok:
		d.err = fmt.Errorf("%w: no %s", ErrField, name)
		return *v
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		d.err = fmt.Errorf("%w: %s: %w", ErrField, name, err)
	} else if v == nil {
		d.err = fmt.Errorf("%w: %s is null", ErrField, name)
	}
	if d.err != nil {
		return *new(T)
	}
	return *v
}

func voters(d *decoder) []int32 {
	var ids []int32
	for _, fields := range get[[]map[string]json.RawMessage](d, "currentVoters") {
		voter := decoder{fields: fields}
		ids = append(ids, get[int32](&voter, "voterId"))
		if d.err == nil && voter.err != nil {
			d.err = fmt.Errorf("currentVoters: %w", voter.err)
		}
	}
	return ids
}

// Append appends the file to dst, in the version of s. It fails with ErrVersion
// if there is none such.
func Append(dst []byte, s State) ([]byte, error) {
	switch s.Version {
	case Version0:
		clusterID, err := json.Marshal(s.ClusterID)
		if err != nil {
			return dst, err
		}
		dst = fmt.Appendf(dst, `{"clusterId":%s,"leaderId":%d,"leaderEpoch":%d,"votedId":%d,"appliedOffset":%d,"currentVoters":[`,
			clusterID, s.LeaderID, s.LeaderEpoch, s.VotedID, s.AppliedOffset)
		for i, id := range s.CurrentVoters {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = fmt.Appendf(dst, `{"voterId":%d}`, id)
		}
		return append(dst, `],"data_version":0}`...), nil
	case Version1:
		return fmt.Appendf(dst, `{"leaderId":%d,"leaderEpoch":%d,"votedId":%d,"votedDirectoryId":"%s","data_version":1}`,
			s.LeaderID, s.LeaderEpoch, s.VotedID, s.VotedDirectoryID), nil
	}
	return dst, fmt.Errorf("%w %d, want %d or %d", ErrVersion, s.Version, Version0, Version1)
}
