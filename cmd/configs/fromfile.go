package configs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"kf/internal/client"
	"kf/internal/format/metaprops"
)

// maxFile is how large a file of changes may be.
const maxFile = 16 << 20

// A fileChange is a key that a file sets, for an entity if the file names one.
type fileChange struct {
	entity string // "" in properties
	change change
}

// readChanges reads a file of changes: properties, or rows that describe wrote as json
// or jsonl. Of rows those count that were set for the entity itself; what could not be
// set from a row is told by skip.
func readChanges(name string, in io.Reader, skip func(format string, a ...any)) ([]fileChange, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(text) > maxFile:
		return nil, fmt.Errorf("%s: larger than %d bytes: describe without --all, or fewer entities", name, maxFile)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		return readRows(name, trimmed, skip)
	}
	pairs, err := metaprops.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var all []fileChange
	for _, p := range pairs {
		all = append(all, fileChange{change: change{key: p.Key, value: p.Value, from: fmt.Sprintf("%s: line %d:", name, p.Line)}})
	}
	return all, nil
}

// A fileRow is what readRows needs of a row of describe.
type fileRow struct {
	Entity    string  `json:"entity"`
	Key       string  `json:"key"`
	Value     *string `json:"value"`
	Source    string  `json:"source"`
	Sensitive bool    `json:"sensitive"`
	ReadOnly  bool    `json:"read_only"`
}

// A fileDocument is a row, or a document of rows.
type fileDocument struct {
	Command string    `json:"command"`
	Rows    []fileRow `json:"rows"`
	fileRow
}

func readRows(name string, text []byte, skip func(format string, a ...any)) ([]fileChange, error) {
	var all []fileChange
	in := json.NewDecoder(bytes.NewReader(text))
	for n := 1; ; n++ {
		var doc fileDocument
		switch err := in.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: byte %d: %w", name, in.InputOffset(), err)
		}
		rows := doc.Rows
		if doc.Command == "" && doc.Rows == nil {
			rows = []fileRow{doc.fileRow}
		}
		for i, r := range rows {
			where := fmt.Sprintf("%s: row %d:", name, max(n, i+1))
			e, err := parseEntity(r.Entity)
			switch {
			case err != nil:
				return nil, fmt.Errorf("%s %w", where, err)
			case r.Key == "":
				return nil, fmt.Errorf("%s it has no key", where)
			case !r.own(e): // inherited: it is to be inherited again
			case r.Sensitive:
				skip("%s %s: left out: %s is a secret, which the file does not hold", where, e, r.Key)
			case r.ReadOnly:
				skip("%s %s: left out: %s cannot be changed while a broker runs", where, e, r.Key)
			case r.Value == nil:
				skip("%s %s: left out: %s has no value", where, e, r.Key)
			default:
				all = append(all, fileChange{e.String(), change{op: client.SetConfig, key: r.Key, value: *r.Value, from: where}})
			}
		}
	}
}

// own says whether the row is about what was set for the entity itself.
func (r *fileRow) own(e Entity) bool {
	if e.kind.resource == 0 {
		return r.Source == e.String()
	}
	return r.Source == e.source().String()
}
