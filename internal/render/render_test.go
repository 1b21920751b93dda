package render_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"kf/internal/render"
)

type codec int8

func (c codec) String() string { return [...]string{"none", "gzip"}[c] }

type place struct {
	Topic     string `col:"topic"`
	Partition int32  `col:"partition"`
}

type row struct {
	place
	BaseOffset int64           `col:"base_offset"`
	Codec      codec           `col:"codec"`
	Sound      bool            `col:"sound"`
	Key        *string         `col:"key"`
	Raw        []byte          `col:"raw"`
	Time       time.Time       `col:"time"`
	Epoch      *int16          `col:"epoch"`
	Headers    json.RawMessage `col:"headers"`
	ISR        []int32         `col:"isr"`
	Ratio      float64         `col:"ratio"`
	Err        error           `col:"error"`
	Any        any             `col:"any"`
}

var rows = []row{
	{
		place:      place{"orders", 3},
		BaseOffset: 107, Codec: 1, Sound: true, Key: new(`a,"b"`), Raw: []byte{0, 0xff},
		Time:  time.Date(2026, 8, 6, 22, 0, 0, 123456789, time.FixedZone("", 7200)),
		Epoch: new(int16(-1)), Headers: json.RawMessage("{\n \"h\": \"\\u001b\"\n}"), ISR: []int32{1, 2},
		Ratio: 0.25, Err: errors.New("checksum mismatch"), Any: map[string]int{"a": 1},
	},
	{Key: new(""), Raw: []byte{}, Ratio: math.NaN(), ISR: []int32{}},
	{},
}

