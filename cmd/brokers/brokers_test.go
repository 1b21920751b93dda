package brokers

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/image"
	"kf/internal/render"
	"kf/internal/wire"
)

// fake is a cluster that answers what is in it.
type fake struct {
	nodes     client.Nodes
	topics    []client.Topic
	quorum    *client.Quorum
	quorumErr error
	versions  map[int32]client.NodeVersions
	dirs      []client.LogDir
	dirsErr   error

	configs []client.DescribedConfigs
	control bool

	validated bool
	updates   []client.FeatureUpdate
	answer    map[string]error
}

func (f *fake) Nodes(_ context.Context, fenced bool) (*client.Nodes, error) {
	nodes := f.nodes
	if !fenced {
		nodes.Nodes = slices.DeleteFunc(slices.Clone(nodes.Nodes), func(n client.Node) bool { return n.Fenced })
	}
	return &nodes, nil
}

func (f *fake) Topics(context.Context, []string) (*client.Cluster, error) {
	return &client.Cluster{Topics: f.topics}, nil
}

func (f *fake) Quorum(context.Context) (*client.Quorum, error) { return f.quorum, f.quorumErr }

func (f *fake) ControllerOf(_ context.Context, nodes *client.Nodes) (int32, *client.Quorum, error) {
	if f.quorum == nil {
		return nodes.Controller, nil, f.quorumErr
	}
	return f.quorum.Leader, f.quorum, nil
}

func (f *fake) NodeVersions(_ context.Context, nodes []client.Node) []client.NodeVersions {
	var all []client.NodeVersions
	for _, n := range nodes {
		v := f.versions[n.ID]
		v.Node = n
		all = append(all, v)
	}
	return all
}

func (f *fake) TalksToControllers() bool { return f.control }

func (f *fake) DescribeConfigs(_ context.Context, _ bool, of ...client.ConfigResource) ([]client.DescribedConfigs, error) {
	if f.configs == nil {
		return nil, kerr.ClusterAuthorizationFailed
	}
	return f.configs[:len(of)], nil
}

func (f *fake) LogDirs(_ context.Context, of kadm.BrokerDetails, _ kadm.TopicsSet) ([]client.LogDir, error) {
	var all []client.LogDir
	for _, d := range f.dirs {
		if slices.ContainsFunc(of, func(b kadm.BrokerDetail) bool { return b.NodeID == d.Broker }) {
			all = append(all, d)
		}
	}
	return all, f.dirsErr
}

func (f *fake) UpdateFeatures(_ context.Context, validate bool, updates []client.FeatureUpdate) (map[string]error, error) {
	f.validated, f.updates = validate, updates
	return f.answer, nil
}

// run returns what a command prints as CSV, says on stderr, and its exit code.
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

var threeNodes = client.Nodes{ClusterID: "c", Controller: 7, Fenced: true, Nodes: []client.Node{
	{ID: 1, Host: "a", Port: 9, Rack: new("r1")}, {ID: 2, Host: "b", Port: 9}, {ID: 3, Host: "c", Port: 9, Fenced: true},
}}

func TestList(t *testing.T) {
	f := &fake{nodes: threeNodes, quorum: &client.Quorum{Leader: 2}, topics: []client.Topic{{Name: "t", Partitions: []client.Partition{
		{Leader: 1, Replicas: []int32{1, 2}, ISR: []int32{1, 2}},
		{Leader: 2, Replicas: []int32{3, 2}, ISR: []int32{2}},
		{Leader: -1, Replicas: []int32{5, 3}, ISR: nil}, // nobody registers broker 5
	}}}}
	list := func(env *cli.Env) error { return List(t.Context(), env, f, ListOptions{Output: render.CSV}) }
	head := "broker,host,port,rack,state,controller,leaders,preferred,replicas,out_of_sync\n"
	out, _, exit := run(t, list)
	expect(t, "list", out, head+"1,a,9,r1,up,false,1,1,1,0\n2,b,9,,up,true,1,0,2,0\n3,c,9,,fenced,false,0,1,2,2\n5,,,,down,false,0,1,1,1\n")
	if exit != 0 {
		t.Errorf("exit %d", exit)
	}
	f.topics = nil
	f.quorum, f.quorumErr = nil, kerr.ClusterAuthorizationFailed
	out, errs, exit := run(t, list)
	if exit != 1 || !strings.HasPrefix(errs, "kf: error: the controller is not known: CLUSTER_AUTHORIZATION_FAILED") {
		t.Errorf("exit %d, %s", exit, errs)
	}
	expect(t, "may not know the controller", out, head+"1,a,9,r1,up,,0,0,0,0\n2,b,9,,up,,0,0,0,0\n3,c,9,,fenced,,0,0,0,0\n")
	f.quorumErr, f.nodes.Controller = nil, 1
	out, _, _ = run(t, list)
	expect(t, "no KRaft", out, head+"1,a,9,r1,up,true,0,0,0,0\n2,b,9,,up,false,0,0,0,0\n3,c,9,,fenced,false,0,0,0,0\n")
}

