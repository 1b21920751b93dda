package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/client"
)

// controllersClient returns a client that is given the brokers of k as controllers.
func (k *cluster) controllersClient(t *testing.T) *client.Client {
	t.Helper()
	cl, err := client.New(client.Options{
		Properties:  client.Properties{client.BootstrapControllers: {Value: strings.Join(k.ListenAddrs(), ","), Origin: "test"}},
		Timeout:     10 * time.Second,
		Controllers: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// answer lets k answer requests of a key with what make returns.
func answer[Q kmsg.Request](k *cluster, make func(Q) kmsg.Response) {
	var zero Q
	k.ControlKey(zero.Key(), func(q kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		r := make(q.(Q))
		return r, nil, r != nil
	})
}

func TestNodes(t *testing.T) {
	k := newCluster(t)
	cl := k.client(t, 10*time.Second)
	nodes, err := cl.Nodes(t.Context(), true)
	if err != nil || len(nodes.Nodes) != 3 || nodes.ClusterID == "" || nodes.Nodes[0].ID != 0 || nodes.Nodes[2].Host == "" || cl.TalksToControllers() {
		t.Fatalf("%+v, %v", nodes, err)
	}
	if got := k.requests(); got != "DescribeCluster 1" {
		t.Error(got)
	}
	versions := cl.NodeVersions(t.Context(), append(slices.Clone(nodes.Nodes[:2]), client.Node{ID: 9, Host: "h", Port: 1}))
	for i, v := range versions {
		metadata, ok := v.Serves(3)
		switch {
		case i == 2:
			if broker, is := errors.AsType[*client.BrokerError](v.Err); !is || broker.Node != 9 {
				t.Errorf("an unknown broker: %v", v.Err)
			}
		case v.Err != nil || v.Node.ID != nodes.Nodes[i].ID || !ok || metadata.Name != "Metadata" || metadata.Use < 12 || metadata.Use > metadata.Max || v.Guess == "":
			t.Errorf("%+v", v)
		}
	}
	_, err = cl.Quorum(t.Context())
	if !client.Unsupported(err) || err.Error() != "this broker does not support DescribeQuorum" {
		t.Errorf("%v", err)
	}
	if id, quorum, err := cl.ControllerOf(t.Context(), nodes); id != nodes.Controller || quorum != nil || err != nil {
		t.Errorf("controller %d, %v, %v", id, quorum, err)
	}
	for _, err := range []error{cl.UnregisterBroker(t.Context(), 1), cl.UnregisterController(t.Context(), 1)} {
		if !client.Unsupported(err) {
			t.Errorf("%v", err)
		}
	}
}

// Brokers before 2.8 have no DescribeCluster.
func TestNodesOfMetadata(t *testing.T) {
	k := newCluster(t)
	answer(k, func(q *kmsg.ApiVersionsRequest) kmsg.Response {
		r := q.ResponseKind().(*kmsg.ApiVersionsResponse)
		for key := range int16(57) {
			if known := kmsg.RequestForKey(key); known != nil {
				r.ApiKeys = append(r.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: min(known.MaxVersion(), 9)})
			}
		}
		return r
	})
	nodes, err := k.client(t, 10*time.Second).Nodes(t.Context(), true)
	if err != nil || len(nodes.Nodes) != 3 || nodes.Controller < 0 || nodes.Fenced {
		t.Errorf("%+v, %v", nodes, err)
	}
}

func TestUpdateFeatures(t *testing.T) {
	k := newCluster(t)
	var got *kmsg.UpdateFeaturesRequest
	var results []kmsg.UpdateFeaturesResponseResult
	var whole *kerr.Error
	answer(k, func(q *kmsg.UpdateFeaturesRequest) kmsg.Response {
		got = q
		r := q.ResponseKind().(*kmsg.UpdateFeaturesResponse)
		r.Results = results
		if whole != nil {
			r.ErrorCode, r.ErrorMessage = whole.Code, kmsg.StringPtr("because")
		}
		return r
	})
	cl := k.client(t, 10*time.Second)
	update := func(validate bool) string {
		errs, err := cl.UpdateFeatures(t.Context(), validate, []client.FeatureUpdate{{Feature: "a", Level: 3, Kind: client.FeatureUpgrade}, {Feature: "b", Kind: client.FeatureUnsafeDowngrade}})
		return fmt.Sprint(errs["a"], "; ", errs["b"], "; ", err)
	}
	if said := update(true); said != "<nil>; <nil>; <nil>" {
		t.Error(said)
	}
	if u := got.FeatureUpdates; !got.ValidateOnly || len(u) != 2 || u[0].MaxVersionLevel != 3 || u[0].UpgradeType != 1 || u[1].UpgradeType != 3 || got.TimeoutMillis != 10_000 {
		t.Errorf("%+v", got)
	}
	whole = kerr.InvalidUpdateVersion
	if said := update(false); got.ValidateOnly || said != "INVALID_UPDATE_VERSION: because; INVALID_UPDATE_VERSION: because; <nil>" {
		t.Error(said)
	}
	// Before version 2 each feature has a result.
	whole, results = nil, []kmsg.UpdateFeaturesResponseResult{{Feature: "a"}, {Feature: "b", ErrorCode: kerr.FeatureUpdateFailed.Code}}
	k.ControlKey(int16(kmsg.ApiVersions), func(q kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		r := q.ResponseKind().(*kmsg.ApiVersionsResponse)
		r.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 3, MaxVersion: 12}, {ApiKey: 18, MaxVersion: 3}, {ApiKey: 57, MaxVersion: 1}}
		return r, nil, true
	})
	cl = k.client(t, 10*time.Second)
	if said := update(true); !strings.HasPrefix(said, "<nil>; FEATURE_UPDATE_FAILED") || got.Version != 1 {
		t.Errorf("version %d: %s", got.Version, said)
	}
}