func print[T any](t *testing.T, f render.Format, opt render.Options, rows ...T) string {
	t.Helper()
	var b strings.Builder
	w := render.New[T](&b, f, opt)
	for _, r := range rows {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFormats(t *testing.T) {
	for f, want := range map[render.Format]string{
		render.JSON: `{"command":"dump","schema_version":1,"rows":[
{"topic":"orders","partition":3,"base_offset":107,"codec":"gzip","sound":true,"key":"a,\"b\"","raw":"AP8=","time":"2026-08-06T20:00:00.123Z","epoch":-1,"headers":{"h":"\u001b"},"isr":[1,2],"ratio":0.25,"error":"checksum mismatch","any":{"a":1}},
{"topic":"","partition":0,"base_offset":0,"codec":"none","sound":false,"key":"","raw":"","time":null,"epoch":null,"headers":null,"isr":[],"ratio":null,"error":null,"any":null},
{"topic":"","partition":0,"base_offset":0,"codec":"none","sound":false,"key":null,"raw":null,"time":null,"epoch":null,"headers":null,"isr":null,"ratio":0,"error":null,"any":null}
]}
`,
		render.JSONLines: `{"topic":"orders","partition":3,"base_offset":107,"codec":"gzip","sound":true,"key":"a,\"b\"","raw":"AP8=","time":"2026-08-06T20:00:00.123Z","epoch":-1,"headers":{"h":"\u001b"},"isr":[1,2],"ratio":0.25,"error":"checksum mismatch","any":{"a":1}}
{"topic":"","partition":0,"base_offset":0,"codec":"none","sound":false,"key":"","raw":"","time":null,"epoch":null,"headers":null,"isr":[],"ratio":null,"error":null,"any":null}
{"topic":"","partition":0,"base_offset":0,"codec":"none","sound":false,"key":null,"raw":null,"time":null,"epoch":null,"headers":null,"isr":null,"ratio":0,"error":null,"any":null}
`,
		render.CSV: `topic,partition,base_offset,codec,sound,key,raw,time,epoch,headers,isr,ratio,error,any
orders,3,107,gzip,true,"a,""b""",AP8=,2026-08-06T20:00:00.123Z,-1,"{""h"":""\u001b""}","[1,2]",0.25,checksum mismatch,"{""a"":1}"
"",0,0,none,false,"","",,,,[],,,
"",0,0,none,false,,,,,,,0,,
`,
		render.Table: `TOPIC   PARTITION  BASE-OFFSET  CODEC  SOUND  KEY    RAW   TIME                      EPOCH  HEADERS         ISR    RATIO  ERROR              ANY
orders          3          107  gzip   true   a,"b"  AP8=  2026-08-06T20:00:00.123Z     -1  {"h":"\u001b"}  [1,2]   0.25  checksum mismatch  {"a":1}
""              0            0  none   false  ""     ""    -                             -  -               []         -  -                  -
""              0            0  none   false  -      -     -                             -  -               -          0  -                  -
`,
	} {
		t.Run(f.String(), func(t *testing.T) {
			got := print(t, f, render.Options{Command: "dump"}, rows...)
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if f == render.JSON && !json.Valid([]byte(got)) {
				t.Error("not valid JSON")
			}
		})
	}
}

func TestNoRows(t *testing.T) {
	type row struct {
		BaseOffset int64  `col:"base_offset"`
		Name       string `col:"name"`
	}
	for f, want := range map[render.Format]string{
		render.JSON:      "{\"command\":\"x\",\"schema_version\":2,\"rows\":[\n]}\n",
		render.JSONLines: "",
		render.CSV:       "base_offset,name\n",
		render.Table:     "BASE-OFFSET  NAME\n",
	} {
		if got := print[row](t, f, render.Options{Command: "x", Schema: 2}); got != want {
			t.Errorf("%s: got %q, want %q", f, got, want)
		}
	}
}

// hostile are values that mean something to a terminal, a JSON parser or a CSV
// parser, and those that a cell could be confused with.
var hostile = []string{
	"", "-", `""`, " a", "a ", "\t", "a\nb", "a\r\n", "\x1b[31mred", "\x7f", "\u0085", "\u202e", "\u2028", "a\xffb", "\xc0\xaf",
	`\x1b`, `back\slash`, "comma,", `quo"te`, "日本語", "é", "\U000e0001", "\ufffd", "'=1+1",
}

func TestHostileCells(t *testing.T) {
	type row struct {
		S string `col:"s"`
		N int    `col:"n"`
	}
	seen := map[string]string{}
	for _, s := range hostile {
		got := print(t, render.Table, render.Options{}, row{s, 7})
		lines := strings.Split(got, "\n")
		if len(lines) != 3 {
			t.Errorf("%q takes %d lines", s, len(lines)-2)
		}
		cell := strings.TrimRight(strings.TrimSuffix(lines[1], "7"), " ")
		if other, ok := seen[cell]; ok {
			t.Errorf("%q and %q are both printed as %s", s, other, cell)
		}
		seen[cell] = s
		for _, r := range lines[1] {
			if r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u2028' {
				t.Errorf("%q: the cell %q drives the terminal", s, lines[1])
			}
		}
	}
}

func TestHostileJSONAndCSV(t *testing.T) {
	type row struct {
		S string `col:"s"`
		T string `col:"t"`
	}
	for _, s := range hostile {
		want := string([]rune(s)) // bytes that are not UTF-8 become U+FFFD
		got := print(t, render.JSONLines, render.Options{}, row{s, "x"})
		var back struct{ S, T string }
		if err := json.Unmarshal([]byte(got), &back); err != nil || back.S != want || back.T != "x" {
			t.Errorf("%q in JSON: %s, read back as %q, %v", s, got, back.S, err)
		}
		got = print(t, render.CSV, render.Options{}, row{s, "x"})
		want = strings.ReplaceAll(want, "\r\n", "\n") // the reader of encoding/csv does that
		records, err := csv.NewReader(strings.NewReader(got)).ReadAll()
		if err != nil || len(records) != 2 || records[1][0] != want || records[1][1] != "x" {
			t.Errorf("%q in CSV: %q, read back as %q, %v", s, got, records, err)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	type row struct {
		S string `col:"s"`
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := print(t, render.JSONLines, render.Options{}, row{s})
		var back struct{ S string }
		if err := json.Unmarshal([]byte(got), &back); err != nil || back.S != string([]rune(s)) {
			t.Errorf("%q: %s, read back as %q, %v", s, got, back.S, err)
		}
		if got := print(t, render.Table, render.Options{}, row{s}); strings.Count(got, "\n") != 2 || strings.ContainsAny(got, "\x1b\r\x00\x7f") {
			t.Errorf("%q: cell %q", s, got)
		}
	})
}

// A table looks the same whether tablewriter lays it out or lines are padded
// one by one.
func TestLargeTable(t *testing.T) {
	type row struct {
		Name   string `col:"name"`
		Offset int    `col:"offset"`
		Note   string `col:"note"`
	}
	var all []row
	for i := range 1200 {
		all = append(all, row{strings.Repeat("é", i%30+1), i * 7919, fmt.Sprint("n", i%10)})
	}
	small := strings.Split(print(t, render.Table, render.Options{}, all[:1000]...), "\n")
	large := strings.Split(print(t, render.Table, render.Options{}, all...), "\n")
	if len(small) != 1002 || len(large) != 1202 {
		t.Fatalf("got %d and %d lines", len(small), len(large))
	}
	for i := range 1001 {
		// offsets have a digit more from row 1263 on only, so the widths agree
		if small[i] != large[i] {
			t.Fatalf("line %d: %q by tablewriter, %q by us", i, small[i], large[i])
		}
	}
}

func TestWideCell(t *testing.T) {
	type row struct {
		Value string `col:"value"`
		N     int    `col:"n"`
	}
	got := print(t, render.Table, render.Options{}, row{strings.Repeat("x", 5000), 1}, row{"y", 2})
	lines := strings.Split(got, "\n")
	if len(lines[0]) > 100 || len(lines[2]) > 100 || !strings.HasSuffix(lines[1], "xx  1") {
		t.Errorf("one long cell widens other lines:\n%s", got)
	}
}

// Colour adds escape sequences and changes nothing else.
func TestColor(t *testing.T) {
	strip := strings.NewReplacer("\x1b[1m", "", "\x1b[0m", "")
	plain := print(t, render.Table, render.Options{}, rows...)
	for _, live := range []bool{false, true} {
		colored := print(t, render.Table, render.Options{Color: true, Live: live}, rows[0])
		if !strings.HasPrefix(colored, "\x1b[1mTOPIC") {
			t.Errorf("the headings do not stand out: %q", colored)
		}
		if got := strip.Replace(colored); !strings.HasPrefix(plain, got[:20]) {
			t.Errorf("got %q", got)
		}
	}
	for _, f := range []render.Format{render.JSON, render.JSONLines, render.CSV} {
		if print(t, f, render.Options{Color: true}, rows...) != print(t, f, render.Options{}, rows...) {
			t.Errorf("%s is coloured", f)
		}
	}
}

func TestKinds(t *testing.T) {
	type a struct {
		Kind string `col:"kind"`
		N    int    `col:"n"`
	}
	type b struct {
		Kind string `col:"kind"`
	}
	for f, want := range map[render.Format]string{
		render.JSON:      "{\"command\":\"\",\"schema_version\":1,\"rows\":[\n{\"kind\":\"a\",\"n\":1},\n{\"kind\":\"b\"}\n]}\n",
		render.JSONLines: "{\"kind\":\"a\",\"n\":1}\n{\"kind\":\"b\"}\n",
		render.CSV:       "kind,n\na,1\n",
		render.Table:     "KIND  N\na     1\n\nKIND\nb\n",
	} {
		var sb strings.Builder
		out := render.Open(&sb, f, render.Options{})
		as, bs := render.Rows[a](out), render.Rows[b](out)
		if err := as.Write(a{"a", 1}); err != nil {
			t.Fatal(err)
		}
		if err := bs.Write(b{"b"}); f == render.CSV != errors.Is(err, render.ErrMixed) {
			t.Errorf("%s: %v", f, err)
		}
		if err := out.Close(); err != nil {
			t.Errorf("%s: %v", f, err)
		}
		if sb.String() != want {
			t.Errorf("%s: got %q, want %q", f, sb.String(), want)
		}
	}
}

// brokenWriter fails from the second write on.
type brokenWriter struct{ n int }

var errDisk = errors.New("no space")

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.n++; w.n > 1 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestWriteError(t *testing.T) {
	for i := range render.Formats {
		w := render.New[place](&brokenWriter{}, render.Format(i), render.Options{Live: true})
		if err := w.Write(place{}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := w.Write(place{}); err != errDisk {
				t.Errorf("got %v", err)
			}
		}
		if err := w.Close(); err != nil {
			t.Errorf("Close tells a second time: %v", err)
		}
	}
	w := render.New[place](&brokenWriter{n: 1}, render.CSV, render.Options{})
	if err := w.Close(); err != errDisk {
		t.Errorf("Close: got %v", err)
	}
}

// Columns for programs are in tables if they are asked for by name.
func TestShow(t *testing.T) {
	type row struct {
		Key  string `col:"key"`
		Type string `col:"key_type,data"`
		More string `col:"more,data"`
	}
	if got, want := print(t, render.Table, render.Options{Show: []string{"key_type"}}, row{"a", "INT", "x"}), "KEY  KEY-TYPE\na    INT\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLive(t *testing.T) {
	for i := range render.Formats {
		var b strings.Builder
		w := render.New[place](&b, render.Format(i), render.Options{Live: true})
		if err := w.Write(place{"orders", 1}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "orders") {
			t.Errorf("%s: the row is held back", render.Format(i))
		}
	}
}

func TestFormatValue(t *testing.T) {
	var f render.Format
	for _, name := range render.Formats {
		if err := f.Set(name); err != nil || f.String() != name {
			t.Errorf("Set(%q): %v, %v", name, f, err)
		}
	}
	if err := f.Set("yaml"); err == nil {
		t.Error("yaml is accepted")
	}
}

// Printing a row allocates nothing, whatever its columns are.
func TestAllocations(t *testing.T) {
	for _, f := range []render.Format{render.JSONLines, render.CSV} {
		w := render.New[benchRow](io.Discard, f, render.Options{})
		r := newBenchRow()
		if n := testing.AllocsPerRun(10000, func() { w.Write(r) }); n > 0 {
			t.Errorf("%s: %v allocations a row", f, n)
		}
	}
}

type benchRow struct {
	Topic     string    `col:"topic"`
	Partition int32     `col:"partition"`
	Offset    int64     `col:"offset"`
	Time      time.Time `col:"timestamp"`
	Key       *string   `col:"key"`
	Value     *string   `col:"value"`
	Codec     codec     `col:"codec"`
	Sound     bool      `col:"sound"`
}

func newBenchRow() benchRow {
	return benchRow{"orders", 3, 123456789, time.UnixMilli(1713691951104), new("customer-4711"), new(strings.Repeat("v", 100)), 1, true}
}

func BenchmarkWrite(b *testing.B) {
	for i := range render.Formats {
		f := render.Format(i)
		b.Run(f.String(), func(b *testing.B) {
			w := render.New[benchRow](io.Discard, f, render.Options{})
			r := newBenchRow()
			b.ReportAllocs()
			for b.Loop() {
				r.Offset++
				w.Write(r)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// A long cell of the last column leaves the others aligned.
func TestLongLastColumn(t *testing.T) {
	type row struct {
		Key   string `col:"key"`
		Value string `col:"value"`
	}
	var b strings.Builder
	w := render.New[row](&b, render.Table, render.Options{})
	long := strings.Repeat("v", 1000)
	for _, r := range []row{{strings.Repeat("k", 100), long}, {"k", "v"}} {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want := "KEY" + strings.Repeat(" ", 99) + "VALUE\n" + strings.Repeat("k", 100) + "  " + long + "\nk" + strings.Repeat(" ", 101) + "v\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// A table of one row with many columns is easier to read upright.
func TestUpright(t *testing.T) {
	type cluster struct {
		ID      string  `col:"cluster_id"`
		Brokers int     `col:"brokers"`
		Rack    *string `col:"rack"`
		Hidden  bool    `col:"hidden,data"`
	}
	opt := render.Options{Command: "cluster describe", Upright: true}
	for _, tt := range []struct {
		f    render.Format
		rows []cluster
		want string
	}{
		{render.Table, []cluster{{ID: "a b", Brokers: 3}}, "CLUSTER-ID  a b\nBROKERS     3\nRACK        -\n"},
		{render.Table, []cluster{{ID: "a"}, {ID: "b", Rack: new("r")}}, "CLUSTER-ID  a\nBROKERS     0\nRACK        -\n\nCLUSTER-ID  b\nBROKERS     0\nRACK        r\n"},
		{render.CSV, []cluster{{ID: "a", Brokers: 3}}, "cluster_id,brokers,rack,hidden\na,3,,false\n"},
		{render.JSONLines, []cluster{{ID: "a"}}, `{"cluster_id":"a","brokers":0,"rack":null,"hidden":false}` + "\n"},
	} {
		if got := print(t, tt.f, opt, tt.rows...); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.f, got, tt.want)
		}
	}
	opt.Color = true
	if got, want := print(t, render.Table, opt, cluster{ID: "a"}), "\x1b[1mCLUSTER-ID\x1b[0m  a\n\x1b[1mBROKERS\x1b[0m     0\n\x1b[1mRACK\x1b[0m        -\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