func TestDescribe(t *testing.T) {
	f := &fake{nodes: threeNodes, versions: map[int32]client.NodeVersions{
		1: {
			APIs:  []client.APIVersions{{Key: 3, Name: "Metadata", Min: 0, Max: 13, Use: 13}, {Key: 999, Min: 4, Max: 5, Use: -1}},
			Guess: "v3.9", Epoch: 40, Supported: map[string]client.FeatureRange{"metadata.version": {Min: 7, Max: 40}, "x": {Max: 2}},
			Finalized: map[string]int16{"metadata.version": 33},
		},
		2: {APIs: []client.APIVersions{}, Guess: "v2.8", Epoch: -1},
	}, configs: []client.DescribedConfigs{
		{Configs: []client.Config{{Key: "advertised.listeners", Value: new("A://x:1")}, {Key: "listeners", Value: new("A://:1")}, {Key: "process.roles", Value: new("broker,controller")}}},
		{Configs: []client.Config{{Key: "advertised.listeners"}, {Key: "listeners", Value: new("A://y:1,B://y:2")}, {Key: "process.roles", Value: new("")}}},
	}}
	opts := DescribeOptions{Output: render.CSV}
	describe := func(env *cli.Env) error { return Describe(t.Context(), env, f, opts) }
	out, errs, exit := run(t, describe)
	expect(t, "describe", out, "broker,host,port,rack,state,roles,listeners,release,metadata_version,apis,features_epoch,error\n"+
		"1,a,9,r1,up,\"broker,controller\",A://x:1,after 4.4,level 40,2,40,\n2,b,9,,up,,\"A://y:1,B://y:2\",v2.8,,0,,\n3,c,9,,fenced,,,,,,,it is fenced and was not asked\n")
	if exit != 0 || errs != "" {
		t.Errorf("exit %d, %s", exit, errs)
	}
	opts.APIVersions = true
	out, _, _ = run(t, describe)
	expect(t, "APIs", out, "broker,key,api,min,max,use\n1,3,Metadata,0,13,13\n1,999,,4,5,\n")
	opts.APIVersions, opts.Features = false, true
	out, _, _ = run(t, describe)
	expect(t, "features", out, "broker,feature,min,min_name,max,max_name,finalized,finalized_name\n"+
		"1,metadata.version,7,3.3-IV3,40,level 40,33,4.4-IV2\n1,x,0,,2,,0,\n")

	f.control, opts = true, DescribeOptions{Output: render.CSV, IDs: []int32{1}}
	if out, _, _ = run(t, describe); !strings.Contains(out, ",up,,,after 4.4,") {
		t.Errorf("controllers are asked for configurations of brokers: %s", out)
	}
	f.configs, f.control = nil, false
	f.versions[2] = client.NodeVersions{Err: errors.New("broker 2 (b:9): refused")}
	opts = DescribeOptions{Output: render.CSV, IDs: []int32{2, 9}}
	out, errs, exit = run(t, describe)
	expect(t, "failed", out, "broker,host,port,rack,state,roles,listeners,release,metadata_version,apis,features_epoch,error\n2,b,9,,up,,,,,,,broker 2 (b:9): refused\n")
	expect(t, "failed", errs, "kf: error: there is no broker 9; there are 1, 2, 3\nkf: error: broker 2 (b:9): refused\n")
	if exit != 1 {
		t.Errorf("exit %d", exit)
	}
}

