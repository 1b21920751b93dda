package broker

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/group"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/kafkaconf"
)

// TestGroupConfigs tests that what is set for a group counts for it and for no other,
// also after a restart, within what the broker allows; and how changes are refused.
func TestGroupConfigs(t *testing.T) {
	o := Options{Dirs: []string{t.TempDir()}}
	s := newCaseStage(t, o)
	alter := func(what string, want int16, message string, kind kmsg.ConfigResourceType, name string, changes ...alteration) {
		t.Helper()
		code, got, _ := outcome(s.request(1, altering(kind, name, changes...)(s, errorCase{}).(kmsg.Request)))
		if code != want || got != message {
			t.Errorf("%s: code %d, %q; want %d, %q", what, code, got, want, message)
		}
	}
	described := func(key string) string {
		t.Helper()
		q := describing(groupKind, "g")(s, errorCase{}).(*kmsg.DescribeConfigsRequest)
		q.Resources[0].ConfigNames = []string{key}
		configs := s.request(4, q).(*kmsg.DescribeConfigsResponse).Resources[0].Configs
		if len(configs) != 1 || configs[0].Value == nil {
			t.Fatalf("%s is described as %+v", key, configs)
		}
		return *configs[0].Value + " " + configs[0].Source.String()
	}
	const session, interval = "consumer.session.timeout.ms", "consumer.assignment.interval.ms"
	if got := s.b.groupConfig("g"); got != s.b.groupConfig("") || got.ConsumerSessionTimeout != 45000 || !got.ConsumerProtocol {
		t.Errorf("without settings: %+v", got)
	}
	alter("in the range", 0, "", groupKind, "g", alteration{session, set, value("50000")}, alteration{interval, set, value("0")})
	alter("too long", kerr.InvalidConfig.Code, session+" must be in the range 45000 to 60000 inclusive.", groupKind, "g", alteration{session, set, value("60001")})
	alter("no group", kerr.InvalidRequest.Code, "Default group resources are not allowed.", groupKind, "", alteration{session, set, value("50000")})
	alter("a list", kerr.InvalidConfig.Code, "Can't APPEND to key streams.rack.aware.assignment.tags because its type is not LIST.",
		groupKind, "g", alteration{"streams.rack.aware.assignment.tags", app, value("a")})
	if got, want := described(session), "50000 GROUP_CONFIG"; got != want {
		t.Errorf("%s is described as %s, want %s", session, got, want)
	}
	if g, other := s.b.groupConfig("g"), s.b.groupConfig("h"); g.ConsumerSessionTimeout != 50000 || g.ConsumerAssignmentInterval != 0 || g.ConsumerHeartbeatInterval != 5000 || other.ConsumerSessionTimeout != 45000 {
		t.Errorf("g has %+v, h has %+v", g, other)
	}

	alter("of the broker", 0, "", brokerKind, "1", alteration{"group.consumer.assignment.interval.ms", set, value("3000")})
	alter("out of the broker's own bounds", kerr.InvalidRequest.Code, "group.consumer.assignment.interval.ms must be less than or equal to group.consumer.max.assignment.interval.ms",
		brokerKind, "1", alteration{"group.consumer.assignment.interval.ms", set, value("15001")})
	if g, other := s.b.groupConfig("g"), s.b.groupConfig("h"); g.ConsumerAssignmentInterval != 0 || other.ConsumerAssignmentInterval != 3000 {
		t.Errorf("g has %+v, h has %+v after a change of the broker's settings", g, other)
	}
	if err := s.b.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	o.Properties = map[string]string{"group.consumer.max.session.timeout.ms": "48000"} // what g has is too long now
	s = &stage{t: t, b: startBroker(t, o), followers: func() {}}
	if got := s.b.groupConfig("g").ConsumerSessionTimeout; got != 48000 {
		t.Errorf("g has a session timeout of %d, want the longest that is allowed", got)
	}
	if got, want := described(session), "50000 GROUP_CONFIG"; got != want {
		t.Errorf("%s is described as %s, want %s", session, got, want)
	}
	alter("removed", 0, "", groupKind, "g", alteration{session, del, nil}, alteration{interval, del, nil})
	if s.b.groupConfig("g") != s.b.groupConfig("h") {
		t.Error("g has settings after they were removed")
	}
}

// TestNewGroupConfig tests what the settings of a broker become.
func TestNewGroupConfig(t *testing.T) {
	s := &kafkaconf.Settings{File: map[string]string{
		"group.consumer.migration.policy": "Upgrade", "group.consumer.assignors": "range", "offsets.retention.minutes": "2", "offsets.topic.compression.codec": "3",
		"group.coordinator.rebalance.protocols": "classic", "message.max.bytes": "5000",
	}}
	for level, policy := range map[int16]string{0: "classic, consumer", 1: "classic"} {
		s.File["group.coordinator.rebalance.protocols"] = policy
		if newGroupConfig(s, levelOf(t, level)).ConsumerProtocol {
			t.Errorf("group.version %d, protocols %s: consumers may use their protocol", level, policy)
		}
	}
	s.File["group.coordinator.rebalance.protocols"] = "classic,consumer"
	c := newGroupConfig(s, levelOf(t, 1))
	if c.Migration != group.MigrateUpgrade || len(c.Assignors) != 1 || c.OffsetRetention != 120_000 || c.Compression != 3 || c.BatchBytes != 5000 || !c.ConsumerProtocol {
		t.Errorf("%+v", c)
	}
}

// levelOf returns an image with a level of group.version.
func levelOf(t *testing.T, level int16) *image.Image {
	t.Helper()
	b := image.NewBuilder(image.Empty())
	if err := b.Replay(&kraftrec.FeatureLevelRecord{Name: image.FeatureGroupVersion, FeatureLevel: level}); err != nil {
		t.Fatal(err)
	}
	im, _ := b.Publish()
	return im
}
