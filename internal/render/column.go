package render

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A column appends one value of the row in the format that was chosen. The
// functions are made once, with pointers into the row that the writer keeps:
// printing a row needs no reflection.
type column struct {
	name   string
	right  bool // numbers are aligned to the right in tables
	append func(dst []byte) []byte
}

// A source is how the value of a column is read. One of the functions is set;
// false stands for null.
type source struct {
	number func(dst []byte) ([]byte, bool) // needs neither quotes nor escapes, except quotes in JSON if quoted
	quoted bool
	text   func() (string, bool)
	json   func() ([]byte, bool)
	value  Value
	right  bool // value is a number
}

// A Value is a column that prints itself: as JSON where that is asked for, else
// as text. It has pointer receivers. One with a method IsNumber() is aligned to
// the right in tables.
type Value interface {
	// AppendJSON appends one JSON value, on one line.
	AppendJSON(dst []byte) []byte
	// AppendText appends the text of a table cell or CSV field, before any
	// quoting or escaping; false stands for null.
	AppendText(dst []byte) ([]byte, bool)
}

// A Large value is one that would take too much memory printed as a whole.
type Large interface {
	Value
	// Pieces yields what AppendJSON or AppendText appends, piece by piece, if that is
	// a lot; else it reports false. A piece of text ends with a character, and is
	// valid only until the next one.
	Pieces(isJSON bool) (iter.Seq[[]byte], bool)
}

// maxCell is how much of a large value a cell of a table shows.
const maxCell = 1 << 20

// columns returns those of the struct v, which is addressable. Spill takes what was
// appended so far, if it is much, and returns where to go on.
func columns(v reflect.Value, f Format, opt Options, spill func([]byte) []byte) []column {
	var all []column
	for field, fv := range v.Fields() {
		tag, tagged := field.Tag.Lookup("col")
		name, option, _ := strings.Cut(tag, ",")
		hidden := option == "data" && !slices.Contains(opt.Show, name) || option == "multi" && !opt.Multi
		switch {
		case field.Anonymous && !tagged && field.Type.Kind() == reflect.Struct:
			all = append(all, columns(fv, f, opt, spill)...)
			continue
		case name == "-" || !tagged && !field.IsExported():
			continue
		case name == "" || !field.IsExported():
			panic(fmt.Sprintf("render: field %s of %s needs to be exported with a col tag", field.Name, v.Type()))
		case option != "" && option != "data" && option != "multi":
			panic(fmt.Sprintf("render: field %s of %s: unknown option %q", field.Name, v.Type(), option))
		case f == Table && hidden:
			continue
		}
		src := sourceOf(fv)
		all = append(all, column{
			name:   name,
			right:  src.right || src.number != nil && !src.quoted && fv.Kind() != reflect.Bool,
			append: src.in(f, spill),
		})
	}
	return all
}

// in returns the function that appends the value in format f.
func (src source) in(f Format, spill func([]byte) []byte) func(dst []byte) []byte {
	small := src.whole(f)
	large, ok := src.value.(Large)
	if !ok {
		return small
	}
	isJSON := f == JSON || f == JSONLines
	return func(dst []byte) []byte {
		pieces, ok := large.Pieces(isJSON)
		switch {
		case !ok:
			return small(dst)
		case f == Table:
			return appendCut(dst, pieces)
		case isJSON:
			for p := range pieces {
				dst = spill(append(dst, p...))
			}
			return dst
		}
		dst = append(dst, '"')
		for p := range pieces {
			if !validUTF8(p) {
				p = []byte(string([]rune(string(p))))
			}
			dst = spill(appendQuotes(dst, p))
		}
		return append(dst, '"')
	}
}

// appendCut appends the start of a large text as a cell of a table.
func appendCut(dst []byte, pieces iter.Seq[[]byte]) []byte {
	var text []byte
	for p := range pieces {
		if len(text)+len(p) > maxCell {
			text = append(text, "…"...)
			break
		}
		text = append(text, p...)
	}
	return appendCell(dst, string(text), false)
}

// whole returns the function that appends the value at once.
func (src source) whole(f Format) func(dst []byte) []byte {
	null := map[Format]string{Table: "-", JSON: "null", JSONLines: "null", CSV: ""}[f]
	isJSON := f == JSON || f == JSONLines
	switch {
	case src.number != nil && src.quoted && isJSON:
		return func(dst []byte) []byte {
			start := len(dst)
			out, ok := src.number(append(dst, '"'))
			if !ok {
				return append(dst[:start], null...)
			}
			return append(out, '"')
		}
	case src.number != nil:
		return func(dst []byte) []byte {
			start := len(dst)
			out, ok := src.number(dst)
			switch {
			case !ok:
				return append(dst[:start], null...)
			case len(out) == start: // base64 of no bytes
				return append(out, '"', '"')
			}
			return out
		}
	case src.text != nil:
		return func(dst []byte) []byte {
			s, ok := src.text()
			switch {
			case !ok:
				return append(dst, null...)
			case isJSON:
				return AppendJSON(dst, s)
			case f == CSV:
				return appendCSV(dst, s)
			}
			return appendCell(dst, s, false)
		}
	case src.value != nil && isJSON:
		return src.value.AppendJSON
	case src.value != nil:
		var text []byte
		return func(dst []byte) []byte {
			var ok bool
			switch text, ok = src.value.AppendText(text[:0]); {
			case !ok:
				return append(dst, null...)
			case f == CSV:
				return appendCSV(dst, text)
			}
			return appendCell(dst, text, false)
		}
	}
	return func(dst []byte) []byte {
		p, ok := src.json()
		switch {
		case !ok:
			return append(dst, null...)
		case isJSON:
			return append(dst, p...)
		case f == CSV:
			return appendCSV(dst, p)
		}
		return appendCell(dst, p, true)
	}
}

