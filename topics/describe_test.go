package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/render"
	"kf/internal/wire"
)

func value(s string) *string { return &s }

func describeFake() *fake {
	f := &fake{
		topics: []client.Topic{
			topic("__consumer_offsets", "1/1"),
			topic("fine", "1,2,3/1,2,3"),
			topic("sick", "1,2,3/1,2", "2,3,1/2", "3/", "1,2,4/1,2"),
		},
		brokers: []int32{1, 2},
		configs: map[string]client.TopicConfigs{
			"__consumer_offsets": {MinISR: 1},
			"fine":               {MinISR: 2, Set: []client.TopicConfig{{Key: "min.insync.replicas", Value: value("2")}}},
			"sick": {MinISR: 2, Set: []client.TopicConfig{
				{Key: "cleanup.policy", Value: value("compact,delete"), Own: true}, {Key: "min.insync.replicas", Value: value("2")}, {Key: "secret", Own: true},
			}},
		},
		moving: map[string]map[int32]client.Reassignment{"sick": {3: {Adding: []int32{4}, Removing: []int32{}}}},
		offsets: map[int64]map[string]int64{
			client.Earliest: {"fine-0": 3, "sick-0": 0, "sick-1": 1},
			client.Latest:   {"fine-0": 8, "sick-0": 2, "sick-1": 1},
		},
		dirs: []client.LogDir{
			{Replicas: []client.LogDirReplica{{Topic: "fine", Size: 70}, {Topic: "sick", Size: 20}}},
			{Replicas: []client.LogDirReplica{{Topic: "fine", Size: 71}, {Topic: "sick", Partition: 1, Size: 5}}},
			{Replicas: []client.LogDirReplica{{Topic: "fine", Size: 70}}},
		},
		errs: map[string]error{},
	}
	// DescribeTopics knows newer epochs, and the ELR.
	sick := topic("sick", "1,2,3/1,2", "2,3,1/2", "3/", "1,2,4/1,2")
	for i := range sick.Partitions {
		sick.Partitions[i].LeaderEpoch, sick.Partitions[i].ELR, sick.Partitions[i].LastKnownELR = 8, []int32{}, []int32{}
	}
	sick.Partitions[2].ELR, sick.Partitions[2].LastKnownELR = []int32{3}, []int32{3}
	other := topic("fine", "9/9") // another topic under that name
	other.ID = wire.UUID{1}
	f.elr = []client.Topic{sick, other}
	return f
}

