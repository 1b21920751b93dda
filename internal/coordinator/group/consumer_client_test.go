package group

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A consumerClient is a consumer of KIP-848, which does what the Java client does: it
// gives up what it is no longer told to have, says so, and takes what is new.
type consumerClient struct {
	w        *world
	id       string
	instance *string
	topics   []string
	pattern  *string
	assignor *string

	epoch   int32
	joined  bool
	has     map[string]bool
	told    map[string]bool // what it shall have, nil if that is done
	revoked time.Time       // when it has given up what it must
	said    map[string]bool // what it said last that it has, and was heard
	changed bool            // its subscription, which it has yet to tell
	unsure  bool            // whether the last request was heard: the next one says everything
	dead    bool            // its process ended
	late    *kmsg.ConsumerGroupHeartbeatRequest
}

func (c *consumerClient) memberID() string      { return c.id }
func (c *consumerClient) uses() map[string]bool { return c.has }
func (c *consumerClient) alive() bool           { return !c.dead }
func (c *consumerClient) known() bool           { return true }
func (c *consumerClient) stale() bool           { return *c.pattern != "" }

func (c *consumerClient) wants(topic string) bool {
	if *c.pattern != "" {
		return regexp.MustCompile("^(" + *c.pattern + ")$").MatchString(topic)
	}
	return slices.Contains(c.topics, topic)
}

func (c *consumerClient) act() {
	w := c.w
	odd := !w.calm && w.r.IntN(8) == 0
	switch {
	case c.dead:
		if w.r.IntN(20) == 0 { // nobody remembers it
			c.id, c.has = "", nil
		}
		return
	case c.late != nil: // the request takes its time, or is sent again
		q := c.late
		c.late = nil
		c.send(q, false)
	case c.told != nil && !time.Now().Before(c.revoked):
		c.apply()
		return
	}
	switch {
	case !c.joined:
		c.join()
	case !odd:
		if !w.calm && w.r.IntN(3) == 0 {
			w.commits(c, c.epoch)
			return
		}
		c.beat()
	default:
		c.misbehave()
	}
}

// misbehave does what a client seldom does.
func (c *consumerClient) misbehave() {
	w := c.w
	switch w.r.IntN(7) {
	case 0: // it is killed
		c.dead = true
	case 1:
		q := c.request(-1)
		c.has, c.told, c.joined = nil, nil, false
		c.send(q, w.r.IntN(4) == 0)
		c.dead = true
	case 2:
		if c.instance != nil {
			q := c.request(-2)
			c.has, c.told, c.joined, c.epoch = nil, nil, false, 0
			c.send(q, false)
			c.id = w.newID() // it comes back as another process
		}
	case 3:
		c.topics, c.changed = w.wish(), true
		if w.r.IntN(3) == 0 {
			c.topics, c.pattern = []string{}, new([]string{"t.*", "t[13]"}[w.r.IntN(2)])
		} else {
			c.pattern = new("")
		}
	case 4: // it starts anew under its id
		c.rejoin()
	case 5: // it stalls beyond its session
		if w.r.IntN(4) == 0 {
			w.pass(worldSession + time.Second)
		}
	case 6: // an epoch that it has not
		q := c.request(c.epoch + 1000) // more than it may have missed
		r := c.ask(q)
		if r != nil && r.ErrorCode == 0 {
			w.fatalf("%s is heard at an epoch that it has not: %+v", c.id, r)
		}
	}
}

// rejoin abandons everything.
func (c *consumerClient) rejoin() {
	c.joined, c.epoch, c.has, c.told, c.said, c.late = false, 0, nil, nil, nil, nil
}

// request returns the heartbeat that the client sends now.
func (c *consumerClient) request(epoch int32) *kmsg.ConsumerGroupHeartbeatRequest {
	q := beats("g", c.id, epoch)
	q.InstanceID = c.instance
	full := epoch == 0 || epoch > 0 && c.unsure || epoch > 0 && !c.w.calm && c.w.r.IntN(10) == 0
	if owned := c.owned(); full || epoch > 0 && (c.said == nil || !maps.Equal(c.said, owned)) {
		q.Topics = owns(ownText(owned))
		if epoch == 0 {
			q.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		}
	}
	if full || c.changed {
		q.SubscribedTopicNames, q.SubscribedTopicRegex = slices.Clone(c.topics), c.pattern
		if q.SubscribedTopicNames == nil {
			q.SubscribedTopicNames = []string{}
		}
	}
	if full {
		q.RebalanceTimeoutMillis, q.ServerAssignor = int32(worldRebalance.Milliseconds()), c.assignor
	}
	return q
}

// owned is what the client says it has: what it uses, or may begin to use before it is
// answered.
func (c *consumerClient) owned() map[string]bool {
	owned := maps.Clone(c.has)
	if owned == nil {
		owned = make(map[string]bool)
	}
	maps.Copy(owned, c.told)
	return owned
}

