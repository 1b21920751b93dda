package render

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

const (
	heldRows  = 1000    // a table of up to so many rows is laid out as a whole
	heldBytes = 1 << 20 // … if its cells take no more than this
	maxWidth  = 64      // a longer cell of a larger table pushes the rest of its line to the right
	gap       = 2       // blanks between columns
)

// A table lays out rows. Small ones go through tablewriter, which holds all
// cells; beyond that, and for live output, each line is padded by itself, with
// the widths seen so far: memory does not grow with the rows.
type table struct {
	cols   []column
	opt    Options
	header []string
	width  []int // of the widest cell seen, in columns of the terminal
	held   [][]string
	bytes  int
	stream bool // lines are padded as they come, …
	limit  int  // … up to this width
	cell   []byte
}

func newTable(cols []column, opt Options) *table {
	t := &table{cols: cols, opt: opt}
	for _, c := range cols {
		t.header = append(t.header, heading(c.name))
	}
	return t
}

// begin starts with no rows; the headings come with the first line that is
// laid out.
func (t *table) begin() {
	t.width = make([]int, len(t.cols))
	for i, h := range t.header {
		t.width[i] = displayWidth(h)
	}
	t.held, t.bytes, t.stream, t.limit = nil, 0, false, maxWidth
}

// row appends the current row to dst, or holds it back.
func (t *table) row(dst []byte) []byte {
	cells := make([]string, len(t.cols))
	for i, c := range t.cols {
		t.cell = c.append(t.cell[:0])
		cells[i] = string(t.cell)
		t.bytes += len(t.cell)
		t.width[i] = max(t.width[i], displayWidth(cells[i]))
	}
	switch {
	case t.opt.Upright:
		return t.upright(dst, cells)
	case t.stream:
		return t.line(dst, cells)
	}
	t.held = append(t.held, cells)
	if len(t.held) > heldRows || t.bytes > heldBytes || t.opt.Live {
		dst = t.pour(dst)
	}
	return dst
}

// upright appends a row as lines of heading and cell.
func (t *table) upright(dst []byte, cells []string) []byte {
	if t.stream = true; len(t.held) > 0 {
		dst = append(dst, '\n')
	}
	t.held = [][]string{cells}
	width := 0
	for _, h := range t.header {
		width = max(width, displayWidth(h))
	}
	for i, cell := range cells {
		start := len(dst)
		dst = appendBlanks(append(dst, t.header[i]...), width+gap-displayWidth(t.header[i]))
		dst = append(append(dst, cell...), '\n')
		if t.opt.Color {
			dst = slices.Insert(dst, start+len(t.header[i]), []byte("\x1b[0m")...)
			dst = slices.Insert(dst, start, []byte("\x1b[1m")...)
		}
	}
	return dst
}

// pour appends what is held and goes on with single lines.
func (t *table) pour(dst []byte) []byte {
	t.stream = true
	for i := range t.width {
		t.width[i] = min(t.width[i], max(t.limit, displayWidth(t.header[i])))
	}
	start := len(dst)
	dst = t.highlight(t.line(dst, t.header), start)
	for _, cells := range t.held {
		dst = t.line(dst, cells)
	}
	t.held = nil
	return dst
}

// line appends cells, padded.
func (t *table) line(dst []byte, cells []string) []byte {
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, "  "...)
		}
		t.width[i] = min(t.width[i], max(t.limit, len(t.header[i])))
		pad := t.width[i] - displayWidth(cell)
		if t.cols[i].right {
			dst = appendBlanks(dst, pad)
		}
		dst = append(dst, cell...)
		if !t.cols[i].right && i < len(cells)-1 {
			dst = appendBlanks(dst, pad)
		}
	}
	return append(dst, '\n')
}

func appendBlanks(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, ' ')
	}
	return dst
}

// end appends what is held back.
func (t *table) end(dst []byte) []byte {
	if t.stream {
		return dst
	}
	// One long cell must not widen a thousand lines. In the last column it widens none.
	last := len(t.width) - 1
	switch widest := slices.Max(append(t.width[:last:last], 0)); {
	case widest > 4*maxWidth:
		return t.pour(dst)
	case t.width[last] > 4*maxWidth && !t.cols[last].right:
		t.limit = 4 * maxWidth
		return t.pour(dst)
	}
	start := len(dst)
	dst = append(dst, t.layout()...)
	t.held = nil
	return t.highlight(dst, start)
}

// layout returns the held rows as tablewriter prints them, without the blanks
// at the end of lines.
func (t *table) layout() []byte {
	align := make(tw.Alignment, len(t.cols))
	for i, c := range t.cols {
		align[i] = tw.AlignLeft
		if c.right {
			align[i] = tw.AlignRight
		}
	}
	cell := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Padding:    tw.CellPadding{Global: tw.Padding{Right: "  ", Overwrite: true}},
		Alignment:  tw.CellAlignment{PerColumn: align},
	}
	var b bytes.Buffer
	tbl := tablewriter.NewTable(&b,
		tablewriter.WithConfig(tablewriter.Config{
			Header:   cell,
			Row:      cell,
			Behavior: tw.Behavior{TrimSpace: tw.Off, TrimTab: tw.Off, TrimLine: tw.Off},
		}),
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Settings: tw.Settings{
				Lines:      tw.LinesNone,
				Separators: tw.SeparatorsNone,
			},
		})),
	)
	tbl.Header(t.header)
	if err := tbl.Bulk(t.held); err != nil {
		panic("render: " + err.Error()) // cells are strings, as many as headings
	}
	if err := tbl.Render(); err != nil {
		panic("render: " + err.Error()) // b takes everything
	}
	var dst []byte
	for line := range bytes.Lines(b.Bytes()) {
		dst = append(dst, bytes.TrimRight(line, " \n")...)
		dst = append(dst, '\n')
	}
	return dst
}

// highlight makes the line of headings at start bold, if colours are allowed.
func (t *table) highlight(dst []byte, start int) []byte {
	if !t.opt.Color {
		return dst
	}
	end := start + bytes.IndexByte(dst[start:], '\n')
	rest := append([]byte("\x1b[0m"), dst[end:]...)
	dst = append(dst[:start], append([]byte("\x1b[1m"), dst[start:end]...)...)
	return append(dst, rest...)
}

// displayWidth returns how many columns of a terminal s takes.
func displayWidth(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return twwidth.Width(s)
		}
	}
	return len(s)
}
