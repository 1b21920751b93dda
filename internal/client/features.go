package client

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// NodeVersions are the versions that one node supports.
type NodeVersions struct {
	Node  Node
	APIs  []APIVersions // by key
	Guess string        // the release of Kafka whose APIs these are, "v3.9"; "at least v4.4", "custom"
	// Supported has the levels of features that the node could work with, Finalized
	// those that the cluster works with, as far as the node knows at Epoch, an offset
	// of the metadata log (-1: unknown).
	Supported map[string]FeatureRange
	Finalized map[string]int16
	Epoch     int64
	Err       error // the node did not answer; the rest is zero then
}

// A FeatureRange is the levels of a feature that a node supports.
type FeatureRange struct{ Min, Max int16 }

// APIVersions are the versions of an API that a node serves.
type APIVersions struct {
	Key      int16
	Name     string // "Metadata"; "" for one that kf does not know
	Min, Max int16
	Use      int16 // that kf uses with this node, -1 if there is none
}

// Serves returns the versions of an API, and false if the node does not serve it.
func (v *NodeVersions) Serves(key int16) (APIVersions, bool) {
	i, ok := slices.BinarySearchFunc(v.APIs, key, func(a APIVersions, key int16) int { return cmp.Compare(a.Key, key) })
	if !ok {
		return APIVersions{}, false
	}
	return v.APIs[i], true
}

// NodeVersions asks nodes, each once and all at the same time, for their versions.
func (c *Client) NodeVersions(ctx context.Context, nodes []Node) []NodeVersions {
	ctx, cancel := patience(ctx)
	defer cancel()
	all := make([]NodeVersions, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() {
			all[i] = NodeVersions{Node: n, Epoch: -1}
			if err := c.askVersions(ctx, &all[i]); err != nil {
				if ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				all[i].Err = brokerError(kgo.BrokerMetadata{NodeID: n.ID, Host: n.Host, Port: n.Port}, err)
			}
		})
	}
	wg.Wait()
	return all
}

func (c *Client) askVersions(ctx context.Context, to *NodeVersions) error {
	var node kmsg.Requestor = c.kgo.Broker(int(to.Node.ID))
	if c.controllers != nil {
		var err error
		if node, err = c.controllers.node(ctx, to.Node.ID); err != nil {
			return err
		}
	}
	q := kmsg.NewPtrApiVersionsRequest()
	q.ClientSoftwareName, q.ClientSoftwareVersion = "kf", c.version
	r, err := q.RequestWith(ctx, node)
	if err == nil {
		err = kerr.ErrorForCode(r.ErrorCode)
	}
	if err != nil {
		return err
	}
	known, _ := c.kgo.OptValue(kgo.MaxVersions).(*kversion.Versions)
	for _, a := range r.ApiKeys {
		v := APIVersions{Key: a.ApiKey, Name: apiName(a.ApiKey), Min: a.MinVersion, Max: a.MaxVersion, Use: -1}
		if use := min(a.MaxVersion, ourMax(known, a.ApiKey)); use >= a.MinVersion {
			v.Use = use
		}
		to.APIs = append(to.APIs, v)
	}
	slices.SortFunc(to.APIs, func(a, b APIVersions) int { return cmp.Compare(a.Key, b.Key) })
	to.Guess = kversion.FromApiVersionsResponse(r).VersionGuess()
	to.Supported, to.Finalized = make(map[string]FeatureRange), make(map[string]int16)
	for _, f := range r.SupportedFeatures {
		to.Supported[f.Name] = FeatureRange{f.MinVersion, f.MaxVersion}
	}
	for _, f := range r.FinalizedFeatures {
		to.Finalized[f.Name] = f.MaxVersionLevel
	}
	to.Epoch = r.FinalizedFeaturesEpoch
	return nil
}

// kafkaNames makes Kafka's name of an API of that of kmsg.
var kafkaNames = strings.NewReplacer(
	"ACLs", "Acls", "SASL", "Sasl", "SCRAM", "Scram", "ProducerID", "ProducerId", "PartitionAssignments", "PartitionReassignments",
)

// apiName returns Kafka's name of an API, "" if kf does not know it.
func apiName(key int16) string {
	if kmsg.RequestForKey(key) == nil {
		return ""
	}
	return kafkaNames.Replace(kmsg.NameForKey(key))
}

// ourMax returns the highest version of an API that the client uses, -1 if it does
// not use the API.
func ourMax(known *kversion.Versions, key int16) int16 {
	q := kmsg.RequestForKey(key)
	if q == nil {
		return -1
	}
	most := q.MaxVersion()
	if known != nil {
		limit, ok := known.LookupMaxKeyVersion(key)
		if !ok {
			return -1
		}
		most = min(most, limit)
	}
	return most
}

// A FeatureUpdate sets the level of a feature. Level 0 switches it off.
type FeatureUpdate struct {
	Feature string
	Level   int16
	Kind    FeatureUpdateKind
}

// A FeatureUpdateKind is what an update may do. The values are the protocol's.
type FeatureUpdateKind int8

// The kinds. A safe downgrade is refused where it would lose metadata.
const (
	FeatureUpgrade         FeatureUpdateKind = 1
	FeatureSafeDowngrade   FeatureUpdateKind = 2
	FeatureUnsafeDowngrade FeatureUpdateKind = 3
)

// UpdateFeaturesKey is the API key that [Client.UpdateFeatures] needs, in version 1 to
// validate only.
const UpdateFeaturesKey = int16(kmsg.UpdateFeatures)

// UpdateFeatures sets levels, all or none; with validate it only asks whether the
// cluster would. The errors are by feature.
func (c *Client) UpdateFeatures(ctx context.Context, validate bool, updates []FeatureUpdate) (map[string]error, error) {
	q := kmsg.NewPtrUpdateFeaturesRequest()
	q.TimeoutMillis, q.ValidateOnly = c.timeoutMillis(), validate
	answer := make(map[string]error)
	for _, u := range updates {
		to := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
		to.Feature, to.MaxVersionLevel, to.UpgradeType = u.Feature, u.Level, int8(u.Kind)
		to.AllowDowngrade = u.Kind != FeatureUpgrade
		q.FeatureUpdates = append(q.FeatureUpdates, to)
		answer[u.Feature] = nil
	}
	r, err := q.RequestWith(ctx, c.to())
	if err != nil {
		return nil, serves(q, err)
	}
	// The error of the whole is that of every feature: none was changed then.
	whole := answerError(r.ErrorCode, r.ErrorMessage)
	for feature := range answer {
		answer[feature] = whole
	}
	for _, result := range r.Results { // before version 2
		if err := answerError(result.ErrorCode, result.ErrorMessage); err != nil {
			answer[result.Feature] = err
		}
	}
	return answer, nil
}
