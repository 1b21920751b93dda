package topics

import (
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

func TestList(t *testing.T) {
	f := &fake{
		topics:  []client.Topic{topic("__consumer_offsets", "1/1"), topic("a", "1,2/1", "2,1/2"), topic("b", "3/3")},
		brokers: []int32{1, 2, 4},
		dirs: []client.LogDir{
			{Broker: 1, Replicas: []client.LogDirReplica{{Topic: "a", Partition: 0, Size: 10}, {Topic: "a", Partition: 1, Size: 7}, {Topic: "a", Partition: 1, Size: 100, Future: true}}},
			{Broker: 2, Replicas: []client.LogDirReplica{{Topic: "a", Partition: 0, Size: 9}}},
		},
	}
	do(func(env *cli.Env) error { return List(t.Context(), env, f, ListOptions{}) }).expect(t, 0, `
TOPIC  PARTITIONS  REPLICATION-FACTOR
a               2                   2
b               1                   1
`, "")
	do(func(env *cli.Env) error {
		return List(t.Context(), env, f, ListOptions{Names: true, Selection: Selection{Internal: true}})
	}).expect(t, 0, `
__consumer_offsets
a
b
`, "")
	if asked := strings.Join(f.asked, ";"); asked != "topics ;topics " {
		t.Errorf("asked for %q", asked)
	}
	// One replica of a-1 is not known, and none of b.
	f.asked = nil
	do(func(env *cli.Env) error {
		return List(t.Context(), env, f, ListOptions{Sizes: true, Output: render.JSONLines})
	}).expect(t, 0, `
{"topic":"a","partitions":2,"replication_factor":2,"internal":false,"topic_id":"YQAAAAAAAAAAAAAAAAAAAA","size":17,"total_size":null}
{"topic":"b","partitions":1,"replication_factor":1,"internal":false,"topic_id":"YgAAAAAAAAAAAAAAAAAAAA","size":null,"total_size":null}
`, "")
	if asked := strings.Join(f.asked, ";"); asked != "topics ;dirs of [1 2], all true" {
		t.Errorf("asked for %q", asked)
	}
	f.errs = map[string]error{"dirs": errors.New("broker 2 (b:9092): no answer")}
	do(func(env *cli.Env) error {
		return List(t.Context(), env, f, ListOptions{Sizes: true, Selection: Selection{Words: []string{"a", "x"}}})
	}).expect(t, 1, `
TOPIC  PARTITIONS  REPLICATION-FACTOR  SIZE  TOTAL-SIZE
a               2                   2    17           -
`, `
kf: error: topic x: there is no such topic: 'kf topics list' shows all
kf: error: sizes are not complete: broker 2 (b:9092): no answer
`)
	do(func(env *cli.Env) error {
		return List(t.Context(), env, &fake{}, ListOptions{Sizes: true, Output: render.CSV})
	}).expect(t, 0, `
topic,partitions,replication_factor,internal,topic_id,size,total_size
`, "")
}

func TestCreate(t *testing.T) {
	opts := CreateOptions{Topics: []string{"new", "old", "bad"}, Partitions: 6, Replication: -1, Configs: []string{"cleanup.policy=compact,delete", "x=a=b"}}
	f := &fake{
		topics: []client.Topic{topic("old", "1,2/1")},
		errs:   map[string]error{"create old": fmt.Errorf("%w: Topic 'old' already exists.", kerr.TopicAlreadyExists), "create bad": kerr.InvalidTopicException},
	}
	do(func(env *cli.Env) error { return Create(t.Context(), env, f, opts) }).expect(t, 1, `
TOPIC  TOPIC-ID                PARTITIONS  REPLICATION-FACTOR  RESULT
new    AQAAAAAAAAAAAAAAAAAAAA           6                   3  created
`, `
kf: error: topic old: TOPIC_ALREADY_EXISTS: Topic with this name already exists.: Topic 'old' already exists: to take that for success, give --if-not-exists
kf: error: topic bad: INVALID_TOPIC_EXCEPTION: The request attempted to perform an operation on an invalid topic
`)
	config := "map[cleanup.policy:compact,delete x:a=b], only validate false"
	want := []string{"create new 6 -1 [] " + config, "create old 6 -1 [] " + config, "create bad 6 -1 [] " + config, "await new"}
	if !slices.Equal(f.asked, want) {
		t.Errorf("asked for %q, want %q", f.asked, want)
	}

	opts.Topics, opts.IfNotExists, opts.Output = []string{"new", "old"}, true, render.CSV
	opts.Partitions, opts.Assignment = -1, "1:2:3,2:3:1"
	f.errs["await"] = errors.New("no answer within 1s")
	do(func(env *cli.Env) error { return Create(t.Context(), env, f, opts) }).expect(t, 1, `
topic,topic_id,partitions,replication_factor,result
new,AQAAAAAAAAAAAAAAAAAAAA,6,3,created
old,,,,exists
`, `
kf: warning: topic old exists with 1 partitions, not 2
kf: warning: topic old exists with replication factor 2, not 3
kf: error: created, but not every broker knows a leader of each partition: no answer within 1s
`)

	opts = CreateOptions{Topics: []string{"a.b_c"}, Partitions: -1, Replication: -1, DryRun: true}
	f = &fake{}
	do(func(env *cli.Env) error { return Create(t.Context(), env, f, opts) }).expect(t, 0, `
TOPIC  TOPIC-ID  PARTITIONS  REPLICATION-FACTOR  RESULT
a.b_c  -                  6                   3  valid
`, `
kf: warning: topic a.b_c: names of metrics do not tell '.' from '_', so a name with both can collide with another one: use only one of them
`)
	if want := []string{"create a.b_c -1 -1 [] map[], only validate true", "await "}; !slices.Equal(f.asked, want) {
		t.Errorf("asked for %q, want %q", f.asked, want)
	}

	for _, bad := range []CreateOptions{
		{Partitions: 0, Replication: -1}, {Partitions: -2, Replication: -1}, {Partitions: -1, Replication: 0},
		{Partitions: -1, Replication: -1, Assignment: "1,x"}, {Partitions: -1, Replication: -1, Assignment: "1,,2"},
		{Partitions: -1, Replication: -1, Assignment: "1:-2"}, {Partitions: -1, Replication: -1, Configs: []string{"x"}},
		{Partitions: -1, Replication: -1, Configs: []string{"=x"}}, {Partitions: -1, Replication: -1, Configs: []string{"x=1", "x=2"}},
		{Partitions: -1, Replication: -1, Topics: []string{"a", "a"}},
	} {
		if err := Create(t.Context(), &cli.Env{}, &fake{}, bad); cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
}

func TestLed(t *testing.T) {
	for _, tt := range []struct {
		topics []client.Topic
		want   bool
	}{
		{nil, false},
		{[]client.Topic{topic("a", "1/1", "2/2")}, true},
		{[]client.Topic{topic("a", "1/1", "2/")}, false},
		{[]client.Topic{topic("a")}, false},
		{[]client.Topic{{Name: "a", Err: kerr.UnknownTopicOrPartition}}, false},
	} {
		if got := led(tt.topics, 1); got != tt.want {
			t.Errorf("%+v: got %v", tt.topics, got)
		}
	}
}

func TestAlter(t *testing.T) {
	three := topic("a", "1/1", "1/1", "1/1")
	for _, tt := range []struct {
		partitions int32
		assignment string
		want       string
	}{
		{6, "", "6 []"},
		{3, "", "it has 3 partitions already"},
		{2, "", "it has 3 partitions, and their number cannot go down to 2: create another topic and copy the records"},
		{5, "2,3", "5 [[2] [3]]"},
		{5, "9,9,9,2,3", "5 [[2] [3]]"}, // as Kafka's script wants it
		{0, "9,9,9,2:1", "4 [[2 1]]"},
		{5, "2,3,4", "--replica-assignment has 3 partitions: want the 2 new ones, or all 5"},
		{0, "2", "it has 3 partitions, and their number cannot go down to 1: create another topic and copy the records"},
	} {
		o := AlterOptions{Partitions: tt.partitions, Assignment: tt.assignment}
		assignment, err := o.assignment()
		if err != nil {
			t.Fatal(err)
		}
		change, err := o.change(&three, assignment)
		got := fmt.Sprint(change.Count, change.Assignment)
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%d, %q: got %s, want %s", tt.partitions, tt.assignment, got, tt.want)
		}
	}

	f := &fake{
		topics: []client.Topic{three, topic("b", "1/1"), topic("c", "1/1")},
		errs:   map[string]error{"add b": kerr.InvalidPartitions},
	}
	opts := AlterOptions{Selection: Selection{Words: []string{"a", "b", "c", "x"}}, Partitions: 3}
	var question string
	allow := func(what string) error { question = what; return nil }
	do(func(env *cli.Env) error { return Alter(t.Context(), env, f, opts, allow) }).expect(t, 1, `
TOPIC  BEFORE  PARTITIONS  RESULT
c           1           3  altered
`, `
kf: error: topic x: there is no such topic: 'kf topics list' shows all
kf: error: topic a: it has 3 partitions already
kf: error: topic b: INVALID_PARTITIONS: Number of partitions is below 1
`)
	if want := []string{"topics a b c x", "add to b 3 [], only validate false", "add to c 3 [], only validate false", "await c"}; !slices.Equal(f.asked, want) {
		t.Errorf("asked for %q, want %q", f.asked, want)
	}
	if question != "add partitions to 2 topics (b, c)" {
		t.Errorf("question %q", question)
	}
	f.asked = nil
	opts = AlterOptions{Selection: Selection{Words: []string{"c"}}, Partitions: 2, DryRun: true}
	refuse := func(string) error { return cli.Silent }
	do(func(env *cli.Env) error { return Alter(t.Context(), env, f, opts, refuse) }).expect(t, 0, `
TOPIC  BEFORE  PARTITIONS  RESULT
c           1           2  valid
`, "")
	opts.DryRun, f.asked = false, nil
	do(func(env *cli.Env) error { return Alter(t.Context(), env, f, opts, refuse) }).expect(t, 1, "", "")
	if want := []string{"topics c"}; !slices.Equal(f.asked, want) {
		t.Errorf("asked for %q after a no", f.asked)
	}
	for _, words := range []string{"c.*", "x"} {
		opts.Words, opts.IfExists = []string{words}, true
		err := Alter(t.Context(), &cli.Env{}, f, opts, allowed)
		if words == "x" && err != nil || words != "x" && cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%s: got %v", words, err)
		}
	}
}

