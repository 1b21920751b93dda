package groupscript

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// What members do that use the classic protocol, and commits.

// memberIDRequired is the code that tells a member to join again with an id.
const memberIDRequired = 79

// errNotAsked says that a script waits for what was not asked.
var errNotAsked = errors.New("no request waits")

func (p *Play) classicJoin(a *actor, verb string, w words) (string, error) {
	if verb == "cjoined" {
		return p.joined(a)
	}
	q := kmsg.NewPtrJoinGroupRequest()
	q.Group, q.MemberID, q.ProtocolType, q.InstanceID = p.group, a.id, cmp.Or(w["type"], "consumer"), w.optional("instance")
	q.SessionTimeoutMillis, q.RebalanceTimeoutMillis = w.number("session", 45000), w.number("timeout", 300000)
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics, m.Generation, m.Rack = 3, w.list("topics"), a.epoch, w.optional("rack")
	own := w.own(a)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		o := kmsg.NewConsumerMemberMetadataOwnedPartition()
		o.Topic, o.Partitions = name, own[name]
		m.OwnedPartitions = append(m.OwnedPartitions, o)
	}
	if w["same"] == "" {
		a.metadata = m.AppendTo(nil)
	}
	for name := range strings.SplitSeq(cmp.Or(w["protocols"], "range"), ",") {
		q.Protocols = append(q.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: a.metadata})
	}
	version := int16(w.number("v", 9))
	waits := make(chan joined, 1)
	a.waits = waits
	join := func() {
		r, err := ask[*kmsg.JoinGroupResponse](p, a.name, q, version)
		if err == nil && r.ErrorCode == memberIDRequired && w["once"] == "" {
			q.MemberID = r.MemberID
			r, err = ask[*kmsg.JoinGroupResponse](p, a.name, q, version)
		}
		waits <- joined{r, err}
	}
	if verb == "cjoin&" {
		go join()
		return "", nil
	}
	join()
	return p.joined(a)
}

func (p *Play) joined(a *actor) (string, error) {
	if a.waits == nil {
		return "", errNotAsked
	}
	end := <-a.waits
	a.waits = nil
	if end.err != nil {
		return "", end.err
	}
	r := end.r
	switch r.ErrorCode {
	case 0:
		a.id, a.epoch, a.protocol = r.MemberID, r.Generation, said(r.Protocol)
	case memberIDRequired:
		a.id = r.MemberID
	}
	text := fmt.Sprintf("%d member=%q generation=%d %q %q skip=%v", r.ErrorCode, r.MemberID, r.Generation, said(r.ProtocolType), said(r.Protocol), r.SkipAssignment)
	if !p.crowd { // else Kafka leaves it to a hash table who leads
		text += fmt.Sprintf(" leader=%q of %d", r.LeaderID, len(r.Members))
	}
	return text, nil
}

func (p *Play) classicSync(a *actor, verb string, w words) (string, error) {
	if verb == "csynced" {
		return p.synced(a)
	}
	q := kmsg.NewPtrSyncGroupRequest()
	q.Group, q.MemberID, q.Generation, q.InstanceID = p.group, a.id, w.epoch(a.epoch), w.optional("instance")
	q.ProtocolType, q.Protocol = new(cmp.Or(w["type"], "consumer")), new(cmp.Or(w["protocol"], a.protocol))
	for entry := range strings.SplitSeq(w["assign"], ";") {
		name, list, ok := strings.Cut(entry, ":")
		if !ok {
			continue
		}
		m := kmsg.NewConsumerMemberAssignment()
		m.Version = 3
		for topic, partitions := range partitionsOf(list) {
			m.Topics = append(m.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: topic, Partitions: partitions})
		}
		if data, ok := w["data"]; ok {
			m.UserData = []byte(data)
		}
		q.GroupAssignment = append(q.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: p.actor(name).id, MemberAssignment: m.AppendTo(nil)})
	}
	syncs := make(chan synced, 1)
	a.syncs = syncs
	sync := func() {
		r, err := ask[*kmsg.SyncGroupResponse](p, a.name, q, int16(w.number("v", 5)))
		syncs <- synced{r, err}
	}
	if verb == "csync&" {
		go sync()
		return "", nil
	}
	sync()
	return p.synced(a)
}

