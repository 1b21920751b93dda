package javafmt_test

import (
	"testing"

	"kf/internal/javafmt"
)

func TestParseInt(t *testing.T) {
	for _, tt := range []struct {
		in   string
		bits int
		want int64
		ok   bool
	}{
		{"0", 64, 0, true}, {"+5", 64, 5, true}, {"-5", 32, -5, true}, {"007", 32, 7, true},
		{"9223372036854775807", 64, 9223372036854775807, true}, {"9223372036854775808", 64, 0, false},
		{"2147483648", 32, 0, false}, {"-2147483648", 32, -2147483648, true},
		{"٣", 64, 3, true}, {"-1٣９", 64, -139, true}, {"𝟓", 64, 0, false}, // the last is U+1D7D3
		{"", 64, 0, false}, {"-", 64, 0, false}, {"+", 64, 0, false}, {" 5", 64, 0, false}, {"1_0", 64, 0, false}, {"0x5", 64, 0, false},
		{"²", 64, 0, false}, {"\xff", 64, 0, false}, {"--5", 64, 0, false}, {"5\x00", 64, 0, false},
	} {
		got, err := javafmt.ParseInt(tt.in, tt.bits)
		if (err == nil) != tt.ok || tt.ok && got != tt.want {
			t.Errorf("%q in %d bits: %d, %v; want %d, %v", tt.in, tt.bits, got, err, tt.want, tt.ok)
		}
	}
}
