package topics

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/render"
)

func TestParsePoint(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000).UTC()
	for s, want := range map[string]int64{
		"latest": -1, "-1": -1, "earliest": -2, "-2": -2, "max-timestamp": -3, "-3": -3, "earliest-local": -4, "-4": -4,
		"latest-tiered": -5, "-5": -5, "earliest-pending-upload": -6, "-6": -6,
		"0": 0, "17": 17, "1700000000000": 1_700_000_000_000, "-1h": 1_700_000_000_000 - 3_600_000, "now": 1_700_000_000_000,
		"@1700000000": 1_700_000_000_000, "2023-11-14T22:13:20Z": 1_700_000_000_000,
	} {
		if got, err := parsePoint(s, now); err != nil || got != want {
			t.Errorf("%q: got %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "-7", "yesterday", "Latest", "1969-01-01T00:00Z"} {
		if got, err := parsePoint(s, now); err == nil {
			t.Errorf("%q: got %d", s, got)
		}
	}
}

func offsetsFake() *fake {
	return &fake{
		topics: []client.Topic{topic("__consumer_offsets", "1/1"), topic("a", "1/1", "1/1", "2/"), topic("b", "1/1", "1/1")},
		offsets: map[int64]map[string]int64{
			client.Earliest:           {"a-0": 5, "a-1": 0, "b-0": 0, "b-1": 3, "__consumer_offsets-0": 0},
			client.Latest:             {"a-0": 20, "a-1": 0, "b-0": 9, "b-1": 3, "__consumer_offsets-0": 2},
			1_700_000_000_000 - 60_00: {"a-0": 12, "b-0": 0},
		},
		errs: map[string]error{},
	}
}

func TestOffsets(t *testing.T) {
	f := offsetsFake()
	do(func(env *cli.Env) error { return Offsets(t.Context(), env, f, OffsetsOptions{}) }).expect(t, 1, `
TOPIC  PARTITION  START-OFFSET  END-OFFSET  RECORDS
a              0             5          20       15
a              1             0           0        0
a              2             -           -        -
b              0             0           9        9
b              1             3           3        0
`, `
kf: error: topic a: partition 2: no leader: 'kf topics describe --unavailable' shows which replicas it waits for
`)
	f.errs["b-0"], f.errs["b-1"] = kerr.NotLeaderForPartition, kerr.NotLeaderForPartition
	do(func(env *cli.Env) error {
		return Offsets(t.Context(), env, f, OffsetsOptions{Selection: Selection{Words: []string{"a:0-2", "b", "c"}}, Times: []string{"latest", "-6s"}, Committed: true, Output: render.CSV})
	}).expect(t, 1, `
topic,partition,time,offset,timestamp,leader_epoch,error
a,0,latest,19,,4,
a,0,-6s,12,,4,
a,1,latest,,,4,
a,1,-6s,,,4,
b,0,latest,,,4,NOT_LEADER_FOR_PARTITION: This server is not the leader for that topic-partition.
b,0,-6s,,,4,NOT_LEADER_FOR_PARTITION: This server is not the leader for that topic-partition.
b,1,latest,,,4,NOT_LEADER_FOR_PARTITION: This server is not the leader for that topic-partition.
b,1,-6s,,,4,NOT_LEADER_FOR_PARTITION: This server is not the leader for that topic-partition.
`, `
kf: error: topic c: there is no such topic: 'kf topics list' shows all
kf: error: topic b: 2 partitions (0,1): NOT_LEADER_FOR_PARTITION: This server is not the leader for that topic-partition
`)
	if err := Offsets(t.Context(), &cli.Env{Now: time.Now}, f, OffsetsOptions{Times: []string{"soon"}}); cli.ExitCode(err) != cli.ExitUsage {
		t.Errorf("--time soon: got %v", err)
	}
	do(func(env *cli.Env) error {
		return Offsets(t.Context(), env, f, OffsetsOptions{Selection: Selection{Words: []string{"x.*"}}, Times: []string{"-1"}, Output: render.JSON})
	}).expect(t, 1, `
{"command":"topics offsets","schema_version":1,"rows":[
]}
`, `
kf: error: x.*: no partition matches
`)
}

func TestTrim(t *testing.T) {
	f := offsetsFake()
	f.topics[1].Partitions = f.topics[1].Partitions[:2] // those with a leader
	var question string
	run := func(opts TrimOptions) printed {
		f.deleted, question = nil, ""
		return do(func(env *cli.Env) error {
			env.Stdin = strings.NewReader(`{"partitions":[{"topic":"a","partition":0,"offset":7},{"topic":"b","partition":0,"offset":-1},{"topic":"b","partition":5,"offset":1},{"topic":"x","partition":0,"offset":1}],"version":1}`)
			return Trim(t.Context(), env, f, opts, func(what string) error { question = what; return nil })
		})
	}
	at := func(topic string, partition int32) int64 {
		o, ok := f.deleted.Lookup(topic, partition)
		if !ok {
			return -100
		}
		return o.At
	}
	to := int64(9)
	run(TrimOptions{Selection: Selection{Words: []string{"a", "b:0"}}, ToOffset: &to}).expect(t, 1, `
TOPIC  PARTITION  START-OFFSET  TO-OFFSET  END-OFFSET  RECORDS  LOW-WATERMARK  RESULT
a              0             5          9          20        4              9  trimmed
b              0             0          9           9        9              9  trimmed
`, `
kf: error: a-1: offset 9 is past the end of the partition, which is 0
`)
	if question != "delete 13 records of 2 topics (a, b)" || at("a", 0) != 9 || at("b", 0) != 9 || len(f.deleted["a"]) != 1 {
		t.Errorf("%q, %v", question, f.deleted)
	}
	// A time after the last record takes all of them, the end is that of the plan.
	run(TrimOptions{Selection: Selection{Words: []string{"[ab]"}, Regex: true}, ToTime: "-6s", DryRun: true, Output: render.CSV}).expect(t, 0, `
topic,partition,start_offset,to_offset,end_offset,records,low_watermark,result
a,0,5,12,20,7,,would_trim
a,1,0,0,0,0,,unchanged
b,0,0,0,9,0,,unchanged
b,1,3,3,3,0,,unchanged
`, "")
	if question != "" || f.deleted != nil {
		t.Errorf("a dry run asks %q, %v", question, f.deleted)
	}
	run(TrimOptions{Selection: Selection{Words: []string{"b"}}, ToEnd: true, Partitions: []int32{1}}).expect(t, 0, `
TOPIC  PARTITION  START-OFFSET  TO-OFFSET  END-OFFSET  RECORDS  LOW-WATERMARK  RESULT
b              1             3          3           3        0              -  unchanged
`, "")
	if question != "" || f.deleted != nil {
		t.Errorf("nothing to do asks %q, %v", question, f.deleted)
	}
	f.errs["trim a-0"], f.errs["trim b-0"] = kerr.PolicyViolation, errLost
	f.errs["trim"] = &kadm.ShardErrors{Errs: []kadm.ShardError{{Err: errors.New("broker 1: gone")}}}
	run(TrimOptions{File: "-"}).expect(t, 1, `
TOPIC  PARTITION  START-OFFSET  TO-OFFSET  END-OFFSET  RECORDS  LOW-WATERMARK  RESULT
`, `
kf: error: b-5: there is no such partition
kf: error: topic x: there is no such topic: 'kf topics list' shows all
kf: error: a-0: POLICY_VIOLATION: Request parameters do not satisfy the configured policy: a topic whose cleanup.policy has no delete keeps its records
kf: error: b-0: broker 1: gone
`)
	if at("a", 0) != 7 || at("b", 0) != 9 {
		t.Errorf("deleted %v", f.deleted)
	}
	refused := do(func(env *cli.Env) error {
		f.deleted = nil
		return Trim(t.Context(), env, f, TrimOptions{Selection: Selection{Words: []string{"a:0"}}, ToEnd: true}, func(string) error { return cli.Silent })
	})
	if refused.expect(t, 1, "", ""); f.deleted != nil {
		t.Errorf("deleted after a no: %v", f.deleted)
	}
	for _, bad := range []TrimOptions{
		{ToEnd: true}, {File: "f", Selection: Selection{Words: []string{"a"}}}, {ToOffset: new(int64(-1)), Selection: Selection{Words: []string{"a"}}},
		{ToTime: "soon", Selection: Selection{Words: []string{"a"}}}, {ToEnd: true, Selection: Selection{Words: []string{"a.*"}}},
		{ToEnd: true, Selection: Selection{Words: []string{":0"}}},
	} {
		err := Trim(t.Context(), &cli.Env{Now: time.Now}, f, bad, allowed)
		if cli.ExitCode(err) != cli.ExitUsage {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
	if err := Trim(t.Context(), &cli.Env{}, f, TrimOptions{File: "no/such/file"}, allowed); cli.ExitCode(err) != cli.ExitFailed {
		t.Errorf("got %v", err)
	}
}

func TestTrimFile(t *testing.T) {
	for text, want := range map[string]string{
		`{"partitions":[]}`: "",
		`{"version":1,"partitions":[{"topic":"a","partition":0,"offset":-1,"more":true}]}`: "",
		``:                              "unexpected end of JSON input",
		`{}`:                            `there is no field "partitions"`,
		`{"a`:                           "unexpected end of JSON input",
		`{"partitions":null}`:           `there is no field "partitions"`,
		`{"version":2,"partitions":[]}`: "version 2 is not known: want 1",
		`{"partitions":[{"topic":"a","partition":0}]}`:                                                    `entry 0 of "partitions": want "topic", "partition" and "offset"`,
		`{"partitions":[{"topic":"a","partition":0,"offset":1},{"topic":"a","partition":-1,"offset":1}]}`: `entry 1 of "partitions": -1 is no partition`,
		`{"partitions":[{"topic":"a","partition":0,"offset":-2}]}`:                                        `entry 0 of "partitions": -2 is no offset: want 0 or more, or -1 for the end`,
		`{"partitions":[{"topic":"a","partition":0,"offset":1},{"topic":"a","partition":0,"offset":1}]}`:  `entry 1 of "partitions": a-0 is named twice`,
	} {
		_, err := parseTrimFile([]byte(text))
		if got := errorText(err); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	file, err := readTrimFile(t.Context(), &cli.Env{Stdin: strings.NewReader(`{"partitions":[{"topic":"a","partition":3,"offset":9}]}`)}, "-")
	if err != nil || file["a"][3] != 9 {
		t.Errorf("got %v, %v", file, err)
	}
	if _, err := readTrimFile(t.Context(), &cli.Env{Stdin: iotest.ErrReader(errors.New("broken"))}, "-"); errorText(err) != "standard input: broken" {
		t.Errorf("got %v", err)
	}
	// No entries, no topics: an empty list of names must not become all topics.
	f := &fake{topics: []client.Topic{topic("a", "1/1")}}
	topics, err := trimFile{}.topics(t.Context(), f, &failures{env: &cli.Env{}})
	if len(topics) > 0 || err != nil || !slices.Equal(f.asked, nil) {
		t.Errorf("got %v, %v, asked for %q", topics, err, f.asked)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzTrimFile(f *testing.F) {
	f.Add([]byte(`{"partitions":[{"topic":"a","partition":0,"offset":-1}],"version":1}`))
	f.Fuzz(func(t *testing.T, p []byte) {
		file, err := parseTrimFile(p)
		if err != nil {
			return
		}
		for topic, partitions := range file {
			for id, offset := range partitions {
				if id < 0 || offset < -1 {
					t.Errorf("%s-%d: %d", topic, id, offset)
				}
			}
		}
	})
}