func TestDescribe(t *testing.T) {
	f := describeFake()
	run := func(opts DescribeOptions) printed {
		f.asked = nil
		return do(func(env *cli.Env) error { return Describe(t.Context(), env, f, opts) })
	}
	run(DescribeOptions{}).expect(t, 0, `
TOPIC  TOPIC-ID                PARTITIONS  REPLICATION-FACTOR  SIZE  CONFIGS
fine   ZgAAAAAAAAAAAAAAAAAAAA           1                   3    71  min.insync.replicas=2
sick   cwAAAAAAAAAAAAAAAAAAAA           4                   3     -  cleanup.policy=compact,delete min.insync.replicas=2 secret=

TOPIC  PARTITION  LEADER  LEADER-EPOCH  REPLICAS  ISR    ELR  START-OFFSET  END-OFFSET  SIZE  STATUS
fine           0       1             7  1,2,3     1,2,3  -               3           8    71  ok
sick           0       1             8  1,2,3     1,2    -               0           2    20  under-replicated,at-min-isr
sick           1       2             8  2,3,1     2      -               1           1     5  under-replicated,under-min-isr
sick           2       -             8  3         -      3               -           -     -  under-replicated,under-min-isr,unavailable
sick           3       1             8  1,2,4     1,2    -               -           -     -  reassigning,at-min-isr
`, "")
	slices.Sort(f.asked)
	if want := []string{"configs fine sick", "describe fine sick", "dirs of [1 2], all false", "reassignments", "topics "}; !slices.Equal(f.asked, want) {
		t.Errorf("asked for %q, want %q", f.asked, want)
	}
	run(DescribeOptions{IDs: []string{"cwAAAAAAAAAAAAAAAAAAAA", "eAAAAAAAAAAAAAAAAAAAAA"}, Output: render.JSONLines}).expect(t, 1, `
{"kind":"topic","topic":"sick","topic_id":"cwAAAAAAAAAAAAAAAAAAAA","partitions":4,"replication_factor":3,"internal":false,"size":null,"total_size":null,"configs":{"cleanup.policy":"compact,delete","min.insync.replicas":"2","secret":null}}
{"kind":"partition","topic":"sick","partition":0,"leader":1,"leader_epoch":8,"replicas":[1,2,3],"isr":[1,2],"offline":[],"elr":[],"last_known_elr":[],"adding":[],"removing":[],"start_offset":0,"end_offset":2,"size":20,"total_size":null,"status":["under-replicated","at-min-isr"]}
{"kind":"partition","topic":"sick","partition":1,"leader":2,"leader_epoch":8,"replicas":[2,3,1],"isr":[2],"offline":[],"elr":[],"last_known_elr":[],"adding":[],"removing":[],"start_offset":1,"end_offset":1,"size":5,"total_size":null,"status":["under-replicated","under-min-isr"]}
{"kind":"partition","topic":"sick","partition":2,"leader":null,"leader_epoch":8,"replicas":[3],"isr":[],"offline":[],"elr":[3],"last_known_elr":[3],"adding":[],"removing":[],"start_offset":null,"end_offset":null,"size":null,"total_size":null,"status":["under-replicated","under-min-isr","unavailable"]}
{"kind":"partition","topic":"sick","partition":3,"leader":1,"leader_epoch":8,"replicas":[1,2,4],"isr":[1,2],"offline":[],"elr":[],"last_known_elr":[],"adding":[4],"removing":[],"start_offset":null,"end_offset":null,"size":null,"total_size":null,"status":["reassigning","at-min-isr"]}
`, `
kf: error: topic eAAAAAAAAAAAAAAAAAAAAA: no topic has this id: 'kf topics list -o json' shows them
`)
	run(DescribeOptions{WithOverrides: true, MetadataOnly: true, Output: render.CSV}).expect(t, 0, `
kind,topic,topic_id,partitions,replication_factor,internal,size,total_size,configs
topic,sick,cwAAAAAAAAAAAAAAAAAAAA,4,3,false,,,"cleanup.policy=compact,delete min.insync.replicas=2 secret="
`, "")
	if want := []string{"topics ", "configs fine sick"}; !slices.Equal(f.asked, want) {
		t.Errorf("asked for %q, want %q", f.asked, want)
	}
	run(DescribeOptions{Selection: Selection{Words: []string{"nosuch"}}, IfExists: true}).expect(t, 0, `
TOPIC  TOPIC-ID  PARTITIONS  REPLICATION-FACTOR  SIZE  CONFIGS
`, "")
	run(DescribeOptions{Selection: Selection{Words: []string{"x.*"}}}).expect(t, 1, `
TOPIC  TOPIC-ID  PARTITIONS  REPLICATION-FACTOR  SIZE  CONFIGS
`, `
kf: error: no topic matches: 'kf topics list' shows all
`)
	for _, bad := range []DescribeOptions{
		{Fail: true}, {Unavailable: true, WithOverrides: true}, {AtMinISR: true, Summary: true}, {IDs: []string{"x"}}, {IDs: []string{"AAAAAAAAAAAAAAAAAAAAAA"}},
	} {
		if err := Describe(t.Context(), &cli.Env{}, f, bad); cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
}

func TestDescribeFilters(t *testing.T) {
	f := describeFake()
	for _, tt := range []struct {
		opts DescribeOptions
		want string
		code int
	}{
		{DescribeOptions{UnderReplicated: true}, "0 1 2", 0},
		{DescribeOptions{UnderMinISR: true}, "1 2", 0},
		{DescribeOptions{AtMinISR: true, Fail: true}, "0 3", 3},
		{DescribeOptions{Unavailable: true}, "2", 0},
		{DescribeOptions{Unavailable: true, AtMinISR: true}, "0 2 3", 0},
		{DescribeOptions{Selection: Selection{Words: []string{"fine"}}, UnderReplicated: true, Fail: true}, "", 0},
	} {
		tt.opts.MetadataOnly, tt.opts.Output = true, render.CSV
		p := do(func(env *cli.Env) error { return Describe(t.Context(), env, f, tt.opts) })
		var got []string
		for line := range strings.Lines(p.stdout) {
			if fields := strings.Split(line, ","); fields[0] == "partition" {
				got = append(got, fields[2])
			}
		}
		if strings.Join(got, " ") != tt.want || p.code != tt.code || p.stderr != "" {
			t.Errorf("%+v: got %q, code %d, %s; want %q, code %d", tt.opts, got, p.code, p.stderr, tt.want, tt.code)
		}
	}
	// Where nothing is wrong, nothing more is asked for; where something is, only that.
	f.asked = nil
	do(func(env *cli.Env) error {
		return Describe(t.Context(), env, f, DescribeOptions{Unavailable: true, Selection: Selection{Words: []string{"fine"}}})
	}).expect(t, 0, `
TOPIC  PARTITION  LEADER  LEADER-EPOCH  REPLICAS  ISR  ELR  START-OFFSET  END-OFFSET  SIZE  STATUS
`, "")
	if want := []string{"topics fine", "reassignments"}; !slices.Equal(f.asked, want) {
		t.Errorf("asked for %q, want %q", f.asked, want)
	}
	f.asked = nil
	do(func(env *cli.Env) error { return Describe(t.Context(), env, f, DescribeOptions{Unavailable: true}) })
	slices.Sort(f.asked)
	if want := []string{"configs sick", "describe sick", "dirs of [], all false", "reassignments", "topics "}; !slices.Equal(f.asked, want) {
		t.Errorf("asked for %q, want %q", f.asked, want)
	}
}

// What one question leaves open does not keep the rest from being printed.
func TestDescribeUnanswered(t *testing.T) {
	f := describeFake()
	only := DescribeOptions{Selection: Selection{Words: []string{"fine"}}}
	run := func() printed {
		return do(func(env *cli.Env) error { return Describe(t.Context(), env, f, only) })
	}
	rest := func(p printed) string { return strings.Join(strings.Fields(p.stdout)[6:], " ") }
	// An old broker, or one that does not tell this user.
	f.errs = map[string]error{
		"describe": &client.UnsupportedError{API: "DescribeTopicPartitions", Err: kerr.UnsupportedVersion},
		"dirs":     kerr.ClusterAuthorizationFailed, "reassignments": kerr.ClusterAuthorizationFailed,
	}
	f.dirs, f.moving = nil, nil
	if p := run(); p.code != 0 || p.stderr != "" ||
		!strings.HasSuffix(rest(p), "fine 0 1 7 1,2,3 1,2,3 - 3 8 - ok") {
		t.Errorf("code %d, %s\n%s", p.code, p.stderr, p.stdout)
	}
	f = describeFake()
	f.errs["dirs"] = errors.Join(errors.New("broker 1: gone"), errors.New("broker 2: gone"))
	if p := run(); p.stderr != "kf: warning: sizes are not complete: broker 1: gone\nkf: warning: sizes are not complete: broker 2: gone\n" {
		t.Errorf("two brokers: %s", p.stderr)
	}
	lost := errors.New("no answer")
	for name, want := range map[string]struct {
		code int
		said string
	}{
		"describe":      {1, "kf: error: eligible leader replicas are unknown: no answer\n"},
		"configs":       {1, "kf: error: configurations are unknown: no answer\n"},
		"reassignments": {1, "kf: error: the controller does not say which partitions are reassigned: no answer\n"},
		"dirs":          {0, "kf: warning: sizes are not complete: no answer\n"},
		"fine-0":        {0, "kf: warning: offsets are not complete: no answer\n"},
	} {
		f = describeFake()
		f.errs[name] = lost
		if p := run(); p.code != want.code || p.stderr != want.said || !strings.Contains(p.stdout, "\nfine           0       1 ") {
			t.Errorf("%s: code %d, %s\n%s", name, p.code, p.stderr, p.stdout)
		}
	}
	f = describeFake()
	f.errs["reassignments"] = fmt.Errorf("no answer within 1s: %w", context.DeadlineExceeded)
	if p := run(); p.code != 4 || !strings.Contains(p.stdout, "\nfine           0       1 ") {
		t.Errorf("time ran out: code %d, %s\n%s", p.code, p.stderr, p.stdout)
	}
	f = describeFake()
	f.configs["fine"] = client.TopicConfigs{MinISR: -1, Err: kerr.TopicAuthorizationFailed}
	p := run()
	if p.code != 1 || !strings.HasPrefix(p.stderr, "kf: error: topic fine: its configurations are unknown: TOPIC_AUTHORIZATION_FAILED") || !strings.Contains(p.stdout, " -\n") {
		t.Errorf("code %d, %s\n%s", p.code, p.stderr, p.stdout)
	}
}
