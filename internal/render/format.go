// Package render prints rows as a table, JSON, JSON lines or CSV. It knows
// nothing of Kafka, and nothing else prints rows.
//
// One struct describes a row. Its col tags name the columns: base_offset in
// JSON and CSV, BASE-OFFSET in tables. Released names stay.
//
//	type batchRow struct {
//		Position   int64      `col:"position"`
//		BaseOffset int64      `col:"base_offset"`
//		Codec      batch.Codec `col:"codec"`       // a Stringer
//		Key        *string    `col:"key"`         // nil: null
//		internal   int        // no tag: no column; `col:"-"` for an exported field
//	}
//
// A column tagged "name,data" is for programs: JSON and CSV have it, tables, which
// a screen must hold, do not unless Options.Show names it. One tagged "name,multi" is
// in tables only if Options.Multi says that the rows come from several files.
//
// # Values
//
//	Go                            JSON                      CSV                  table
//	integers, floats, bool        number, true, false       as JSON              as JSON; numbers to the right
//	string, Stringer, TextMarshaler, error
//	                              string                    text                 text, see below
//	[]byte                        string, base64            base64               base64
//	time.Time                     string, RFC 3339, UTC, ms as JSON              as JSON
//	json.RawMessage               as it is, valid JSON      the JSON text        the JSON text
//	other slices, maps, structs, any
//	                              as encoding/json has it   the JSON text        the JSON text
//	nil, the zero time, NaN       null                      nothing              -
//	""                            ""                        ""                   ""
//
// In CSV null is an empty field and the empty string is a quoted one ("").
// In a table a text that could be taken for something else is quoted (the empty
// one, "-", one with a blank at either end or that starts with a quote); control
// characters, invisible ones and bytes that are not UTF-8 are written \xNN or
// \uNNNN, and a backslash of the value \\, so that no value can drive a terminal or
// look like two cells. JSON and CSV are UTF-8: a byte that is not becomes U+FFFD
// there, so binary values are columns of type []byte. CSV has no escapes: it
// holds control characters as they are.
package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
)

// A Format is how rows are printed, and the value of --output.
type Format int

const (
	Table     Format = iota // aligned columns for people
	JSON                    // one document: {"command":…,"schema_version":…,"rows":[…]}
	JSONLines               // one object a line
	CSV                     // RFC 4180 with a header, lines end in LF
)

// Formats are the values that --output takes.
var Formats = []string{"table", "json", "jsonl", "csv"}

func (f Format) String() string { return Formats[f] }

// ForPrograms reports whether the format is read by programs that can take rows
// of several kinds.
func (f Format) ForPrograms() bool { return f == JSON || f == JSONLines }

// Type is what pflag calls the type of the value.
func (f Format) Type() string { return "format" }

// Set implements pflag.Value.
func (f *Format) Set(s string) error {
	i := slices.Index(Formats, s)
	if i < 0 {
		return fmt.Errorf("must be one of %s", strings.Join(Formats, ", "))
	}
	*f = Format(i)
	return nil
}

// Flag adds --output, -o to cmd, with completion. The setting "output" is its
// default.
func Flag(cmd *cobra.Command, f *Format) {
	cmd.Flags().VarP(f, "output", "o", "output `format`: table, json, jsonl or csv")
	_ = cmd.RegisterFlagCompletionFunc("output", cli.Complete(Formats...)) // fails only for a flag that is not there
}
