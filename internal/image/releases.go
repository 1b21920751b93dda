package image

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	firstMetadataVersion MetadataVersion = 7 // the first of KRaft
	firstFormatted       MetadataVersion = 22
)

// steps are the levels of features that go with a metadata.version and those after
// it, up to the next step of the feature.
//
// Source: Kafka 4.4.0, kafka-features version-mapping.
var steps = []struct {
	from    MetadataVersion
	feature string
	level   int16
}{
	{21, FeatureKRaftVersion, 1},
	{22, FeatureGroupVersion, 1},
	{24, FeatureTransactionVersion, 2},
	{26, FeatureELR, 1},
	{28, FeatureShareVersion, 1},
	{29, FeatureStreamsVersion, 1},
	{31, FeatureShareVersion, 2},
}

// LatestMetadataVersion is the one of a new cluster of Kafka 4.4.
func LatestMetadataVersion() MetadataVersion {
	return firstMetadataVersion + MetadataVersion(len(metadataVersions)) - 1
}

// Release returns the release of a level, such as "4.4", "" if it is not known.
func (v MetadataVersion) Release() string {
	i := int(v - firstMetadataVersion)
	if i < 0 || i >= len(metadataVersions) {
		return ""
	}
	release, _, _ := strings.Cut(metadataVersions[i], "-")
	return release
}

// ParseMetadataVersion returns the level of a name such as "4.4-IV2", of a release
// such as "4.4", which is its last level, or of a number.
func ParseMetadataVersion(s string) (MetadataVersion, error) {
	for v := LatestMetadataVersion(); v >= firstMetadataVersion; v-- {
		if s == v.String() || s == v.Release() {
			return v, nil
		}
	}
	if n, err := strconv.ParseInt(s, 10, 16); err == nil {
		return MetadataVersion(n), nil
	}
	return 0, fmt.Errorf("%q is no metadata.version, want a release from %s to %s, a name such as %s, or a number",
		s, firstMetadataVersion.Release(), LatestMetadataVersion().Release(), LatestMetadataVersion())
}

// ReleaseNames returns the releases with a metadata.version, oldest first.
func ReleaseNames() []string {
	var all []string
	for v := firstMetadataVersion; v <= LatestMetadataVersion(); v++ {
		all = append(all, v.Release())
	}
	return slices.Compact(all)
}

// DefaultLevels returns the levels of all features that go with a
// metadata.version, itself and zeros too. The map is the caller's.
func DefaultLevels(v MetadataVersion) map[string]int16 {
	levels := map[string]int16{FeatureMetadataVersion: int16(v)}
	for _, s := range steps {
		if v >= s.from {
			levels[s.feature] = s.level
		} else if _, ok := levels[s.feature]; !ok {
			levels[s.feature] = 0
		}
	}
	return levels
}

// RequiredMetadataVersion returns the metadata.version that a level of a feature
// cannot do without, 0 if there is none.
//
// Source: Kafka 4.4.0, kafka-features feature-dependencies.
func RequiredMetadataVersion(feature string, level int16) MetadataVersion {
	if feature == FeatureELR && level == 1 {
		return withELR
	}
	return 0
}

// Releases returns the releases that [ReleaseLevels] knows, oldest first.
func Releases() []string {
	return slices.DeleteFunc(ReleaseNames(), func(r string) bool {
		v, err := ParseMetadataVersion(r)
		return err != nil || v < firstFormatted
	})
}

// ReleaseLevels returns the levels that a new cluster of a release such as
// "4.4" has. The map is the caller's.
func ReleaseLevels(release string) (map[string]int16, error) {
	if !slices.Contains(Releases(), release) {
		return nil, fmt.Errorf("unknown Kafka version %q, want one of %s", release, strings.Join(Releases(), ", "))
	}
	v, err := ParseMetadataVersion(release)
	if err != nil {
		return nil, err
	}
	levels := DefaultLevels(v)
	// The formatter writes no record for kraft.version, nor for what is off.
	maps.DeleteFunc(levels, func(feature string, level int16) bool { return feature == FeatureKRaftVersion || level == 0 })
	return levels, nil
}