// features are what a node supports in the tests: metadata.version and share.version.
func features(metadata, share int16, epoch int64) client.NodeVersions {
	return client.NodeVersions{
		APIs:      []client.APIVersions{{Key: client.UpdateFeaturesKey, Max: 2, Use: 2}},
		Supported: map[string]client.FeatureRange{"metadata.version": {Min: 7, Max: metadata}, "share.version": {Max: share}},
		Finalized: map[string]int16{"metadata.version": 30}, Epoch: epoch,
	}
}

func TestFeatures(t *testing.T) {
	newest := features(33, 2, 9)
	newest.Finalized = map[string]int16{"metadata.version": 31, "share.version": 1}
	newest.Supported["z.version"] = client.FeatureRange{Min: 1, Max: 3}
	f := &fake{nodes: threeNodes, versions: map[int32]client.NodeVersions{1: features(30, 1, 8), 2: newest}}
	opts := FeaturesOptions{Output: render.CSV}
	show := func(env *cli.Env) error { return Features(t.Context(), env, f, opts) }
	head := "feature,min,min_name,max,max_name,finalized,finalized_name,features_epoch\n"
	out, errs, _ := run(t, show)
	expect(t, "mixed", out, head+"metadata.version,7,3.3-IV3,30,4.3-IV0,31,4.4-IV0,9\nshare.version,0,,1,,1,,9\nz.version,0,,0,,0,,9\n")
	expect(t, "mixed", errs, "kf: warning: broker 1 supports metadata.version up to 30 (4.3-IV0), another one up to 33 (4.4-IV2)\n"+
		"kf: warning: broker 1 supports share.version up to 1, another one up to 2\nkf: warning: broker 1 supports z.version up to 0, another one up to 3\n")
	opts.Broker = new(int32(2))
	out, errs, _ = run(t, show)
	expect(t, "one", out, head+"metadata.version,7,3.3-IV3,33,4.4-IV2,31,4.4-IV0,9\nshare.version,0,,2,,1,,9\nz.version,1,,3,,0,,9\n")
	expect(t, "one", errs, "")
	f.versions[2] = client.NodeVersions{Err: errors.New("no answer")}
	if out, errs, exit := run(t, show); out != "" || exit != 1 || errs != "kf: error: no answer\n" {
		t.Errorf("%q %q %d", out, errs, exit)
	}
}

func TestUpdate(t *testing.T) {
	f := &fake{nodes: threeNodes, versions: map[int32]client.NodeVersions{1: features(33, 2, 8), 2: features(33, 2, 9)}}
	opts := UpdateOptions{Verb: "upgrade", Features: []string{"metadata.version=4.4", "share.version=0"}, Output: render.CSV}
	var asked []string
	update := func(env *cli.Env) error {
		updates, err := opts.updates()
		if err != nil {
			return err
		}
		return Update(t.Context(), env, f, updates, opts, func(what string) error {
			asked = append(asked, what)
			return nil
		})
	}
	head := "feature,from,from_name,to,to_name,result,error\n"
	out, errs, exit := run(t, update)
	expect(t, "upgrade", out, head+"metadata.version,30,4.3-IV0,33,4.4-IV2,upgraded,\nshare.version,0,,0,,unchanged,\n")
	expect(t, "asked", strings.Join(asked, "|"), "upgrade metadata.version from 30 (4.3-IV0) to 33 (4.4-IV2), share.version from 0 to 0")
	if exit != 0 || errs != "" || f.validated || f.updates[0].Kind != client.FeatureUpgrade {
		t.Errorf("exit %d, %s, %+v", exit, errs, f)
	}
	// The error of the whole is told once.
	bad := errors.New("all failed")
	f.answer, opts.DryRun, asked = map[string]error{"metadata.version": bad, "share.version": bad}, true, nil
	out, errs, exit = run(t, update)
	expect(t, "failed", out, head+"metadata.version,30,4.3-IV0,33,4.4-IV2,failed,all failed\nshare.version,0,,0,,failed,all failed\n")
	expect(t, "failed", errs, "kf: error: metadata.version: all failed\n")
	if exit != 1 || !f.validated || asked != nil {
		t.Errorf("exit %d, %+v, %q", exit, f, asked)
	}
	// Brokers before 3.3 would do it.
	v := features(33, 2, 9)
	v.APIs[0].Max = 0
	f.versions[2], f.updates = v, nil
	if _, errs, exit := run(t, update); exit != 1 || f.updates != nil || !strings.Contains(errs, "broker 2 is older than 3.3") {
		t.Errorf("exit %d, %s", exit, errs)
	}
}

