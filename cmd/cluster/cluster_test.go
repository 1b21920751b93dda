package cluster

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/render"
)

// fake is a cluster that answers what is in it.
type fake struct {
	nodes       client.Nodes
	controllers bool
	topics      []client.Topic
	quorum      *client.Quorum
	quorumErr   error
	gone        []string
	err         error
}

func (f *fake) Nodes(_ context.Context, fenced bool) (*client.Nodes, error) {
	nodes := f.nodes
	nodes.Fenced = nodes.Fenced && fenced
	if !fenced {
		nodes.Nodes = slices.DeleteFunc(slices.Clone(nodes.Nodes), func(n client.Node) bool { return n.Fenced })
	}
	return &nodes, nil
}

func (f *fake) TalksToControllers() bool { return f.controllers }

func (f *fake) Topics(context.Context, []string) (*client.Cluster, error) {
	return &client.Cluster{Topics: f.topics}, nil
}

func (f *fake) ControllerOf(_ context.Context, nodes *client.Nodes) (int32, *client.Quorum, error) {
	if f.quorum == nil {
		return nodes.Controller, nil, f.quorumErr
	}
	return f.quorum.Leader, f.quorum, nil
}

func (f *fake) NodeVersions(_ context.Context, nodes []client.Node) []client.NodeVersions {
	return []client.NodeVersions{{Node: nodes[0], Finalized: map[string]int16{"metadata.version": 25}}}
}

func (f *fake) UnregisterBroker(context.Context, int32) error {
	f.gone = append(f.gone, "broker")
	return f.err
}

func (f *fake) UnregisterController(context.Context, int32) error {
	f.gone = append(f.gone, "controller")
	return f.err
}