func TestDelete(t *testing.T) {
	f := &fake{
		topics:  []client.Topic{topic("__consumer_offsets", "1/1"), topic("a.b", "1,2/1", "1,2/1"), topic("a_b", "1/1")},
		brokers: []int32{1, 2},
		dirs:    []client.LogDir{{Replicas: []client.LogDirReplica{{Topic: "a.b", Partition: 0, Size: 1000}, {Topic: "a.b", Partition: 1, Size: 500}}}, {Replicas: []client.LogDirReplica{{Topic: "a.b", Partition: 0, Size: 1000}, {Topic: "a.b", Partition: 1, Size: 500}}}},
	}
	var question string
	allow := func(what string) error { question = what; return nil }
	run := func(opts DeleteOptions) printed {
		f.asked, question = nil, ""
		return do(func(env *cli.Env) error { return Delete(t.Context(), env, f, opts, allow) })
	}
	run(DeleteOptions{Selection: Selection{Words: []string{"a.b", "x"}}}).expect(t, 1, `
TOPIC  PARTITIONS  REPLICATION-FACTOR  TOTAL-SIZE  RESULT
a.b             2                   2        3000  deleted
`, `
kf: error: topic x: there is no such topic: 'kf topics list' shows all
`)
	if want := []string{"topics a.b x", "dirs of [1 2], all false", "remove a.b", "await a.b"}; !slices.Equal(f.asked, want) {
		t.Errorf("asked for %q, want %q", f.asked, want)
	}
	if question != "delete topic a.b: 2 partitions, 2.9 KiB in all replicas" {
		t.Errorf("question %q", question)
	}
	run(DeleteOptions{Selection: Selection{Words: []string{".*"}, Regex: true}, DryRun: true, Output: render.CSV}).expect(t, 0, `
topic,topic_id,partitions,replication_factor,total_size,result
a.b,YQAAAAAAAAAAAAAAAAAAAA,2,2,3000,would_delete
a_b,YQAAAAAAAAAAAAAAAAAAAA,1,1,,would_delete
`, "")
	if question != "" || slices.Contains(f.asked, "remove a.b a_b") {
		t.Errorf("a dry run asked %q, %q", question, f.asked)
	}
	run(DeleteOptions{Selection: Selection{Words: []string{"a.*"}}}).expect(t, 2, "", `
kf: error: "a.*" is no name of a topic: for a pattern give --regex
`)
	run(DeleteOptions{Selection: Selection{Words: []string{"x.*"}, Regex: true}}).expect(t, 1, "", `
kf: error: no topic matches: 'kf topics list' shows all
`)
	run(DeleteOptions{Selection: Selection{Words: []string{"x.*"}, Regex: true}, IfExists: true}).expect(t, 0, "", "")
	run(DeleteOptions{Selection: Selection{Words: []string{"x"}}, IfExists: true}).expect(t, 0, "", "")
	run(DeleteOptions{Selection: Selection{Words: []string{"__consumer_offsets"}}}).expect(t, 1, "", `
kf: error: topic __consumer_offsets: Kafka keeps this topic for itself, and loses what it knows of groups or transactions without it: to delete it nevertheless, give --internal
`)
	f.errs = map[string]error{"remove a.b": kerr.TopicDeletionDisabled, "dirs": errors.New("broker 2: gone"), "await": errors.New("late")}
	run(DeleteOptions{Selection: Selection{Words: []string{"a.b", "a_b", "__consumer_offsets"}, Internal: true}}).expect(t, 1, `
TOPIC               PARTITIONS  REPLICATION-FACTOR  TOTAL-SIZE  RESULT
__consumer_offsets           1                   1           -  deleted
a_b                          1                   1           -  deleted
`, `
kf: warning: bytes are not known of all topics: broker 2: gone
kf: error: topic a.b: TOPIC_DELETION_DISABLED: Topic deletion is disabled: the brokers run with delete.topic.enable=false
kf: error: deleted, but some broker still lists it: late
`)
	if question != "delete 3 topics (__consumer_offsets, a.b, a_b): 4 partitions" {
		t.Errorf("question %q", question)
	}
	// One that was made anew under the name of a deleted topic is not waited for.
	if old, other := topic("a"), topic("a"); same([]client.Topic{old}, func() client.Topic { other.ID = wire.UUID{9}; return other }()) || !same([]client.Topic{old}, old) {
		t.Error("same")
	}
}