func ownText(has map[string]bool) string {
	of := make(map[string][]int32)
	for p := range has {
		var name string
		var n int32
		name, n = splitPartition(p)
		of[name] = append(of[name], n)
	}
	return partitionsText(of)
}

func splitPartition(p string) (name string, n int32) {
	for i := range p {
		if p[i] == ':' {
			fmt.Sscan(p[i+1:], &n)
			return p[:i], n
		}
	}
	panic(p)
}

func (c *consumerClient) join() {
	c.has, c.told, c.said = nil, nil, nil
	c.send(c.request(0), !c.w.calm && c.w.r.IntN(10) == 0)
}

func (c *consumerClient) beat() {
	q := c.request(c.epoch)
	switch {
	case c.w.calm:
	case c.w.r.IntN(15) == 0: // lost on the way
		c.unsure = true
		return
	case c.w.r.IntN(15) == 0: // the connection is slow: nothing else is sent meanwhile
		c.late = q
		return
	case c.w.r.IntN(15) == 0: // sent twice, and of the answers one is lost
		c.ask(q)
		c.send(q, false)
		c.unsure = true
		return
	}
	c.send(q, !c.w.calm && c.w.r.IntN(12) == 0)
}

// ask sends a request, and returns the answer if it comes at once.
func (c *consumerClient) ask(q *kmsg.ConsumerGroupHeartbeatRequest) (r *kmsg.ConsumerGroupHeartbeatResponse) {
	done := make(chan *kmsg.ConsumerGroupHeartbeatResponse, 1)
	c.w.ConsumerGroupHeartbeat(Client{ID: "c", Host: "/127.0.0.1"}, q, func(a *kmsg.ConsumerGroupHeartbeatResponse) { done <- a })
	select {
	case r = <-done:
		c.w.note("%s epoch %d %s %v: %d epoch %d %s", c.id, q.MemberEpoch, ownText(c.has), q.Topics != nil, r.ErrorCode, r.MemberEpoch, assigned(r.Assignment))
	default: // the log lags: the client gives up on it
		c.w.note("%s epoch %d %s: no answer", c.id, q.MemberEpoch, ownText(c.has))
	}
	return r
}

// send sends a request, whose answer may be lost.
func (c *consumerClient) send(q *kmsg.ConsumerGroupHeartbeatRequest, lost bool) {
	r := c.ask(q)
	c.unsure = true
	if r == nil || lost || q.MemberEpoch < 0 {
		return
	}
	switch r.ErrorCode {
	case 0:
	case kerr.UnknownMemberID.Code, kerr.FencedMemberEpoch.Code, kerr.GroupIDNotFound.Code:
		c.rejoin()
		return
	case kerr.FencedInstanceID.Code:
		c.rejoin()
		c.dead = true
		return
	case kerr.UnreleasedInstanceID.Code, kerr.GroupMaxSizeReached.Code, kerr.NotCoordinator.Code, kerr.CoordinatorNotAvailable.Code,
		kerr.CoordinatorLoadInProgress.Code, kerr.UnknownServerError.Code:
		return
	default:
		c.w.fatalf("heartbeat of %s: %d %v", c.id, r.ErrorCode, r.ErrorMessage)
	}
	if *r.MemberID != c.id || q.MemberEpoch > 0 && r.MemberEpoch < q.MemberEpoch || r.MemberEpoch < 0 {
		c.w.fatalf("%s at epoch %d is answered %+v", c.id, q.MemberEpoch, r)
	}
	c.joined, c.epoch, c.unsure = true, r.MemberEpoch, false
	if q.Topics != nil && q.MemberEpoch > 0 {
		c.said = c.owned()
	}
	if q.SubscribedTopicNames != nil {
		c.changed = false
	}
	if r.Assignment == nil {
		return
	}
	c.told = make(map[string]bool)
	for _, t := range r.Assignment.Topics {
		for _, p := range t.Partitions {
			c.told[fmt.Sprintf("%s:%d", topicName(t.TopicID), p)] = true
		}
	}
	c.revoked = time.Now()
	if !c.w.calm && c.w.r.IntN(3) == 0 { // it has work to finish
		c.revoked = c.revoked.Add(time.Duration(c.w.r.Int64N(int64(worldRebalance * 3 / 2))))
	}
	if !time.Now().Before(c.revoked) {
		c.apply()
	}
}

// apply gives up what the client shall not have, and takes what it shall.
func (c *consumerClient) apply() {
	maps.DeleteFunc(c.has, func(p string, _ bool) bool { return !c.told[p] })
	c.w.note("%s keeps %s and takes %s", c.id, ownText(c.has), ownText(c.told))
	c.w.takes(c, c.told)
	c.has, c.told = c.told, nil
}