func TestACLs(t *testing.T) {
	k := newCluster(t, kfake.EnableACLs(), kfake.User("PLAIN", "admin", "secret"), kfake.Superuser("PLAIN", "admin", "secret"), kfake.EnableSASL())
	cl, err := client.New(client.Options{
		Properties: client.Properties{
			client.BootstrapServers: {Value: k.ListenAddrs()[0], Origin: "test"}, "security.protocol": {Value: "SASL_PLAINTEXT"}, "sasl.mechanism": {Value: "PLAIN"},
			"sasl.jaas.config": {Value: `org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="secret";`},
		},
		Timeout: 10 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	read := client.ACL{Resource: client.TopicResource, Name: "t", Pattern: client.LiteralPattern, Principal: "User:a", Host: "*", Operation: client.Read, Permission: client.Allow}
	deny := read
	deny.Pattern, deny.Permission, deny.Host = client.PrefixedPattern, client.Deny, "10.0.0.1"
	wrong := read
	wrong.Principal = "nobody"
	errs, err := cl.AddACLs(t.Context(), []client.ACL{deny, read, wrong})
	if err != nil || len(errs) != 3 || errs[0] != nil || errs[1] != nil {
		t.Fatalf("%v, %v", errs, err)
	}
	find := func(change func(*client.ACLFilter)) []client.ACL {
		t.Helper()
		f := client.AnyACL()
		f.Principal = &read.Principal
		change(&f)
		all, err := cl.FindACLs(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if got := find(func(*client.ACLFilter) {}); !slices.Equal(got, []client.ACL{read, deny}) {
		t.Errorf("all: %v", got)
	}
	name := "t"
	if got := find(func(f *client.ACLFilter) {
		f.Resource, f.Name, f.Pattern = client.TopicResource, &name, client.PrefixedPattern
	}); !slices.Equal(got, []client.ACL{deny}) {
		t.Errorf("prefixed: %v", got)
	}
	if got := find(func(f *client.ACLFilter) { f.Permission = client.Allow }); !slices.Equal(got, []client.ACL{read}) {
		t.Errorf("allow: %v", got)
	}
	// What is deleted is exactly what is said, and it may be gone.
	errs, err = cl.RemoveACLs(t.Context(), []client.ACL{read, read})
	if err != nil || len(errs) != 2 || errors.Join(errs...) != nil {
		t.Errorf("%v, %v", errs, err)
	}
	if got := find(func(*client.ACLFilter) {}); !slices.Equal(got, []client.ACL{deny}) {
		t.Errorf("left: %v", got)
	}
}

// A client of controllers asks one who is active, and that one everything.
func TestControllers(t *testing.T) {
	k := newCluster(t)
	var asked []int32
	active, code, described := int32(2), int16(0), 0
	answer(k, func(q *kmsg.DescribeClusterRequest) kmsg.Response {
		described++
		r := q.ResponseKind().(*kmsg.DescribeClusterResponse)
		r.ErrorCode = code
		r.ClusterID, r.ControllerID, r.EndpointType = "c", active, q.EndpointType
		for id := range int32(3) {
			var port int32
			host, text, _ := strings.Cut(k.ListenAddrs()[id], ":")
			fmt.Sscan(text, &port)
			r.Brokers = append([]kmsg.DescribeClusterResponseBroker{{NodeID: id, Host: host, Port: port}}, r.Brokers...)
		}
		return r
	})
	answer(k, func(q *kmsg.UpdateFeaturesRequest) kmsg.Response {
		asked = append(asked, k.CurrentNode())
		return q.ResponseKind()
	})
	answer(k, func(*kmsg.ApiVersionsRequest) kmsg.Response {
		asked = append(asked, k.CurrentNode())
		return nil
	})
	cl := k.controllersClient(t)
	nodes, err := cl.Nodes(t.Context(), false)
	if err != nil || len(nodes.Nodes) != 3 || nodes.Nodes[0].ID != 0 || nodes.Controller != 2 || !cl.TalksToControllers() {
		t.Fatalf("%+v, %v", nodes, err)
	}
	asked = nil
	for range 3 {
		if _, err := cl.UpdateFeatures(t.Context(), true, nil); err != nil {
			t.Fatal(err)
		}
	}
	if slices.ContainsFunc(asked, func(id int32) bool { return id != 2 }) || len(asked) < 3 {
		t.Errorf("nodes %v were asked", asked)
	}
	asked = nil
	for _, v := range cl.NodeVersions(t.Context(), append(nodes.Nodes, client.Node{ID: 7})) {
		if (v.Err != nil) != (v.Node.ID == 7) || v.Node.ID == 7 && !errors.Is(v.Err, client.ErrUnknownNode) {
			t.Errorf("node %d: %v", v.Node.ID, v.Err)
		}
	}
	for id := range int32(3) {
		if !slices.Contains(asked, id) {
			t.Errorf("nodes %v were asked for their versions", asked)
		}
	}
	if got := k.requests(); got != "" || described != 1 {
		t.Errorf("%d times DescribeCluster, %s", described, got)
	}

	// There is none, and a listener of brokers.
	active = -1
	if _, err := k.controllersClient(t).Nodes(t.Context(), false); err == nil || !strings.Contains(err.Error(), "knows of no active one") {
		t.Errorf("%v", err)
	}
	code = kerr.MismatchedEndpointType.Code
	if err := k.controllersClient(t).UnregisterBroker(context.Background(), 1); err == nil || !strings.Contains(err.Error(), "a broker answers there") {
		t.Errorf("%v", err)
	}
}

// A quorum without a leader does not hold up what else there is to ask.
func TestControllerOf(t *testing.T) {
	k := newCluster(t)
	release := make(chan struct{})
	defer close(release)
	answer(k, func(q *kmsg.ApiVersionsRequest) kmsg.Response {
		r := q.ResponseKind().(*kmsg.ApiVersionsResponse)
		for _, key := range []int16{3, 18, 55, 60} {
			r.ApiKeys = append(r.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: 2})
		}
		return r
	})
	answer(k, func(q *kmsg.DescribeQuorumRequest) kmsg.Response {
		k.SleepControl(func() { <-release })
		return q.ResponseKind()
	})
	cl := k.client(t, 10*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, _, err := cl.ControllerOf(ctx, new(client.Nodes))
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		t.Errorf("%v, and %v for the rest", err, ctx.Err())
	}
}
