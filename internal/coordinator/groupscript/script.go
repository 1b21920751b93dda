// Package groupscript is for tests of group coordinators: it plays scripts of what
// members of a group do, and tells what they were answered and what was recorded, in
// words that are the same whoever answers.
//
// The scripts are testdata/*.txt, one for each group. Behind each of them stands
// what Apache Kafka 4.4.0 answered and recorded, which a test with Kafka itself
// checks. A script has a line for each step:
//
//	join M topics=t,u regex=X instance=I rack=R assignor=A v=0 timeout=MS
//	beat M own=t:0,1/u:0 topics=...    as join; "own" alone is what M was told last,
//	       epoch=N+1                    "own=" nothing; relative to the epoch of M, or absolute
//	leave M, away M                     for good, and to come back
//	cjoin M protocols=range topics=t own=t:0 instance=I session=MS timeout=MS type=consumer v=9
//	       in a classic group it may wait for others: "cjoin& M" begins to, "cjoined M" ends it;
//	       "once" does not join with the id that it is given, "same" says of itself what
//	       it said before
//	csync M assign=M:t:0,1;N:t:2 data=X type=consumer protocol=range v=5
//	       may wait as well: "csync& M", "csynced M"
//	cbeat M, cleave M instance=I unnamed also=N v=5
//	cdescribe                           with DescribeGroups
//	commit M of=t:0 epoch=N v=9, fetch M
//	describe
//	create T N, grow T N, delete T      topics
//	sleep MS
//
// Consumers have their names as ids; classic members get theirs, for which their
// names stand in what is told. Where several of them join at once Kafka leaves it to a
// hash table who leads when the leader is gone, so that is not told, unless a comment
// of the script says "# led": the leader stays, or is the only one that joined.
package groupscript

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Cluster is what a script is played before.
type Cluster interface {
	// Ask sends a request of a member, whose version is set, and waits for the
	// answer.
	Ask(member string, q kmsg.Request) (kmsg.Response, error)
	// Create, Grow and Delete change topics; the coordinator of the group knows it
	// when they return.
	Create(topic string, partitions int32) error
	Grow(topic string, partitions int32) error
	Delete(topic string) error
	// Topics returns the ids of the topics that there are, by name.
	Topics() (map[string][16]byte, error)
}

// A Play is a script that is played.
type Play struct {
	Notes []string // what was answered

	cluster Cluster
	group   string
	topics  Topics
	actors  map[string]*actor
	crowd   bool // classic members wait for each other, and it is open who leads
}

// An actor is a member.
type actor struct {
	name     string
	id       string
	epoch    int32
	own      map[string][]int32 // what it was told to have
	protocol string
	metadata []byte // what a classic member said of itself
	waits    chan joined
	syncs    chan synced
}

// joined is the end of a JoinGroup.
type joined struct {
	r   *kmsg.JoinGroupResponse
	err error
}

// synced is the end of a SyncGroup.
type synced struct {
	r   *kmsg.SyncGroupResponse
	err error
}

