package javafmt_test

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
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
		{"eda0", r},
		{"eda061", r + "a"},
		{"edbfc2", r + r},
		{"edbfc3a9", r + "é"},
		{"ed", r},
		{"edc2a2", r + "¢"},
		{"eded9f", r + r},
		{"f4efedb0", r + r + r},
		{"edb0f49f", r + r + r},
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
		{0.30000000000000004, "0.30000000000000004"}, {0.3, "0.3"}, {math.MaxFloat64, "1.7976931348623157E308"}, {2e23, "1.9999999999999998E23"},
		{math.SmallestNonzeroFloat64, "4.9E-324"}, {2 * math.SmallestNonzeroFloat64, "1.0E-323"}, {1e100, "1.0E100"},
		{math.NaN(), "NaN"}, {math.Inf(1), "Infinity"}, {math.Inf(-1), "-Infinity"},
	} {
		if got := string(javafmt.AppendDouble([]byte("<"), tt.in)); got != "<"+tt.want {
			t.Errorf("%g: got %s, want %s", tt.in, got[1:], tt.want)
		}
	}
}

// What Java 17.0.15 prints, by the bits of the double.
func TestDoubleOfJava17(t *testing.T) {
	for _, tt := range []struct {
		bits uint64
		want string
	}{
		// the half of the distance overflows
		{0x3f60a893b0537205, "0.0020335087343552626"}, {0x3f619eee7d53d944, "0.0021509798049194357"},
		{0xbf6a1018d2505728, "-0.0031815037532493436"}, {0xc54873815cfa5920, "-5.9119356292064015E25"},
		{0x453a140a7643a66b, "3.1526711628916386E25"}, {0x43ee8a6b3727d82a, "1.7605514020478079E19"},
		// what is missing, or left, is exactly half the distance
		{0x44b52d02c7e14af6, "9.999999999999999E22"}, {0x44c52d02c7e14af6, "1.9999999999999998E23"},
		{0x44a52d02c7e14af6, "4.9999999999999996E22"}, {0x44ada56a4b0835c0, "7.0000000000000004E22"},
		{0x4491c9a62d04ed0c, "2.0999999999999998E22"}, {0x449017f7df96be18, "1.9000000000000002E22"},
		{0x4444e51fb9532a70, "7.708899999999999E20"}, {0x4467c7250990adb6, "3.5089999999999997E21"},
		{0x44726aa1a78f4f94, "5.435599999999999E21"},
		// powers of two
		{0x3c20000000000000, "4.3368086899420177E-19"}, {0x36f0000000000000, "4.4841550858394146E-44"},
		{0x4480000000000000, "9.44473296573929E21"}, {0x4410000000000000, "7.378697629483821E19"},
		{0x43f0000000000000, "1.8446744073709552E19"}, {0x43e0000000000000, "9.223372036854776E18"},
		{0x43d0000000000000, "4.6116860184273879E18"}, {0x4390000000000000, "2.8823037615171174E17"},
		{0x4340000000000000, "9.007199254740992E15"}, {0x10000000000000, "2.2250738585072014E-308"},
		{0x2000000000000, "2.781342323134002E-309"}, {0x7fe0000000000000, "8.98846567431158E307"},
		// insignificant digits of whole numbers
		{0x4353400000000000, "2.1673573206720512E16"}, {0x43786cc6acd4affd, "1.09999999999999952E17"},
		{0x437d23eec04b2709, "1.31236522559172752E17"}, {0x438d603cf4687fbd, "2.64594855660877728E17"},
		{0x43a941d551202acb, "9.0998513442156685E17"}, {0x43c4d6343f56755f, "3.0028899448255114E18"},
		{0xc3dcdc1187e8a6a1, "-8.3182256134392719E18"}, {0x4340000000000001, "9.007199254740994E15"},
		// ties of the last digit
		{0x43105c94f1bc1455, "1.1513486019801812E15"}, {0x431a4311cf9e7a95, "1.8480232928129652E15"},
		{0x431e681eb1a77663, "2.1396825850423288E15"}, {0xc2d3c7c7a43a2258, "-8.699507539367338E13"},
		// denormals
		{0x1, "4.9E-324"}, {0x2, "1.0E-323"}, {0x3, "1.5E-323"}, {0x4, "2.0E-323"}, {0xe, "6.9E-323"}, {0x10, "7.9E-323"},
		{0xfffffffffffff, "2.225073858507201E-308"},
		// nines
		{0x416312cfffffffff, "9999999.999999998"}, {0x3f50624dd2f1a9fb, "9.999999999999998E-4"},
		{0x44b52d02c7e14af5, "9.999999999999997E22"}, {0x44b52d02c7e14af7, "1.0000000000000001E23"},
	} {
		if got := string(javafmt.AppendDouble(nil, math.Float64frombits(tt.bits))); got != tt.want {
			t.Errorf("%#x: got %s, want %s", tt.bits, got, tt.want)
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

func TestCompare(t *testing.T) {
	sorted := []string{ // as Java sorts them
		"", "\x00", "A", "Z", "a", "a\x00", "aa", "ab", "b", "é", "\u07ff", "\u0800", "中", "\ud7ff",
		"\U00010000", "\U00010000a", "\U0001f600", "\U0010ffff", "\ue000", "\uee00", "\uefff", "\uf000", "\uffff", "\uffff\U00010000", "\uffff\ue000",
	}
	for i, a := range sorted {
		for j, b := range sorted {
			if got, want := javafmt.Compare(a, b), cmp.Compare(i, j); got != want {
				t.Errorf("%q, %q: got %d, want %d", a, b, got, want)
			}
			want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
			if got := javafmt.Compare(a, b); got != want {
				t.Errorf("%q, %q: got %d, by units %d", a, b, got, want)
			}
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
	reversed := func(keys []string) []string {
		keys = slices.Clone(keys)
		slices.Reverse(keys)
		return keys
	}
	for _, tt := range []struct {
		name       string
		keys, want []string
	}{
		{"none", nil, []string{}},
		{"by bucket", []string{"b", "a", "q"}, []string{"q", "a", "b"}}, // 98, 97, 113: buckets 2, 1, 1
		{"twice", []string{"b", "a", "b"}, []string{"a", "b"}},
		// "0" and "@" are 48 and 64: in one bucket of 16, in two of 32.
		{"13 keys in 16 buckets", append([]string{"@", "q", "r"}, sequence(10)...), []string{"0", "@", "1", "q", "2", "r", "3", "4", "5", "6", "7", "8", "9"}},
		{"one of them again, 32 buckets", append(append([]string{"@", "q", "r"}, sequence(10)...), "0"), []string{"@", "0", "1", "q", "2", "r", "3", "4", "5", "6", "7", "8", "9"}},
		{"14 keys in 32 buckets", append(sequence(10), "@", "q", "r", " "), []string{" ", "@", "0", "q", "1", "r", "2", "3", "4", "5", "6", "7", "8", "9"}},
		{"colliding", colliding(8), reversed(colliding(8))},
	} {
		if got := javafmt.MapOrder(tt.keys); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	// The 8th key of one hash doubles a table of fewer than 64 buckets, so does the
	// 9th. "a" and "Q", 97 and 81, are in buckets 1, 1 of 16; 1, 17 of 32; 33, 17 of 64.
	for n, want := range map[int]string{7: "Qa", 8: "aQ", 9: "Qa"} {
		keys := append([]string{"a", "Q"}, colliding(n)...)
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
