package resetplan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"
)

// A Plan is what a file written by "kf groups reset --plan" holds: moves of one
// cluster, with all that is needed to take them back.
type Plan struct {
	Format    string    `json:"format"` // Format
	Version   int       `json:"version"`
	ClusterID string    `json:"cluster_id"`
	Created   time.Time `json:"created"`
	Scenario  string    `json:"scenario"` // in words, for people
	Groups    []Group   `json:"groups"`
}

// What a plan says of itself. Version rises when older versions of kf would misread it.
const (
	Format  = "kf groups reset plan"
	Version = 1
)

// A Group is the part of a plan that is done as a whole.
type Group struct {
	Group      string  `json:"group"`
	Type       string  `json:"type"` // "classic", "consumer", "share", "streams"; "" if there was no such group
	Partitions []Saved `json:"partitions"`
}

// A Saved move is one of a file. Old and New hold nil where there is no commit.
type Saved struct {
	Topic     string     `json:"topic"`
	TopicID   string     `json:"topic_id,omitempty"` // base64
	Partition int32      `json:"partition"`
	Old       CommitOrNo `json:"old"`
	New       CommitOrNo `json:"new"`
}

// A CommitOrNo is a commit, or null in JSON. It cannot be left out of a file: that null
// takes a commit away should be written by who means it.
type CommitOrNo struct {
	*Commit
	written bool
}

// MarshalJSON implements json.Marshaler.
func (c CommitOrNo) MarshalJSON() ([]byte, error) { return json.Marshal(c.Commit) }

// UnmarshalJSON implements json.Unmarshaler.
func (c *CommitOrNo) UnmarshalJSON(p []byte) error {
	c.written, c.Commit = true, nil
	if string(p) == "null" {
		return nil
	}
	read := struct {
		Offset      *int64 `json:"offset"`
		LeaderEpoch *int32 `json:"leader_epoch"`
		Metadata    string `json:"metadata"`
	}{}
	if err := strict(p, &read); err != nil {
		return err
	}
	if read.Offset == nil || *read.Offset < 0 {
		return errors.New("an offset that is 0 or more is missing")
	}
	c.Commit = &Commit{Offset: *read.Offset, LeaderEpoch: -1, Metadata: read.Metadata}
	if read.LeaderEpoch != nil {
		c.LeaderEpoch = *read.LeaderEpoch
	}
	if c.LeaderEpoch < -1 {
		return fmt.Errorf("%d is no leader epoch", c.LeaderEpoch)
	}
	return nil
}

// strict decodes p, which is one JSON value, and refuses names that v does not have.
func strict(p []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(p))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// IsPlan reports whether a file is a [Plan] rather than CSV.
func IsPlan(p []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(p, []byte("\xef\xbb\xbf")), " \t\r\n"), []byte("{"))
}

// Encode returns the plan as a file. It fails if a text is not UTF-8, for JSON would
// give back another one.
func (pl *Plan) Encode() ([]byte, error) {
	pl.Format, pl.Version = Format, Version
	for _, g := range pl.Groups {
		sound := utf8.ValidString(g.Group)
		for _, s := range g.Partitions {
			sound = sound && utf8.ValidString(s.Topic)
			for _, c := range []CommitOrNo{s.Old, s.New} {
				sound = sound && (c.Commit == nil || utf8.ValidString(c.Metadata))
			}
		}
		if !sound {
			return nil, fmt.Errorf("group %q: a plan cannot hold names or metadata that are not UTF-8", g.Group)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(pl)
	return b.Bytes(), err
}

// Decode reads a plan. The error says where it is wrong.
func Decode(p []byte) (*Plan, error) {
	p = bytes.TrimPrefix(p, []byte("\xef\xbb\xbf"))
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(p, &head); err != nil {
		return nil, placed(p, err)
	}
	switch {
	case head.Format != Format:
		return nil, fmt.Errorf("no plan of kf groups reset: its format is %q", head.Format)
	case head.Version != Version:
		return nil, fmt.Errorf("a plan of version %d, and this kf knows version %d", head.Version, Version)
	}
	pl := new(Plan)
	if err := strict(p, pl); err != nil {
		return nil, placed(p, err)
	}
	return pl, pl.check()
}

func (pl *Plan) check() error {
	if pl.ClusterID == "" {
		return errors.New("the plan names no cluster_id")
	}
	groups := make(map[string]bool)
	for _, g := range pl.Groups {
		if g.Group == "" || groups[g.Group] {
			return fmt.Errorf("group %q: no name, or the group comes twice", g.Group)
		}
		groups[g.Group] = true
		seen := make(map[TopicPartition]bool)
		for _, s := range g.Partitions {
			p := TopicPartition{s.Topic, s.Partition}
			switch {
			case s.Topic == "" || s.Partition < 0:
				return fmt.Errorf("group %q: %s is no partition", g.Group, p)
			case seen[p]:
				return fmt.Errorf("group %q: %s comes twice", g.Group, p)
			case !s.Old.written || !s.New.written:
				return fmt.Errorf("group %q: %s: \"old\" or \"new\" is missing", g.Group, p)
			}
			seen[p] = true
		}
	}
	return nil
}

// placed adds line and column to an error of encoding/json that knows its place.
func placed(p []byte, err error) error {
	at := int64(-1)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = e.Offset
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at = e.Offset
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		at = int64(len(p))
	}
	if at < 0 || at > int64(len(p)) {
		return err
	}
	before := p[:at]
	line := bytes.Count(before, []byte("\n")) + 1
	return fmt.Errorf("line %d, column %d: %w", line, max(1, len(before)-bytes.LastIndexByte(before, '\n')-1), err)
}