func (p *Play) synced(a *actor) (string, error) {
	if a.syncs == nil {
		return "", errNotAsked
	}
	end := <-a.syncs
	a.syncs = nil
	if end.err != nil {
		return "", end.err
	}
	r := end.r
	var m kmsg.ConsumerMemberAssignment
	if len(r.MemberAssignment) > 0 {
		if err := m.ReadFrom(r.MemberAssignment); err != nil {
			return "", err
		}
		clear(a.own)
		for _, t := range m.Topics {
			a.own[t.Topic] = slices.Sorted(slices.Values(t.Partitions))
		}
	}
	return fmt.Sprintf("%d %q %q version=%d %v", r.ErrorCode, said(r.ProtocolType), said(r.Protocol), m.Version, a.own), nil
}

func (p *Play) classicHeartbeat(a *actor, w words) (string, error) {
	q := kmsg.NewPtrHeartbeatRequest()
	q.Group, q.MemberID, q.Generation, q.InstanceID = p.group, a.id, w.epoch(a.epoch), w.optional("instance")
	r, err := ask[*kmsg.HeartbeatResponse](p, a.name, q, 4)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(r.ErrorCode), nil
}

func (p *Play) classicLeave(a *actor, w words) (string, error) {
	q := kmsg.NewPtrLeaveGroupRequest()
	q.Group, q.MemberID = p.group, a.id
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID, m.InstanceID = a.id, w.optional("instance")
	if w["unnamed"] != "" {
		m.MemberID = ""
	}
	q.Members = append(q.Members, m)
	for _, name := range w.list("also") {
		m := kmsg.NewLeaveGroupRequestMember()
		m.MemberID = cmp.Or(p.actor(name).id, name)
		q.Members = append(q.Members, m)
	}
	r, err := ask[*kmsg.LeaveGroupResponse](p, a.name, q, int16(w.number("v", 5)))
	if err != nil {
		return "", err
	}
	text := fmt.Sprint(r.ErrorCode)
	for _, m := range r.Members {
		text += fmt.Sprintf(" %q %q %d", m.MemberID, said(m.InstanceID), m.ErrorCode)
	}
	return text, nil
}

// classicDescribe tells what DescribeGroups says of the group.
func (p *Play) classicDescribe() (string, error) {
	q := kmsg.NewPtrDescribeGroupsRequest()
	q.Groups = []string{p.group}
	r, err := ask[*kmsg.DescribeGroupsResponse](p, "", q, 6)
	if err != nil {
		return "", err
	}
	g := r.Groups[0]
	var members []string
	for _, m := range g.Members {
		members = append(members, p.Named(fmt.Sprintf("\n  %s %q %s %s metadata=%x assignment=%x", m.MemberID, said(m.InstanceID), m.ClientID, m.ClientHost, m.ProtocolMetadata, m.MemberAssignment)))
	}
	slices.Sort(members)
	return fmt.Sprintf("%d %q %s %q %q", g.ErrorCode, said(g.ErrorMessage), g.State, g.ProtocolType, g.Protocol) + strings.Join(members, ""), nil
}

func (p *Play) commit(a *actor, w words) (string, error) {
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Group, q.MemberID, q.Generation, q.InstanceID = p.group, a.id, w.epoch(a.epoch), w.optional("instance")
	for topic, partitions := range partitionsOf(w["of"]) {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = topic
		for _, partition := range partitions {
			c := kmsg.NewOffsetCommitRequestTopicPartition()
			c.Partition, c.Offset = partition, 1
			t.Partitions = append(t.Partitions, c)
		}
		q.Topics = append(q.Topics, t)
	}
	r, err := ask[*kmsg.OffsetCommitResponse](p, a.name, q, int16(w.number("v", 9)))
	if err != nil {
		return "", err
	}
	var codes []int16
	for _, t := range r.Topics {
		for _, partition := range t.Partitions {
			codes = append(codes, partition.ErrorCode)
		}
	}
	return fmt.Sprint(codes), nil
}

func (p *Play) fetch(a *actor, w words) (string, error) {
	q := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberID, g.MemberEpoch = p.group, &a.id, w.epoch(a.epoch)
	q.Groups = append(q.Groups, g)
	r, err := ask[*kmsg.OffsetFetchResponse](p, a.name, q, 9)
	if err != nil {
		return "", err
	}
	return fmt.Sprint(r.Groups[0].ErrorCode), nil
}