// run returns what a command prints, says on stderr, and its exit code.
func run(t *testing.T, command func(env *cli.Env) error) (stdout, stderr string, exit int) {
	t.Helper()
	var out, errs bytes.Buffer
	env := &cli.Env{Stdout: &out, Stderr: &errs}
	exit = env.Exit(command(env))
	return out.String(), errs.String(), exit
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

func newFake() *fake {
	return &fake{
		nodes: client.Nodes{ClusterID: "id", Controller: 3, Fenced: true, Nodes: []client.Node{
			{ID: 1, Host: "a", Port: 9, Rack: new("r1")}, {ID: 2, Host: "b", Port: 9, Rack: new("r1")}, {ID: 3, Host: "c", Port: 9, Fenced: true, Rack: new("r3")},
		}},
		topics: []client.Topic{
			{Name: "t", Partitions: []client.Partition{
				{Leader: 1, Replicas: []int32{1, 2}, ISR: []int32{1, 2}},
				{Leader: 2, Replicas: []int32{3, 2}, ISR: []int32{2}},
				{Leader: -1, Replicas: []int32{3}},
			}},
			{Name: "__consumer_offsets", Internal: true, Partitions: []client.Partition{{Leader: 1, Replicas: []int32{1}, ISR: []int32{1}}}},
		},
		quorum: &client.Quorum{Leader: 8, Epoch: 5, Replicas: []client.QuorumReplica{
			{Node: 8, Role: client.QuorumLeader}, {Node: 9, Role: client.QuorumFollower}, {Node: 1, Role: client.QuorumObserver},
		}},
	}
}

func TestDescribe(t *testing.T) {
	f := newFake()
	describe := func(env *cli.Env) error {
		return Describe(t.Context(), env, f, DescribeOptions{Output: render.CSV})
	}
	head := "cluster_id,controller,leader_epoch,voters,observers,metadata_version,brokers,fenced,racks,topics,internal_topics,partitions,replicas,leaderless,under_replicated,not_preferred\n"
	out, errs, exit := run(t, describe)
	expect(t, "describe", out, head+"id,8,5,2,1,4.0-IV3,2,1,1,2,1,4,6,1,2,1\n")
	if errs != "" || exit != 0 {
		t.Errorf("%q %d", errs, exit)
	}
	f.quorum, f.quorumErr, f.nodes.Fenced, f.topics = nil, kerr.ClusterAuthorizationFailed, false, nil
	out, errs, exit = run(t, describe)
	if exit != 1 || !strings.HasPrefix(errs, "kf: error: the controller is not known: CLUSTER_AUTHORIZATION_FAILED") {
		t.Errorf("exit %d, %s", exit, errs)
	}
	expect(t, "without rights", out, head+"id,,,,,4.0-IV3,2,,1,0,0,0,0,0,0,0\n")
	f.quorumErr = nil
	out, _, _ = run(t, describe)
	expect(t, "no KRaft", out, head+"id,3,,,,4.0-IV3,2,,1,0,0,0,0,0,0,0\n")
}

func TestEndpoints(t *testing.T) {
	f := newFake()
	opts := EndpointsOptions{Output: render.CSV}
	list := func(env *cli.Env) error { return Endpoints(t.Context(), env, f, opts) }
	head := "node,host,port,rack,state,endpoint_type\n"
	out, _, _ := run(t, list)
	expect(t, "brokers", out, head+"1,a,9,r1,unfenced,broker\n2,b,9,r1,unfenced,broker\n")
	opts.Fenced = true
	out, errs, _ := run(t, list)
	expect(t, "fenced", out, head+"1,a,9,r1,unfenced,broker\n2,b,9,r1,unfenced,broker\n3,c,9,r3,fenced,broker\n")
	expect(t, "fenced", errs, "")
	f.nodes.Fenced = false
	_, errs, _ = run(t, list)
	expect(t, "old broker", errs, "kf: warning: the broker is older than 4.0 and does not say which brokers are fenced\n")
	f.controllers = true
	if _, _, exit := run(t, list); exit != cli.ExitUsage {
		t.Errorf("exit %d", exit)
	}
	opts.Fenced, f.nodes.Nodes = false, f.nodes.Nodes[:1]
	out, _, _ = run(t, list)
	expect(t, "controllers", out, head+"1,a,9,r1,,controller\n")
}

func TestUnregister(t *testing.T) {
	for _, tt := range []struct {
		name        string
		opts        UnregisterOptions
		controllers bool
		err         error
		asked, want string // want is stdout without heading, or stderr
		exit        int
	}{
		{"fenced", UnregisterOptions{ID: 3}, false, nil, "unregister broker 3", "3,broker,unregistered\n", 0},
		{"up", UnregisterOptions{ID: 1}, false, nil, "unregister broker 1, which is up", "1,broker,unregistered\n", 0},
		{"dry run", UnregisterOptions{ID: 1, DryRun: true}, false, nil, "", "1,broker,valid\n", 0},
		{"unknown", UnregisterOptions{ID: 9}, false, nil, "", "kf: error: broker 9 is not registered\n", 1},
		{"controllers know no brokers", UnregisterOptions{ID: 9}, true, kerr.BrokerIDNotRegistered, "unregister broker 9",
			"kf: error: broker 9: " + kerr.BrokerIDNotRegistered.Error() + "\n", 1},
		{"controller", UnregisterOptions{ID: 9, Controller: true}, false, nil, "unregister controller 9", "9,controller,unregistered\n", 0},
	} {
		f := newFake()
		f.controllers, f.err = tt.controllers, tt.err
		asked := ""
		tt.opts.Output = render.CSV
		out, errs, exit := run(t, func(env *cli.Env) error {
			return Unregister(t.Context(), env, f, tt.opts, func(what string) error {
				asked = what
				return nil
			})
		})
		want := "node,type,result\n" + tt.want
		if tt.exit != 0 {
			out, want = errs, tt.want
		}
		expect(t, tt.name, out, want)
		expect(t, tt.name, asked, tt.asked)
		if exit != tt.exit || (asked == "") != (f.gone == nil) {
			t.Errorf("%s: exit %d, %q", tt.name, exit, f.gone)
		}
	}
	f := newFake()
	_, _, exit := run(t, func(env *cli.Env) error {
		return Unregister(t.Context(), env, f, UnregisterOptions{ID: 3}, func(string) error { return cli.Silent })
	})
	if exit != 1 || f.gone != nil {
		t.Errorf("not allowed: exit %d, %q", exit, f.gone)
	}
}
