package group

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
)

// patternsThatDiffer are regular expressions that Kafka takes and kf does not, or the
// reverse.
var patternsThatDiffer = map[string]string{
	`(a{100}){100}`:           "Go allows for 1000 repetitions in all",
	`((a{100}){10}){10}`:      "Go allows for 1000 repetitions in all",
	`(((a{10}){10}){10}){10}`: "Go allows for 1000 repetitions in all",
	`(.{0,1000}){0,2}`:        "Go allows for 1000 repetitions in all",
	`\p{Letter}+`:             "Go knows long names of categories",
	`\é`:                      "Go escapes nothing but ASCII",
}

// Regular expressions mean what they mean to RE2/J 1.8, which Kafka 4.4.0 uses. The
// table has an expression, whether it is valid, and the topics that it matches or
// what is wrong with it; <> is the empty topic.
func TestPatterns(t *testing.T) {
	p, err := os.ReadFile("testdata/patterns.tsv")
	if err != nil {
		t.Fatal(err)
	}
	topics := []string{"orders", "orders-1", "Orders", "or", "x.y", "x-y", "_a", "a_b", "a1", "foo", "foobar", "barfoo", "ab", "aab", "abc", "a.b.c",
		"aaaaaaaaaa", "123", ""}
	n := 0
	for line := range strings.Lines(string(p)) {
		pattern, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		n++
		got := "ok\t"
		if re, err := compilePattern(pattern); err != nil {
			got = "bad\t" + err.Error()
		} else {
			var matched []string
			for _, topic := range topics {
				if matchesWhole(re, topic) {
					if topic == "" {
						topic = "<>"
					}
					matched = append(matched, topic)
				}
			}
			got += strings.Join(matched, " ")
		}
		if _, differs := patternsThatDiffer[pattern]; (got == want) == differs {
			t.Errorf("%s is %q, and %q to Kafka", pattern, got, want)
		}
	}
	if n < 200 {
		t.Errorf("%d expressions in the table", n)
	}
}

// What a regular expression matches is found in the background; the group may have
// changed meanwhile.
func TestPatternsResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"a1": 1, "a2": 1, "b1": 1})
		join := func(group, member, pattern string) {
			q := joins(group, member)
			q.SubscribedTopicNames, q.SubscribedTopicRegex = nil, &pattern
			b.heartbeat(q)
		}
		join("g", "m", "a.*")
		b.expectWrote(`
			5 m [] regex=a.*
			8 m 1<-0 stable
			16 a.* [a1 a2]
			3 epoch=2 topics=true`)
		b.heartbeat(beats("g", "m", 1))
		b.expectWrote(`
			7 m a1:0 a2:0
			6 epoch=2 timed=true
			8 m 2<-1 stable has a1:0@2 a2:0@2`)
		// For 10 s nothing is resolved again, whatever happens.
		join("g", "n", "b.*")
		b.expectWrote(`
			5 n [] regex=b.*
			8 n 2<-0 stable`)
		b.sleep(10000)
		b.heartbeat(beats("g", "n", 2))
		b.expectWrote("")
		b.sleep(1)
		b.heartbeat(beats("g", "n", 2))
		b.expectWrote(`
			16 a.* [a1 a2]
			16 b.* [b1]
			3 epoch=3 topics=true`)
		b.expectReplay()

		// The last member that wants it leaves while it is resolved.
		b.sleep(10001)
		b.addTopic("b2", 1)
		b.publish()
		ask := beats("g", "n", 2)
		b.in(func(m *machine) {
			// Both happen before what is found can be recorded.
			if _, r, err := m.consumerHeartbeat(Client{ID: "c", Host: "/127.0.0.1"}, ask); err != nil || len(r.Records) == 0 {
				t.Errorf("heartbeat: %v, %v", r, err)
			}
			for _, r := range m.fence(m.groups["g"].(*consumerGroup), []*consumerMember{m.groups["g"].(*consumerGroup).members["n"]}).Records {
				m.Replay(r, -1)
			}
		})
		b.expectWrote(`
			16 a.* [a1 a2]`)
		// So does the group.
		b.sleep(10001)
		b.addTopic("a3", 1)
		b.publish()
		b.in(func(m *machine) {
			if _, _, err := m.consumerHeartbeat(Client{ID: "c", Host: "/127.0.0.1"}, beats("g", "m", 2)); err != nil {
				t.Error(err)
			}
			m.dropConsumer(m.groups["g"].(*consumerGroup))
		})
		b.expectWrote("")
	})
}

// Regular expressions are resolved anew after group.consumer.regex.refresh.interval.ms
// and when topics were created, and what is no longer matched is given up.
func TestPatternsRefreshed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]int32{"a1": 1})
		b.config.ConsumerRegexRefresh = 60000
		q := joins("g", "m")
		q.SubscribedTopicRegex = new("a.*")
		b.heartbeat(q)
		b.heartbeat(beats("g", "m", 1))
		b.wrote()
		for range 6 {
			b.sleep(10000)
			b.heartbeat(beats("g", "m", 2))
		}
		b.expectWrote("")
		b.sleep(1)
		b.heartbeat(beats("g", "m", 2))
		b.expectWrote("16 a.* [a1]")

		b.sleep(10001)
		b.addTopic("a2", 1)
		b.publish()
		b.heartbeat(beats("g", "m", 2))
		b.expectWrote(`
			16 a.* [a1 a2]
			3 epoch=3 topics=true`)
		b.heartbeat(beats("g", "m", 2))
		b.wrote()
		b.remove(b.image.Topic("a1"))
		b.publish()
		b.heartbeat(beats("g", "m", 3)) // the topic is gone, which is not told by what matches
		b.sleep(1000)
		if got := assigned(b.heartbeat(beats("g", "m", 3)).Assignment); got != "a2:0" {
			t.Errorf("assigned %s, want a2:0", got)
		}
		// The coordinator that takes over resolves again when topics are newer.
		b.addTopic("a4", 1)
		b.image, _ = b.build.Publish()
		b.wrote()
		b.restart()
		b.sleep(10001)
		b.heartbeat(beats("g", "m", 3))
		if got := b.wrote(); !strings.Contains(got, "16 a.* [a2 a4]") {
			t.Errorf("after a load: %s", got)
		}
	})
}