func TestUpdates(t *testing.T) {
	text := func(o UpdateOptions) string {
		all, err := o.updates()
		if err != nil {
			return err.Error()
		}
		var words []string
		for _, u := range all {
			words = append(words, strings.TrimSuffix(u.Feature, ".version")+"="+levelText("", u.Level)+"!-?"[u.Kind-1:u.Kind])
		}
		return strings.Join(words, " ")
	}
	for _, tt := range []struct {
		o    UpdateOptions
		want string
	}{
		{UpdateOptions{Verb: "upgrade", Release: "4.0"}, "group=1! kraft=1! metadata=25! transaction=2!"},
		{UpdateOptions{Verb: "downgrade", Release: "4.0"}, "eligible.leader.replicas=0- group=1- kraft=1- metadata=25- share=0- streams=0- transaction=2-"},
		{UpdateOptions{Verb: "downgrade", Features: []string{"share.version=1"}, Unsafe: true}, "share=1?"},
		{UpdateOptions{Verb: "disable", Features: []string{"share.version", "group.version"}}, "group=0- share=0-"},
		{UpdateOptions{Verb: "upgrade", Features: []string{"metadata.version=4.4-IV0"}}, "metadata=31!"},
		{UpdateOptions{Verb: "upgrade", Features: []string{"=1"}}, "--feature =1: it names no feature"},
		{UpdateOptions{Verb: "upgrade", Features: []string{"a=-1"}}, `--feature a=-1: "-1" is no level`},
		{UpdateOptions{Verb: "upgrade", Features: []string{"a=99999"}}, `--feature a=99999: "99999" is no level`},
	} {
		expect(t, tt.o.Verb, text(tt.o), tt.want)
	}
}

func TestLogDirs(t *testing.T) {
	f := &fake{nodes: client.Nodes{Nodes: threeNodes.Nodes[:2]}, dirs: []client.LogDir{
		{Broker: 2, Path: "/b", Total: -1, Usable: -1},
		{Broker: 1, Path: "/d2", Total: 200, Usable: 50, Cordoned: true, Replicas: []client.LogDirReplica{
			{Topic: "t", Partition: 1, Size: 5}, {Topic: "t", Partition: 0, Size: 7, OffsetLag: 3, Future: true},
		}},
		{Broker: 1, Path: "/d1", Err: kerr.KafkaStorageError, Total: -1, Usable: -1},
	}}
	opts := LogDirsOptions{Output: render.CSV}
	show := func(env *cli.Env) error { return LogDirs(t.Context(), env, f, opts) }
	out, errs, exit := run(t, show)
	expect(t, "directories", out, "broker,dir,state,replicas,future,size,total,free,used_percent,error\n"+
		"1,/d1,offline,0,0,0,,,,"+kerr.KafkaStorageError.Error()+"\n1,/d2,cordoned,2,1,12,200,50,75,\n2,/b,online,0,0,0,,,,\n")
	if exit != 1 || !strings.HasPrefix(errs, "kf: error: broker 1: /d1: KAFKA_STORAGE_ERROR") {
		t.Errorf("exit %d, %s", exit, errs)
	}
	f.dirs, opts.Partitions = f.dirs[:2], true
	out, _, exit = run(t, show)
	expect(t, "replicas", out, "broker,dir,topic,partition,size,offset_lag,future\n1,/d2,t,0,7,3,true\n1,/d2,t,1,5,0,false\n")
	if exit != 0 {
		t.Errorf("exit %d", exit)
	}
	// One broker of many does not answer.
	f.dirsErr, opts.Partitions = errors.New("broker 3: down"), false
	if out, errs, exit = run(t, show); exit != 1 || strings.Count(out, "\n") != 3 || errs != "kf: error: broker 3: down\n" {
		t.Errorf("exit %d, %s%s", exit, out, errs)
	}
	// One is fenced, which the metadata do not list.
	f.nodes, f.dirsErr = threeNodes, nil
	if out, errs, exit = run(t, show); exit != 1 || strings.Count(out, "\n") != 3 || errs != "kf: error: broker 3 is fenced: it is down, or not ready\n" {
		t.Errorf("exit %d, %s%s", exit, out, errs)
	}
	f.nodes.Nodes = f.nodes.Nodes[:2]
	f.topics = []client.Topic{{Name: "t", Partitions: []client.Partition{{ID: 0}}}, {Name: "gone", Err: kerr.UnknownTopicOrPartition}, {Name: "secret", Err: kerr.TopicAuthorizationFailed}}
	opts.Topics = []string{"t", "gone", "secret"}
	if _, errs, exit = run(t, show); exit != 1 || !strings.HasPrefix(errs, "kf: error: there is no topic \"gone\"\nkf: error: topic \"secret\": TOPIC_AUTHORIZATION_FAILED") {
		t.Errorf("exit %d, %s", exit, errs)
	}
}

