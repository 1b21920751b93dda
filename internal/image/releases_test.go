package image_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"kf/internal/image"
)

// The levels are those that Kafka 4.4.0's kafka-features version-mapping prints.
func TestDefaultLevels(t *testing.T) {
	for _, tt := range []struct {
		version string
		level   int16
		want    string // kraft, transaction, group, eligible.leader.replicas, share, streams
	}{
		{"3.3", 7, "0 0 0 0 0 0"}, {"3.8", 20, "0 0 0 0 0 0"}, {"3.9-IV0", 21, "1 0 0 0 0 0"}, {"4.0-IV0", 22, "1 0 1 0 0 0"},
		{"4.0-IV1", 23, "1 0 1 0 0 0"}, {"4.0-IV2", 24, "1 2 1 0 0 0"}, {"4.0", 25, "1 2 1 0 0 0"}, {"25", 25, "1 2 1 0 0 0"},
		{"4.1-IV0", 26, "1 2 1 1 0 0"}, {"4.2-IV0", 28, "1 2 1 1 1 0"}, {"4.2", 29, "1 2 1 1 1 1"}, {"4.3", 30, "1 2 1 1 1 1"},
		{"4.4-IV0", 31, "1 2 1 1 2 1"}, {"4.4", 33, "1 2 1 1 2 1"},
	} {
		v, err := image.ParseMetadataVersion(tt.version)
		if err != nil || int16(v) != tt.level {
			t.Errorf("%s: %d, %v; want %d", tt.version, v, err, tt.level)
		}
		want := map[string]int16{image.FeatureMetadataVersion: tt.level}
		for i, name := range []string{"kraft", "transaction", "group", "eligible.leader.replicas", "share", "streams"} {
			want[name+".version"] = int16(strings.Fields(tt.want)[i][0] - '0')
		}
		if got := image.DefaultLevels(v); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", tt.version, got, want)
		}
	}
}

func TestParseMetadataVersion(t *testing.T) {
	for _, wrong := range []string{"", "4.4-IV3", "9.9", "2.8", "x", "4.4 ", "99999"} {
		if v, err := image.ParseMetadataVersion(wrong); err == nil {
			t.Errorf("%q: %v", wrong, v)
		} else if want := "want a release from 3.3 to 4.4, a name such as 4.4-IV2, or a number"; !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if got := image.ReleaseNames(); !slices.Equal(got, strings.Fields("3.3 3.4 3.5 3.6 3.7 3.8 3.9 4.0 4.1 4.2 4.3 4.4")) {
		t.Errorf("releases: %v", got)
	}
	if got := image.RequiredMetadataVersion(image.FeatureELR, 1); got.String() != "4.0-IV1" {
		t.Errorf("ELR 1 requires %v", got)
	}
	if got := image.RequiredMetadataVersion(image.FeatureGroupVersion, 1); got != 0 {
		t.Errorf("group 1 requires %v", got)
	}
}