// Run plays the script of a group before a cluster.
func Run(c Cluster, group, script string) (*Play, error) {
	p := &Play{cluster: c, group: group, actors: make(map[string]*actor), crowd: strings.Contains(script, "cjoin&") && !strings.Contains(script, "# led")}
	if err := p.topics.learn(c); err != nil {
		return nil, err
	}
	for line := range strings.Lines(script) {
		if err := p.Step(line); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Step plays a line more.
func (p *Play) Step(line string) error {
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "#" {
		return nil
	}
	text := strings.Join(words, " ")
	answer, err := p.act(words[0], words[1:])
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	if answer != "" {
		p.Notes = append(p.Notes, p.Named(text+" -> "+answer))
	}
	return nil
}

// Named puts the names of classic members in the place of their ids.
func (p *Play) Named(text string) string {
	for _, a := range p.actors {
		if a.id != "" && a.id != a.name {
			text = strings.ReplaceAll(text, a.id, "<"+a.name+">")
		}
	}
	return text
}

func (p *Play) actor(name string) *actor {
	a := p.actors[name]
	if a == nil {
		a = &actor{name: name, own: make(map[string][]int32)}
		p.actors[name] = a
	}
	return a
}

// words are the "key=value" of a line; what has no value has "yes".
type words map[string]string

func newWords(list []string) words {
	w := make(words)
	for _, s := range list {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			value = "yes"
		}
		w[key] = value
	}
	return w
}

func (w words) optional(key string) *string {
	if v, ok := w[key]; ok {
		return &v
	}
	return nil
}

func (w words) number(key string, otherwise int32) int32 {
	n, err := strconv.Atoi(w[key])
	if err != nil {
		return otherwise
	}
	return int32(n)
}

// list returns names, nil if there is no such word.
func (w words) list(key string) []string {
	v, ok := w[key]
	if !ok {
		return nil
	}
	return strings.FieldsFunc(v, func(r rune) bool { return r == ',' })
}

// epoch returns the epoch of a request of a member.
func (w words) epoch(of int32) int32 {
	relative, ok := strings.CutPrefix(w["epoch"], "N")
	n, err := strconv.Atoi(relative)
	switch {
	case w["epoch"] == "" || err != nil:
		return of
	case ok:
		return of + int32(n)
	}
	return int32(n)
}

// own returns what a member says it has.
func (w words) own(a *actor) map[string][]int32 {
	if w["own"] == "yes" {
		return a.own
	}
	return partitionsOf(w["own"])
}

// partitionsOf reads "t:0,1/u:2".
func partitionsOf(text string) map[string][]int32 {
	of := make(map[string][]int32)
	for entry := range strings.SplitSeq(text, "/") {
		topic, list, _ := strings.Cut(entry, ":")
		for p := range strings.SplitSeq(list, ",") {
			if n, err := strconv.Atoi(p); err == nil {
				of[topic] = append(of[topic], int32(n))
			}
		}
	}
	return of
}

// said returns a text that may be null.
func said(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// ask sends a request of a member in a version.
func ask[R kmsg.Response](p *Play, member string, q kmsg.Request, version int16) (r R, err error) {
	q.SetVersion(version)
	answer, err := p.cluster.Ask(member, q)
	if err != nil {
		return r, err
	}
	r, ok := answer.(R)
	if !ok {
		return r, fmt.Errorf("the answer is a %T", answer)
	}
	return r, nil
}

// act does a step, and returns what is to be noted.
func (p *Play) act(verb string, list []string) (string, error) {
	count := func() int32 {
		n, _ := strconv.Atoi(list[len(list)-1])
		return int32(n)
	}
	if len(list) == 0 && verb != "describe" && verb != "cdescribe" {
		return "", errors.New("who, or what?")
	}
	switch verb {
	case "sleep":
		time.Sleep(time.Duration(count()) * time.Millisecond)
		return "", nil
	case "describe":
		return p.describe()
	case "cdescribe":
		return p.classicDescribe()
	case "create", "grow", "delete":
		return "", p.change(verb, list[0], count())
	}
	a, w := p.actor(list[0]), newWords(list[1:])
	switch verb {
	case "join", "beat", "leave", "away":
		return p.heartbeat(a, verb, w)
	case "cjoin", "cjoin&", "cjoined":
		return p.classicJoin(a, verb, w)
	case "csync", "csync&", "csynced":
		return p.classicSync(a, verb, w)
	case "cbeat":
		return p.classicHeartbeat(a, w)
	case "cleave":
		return p.classicLeave(a, w)
	case "commit":
		return p.commit(a, w)
	case "fetch":
		return p.fetch(a, w)
	}
	return "", fmt.Errorf("nobody knows how to %q", verb)
}

// change changes a topic.
func (p *Play) change(verb, topic string, partitions int32) error {
	var err error
	switch verb {
	case "create":
		err = p.cluster.Create(topic, partitions)
	case "grow":
		err = p.cluster.Grow(topic, partitions)
	default:
		err = p.cluster.Delete(topic)
	}
	if err != nil {
		return err
	}
	return p.topics.learn(p.cluster)
}

func (p *Play) heartbeat(a *actor, verb string, w words) (string, error) {
	q := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	a.id = cmp.Or(a.id, a.name)
	q.Group, q.MemberID, q.MemberEpoch = p.group, a.id, a.epoch
	q.InstanceID, q.RackID, q.SubscribedTopicRegex, q.ServerAssignor = w.optional("instance"), w.optional("rack"), w.optional("regex"), w.optional("assignor")
	q.SubscribedTopicNames = w.list("topics")
	if _, ok := w["topics"]; ok && q.SubscribedTopicNames == nil {
		q.SubscribedTopicNames = []string{}
	}
	if _, ok := w["own"]; ok {
		q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		own := w.own(a)
		for _, name := range slices.Sorted(maps.Keys(own)) {
			q.Topics = append(q.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: p.topics.ids[name], Partitions: own[name]})
		}
	}
	switch verb {
	case "join":
		q.MemberEpoch, q.RebalanceTimeoutMillis = 0, 300000
		if q.Topics == nil {
			q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		}
	case "leave":
		q.MemberEpoch = -1
	case "away":
		q.MemberEpoch = -2
	}
	q.RebalanceTimeoutMillis = w.number("timeout", q.RebalanceTimeoutMillis)
	q.MemberEpoch = w.epoch(q.MemberEpoch)
	r, err := ask[*kmsg.ConsumerGroupHeartbeatResponse](p, a.name, q, int16(w.number("v", 1)))
	if err != nil {
		return "", err
	}
	if r.ErrorCode == 0 && r.MemberEpoch >= 0 {
		a.id, a.epoch = *r.MemberID, r.MemberEpoch
		if r.Assignment != nil {
			clear(a.own)
			for _, t := range r.Assignment.Topics {
				a.own[p.topics.names[t.TopicID]] = slices.Sorted(slices.Values(t.Partitions))
			}
		}
	}
	assignment := "null"
	if r.Assignment != nil {
		assignment = fmt.Sprint(a.own)
	}
	return fmt.Sprintf("%d %q member=%q epoch=%d interval=%d %s",
		r.ErrorCode, said(r.ErrorMessage), said(r.MemberID), r.MemberEpoch, r.HeartbeatIntervalMillis, assignment), nil
}

func (p *Play) describe() (string, error) {
	q := kmsg.NewPtrConsumerGroupDescribeRequest()
	q.Groups = []string{p.group}
	r, err := ask[*kmsg.ConsumerGroupDescribeResponse](p, "", q, 1)
	if err != nil {
		return "", err
	}
	g := r.Groups[0]
	var b strings.Builder
	fmt.Fprintf(&b, "%d %q %s epoch=%d assignment=%d %s", g.ErrorCode, said(g.ErrorMessage), g.State, g.Epoch, g.AssignmentEpoch, g.AssignorName)
	slices.SortFunc(g.Members, func(a, b kmsg.ConsumerGroupDescribeResponseGroupMember) int {
		return cmp.Compare(p.Named(a.MemberID), p.Named(b.MemberID))
	})
	of := func(a kmsg.Assignment) map[string][]int32 {
		of := make(map[string][]int32)
		for _, t := range a.TopicPartitions {
			of[t.Topic] = slices.Sorted(slices.Values(t.Partitions))
		}
		return of
	}
	for _, m := range g.Members {
		fmt.Fprintf(&b, "\n  %s %q %q epoch=%d %s %s %v %q has %v shall have %v type=%d", m.MemberID, said(m.InstanceID), said(m.RackID), m.MemberEpoch,
			m.ClientID, m.ClientHost, slices.Sorted(slices.Values(m.SubscribedTopics)), said(m.SubscribedTopicRegex), of(m.Assignment), of(m.TargetAssignment), m.MemberType)
	}
	return b.String(), nil
}
