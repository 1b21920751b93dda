package render

import (
	"errors"
	"io"
	"reflect"
	"strconv"
)

// ErrMixed says that rows of two kinds cannot share a CSV file.
var ErrMixed = errors.New("rows of different kinds do not fit one CSV header: choose files of one kind, or -o jsonl")

// bufferSize is how many bytes of finished rows wait for one write.
const bufferSize = 64 << 10

// Options are the inputs of [New] and [Open] besides the format.
type Options struct {
	Command string // in the JSON document: "dump", "groups lag"
	Schema  int    // version of the rows in it; 0 is 1
	Multi   bool   // the rows come from several files: tables show the columns tagged multi
	Color   bool   // headings of tables stand out; see cli.Env.ColorStdout
	Upright bool   // a table has a line for each column of a row: for one row with many
	Live    bool   // every row is written at once, for output that is watched as it grows

	Show []string // columns tagged data that tables show this time
}

// An Output is one document, which may hold rows of several kinds: see [Rows].
// It is not safe for concurrent use.
type Output struct {
	w       io.Writer
	format  Format
	opt     Options
	buf     []byte
	err     error // the first that a write met; nothing is written after it
	told    bool  // err has been returned
	rows    int64
	first   section // what stands for the columns of an empty output
	current section
	closed  bool
}

// A section is a Writer without its type parameter.
type section interface {
	begin() // appends what stands before the rows
	end()   // appends what is held back
}

// Open starts a document on w. Nothing is written before the first row, or
// Close.
func Open(w io.Writer, f Format, opt Options) *Output {
	if opt.Schema == 0 {
		opt.Schema = 1
	}
	return &Output{w: w, format: f, opt: opt}
}

// A Writer prints rows of type T, a struct with col tags.
type Writer[T any] struct {
	out   *Output
	row   *T
	cols  []column
	keys  []string // in JSON: what stands before the value
	table *table
	owner bool // Close closes out
}

// New starts a document on w whose rows are all of type T.
func New[T any](w io.Writer, f Format, opt Options) *Writer[T] {
	rows := Rows[T](Open(w, f, opt))
	rows.owner = true
	return rows
}

// Rows returns the writer of the rows of type T in out. Rows of several types
// may follow each other: JSON and JSON lines hold them as they come, so they
// should have a column that tells them apart; a table starts anew with its own
// headings; in CSV the second type fails with [ErrMixed].
func Rows[T any](out *Output) *Writer[T] {
	w := &Writer[T]{out: out, row: new(T)}
	w.cols = columns(reflect.ValueOf(w.row).Elem(), out.format, out.opt, out.spill)
	for i, c := range w.cols {
		key := ","
		if i == 0 {
			key = "{"
		}
		w.keys = append(w.keys, key+strconv.Quote(c.name)+":")
	}
	if out.format == Table {
		w.table = newTable(w.cols, out.opt)
	}
	if out.first == nil {
		out.first = w
	}
	return w
}

// Write prints one row. The error is that of the writer underneath, the same
// one again and again once there was one: a command may stop at the first.
func (w *Writer[T]) Write(row T) error {
	out := w.out
	if out.current != section(w) && out.err == nil {
		out.enter(w)
	}
	if out.err != nil {
		out.told = true
		return out.err
	}
	*w.row = row
	switch out.format {
	case Table:
		out.buf = w.table.row(out.buf)
	case CSV:
		for i, c := range w.cols {
			if i > 0 {
				out.buf = append(out.buf, ',')
			}
			out.buf = c.append(out.buf)
		}
		out.buf = append(out.buf, '\n')
	default:
		if out.format == JSON && out.rows > 0 {
			out.buf = append(out.buf, ",\n"...)
		}
		for i, c := range w.cols {
			out.buf = append(out.buf, w.keys[i]...)
			out.buf = c.append(out.buf)
		}
		out.buf = append(out.buf, '}')
		if out.format == JSONLines {
			out.buf = append(out.buf, '\n')
		}
	}
	out.rows++
	if len(out.buf) >= bufferSize || out.opt.Live || out.err != nil {
		return out.flush()
	}
	return nil
}

// spill writes p, the start of a row, if it is much.
func (out *Output) spill(p []byte) []byte {
	if len(p) < bufferSize {
		return p
	}
	if out.err == nil {
		_, out.err = out.w.Write(p)
	}
	return p[:0]
}

// Expect makes the rows of w those whose headings stand for an output without
// any row.
func (w *Writer[T]) Expect() { w.out.first = w }

// Close ends the document, also after an error of the command, so that it is
// whole. It is for a Writer from [New]; one from [Rows] ends with its Output.
func (w *Writer[T]) Close() error {
	if !w.owner {
		return nil
	}
	return w.out.Close()
}

func (w *Writer[T]) begin() {
	out := w.out
	switch out.format {
	case Table:
		w.table.begin()
	case CSV:
		for i, c := range w.cols {
			if i > 0 {
				out.buf = append(out.buf, ',')
			}
			out.buf = append(out.buf, c.name...)
		}
		out.buf = append(out.buf, '\n')
	}
}

func (w *Writer[T]) end() {
	if w.table != nil {
		w.out.buf = w.table.end(w.out.buf)
	}
}

// enter makes s the section that rows are written to.
func (out *Output) enter(s section) {
	switch {
	case out.current == nil && out.format == JSON:
		out.buf = append(out.buf, `{"command":`...)
		out.buf = AppendJSON(out.buf, out.opt.Command)
		out.buf = append(out.buf, `,"schema_version":`...)
		out.buf = strconv.AppendInt(out.buf, int64(out.opt.Schema), 10)
		out.buf = append(out.buf, `,"rows":[`...)
		out.buf = append(out.buf, '\n')
	case out.current != nil && out.format == CSV:
		out.err = ErrMixed
		return
	case out.current != nil:
		out.current.end()
		if out.format == Table {
			out.buf = append(out.buf, '\n')
		}
	}
	out.current = s
	s.begin()
}

// Count returns how many rows were written.
func (out *Output) Count() int64 { return out.rows }

// Flush writes what is waiting in memory. Rows of a table that are held back
// to find the widths of the columns stay.
func (out *Output) Flush() error { return out.flush() }

// Close ends the document, also after an error of the command, so that it is
// whole. It returns the error of the writer underneath unless a Write has
// returned it already; more calls do nothing.
func (out *Output) Close() error {
	if out.closed {
		return nil
	}
	out.closed = true
	if out.current == nil && out.first != nil {
		out.enter(out.first) // headings, or an empty list, rather than nothing
	}
	if errors.Is(out.err, ErrMixed) { // the rows before it are sound
		out.err = nil
	}
	if out.current != nil {
		out.current.end()
		if out.format == JSON {
			if out.rows > 0 {
				out.buf = append(out.buf, '\n')
			}
			out.buf = append(out.buf, "]}\n"...)
		}
	}
	if out.told && out.err != nil {
		return nil
	}
	return out.flush()
}

func (out *Output) flush() error {
	if out.err == nil && len(out.buf) > 0 {
		_, out.err = out.w.Write(out.buf)
	}
	out.buf = out.buf[:0]
	if out.err != nil {
		out.told = true
	}
	return out.err
}