func TestQuorum(t *testing.T) {
	at := time.UnixMilli(1796085074510)
	f := &fake{quorum: &client.Quorum{Leader: 2, Epoch: 5, HighWatermark: 90, Replicas: []client.QuorumReplica{
		{Node: 2, Role: client.QuorumLeader, Directory: wire.UUID{1}, LogEndOffset: 100, LastFetch: at, LastCaughtUp: at, Endpoints: []string{"C://a:1", "D://[::1]:2"}},
		{Node: 1, Role: client.QuorumFollower, LogEndOffset: 90, LastFetch: at.Add(-250 * time.Millisecond), LastCaughtUp: at.Add(-time.Minute)},
		{Node: 3, Role: client.QuorumFollower, LogEndOffset: -1},
		{Node: 4, Role: client.QuorumObserver, LogEndOffset: 101, LastFetch: at.Add(time.Millisecond), LastCaughtUp: at},
	}}}
	out, _, _ := run(t, func(env *cli.Env) error { return Quorum(t.Context(), env, f, QuorumOptions{Output: render.CSV}) })
	expect(t, "quorum", out, "node,role,leader_epoch,high_watermark,log_end_offset,lag,fetch_age_ms,caught_up_age_ms,last_fetch,last_caught_up,directory_id,endpoints\n"+
		"2,leader,5,90,100,0,0,0,2026-12-01T00:31:14.510Z,2026-12-01T00:31:14.510Z,AQAAAAAAAAAAAAAAAAAAAA,\"C://a:1,D://[::1]:2\"\n"+
		"1,follower,5,90,90,10,250,60000,2026-12-01T00:31:14.260Z,2026-12-01T00:30:14.510Z,,\n"+
		"3,follower,5,90,,,,,,,,\n"+
		"4,observer,5,90,101,0,0,0,2026-12-01T00:31:14.511Z,2026-12-01T00:31:14.510Z,,\n")
	out, _, _ = run(t, func(env *cli.Env) error { return Quorum(t.Context(), env, f, QuorumOptions{Output: render.JSONLines}) })
	if !strings.Contains(out, `"endpoints":["C://a:1","D://[::1]:2"]}`) || !strings.Contains(out, `"endpoints":null}`) {
		t.Error(out)
	}
	// A quorum without a leader, and brokers that know no times.
	f.quorum = &client.Quorum{Leader: -1, HighWatermark: -1, Replicas: []client.QuorumReplica{{Node: 1, Role: client.QuorumFollower, LogEndOffset: 5, LastFetch: at}}}
	out, _, _ = run(t, func(env *cli.Env) error { return Quorum(t.Context(), env, f, QuorumOptions{Output: render.CSV}) })
	if !strings.HasSuffix(out, "\n1,follower,0,,5,,,,,,,\n") {
		t.Error(out)
	}
}

func TestParseIDs(t *testing.T) {
	ids, err := parseIDs([]string{"3,1", "2", "1"})
	if err != nil || !slices.Equal(ids, []int32{3, 1, 2}) {
		t.Errorf("%v %v", ids, err)
	}
	for _, wrong := range []string{"", "-1", "x", "1,", "4294967296"} {
		if ids, err := parseIDs([]string{wrong}); err == nil {
			t.Errorf("%q: %v", wrong, ids)
		}
	}
}

// What users type for features is what kf knows.
func TestCompleteFeature(t *testing.T) {
	fit, _ := completeFeature(true)(nil, nil, "")
	if len(fit) != len(image.SupportedNames())+1 || !slices.Contains(fit, "kraft.version=") {
		t.Errorf("%q", fit)
	}
	if fit, _ := completeFeature(false)(nil, nil, "share"); !slices.Equal(fit, []string{"share.version"}) {
		t.Errorf("%q", fit)
	}
}
