package broker

import (
	"maps"
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/image"
)

// ApiVersions, key 18, versions 0 to 5.
//
// Deviation from Kafka 4.4.0: features whose APIs are not served are neither
// supported nor finalised in the answer, whatever the cluster's metadata says.

const apiVersionsKey = int16(kmsg.ApiVersions)

// unsupportedApiVersions answers a version that is not served: in version 0,
// with the range of this one API.
func unsupportedApiVersions(a *api) kmsg.Response {
	r := kmsg.NewPtrApiVersionsResponse()
	r.ErrorCode = kerr.UnsupportedVersion.Code
	r.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: a.key, MinVersion: a.min, MaxVersion: a.max}}
	return r
}

// softwareName is what the name and version of a client's software look like
// (KIP-511).
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func (b *Broker) apiVersions(c *call, q *kmsg.ApiVersionsRequest) kmsg.Response {
	answer := q.ResponseKind().(*kmsg.ApiVersionsResponse)
	answer.FinalizedFeaturesEpoch = -1
	switch {
	case q.Version >= 3 && !(softwareName.MatchString(q.ClientSoftwareName) && softwareName.MatchString(q.ClientSoftwareVersion)),
		q.Version >= 5 && (q.ClusterID == nil) != (q.NodeID == -1):
		answer.ErrorCode = kerr.InvalidRequest.Code
		return answer
	case q.Version >= 5 && q.ClusterID != nil && (*q.ClusterID != b.clusterID || q.NodeID != b.node):
		answer.ErrorCode = kerr.RebootstrapRequired.Code
		return answer
	}
	for a := range b.apis.all {
		to := kmsg.NewApiVersionsResponseApiKey()
		to.ApiKey, to.MinVersion, to.MaxVersion = a.key, a.min, a.max
		answer.ApiKeys = append(answer.ApiKeys, to)
	}
	if q.Version >= 3 {
		b.addFeatures(answer, q.Version)
	}
	return answer
}

// featureAPI names for features an API without which a client cannot use them;
// those that need none are metadata.version, kraft.version and
// eligible.leader.replicas.version.
var featureAPI = map[string]kmsg.Key{
	image.FeatureGroupVersion:       kmsg.ConsumerGroupHeartbeat,
	image.FeatureShareVersion:       kmsg.ShareGroupHeartbeat,
	image.FeatureStreamsVersion:     kmsg.StreamsGroupHeartbeat,
	image.FeatureTransactionVersion: kmsg.EndTxn,
}

// kraftVersion are the levels of kraft.version, which no record finalises.
var kraftVersion = image.Range{Min: 0, Max: 1}

// usable reports whether the APIs of a feature are served.
func (b *Broker) usable(feature string) bool {
	key, needs := featureAPI[feature]
	return !needs || b.apis.find(int16(key)) != nil
}

func (b *Broker) addFeatures(answer *kmsg.ApiVersionsResponse, version int16) {
	supported := maps.Clone(image.Supported)
	supported[image.FeatureKRaftVersion] = kraftVersion
	for _, name := range slices.Sorted(maps.Keys(supported)) {
		levels := supported[name]
		if !b.usable(name) || version == 3 && levels.Min == 0 { // v3 cannot say 0
			continue
		}
		to := kmsg.NewApiVersionsResponseSupportedFeature()
		to.Name, to.MinVersion, to.MaxVersion = name, levels.Min, levels.Max
		answer.SupportedFeatures = append(answer.SupportedFeatures, to)
	}
	im := b.image.Load()
	for name, level := range im.Features() {
		if level == 0 || !b.usable(name) {
			continue
		}
		to := kmsg.NewApiVersionsResponseFinalizedFeature()
		to.Name, to.MinVersionLevel, to.MaxVersionLevel = name, level, level
		answer.FinalizedFeatures = append(answer.FinalizedFeatures, to)
	}
	answer.FinalizedFeaturesEpoch = im.Position.Offset - 1
}
