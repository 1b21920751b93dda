package kafkaconf

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// GroupNumber returns the number that counts for a group with the given settings:
// one outside of the broker's bounds, which may have changed since it was set, is
// the nearest that is allowed.
//
// Source: Kafka 4.4.0, GroupConfig.evaluate.
func (s *Settings) GroupNumber(k Key, group map[string]string) int64 {
	n := integer(s.Group(k, group))
	least, most := s.bounds(&k)
	return max(least, min(n, most))
}

// integer returns the number of a value that is one.
func integer(v Value) int64 {
	n, _ := strconv.ParseInt(v.Text, 10, 64)
	return n
}

// broker returns the number that a broker key has.
func (s *Settings) broker(name string) int64 { return integer(s.Broker(*brokerIndex[name])) }

// bounds returns between what the broker's settings let a group choose.
func (s *Settings) bounds(k *Key) (least, most int64) {
	least, most = math.MinInt64, math.MaxInt64
	if k.least != "" {
		least = s.broker(k.least)
	}
	if k.most != "" {
		most = s.broker(k.most)
	}
	return least, most
}

// CheckGroup returns why Kafka would not take the settings of a group, an [Error],
// or nil if it would.
//
// Source: Kafka 4.4.0, GroupConfig.validate.
func (s *Settings) CheckGroup(group map[string]string) error {
	names := slices.Sorted(maps.Keys(group))
	for _, name := range names {
		if _, ok := groupIndex[name]; !ok {
			return Error("Unknown group config name: " + name)
		}
	}
	const tags = "streams.rack.aware.assignment.tags"
	if all := slices.Sorted(slices.Values(Split(group[tags]))); len(slices.Compact(slices.Clone(all))) < len(all) {
		return Error(tags + " must not contain duplicate tag keys.")
	}
	for _, name := range names {
		if err := groupIndex[name].Validate(group[name]); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := s.checkBounds(groupIndex[name], group); err != nil {
			return err
		}
	}
	if name, ok := group["streams.assignor.name"]; ok {
		known := Split(s.Broker(*brokerIndex["group.streams.assignors"]).Text)
		if name = strings.TrimFunc(name, blank); !slices.Contains(known, name) {
			return Error(fmt.Sprintf("streams.assignor.name '%s' is not a registered task assignor. Registered assignors are: [%s].", name, strings.Join(known, ", ")))
		}
	}
	for _, kind := range groupKinds {
		session, heartbeat := kind+".session.timeout.ms", kind+".heartbeat.interval.ms"
		_, a := group[session]
		_, b := group[heartbeat]
		if (a || b) && integer(s.Group(*groupIndex[session], group)) <= integer(s.Group(*groupIndex[heartbeat], group)) {
			return Error(session + " must be greater than " + heartbeat)
		}
	}
	if strings.HasPrefix(strings.TrimFunc(group["errors.deadletterqueue.topic.name"], blank), "__") {
		return Error("errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'")
	}
	return nil
}

// groupKinds are the kinds of groups whose members send heartbeats to assignors of
// the broker.
var groupKinds = []string{"consumer", "share", "streams"}

// checkBounds checks a setting of a group against the bounds of the broker.
func (s *Settings) checkBounds(k *Key, group map[string]string) error {
	n := integer(s.Group(*k, group))
	least, most := s.bounds(k)
	switch {
	case n >= least && n <= most:
		return nil
	case k.least == "":
		return Error(fmt.Sprintf("%s must be less than or equal to %d", k.Name, most))
	case k.most == "":
		return Error(fmt.Sprintf("%s must be greater than or equal to %d", k.Name, least))
	}
	return Error(fmt.Sprintf("%s must be in the range %d to %d inclusive.", k.Name, least, most))
}

// CheckBroker returns why a Kafka broker would not start with settings that are
// valid one by one, an [Error], or nil if it would.
//
// Source: Kafka 4.4.0, KafkaConfig.scala, GroupCoordinatorConfig.java,
// ShareGroupConfig.java.
func (s *Settings) CheckBroker() error {
	if protocols := s.Broker(*brokerIndex["group.coordinator.rebalance.protocols"]); !slices.Contains(Split(protocols.Text), "classic") {
		return Error("Disabling the 'classic' protocol is not supported.")
	}
	if codec := s.broker("offsets.topic.compression.codec"); codec < 0 || codec > 4 {
		return Error(fmt.Sprintf("Unknown compression type id: %d", codec))
	}
	for _, assignors := range []struct {
		key  string
		have []string
	}{{"group.consumer.assignors", []string{"uniform", "range"}}, {"group.streams.assignors", []string{"sticky"}}} {
		k := brokerIndex[assignors.key]
		for _, name := range Split(s.Broker(*k).Text) {
			if !slices.Contains(assignors.have, name) {
				return k.invalid(name, "Class cannot be found")
			}
		}
	}
	for i := range groupKeys {
		k := &groupKeys[i]
		switch {
		case k.least == "" && k.most == "":
		case k.least != "" && k.most != "" && s.broker(k.most) < s.broker(k.least):
			return Error(fmt.Sprintf("%s must be greater than or equal to %s", k.most, k.least))
		case k.least != "" && s.broker(k.Synonyms[0].Name) < s.broker(k.least):
			return Error(fmt.Sprintf("%s must be greater than or equal to %s", k.Synonyms[0].Name, k.least))
		case k.most != "" && s.broker(k.Synonyms[0].Name) > s.broker(k.most):
			return Error(fmt.Sprintf("%s must be less than or equal to %s", k.Synonyms[0].Name, k.most))
		}
	}
	for _, kind := range groupKinds {
		heartbeat, session := "group."+kind+".heartbeat.interval.ms", "group."+kind+".session.timeout.ms"
		if s.broker(heartbeat) >= s.broker(session) {
			return Error(fmt.Sprintf("%s must be less than %s", heartbeat, session))
		}
	}
	return nil
}