// sourceOf returns how to read v, which is addressable and stays where it is.
func sourceOf(v reflect.Value) source {
	t := v.Type()
	switch p := v.Addr().Interface().(type) {
	case Value:
		_, number := p.(interface{ IsNumber() })
		return source{value: p, right: number}
	case *json.RawMessage:
		return source{json: func() ([]byte, bool) { return oneLine(*p), len(*p) > 0 }}
	case *time.Time:
		return source{quoted: true, number: func(dst []byte) ([]byte, bool) {
			return p.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z07:00"), !p.IsZero()
		}}
	case *[]byte:
		return source{quoted: true, number: func(dst []byte) ([]byte, bool) {
			return base64.StdEncoding.AppendEncode(dst, *p), *p != nil
		}}
	case *error:
		return source{text: func() (string, bool) {
			if *p == nil {
				return "", false
			}
			return (*p).Error(), true
		}}
	case *any:
		return source{json: func() ([]byte, bool) { return marshal(*p), *p != nil }}
	}
	if t.Kind() == reflect.Pointer {
		return pointerSource(v)
	}
	// The pointer has the methods of the value too, and calling them allocates nothing.
	switch p := v.Addr().Interface().(type) {
	case encoding.TextMarshaler:
		return source{text: func() (string, bool) {
			text, err := p.MarshalText()
			return string(text), err == nil
		}}
	case fmt.Stringer:
		return source{text: func() (string, bool) { return p.String(), true }}
	}
	switch t.Kind() {
	case reflect.String:
		p := v.Addr().Convert(reflect.TypeFor[*string]()).Interface().(*string)
		return source{text: func() (string, bool) { return *p, true }}
	case reflect.Bool:
		p := v.Addr().Convert(reflect.TypeFor[*bool]()).Interface().(*bool)
		return source{number: func(dst []byte) ([]byte, bool) { return strconv.AppendBool(dst, *p), true }}
	case reflect.Int:
		return signed[int](v)
	case reflect.Int8:
		return signed[int8](v)
	case reflect.Int16:
		return signed[int16](v)
	case reflect.Int32:
		return signed[int32](v)
	case reflect.Int64:
		return signed[int64](v)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return source{number: func(dst []byte) ([]byte, bool) { return strconv.AppendUint(dst, v.Uint(), 10), true }}
	case reflect.Float32, reflect.Float64:
		bits := t.Bits()
		return source{number: func(dst []byte) ([]byte, bool) { return appendFloat(dst, v.Float(), bits) }}
	case reflect.Slice, reflect.Map:
		return source{json: func() ([]byte, bool) { return marshal(v.Interface()), !v.IsNil() }}
	case reflect.Array, reflect.Struct:
		return source{json: func() ([]byte, bool) { return marshal(v.Addr().Interface()), true }}
	}
	panic(fmt.Sprintf("render: no column can be of type %s", t))
}

func signed[T int | int8 | int16 | int32 | int64](v reflect.Value) source {
	p := v.Addr().Convert(reflect.TypeFor[*T]()).Interface().(*T)
	return source{number: func(dst []byte) ([]byte, bool) { return strconv.AppendInt(dst, int64(*p), 10), true }}
}

// pointerSource reads what the pointer v points to, from a copy that stays in
// one place.
func pointerSource(v reflect.Value) source {
	target := reflect.New(v.Type().Elem()).Elem()
	load := func() bool {
		if v.IsNil() {
			return false
		}
		target.Set(v.Elem())
		return true
	}
	src := sourceOf(target)
	out := source{quoted: src.quoted}
	switch {
	case src.number != nil:
		out.number = func(dst []byte) ([]byte, bool) {
			if !load() {
				return dst, false
			}
			return src.number(dst)
		}
	case src.text != nil:
		out.text = func() (string, bool) {
			if !load() {
				return "", false
			}
			return src.text()
		}
	default:
		out.json = func() ([]byte, bool) {
			if !load() {
				return nil, false
			}
			return src.json()
		}
	}
	return out
}

// appendFloat appends f as encoding/json would; what JSON does not know is null.
func appendFloat(dst []byte, f float64, bits int) ([]byte, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, false
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, bits), true
}

// marshal returns v as JSON on one line; what cannot be JSON is an error of
// the programmer.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("render: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// oneLine returns valid JSON without line feeds, which can only be between its
// tokens.
func oneLine(p []byte) []byte {
	if bytes.IndexByte(p, '\n') < 0 && bytes.IndexByte(p, '\r') < 0 {
		return p
	}
	var b bytes.Buffer
	if err := json.Compact(&b, p); err != nil {
		panic(fmt.Sprintf("render: a json.RawMessage: %v", err))
	}
	return b.Bytes()
}

// heading returns the name of a column in tables: base_offset is BASE-OFFSET.
func heading(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "_", "-")) }
