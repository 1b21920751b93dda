package client

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Retention is for how long a topic keeps records at least, unless it gets too
// large: then retention.bytes deletes them earlier.
type Retention struct {
	Time time.Duration // Forever if age deletes nothing
	Err  error         // why it is not known
}

// Forever is the retention of a topic that does not delete by age.
const Forever time.Duration = -1

// Retentions asks for the retention of topics, with one request.
func (c *Client) Retentions(ctx context.Context, topics []string) map[string]Retention {
	ctx, cancel := patience(ctx)
	defer cancel()
	all := make(map[string]Retention, len(topics))
	q := kmsg.NewPtrDescribeConfigsRequest()
	for _, topic := range topics {
		all[topic] = Retention{Err: errNoAnswer}
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, []string{"cleanup.policy", "retention.ms"}
		q.Resources = append(q.Resources, r)
	}
	if len(topics) == 0 {
		return all
	}
	for _, shard := range c.kgo.RequestSharded(ctx, q) {
		if shard.Err != nil {
			for _, r := range shard.Req.(*kmsg.DescribeConfigsRequest).Resources {
				all[r.ResourceName] = Retention{Err: shardError(shard)}
			}
			continue
		}
		for _, r := range shard.Resp.(*kmsg.DescribeConfigsResponse).Resources {
			if err := answerError(r.ErrorCode, r.ErrorMessage); err != nil {
				all[r.ResourceName] = Retention{Err: err}
				continue
			}
			all[r.ResourceName] = retention(r.Configs)
		}
	}
	return all
}

func retention(configs []kmsg.DescribeConfigsResponseResourceConfig) Retention {
	r := Retention{Time: Forever}
	deletes := true
	for _, c := range configs {
		switch {
		case c.Value == nil:
		case c.Name == "cleanup.policy":
			deletes = slices.Contains(strings.Split(*c.Value, ","), "delete")
		case c.Name == "retention.ms":
			ms, err := strconv.ParseInt(*c.Value, 10, 64)
			if err != nil {
				return Retention{Err: err}
			}
			if ms >= 0 && ms <= int64(1<<63-1)/int64(time.Millisecond) {
				r.Time = time.Duration(ms) * time.Millisecond
			}
		}
	}
	if !deletes {
		r.Time = Forever
	}
	return r
}
