package control

import (
	"kf/internal/format/schema"
	"kf/internal/wire"
)

// A KRaftVersionRecord sets kraft.version.
type KRaftVersionRecord struct {
	_            struct{} `kf:"v0,flex=0"`
	Version      int16    `kf:"version"` // which JSON is written as; readers ignore it
	KRaftVersion int16    `kf:"kRaftVersion"`
	Unknown      schema.Tags
}

// A LeaderChangeMessage starts the epoch of a leader. Nothing writes version 1.
type LeaderChangeMessage struct {
	_              struct{}            `kf:"v0-1,flex=0"`
	Version        int16               `kf:"version"` // which JSON is written as; readers ignore it
	LeaderID       int32               `kf:"leaderId"`
	Voters         []LeaderChangeVoter `kf:"voters"`
	GrantingVoters []LeaderChangeVoter `kf:"grantingVoters"`
	Unknown        schema.Tags
}

// A LeaderChangeVoter is a member of the quorum.
type LeaderChangeVoter struct {
	VoterID          int32     `kf:"voterId"`
	VoterDirectoryID wire.UUID `kf:"voterDirectoryId,v1+"`
	Unknown          schema.Tags
}

// A SnapshotFooterRecord ends a metadata snapshot.
type SnapshotFooterRecord struct {
	_       struct{} `kf:"v0,flex=0"`
	Version int16    `kf:"version"` // which JSON is written as; readers ignore it
	Unknown schema.Tags
}

// A SnapshotHeaderRecord starts a metadata snapshot.
type SnapshotHeaderRecord struct {
	_                         struct{} `kf:"v0,flex=0"`
	Version                   int16    `kf:"version"`                   // which JSON is written as; readers ignore it
	LastContainedLogTimestamp int64    `kf:"lastContainedLogTimestamp"` // ms since the Unix epoch
	Unknown                   schema.Tags
}

// A VotersRecord is the quorum under kraft.version 1.
type VotersRecord struct {
	_       struct{} `kf:"v0,flex=0"`
	Version int16    `kf:"version"` // which JSON is written as; readers ignore it
	Voters  []Voter  `kf:"voters"`
	Unknown schema.Tags
}

// A Voter is a member of it.
type Voter struct {
	VoterID             int32               `kf:"voterId"`
	VoterDirectoryID    wire.UUID           `kf:"voterDirectoryId"`
	Endpoints           []VoterEndpoint     `kf:"endpoints"`
	KRaftVersionFeature KRaftVersionFeature `kf:"kRaftVersionFeature"`
	Unknown             schema.Tags
}

// A VoterEndpoint is a listener of a voter.
type VoterEndpoint struct {
	Name    string `kf:"name"`
	Host    string `kf:"host"`
	Port    uint16 `kf:"port"`
	Unknown schema.Tags
}

// A KRaftVersionFeature is the kraft.version that a voter supports.
type KRaftVersionFeature struct {
	MinSupportedVersion int16 `kf:"minSupportedVersion"`
	MaxSupportedVersion int16 `kf:"maxSupportedVersion"`
	Unknown             schema.Tags
}
