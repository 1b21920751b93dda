package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Questions about groups go to their coordinators. franz-go sends some of them there
// by itself, but not those for streams groups, it does not say which broker it was,
// and for one group that cannot be answered yet it asks again for all. So here is one
// way for all questions: each coordinator once, for all its groups.

// knownGroups remembers what was learned of groups, so that a command that asks
// several questions, or again and again, looks for a coordinator only once.
type knownGroups struct {
	mu sync.Mutex
	of map[string]ListedGroup // without a type if only the coordinator is known
}

func (k *knownGroups) learn(groups []ListedGroup) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = make(map[string]ListedGroup)
	}
	for _, g := range groups {
		k.of[g.ID] = g
	}
}

func (k *knownGroups) get(group string) (ListedGroup, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	g, ok := k.of[group]
	return g, ok
}

func (k *knownGroups) forget(group string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, group)
}

// patience returns a context that ends when a third of the time that ctx has left is
// over: a broker that does not answer must leave time to ask others, and for the
// questions that follow.
func patience(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, time.Until(end)/3, lateError{})
}

// A lateError says that patience has ended. It names no time: that of one question is a
// part of what the user gave, which [Client.Explain] knows.
type lateError struct{}

func (lateError) Error() string { return "no answer in time" }

func (lateError) Unwrap() error { return context.DeadlineExceeded }

// anyBroker asks a question that any broker can answer. One that does not answer in
// time is not asked again: franz-go takes brokers in turn.
func anyBroker(ctx context.Context, ask func(context.Context) error) (err error) {
	for range 3 {
		some, cancel := patience(ctx)
		err = ask(some)
		late := some.Err() != nil
		if err != nil && late {
			err = context.Cause(some)
		}
		cancel()
		if err == nil || !late || ctx.Err() != nil {
			break
		}
	}
	return err
}

// A groupQuestion asks a broker about groups that it coordinates. The error is that
// of the broker; failed holds those of single groups.
type groupQuestion func(ctx context.Context, b *kgo.Broker, groups []string) (failed map[string]error, err error)

// askCoordinators asks the coordinator of each group, all at the same time, and each
// only once unless it cannot say yet: then it is asked again, or another one if the
// group has moved, as long as patience lasts. Where the connection broke it is asked
// for fewer groups at a time, for the answer may have been too large. It returns what
// failed in the end. Ask is called from several goroutines, never twice for a group at
// a time.
func (c *Client) askCoordinators(ctx context.Context, groups []string, ask groupQuestion) map[string]error {
	ctx, cancel := patience(ctx)
	defer cancel()
	failed := make(map[string]error)
	most := len(groups)
	for pause := 50 * time.Millisecond; len(groups) > 0; pause = min(2*pause, time.Second) {
		errs := c.askOnce(ctx, groups, most, ask)
		var again []string
		broke := false
		for _, g := range groups {
			switch err := errs[g]; {
			case err == nil:
				delete(failed, g)
			case mayPass(err) && ctx.Err() == nil:
				_, answered := errors.AsType[*kerr.Error](err)
				broke = broke || !answered
				c.groups.forget(g)
				again = append(again, g)
				failed[g] = reason(err)
			case failed[g] == nil || !errors.Is(err, context.DeadlineExceeded):
				failed[g] = err // the reason for the wait says more than that it was too long
			}
		}
		groups = again
		if broke {
			most = max(1, most/4)
		}
		if len(groups) > 0 {
			select {
			case <-ctx.Done():
				return failed
			case <-time.After(pause):
			}
		}
	}
	return failed
}

// mayPass reports whether an error of a coordinator may be gone soon: some that brokers
// answer, and all of the connection to it, for another broker may take its place. Where
// no broker at all is reached franz-go has tried often enough.
func mayPass(err error) bool {
	if known, ok := errors.AsType[*kerr.Error](err); ok {
		switch known {
		case kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress:
			return true
		}
		return false
	}
	_, coordinator := errors.AsType[*BrokerError](err)
	return coordinator && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled)
}

// askOnce asks about at most so many groups in a request.
func (c *Client) askOnce(ctx context.Context, groups []string, most int, ask groupQuestion) map[string]error {
	failed := c.findCoordinators(ctx, groups)
	at := make(map[int32][]string)
	brokers := make(map[int32]kadm.BrokerDetail)
	for _, g := range groups {
		if failed[g] != nil {
			continue
		}
		known, _ := c.groups.get(g)
		at[known.Coordinator.NodeID] = append(at[known.Coordinator.NodeID], g)
		brokers[known.Coordinator.NodeID] = known.Coordinator
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for node, groups := range at {
		all.Go(func() {
			for groups := range slices.Chunk(groups, most) {
				some, err := ask(ctx, c.kgo.Broker(int(node)), groups)
				if err != nil {
					if ctx.Err() != nil {
						err = context.Cause(ctx)
					}
					err = brokerError(brokers[node], err)
				}
				mu.Lock()
				for _, g := range groups {
					if err != nil {
						failed[g] = err
					} else if some[g] != nil {
						failed[g] = some[g]
					}
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return failed
}

// findCoordinators learns the coordinators of groups that are not known, with one
// request. It returns the groups that have none, with the reason.
func (c *Client) findCoordinators(ctx context.Context, groups []string) map[string]error {
	failed := make(map[string]error)
	q := kmsg.NewPtrFindCoordinatorRequest()
	for _, g := range groups {
		if _, ok := c.groups.get(g); !ok {
			q.CoordinatorKeys = append(q.CoordinatorKeys, g)
			failed[g] = errNoAnswer
		}
	}
	if len(q.CoordinatorKeys) == 0 {
		return failed
	}
	var answer *kmsg.FindCoordinatorResponse
	err := anyBroker(ctx, func(ctx context.Context) (err error) {
		answer, err = q.RequestWith(ctx, c.kgo)
		return err
	})
	if err != nil {
		for g := range failed {
			failed[g] = err
		}
	}
	if answer == nil {
		return failed
	}
	for _, one := range answer.Coordinators {
		if _, asked := failed[one.Key]; !asked {
			continue
		}
		failed[one.Key] = answerError(one.ErrorCode, one.ErrorMessage)
		if one.ErrorCode == 0 {
			c.groups.learn([]ListedGroup{{ID: one.Key, Coordinator: kadm.BrokerDetail{NodeID: one.NodeID, Host: one.Host, Port: one.Port}}})
		}
	}
	return failed
}

// errNoAnswer is the error of a group, topic or partition that a broker was asked
// about and did not mention.
var errNoAnswer = errors.New("the broker's answer does not mention it")

// answerError returns the error of an answer, with what the broker says about it.
func answerError(code int16, message *string) error {
	err := kerr.ErrorForCode(code)
	if err == nil || message == nil || *message == "" {
		return err
	}
	return &AnswerError{Err: err, Message: *message}
}

// An AnswerError is one that a broker explains. Err is one of kerr's.
type AnswerError struct {
	Err     error
	Message string
}

func (e *AnswerError) Error() string {
	if known, ok := e.Err.(*kerr.Error); ok {
		return known.Message + ": " + e.Message
	}
	return e.Err.Error() + ": " + e.Message
}

func (e *AnswerError) Unwrap() error { return e.Err }
