package client

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Quorum is the state of the metadata quorum as its leader sees it.
type Quorum struct {
	Leader        int32 // node id, -1 if there is none
	Epoch         int32 // of the leader
	HighWatermark int64 // -1 if the leader does not know it yet
	Replicas      []QuorumReplica
}

// A QuorumReplica is a node that has, or gets, the metadata log.
type QuorumReplica struct {
	Node         int32
	Role         QuorumRole
	Directory    [16]byte // directory id; zero in a static quorum and before 3.9
	LogEndOffset int64    // -1 if the leader has not heard of it
	// When the leader last heard from it, and when it last was at the end of the log,
	// by the leader's clock; zero if never or unknown.
	LastFetch, LastCaughtUp time.Time
	Endpoints               []string // of voters: "CONTROLLER://host:port"; nil before 3.9
}

// A QuorumRole is what a node is in the quorum.
type QuorumRole string

// The roles. Voters are the leader and its followers.
const (
	QuorumLeader   QuorumRole = "leader"
	QuorumFollower QuorumRole = "follower"
	QuorumObserver QuorumRole = "observer"
)

// Voter reports whether it takes part in elections.
func (r *QuorumReplica) Voter() bool { return r.Role != QuorumObserver }

// Quorum asks the leader of the metadata quorum for its state: leader, followers and
// observers, each by id. The error is [Unsupported] for clusters that have none.
func (c *Client) Quorum(ctx context.Context) (*Quorum, error) {
	q := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = "__cluster_metadata"
	t.Partitions = append(t.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	q.Topics = append(q.Topics, t)
	r, err := q.RequestWith(ctx, c.to())
	switch {
	case err != nil:
		return nil, serves(q, err)
	case r.ErrorCode != 0:
		return nil, answerError(r.ErrorCode, r.ErrorMessage)
	case len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1:
		return nil, errNoAnswer
	}
	p := r.Topics[0].Partitions[0]
	if err := answerError(p.ErrorCode, p.ErrorMessage); err != nil {
		return nil, err
	}
	return quorumOf(p, r.Nodes), nil
}

// ControllerOf returns the id of the active controller, -1 if none is elected, and what
// the quorum says, nil if there is none: then the brokers say who it is. Without an
// answer in a third of the time left, or the right to ask, the error says why it is not
// known: a quorum without a leader answers nobody, and the rest is worth more then.
func (c *Client) ControllerOf(ctx context.Context, nodes *Nodes) (int32, *Quorum, error) {
	soon, cancel := patience(ctx)
	defer cancel()
	quorum, err := c.Quorum(soon)
	switch {
	case err == nil:
		return quorum.Leader, quorum, nil
	case Unsupported(err):
		return nodes.Controller, nil, nil
	case ctx.Err() != nil:
		return 0, nil, context.Cause(ctx)
	case soon.Err() != nil:
		return 0, nil, context.Cause(soon)
	}
	return 0, nil, err
}

func quorumOf(p kmsg.DescribeQuorumResponseTopicPartition, nodes []kmsg.DescribeQuorumResponseNode) *Quorum {
	endpoints := make(map[int32][]string)
	for _, n := range nodes {
		for _, l := range n.Listeners {
			endpoints[n.NodeID] = append(endpoints[n.NodeID], l.Name+"://"+net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port))))
		}
	}
	quorum := &Quorum{Leader: p.LeaderID, Epoch: p.LeaderEpoch, HighWatermark: p.HighWatermark}
	add := func(s kmsg.DescribeQuorumResponseTopicPartitionReplicaState, role QuorumRole) {
		quorum.Replicas = append(quorum.Replicas, QuorumReplica{
			Node: s.ReplicaID, Role: role, Directory: s.ReplicaDirectoryID, LogEndOffset: s.LogEndOffset,
			LastFetch: timeOf(s.LastFetchTimestamp), LastCaughtUp: timeOf(s.LastCaughtUpTimestamp),
		})
	}
	for _, s := range p.CurrentVoters {
		if s.ReplicaID == p.LeaderID {
			add(s, QuorumLeader)
		} else {
			add(s, QuorumFollower)
		}
	}
	for _, s := range p.Observers {
		add(s, QuorumObserver)
	}
	for i := range quorum.Replicas {
		if r := &quorum.Replicas[i]; r.Voter() {
			r.Endpoints = endpoints[r.Node]
		}
	}
	order := []QuorumRole{QuorumLeader, QuorumFollower, QuorumObserver}
	slices.SortFunc(quorum.Replicas, func(a, b QuorumReplica) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Role), slices.Index(order, b.Role)), cmp.Compare(a.Node, b.Node))
	})
	return quorum
}

// timeOf returns a time of the protocol, in ms since the epoch; what is unknown there
// is the zero time.
func timeOf(ms int64) time.Time {
	if ms <= 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
