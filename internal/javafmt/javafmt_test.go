package javafmt_test

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"kf/internal/javafmt"
	"kf/internal/kftest"
)

func TestText(t *testing.T) {
	const r = "\ufffd"
	for _, tt := range []struct{ hex, want string }{
		{"", ""},
		{"61 c3a9 e282ac f09f9880 efbbbf", "aé€😀\ufeff"},
		{"c0af", r + r},
		{"c1", r},
		{"e282", r},
		{"e28261", r + "a"},
		{"e22861", r + "(a"},
		{"f0808080", r + r + r + r},
		{"f09f98", r},
		{"f09f9861", r + "a"},
		{"f48fbfbf", "\U0010ffff"},
		{"f4908080", r + r + r + r},
		{"f5808080", r + r + r + r},
		{"eda080", r},
		{"edbfbf61", r + "a"},
		{"eda0", r + r},
		{"eda061", r + r + "a"},
		{"ed9fbf", "\ud7ff"},
		{"e0a0", r},
		{"e09fbf", r + r + r},
		{"80bf", r + r},
		{"c3c3a9", r + "é"},
	} {
		p := kftest.Hex(t, tt.hex)
		if got := string(javafmt.AppendText([]byte("<"), p)); got != "<"+tt.want {
			t.Errorf("%s: got %q, want %q", tt.hex, got[1:], tt.want)
		}
		if got := javafmt.Text(string(p)); got != tt.want {
			t.Errorf("%s: as string: got %q, want %q", tt.hex, got, tt.want)
		}
	}
}

func TestAppendQuoted(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", `""`},
		{"a/b<>&'\x7f\u2028", "\"a/b<>&'\x7f\u2028\""},
		{"\"\\\b\t\n\f\r", `"\"\\\b\t\n\f\r"`},
		{"\x00\x0b\x1f", `"\u0000\u000B\u001F"`},
		{"x\xff\"", "\"x\ufffd\\\"\""},
	} {
		if got := string(javafmt.AppendQuoted([]byte("<"), tt.in)); got != "<"+tt.want {
			t.Errorf("%q: got %s, want %s", tt.in, got[1:], tt.want)
		}
	}
}

func TestAppendDouble(t *testing.T) {
	for _, tt := range []struct {
		in   float64
		want string
	}{
		{0, "0.0"}, {math.Copysign(0, -1), "-0.0"}, {1, "1.0"}, {-1, "-1.0"}, {1024, "1024.0"}, {9999999, "9999999.0"},
		{1e7, "1.0E7"}, {-1e7, "-1.0E7"}, {12345678.9, "1.23456789E7"}, {0.001, "0.001"}, {9.9e-4, "9.9E-4"}, {1e-5, "1.0E-5"},
		{0.30000000000000004, "0.30000000000000004"}, {0.3, "0.3"}, {math.MaxFloat64, "1.7976931348623157E308"}, {2e23, "2.0E23"},
		{math.SmallestNonzeroFloat64, "4.9E-324"}, {2 * math.SmallestNonzeroFloat64, "9.9E-324"}, {1e100, "1.0E100"},
		{math.NaN(), "NaN"}, {math.Inf(1), "Infinity"}, {math.Inf(-1), "-Infinity"},
	} {
		if got := string(javafmt.AppendDouble([]byte("<"), tt.in)); got != "<"+tt.want {
			t.Errorf("%g: got %s, want %s", tt.in, got[1:], tt.want)
		}
	}
}

func TestHashString(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int32
	}{
		{"", 0},
		{"a", 97},
		{"my-group", -1906497762},
		{"console-consumer-1", 35782224},
		{"polygenelubricants", math.MinInt32},
		{"😀", 31*0xd83d + 0xde00},
	} {
		if got := javafmt.HashString(tt.in); got != tt.want {
			t.Errorf("%q: got %d, want %d", tt.in, got, tt.want)
		}
	}
}

func TestMapOrder(t *testing.T) {
	sequence := func(n int) []string { // hashes 48, 49, …
		var keys []string
		for i := range n {
			keys = append(keys, strconv.Itoa(i))
		}
		return keys
	}
	colliding := func(n int) []string { // "Aa" and "BB" have one hash
		var keys []string
		for i := range n {
			key := strings.Builder{}
			for bit := range 4 {
				key.WriteString([]string{"Aa", "BB"}[i>>bit&1])
			}
			keys = append(keys, key.String())
		}
		return keys
	}
	for _, tt := range []struct {
		name       string
		keys, want []string
	}{
		{"none", nil, []string{}},
		{"by bucket", []string{"b", "a", "q"}, []string{"a", "q", "b"}}, // 98, 97, 113: buckets 2, 1, 1
		{"twice", []string{"b", "a", "b"}, []string{"a", "b"}},
		// "0" and "@" are 48 and 64: in one bucket of 16, in two of 32.
		{"12 keys in 16 buckets", append(sequence(10), "@", "q"), []string{"0", "@", "1", "q", "2", "3", "4", "5", "6", "7", "8", "9"}},
		{"13 keys in 32 buckets", append(sequence(10), "@", "q", "r"), []string{"@", "0", "1", "q", "2", "r", "3", "4", "5", "6", "7", "8", "9"}},
		{"colliding", colliding(8), colliding(8)},
	} {
		if got := javafmt.MapOrder(tt.keys); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	// The 9th key of one hash doubles a table of fewer than 64 buckets, so does the
	// 10th. "Q" and "a", 81 and 97, are in buckets 1, 1 of 16; 17, 1 of 32; 17, 33 of 64.
	for n, want := range map[int]string{8: "Qa", 9: "aQ", 10: "Qa"} {
		keys := append([]string{"Q", "a"}, colliding(n)...)
		if got := order(javafmt.MapOrder(keys), "Q", "a"); got != want {
			t.Errorf("with %d keys of one hash: got order %s, want %s", n, got, want)
		}
	}
}

func order(keys []string, of ...string) string {
	var found strings.Builder
	for _, key := range keys {
		if slices.Contains(of, key) {
			found.WriteString(key)
		}
	}
	return found.String()
}

func FuzzText(f *testing.F) {
	f.Add("a\xed\xa0\x80\xf0\x9f")
	f.Fuzz(func(t *testing.T, s string) {
		got := javafmt.Text(s)
		if !utf8.ValidString(got) || utf8.ValidString(s) && got != s || javafmt.Text(got) != got {
			t.Errorf("%q became %q", s, got)
		}
		var back string
		if err := json.Unmarshal(javafmt.AppendQuoted(nil, s), &back); err != nil || back != got {
			t.Errorf("%q quoted reads back as %q, %v", s, back, err)
		}
	})
}

func FuzzDouble(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, bits uint64) {
		v := math.Float64frombits(bits)
		text := string(javafmt.AppendDouble(nil, v))
		if back, err := strconv.ParseFloat(text, 64); err != nil || back != v && !(math.IsNaN(v) && math.IsNaN(back)) {
			t.Errorf("%x: %s reads back as %g, %v", bits, text, back, err)
		}
	})
}
