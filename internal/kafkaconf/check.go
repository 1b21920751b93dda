package kafkaconf

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// CheckTopic returns why Kafka would not take the settings of a topic, nil if it
// would: an unknown key (it matches [ErrUnknownKey]), a value that does not fit,
// or two that do not go together (an [Error]), with what holds for the broker where the topic
// says nothing. kf has no remote storage, as a broker on which it is not enabled.
func (s *Settings) CheckTopic(topic map[string]string) error {
	names := slices.Sorted(maps.Keys(topic))
	for _, name := range names {
		if _, ok := topicIndex[name]; !ok {
			return &UnknownKeyError{name}
		}
	}
	for _, name := range names {
		if err := topicIndex[name].Validate(topic[name]); err != nil {
			return err
		}
	}
	return s.CheckTogether(topic)
}

// CheckTogether returns why settings of a topic that are valid one by one do not
// go together, as CheckTopic does.
func (s *Settings) CheckTogether(topic map[string]string) error {
	shortest, longest := s.number("min.compaction.lag.ms", topic), s.number("max.compaction.lag.ms", topic)
	if shortest > longest {
		return Error(fmt.Sprintf("conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", shortest, longest))
	}
	if s.Topic(*topicIndex["remote.storage.enable"], topic).Text == "true" {
		return Error("Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	}
	return nil
}

// number returns the value of a topic key that is an integer.
func (s *Settings) number(name string, topic map[string]string) int64 {
	n, _ := strconv.ParseInt(s.Topic(*topicIndex[name], topic).Text, 10, 64)
	return n
}
