package image_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/kraftrec"
	"kf/internal/format/schema"
	"kf/internal/image"
	"kf/internal/kftest"
	"kf/internal/wire"
)

func id(n byte) wire.UUID { return wire.UUID{0: n, 15: 0xff} }

func broker(n int32, epoch int64) *kraftrec.RegisterBrokerRecord {
	return &kraftrec.RegisterBrokerRecord{BrokerID: n, BrokerEpoch: epoch, Fenced: true, LogDirs: []wire.UUID{id(byte(n))}}
}

func topic(name string, n byte) *kraftrec.TopicRecord {
	return &kraftrec.TopicRecord{Name: name, TopicID: id(n)}
}

func partition(topic byte, n int32) *kraftrec.PartitionRecord {
	return &kraftrec.PartitionRecord{TopicID: id(topic), PartitionID: n, Replicas: []int32{1, 2}, ISR: []int32{1, 2}, Leader: 1}
}

func change(topic byte, n int32, f func(*kraftrec.PartitionChangeRecord)) *kraftrec.PartitionChangeRecord {
	r := schema.New[kraftrec.PartitionChangeRecord]()
	r.TopicID, r.PartitionID = id(topic), n
	f(r)
	return r
}

func config(topic, name, value string) *kraftrec.ConfigRecord {
	return &kraftrec.ConfigRecord{ResourceType: 2, ResourceName: topic, Name: name, Value: &value}
}

func replay(t testing.TB, b *image.Builder, records ...any) (*image.Image, *image.Delta) {
	t.Helper()
	for _, r := range records {
		if err := b.Replay(r); err != nil {
			t.Fatal(err)
		}
	}
	return b.Publish()
}

// What stops a controller of Kafka is an error that says what it is about.
func TestRules(t *testing.T) {
	base := []any{broker(1, 7), topic("orders", 1), partition(1, 0), &kraftrec.ProducerIDsRecord{NextProducerID: 1000}}
	for _, tt := range []struct {
		name    string
		records []any
		err     error
		about   string
	}{
		{"topic twice", []any{topic("orders", 2)}, image.ErrDuplicate, "TOPIC_RECORD: topic \"orders\""},
		{"topic id twice", []any{topic("other", 1)}, image.ErrDuplicate, "topic \"other\""},
		{"topic again after its removal", []any{&kraftrec.RemoveTopicRecord{TopicID: id(1)}, topic("orders", 2)}, nil, ""},
		{"removal of an unknown topic", []any{&kraftrec.RemoveTopicRecord{TopicID: id(9)}}, image.ErrUnknown, id(9).String()},
		{"partition of an unknown topic", []any{partition(9, 0)}, image.ErrUnknown, "partition 0 of topic id " + id(9).String()},
		{"change of an unknown partition", []any{change(1, 1, func(*kraftrec.PartitionChangeRecord) {})}, image.ErrUnknown, "partition 1 of topic \"orders\""},
		{"change of a partition of an unknown topic", []any{change(9, 1, func(*kraftrec.PartitionChangeRecord) {})}, image.ErrUnknown, "partition 1 of topic id"},
		{"directories of another number", []any{change(1, 0, func(r *kraftrec.PartitionChangeRecord) { r.Directories = []wire.UUID{id(1)} })}, image.ErrDirectories, "partition 0"},
		{"recovery state 2", []any{change(1, 0, func(r *kraftrec.PartitionChangeRecord) { r.LeaderRecoveryState = 2 })}, image.ErrValue, "partition 0"},
		{"fence of an unknown broker", []any{&kraftrec.FenceBrokerRecord{ID: 9}}, image.ErrUnknown, "FENCE_BROKER_RECORD: broker 9"},
		{"fence with another epoch", []any{&kraftrec.FenceBrokerRecord{ID: 1, Epoch: 6}}, image.ErrEpoch, "broker 1"},
		{"unfence with another epoch", []any{&kraftrec.UnfenceBrokerRecord{ID: 1, Epoch: 8}}, image.ErrEpoch, "broker 1"},
		{"unregistration with another epoch", []any{&kraftrec.UnregisterBrokerRecord{BrokerID: 1, BrokerEpoch: 8}}, image.ErrEpoch, "broker 1"},
		{"fenced 2", []any{&kraftrec.BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: 7, Fenced: 2}}, image.ErrValue, "broker 1"},
		{"in controlled shutdown -1", []any{&kraftrec.BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: 7, InControlledShutdown: -1}}, image.ErrValue, "broker 1"},
		{"producer IDs go back", []any{&kraftrec.ProducerIDsRecord{NextProducerID: 999}}, image.ErrValue, "PRODUCER_IDS_RECORD"},
		{"producer IDs stay", []any{&kraftrec.ProducerIDsRecord{NextProducerID: 1000}}, image.ErrValue, "PRODUCER_IDS_RECORD"},
		{"metadata.version 34", []any{&kraftrec.FeatureLevelRecord{Name: "metadata.version", FeatureLevel: 34}}, image.ErrValue, "feature \"metadata.version\""},
		{"metadata.version 6", []any{&kraftrec.FeatureLevelRecord{Name: "metadata.version", FeatureLevel: 6}}, image.ErrValue, "feature"},
		{"unknown feature", []any{&kraftrec.FeatureLevelRecord{Name: "x", FeatureLevel: 1}}, image.ErrValue, "feature \"x\""},
		{"level 0 of an unknown feature", []any{&kraftrec.FeatureLevelRecord{Name: "x"}}, nil, ""},
		{"removal of an unknown ACL", []any{&kraftrec.RemoveAccessControlEntryRecord{ID: id(3)}}, image.ErrUnknown, "ACL " + id(3).String()},
		{"removal of an unknown credential", []any{&kraftrec.RemoveUserScramCredentialRecord{Name: "ann", Mechanism: 1}}, image.ErrUnknown, "user \"ann\", mechanism 1"},
		{"removal of an unknown controller", []any{&kraftrec.UnregisterControllerRecord{ControllerID: 4}}, image.ErrUnknown, "controller 4"},
		{"ELR of an unknown topic", []any{&kraftrec.ClearELRRecord{TopicName: "x"}}, image.ErrUnknown, "topic \"x\""},
		{"removal of an unknown token", []any{&kraftrec.RemoveDelegationTokenRecord{TokenID: "x"}}, nil, ""},
		{"transaction in a transaction", []any{&kraftrec.BeginTransactionRecord{}, &kraftrec.BeginTransactionRecord{}}, image.ErrTransaction, "BEGIN"},
		{"end of no transaction", []any{&kraftrec.EndTransactionRecord{}}, image.ErrTransaction, "END"},
		{"abort of no transaction", []any{&kraftrec.AbortTransactionRecord{}}, image.ErrTransaction, "ABORT"},
		{"no record", []any{&struct{}{}}, schema.ErrUnknownType, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := image.NewBuilder(image.Empty())
			replay(t, b, base...)
			var err error
			for _, r := range tt.records {
				if err == nil {
					err = b.Replay(r)
				}
			}
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if err != nil && !strings.Contains(err.Error(), tt.about) {
				t.Errorf("%q does not say %q", err, tt.about)
			}
			if e, ok := errors.AsType[*image.Error](err); ok != (err != nil) || ok && e.Record == "" {
				t.Errorf("%#v is no *image.Error", err)
			}
		})
	}
}

func TestPartitionChange(t *testing.T) {
	b := image.NewBuilder(image.Empty())
	im, _ := replay(t, b, topic("orders", 1), partition(1, 0))
	p := im.Topic("orders").Partition(0)
	if want := []wire.UUID{image.Migrating, image.Migrating}; !slices.Equal(p.Directories, want) {
		t.Errorf("directories %v", p.Directories)
	}
	im, _ = replay(t, b, change(1, 0, func(r *kraftrec.PartitionChangeRecord) {
		r.ISR, r.EligibleLeaderReplicas = []int32{}, []int32{1}
		r.LastKnownELR, r.Leader = []int32{1}, -1
	}))
	want := image.Partition{Replicas: []int32{1, 2}, ISR: []int32{}, ELR: []int32{1}, LastKnownELR: []int32{1}, Leader: -1, LeaderEpoch: 1, PartitionEpoch: 1,
		Directories: []wire.UUID{{}, {}}}
	if got := *im.Topic("orders").Partition(0); !reflect.DeepEqual(got, want) {
		t.Errorf("leader lost\n%+v\nwant\n%+v", got, want)
	}
	// Epochs of the leader rise with every record that names one, also the same.
	im, _ = replay(t, b, change(1, 0, func(r *kraftrec.PartitionChangeRecord) { r.Leader = -1 }), change(1, 0, func(*kraftrec.PartitionChangeRecord) {}))
	if got := im.Topic("orders").Partition(0); got.LeaderEpoch != 2 || got.PartitionEpoch != 3 {
		t.Errorf("epochs %d, %d", got.LeaderEpoch, got.PartitionEpoch)
	}
	im, _ = replay(t, b, &kraftrec.ClearELRRecord{}, &kraftrec.ClearELRRecord{TopicName: "orders"})
	if got := im.Topic("orders").Partition(0); len(got.ELR)+len(got.LastKnownELR) > 0 || got.PartitionEpoch != 4 || got.LeaderEpoch != 2 {
		t.Errorf("cleared: %+v", got)
	}
}

// What a transaction does shows when it ends, or never.
func TestTransaction(t *testing.T) {
	b := image.NewBuilder(image.Empty())
	before, _ := replay(t, b, topic("a", 1), partition(1, 0), config("a", "k", "old"))
	during, d := replay(t, b, &kraftrec.BeginTransactionRecord{}, topic("b", 2), partition(2, 0), config("a", "k", "new"),
		change(1, 0, func(r *kraftrec.PartitionChangeRecord) { r.Leader = 2 }), &kraftrec.RemoveTopicRecord{TopicID: id(1)})
	if !b.InTransaction() || during.Topic("b") != nil || during.Topic("a") != before.Topic("a") || !reflect.DeepEqual(d, &image.Delta{}) {
		t.Errorf("in a transaction: %v, %+v", during.Topic("b"), d)
	}
	if during.Position.Offset != 3 || b.Position().Offset != 9 {
		t.Errorf("the image stands at %d, the builder at %d", during.Position.Offset, b.Position().Offset)
	}
	aborted, d := replay(t, b, &kraftrec.AbortTransactionRecord{})
	if aborted.Topic("b") != nil || aborted.Topic("a").Partition(0).Leader != 1 || !reflect.DeepEqual(d, &image.Delta{}) {
		t.Errorf("aborted: %+v", d)
	}
	if value, _ := aborted.Config(image.Resource{Type: image.TopicResource, Name: "a"}, "k"); value != "old" {
		t.Errorf("aborted: config %q", value)
	}
	replay(t, b, &kraftrec.BeginTransactionRecord{}, topic("c", 3))
	ended, d := replay(t, b, config("a", "k", "new"), &kraftrec.EndTransactionRecord{})
	if ended.Topic("c") == nil || len(d.Created) != 1 || len(d.Configs) != 1 || b.InTransaction() || ended.Position != b.Position() {
		t.Errorf("ended: %+v", d)
	}
	if aborted.Topic("c") != nil {
		t.Error("an older image has what came later")
	}
}

func TestDelta(t *testing.T) {
	b := image.NewBuilder(image.Empty())
	_, d := replay(t, b, topic("gone", 1), partition(1, 0), topic("kept", 2), partition(2, 0), partition(2, 1), config("gone", "k", "v"), broker(2, 1), broker(1, 0))
	if names(d.Created) != "gone kept" || len(d.Partitions) != 3 || len(d.Configs) != 1 || len(d.Brokers) != 2 || d.Brokers[0].New.ID != 1 || d.Features {
		t.Errorf("first: %+v", d)
	}
	value := "v2"
	_, d = replay(t, b,
		&kraftrec.RemoveTopicRecord{TopicID: id(1)}, topic("gone", 3), partition(3, 0), // made anew
		topic("short", 4), partition(4, 0), &kraftrec.RemoveTopicRecord{TopicID: id(4)}, // never seen
		change(2, 1, func(r *kraftrec.PartitionChangeRecord) { r.Leader = 2 }),
		config("kept", "a", "1"), config("kept", "b", "2"), &kraftrec.ConfigRecord{ResourceType: 2, ResourceName: "kept", Name: "b"},
		&kraftrec.ConfigRecord{ResourceType: 4, Name: "k", Value: &value},
		&kraftrec.UnfenceBrokerRecord{ID: 1}, &kraftrec.UnregisterBrokerRecord{BrokerID: 2, BrokerEpoch: 1},
		&kraftrec.FeatureLevelRecord{Name: "metadata.version", FeatureLevel: 33},
	)
	if names(d.Created) != "gone" || names(d.Deleted) != "gone" || d.Created[0].ID != id(3) || d.Deleted[0].ID != id(1) {
		t.Errorf("created %q, deleted %q", names(d.Created), names(d.Deleted))
	}
	var changed []string
	for _, c := range d.Partitions {
		changed = append(changed, fmt.Sprintf("%s-%d %v", c.Topic.Name, c.New.ID, c.Old == nil))
	}
	if want := []string{"gone-0 true", "kept-1 false"}; !slices.Equal(changed, want) {
		t.Errorf("partitions %q, want %q", changed, want)
	}
	var configs []string
	for _, c := range d.Configs {
		configs = append(configs, fmt.Sprintf("%d %s %s %v %v", c.Resource.Type, c.Resource.Name, c.Name, c.Old != nil, c.New != nil))
	}
	if want := []string{"2 gone k true false", "2 kept a false true", "4  k false true"}; !slices.Equal(configs, want) {
		t.Errorf("configs %q, want %q", configs, want)
	}
	if len(d.Brokers) != 2 || d.Brokers[0].New.Fenced || d.Brokers[1].New != nil || d.Brokers[1].Old.ID != 2 || !d.Features || d.ACLs {
		t.Errorf("brokers %+v, features %v", d.Brokers, d.Features)
	}
	im, _ := b.Publish()
	all := image.Everything(im)
	if names(all.Created) != "gone kept" || len(all.Partitions) != 3 || len(all.Configs) != 2 || len(all.Brokers) != 1 {
		t.Errorf("everything: %+v", all)
	}
}

func names(topics []*image.Topic) string {
	var all []string
	for _, t := range topics {
		all = append(all, t.Name)
	}
	return strings.Join(all, " ")
}

// A quota is that of a set of names, whatever their order.
func TestQuotas(t *testing.T) {
	name := func(s string) *string { return &s }
	quota := func(key string, value float64, remove bool, entity ...kraftrec.QuotaEntity) *kraftrec.ClientQuotaRecord {
		return &kraftrec.ClientQuotaRecord{Entity: entity, Key: key, Value: value, Remove: remove}
	}
	user, client := kraftrec.QuotaEntity{EntityType: "user", EntityName: name("ann")}, kraftrec.QuotaEntity{EntityType: "client-id"}
	b := image.NewBuilder(image.Empty())
	im, d := replay(t, b, quota("a", 1, false, user, client), quota("b", 2, false, client, user), quota("a", 3, false, user), quota("x", 0, true, client))
	var got []string
	for q := range im.Quotas() {
		for key, value := range q.Values() {
			got = append(got, fmt.Sprintf("%d %s=%v", len(q.Entity), key, value))
		}
	}
	if want := []string{"2 a=1", "2 b=2", "1 a=3"}; !slices.Equal(got, want) || !d.Quotas {
		t.Errorf("%q, want %q", got, want)
	}
	im, _ = replay(t, b, quota("a", 0, true, user))
	for q := range im.Quotas() {
		if len(q.Entity) != 2 {
			t.Errorf("quotas of %+v are left", q.Entity)
		}
	}
}

func TestReservedDirectory(t *testing.T) {
	for _, tt := range []struct {
		hex  string
		want bool
	}{
		{"00000000000000000000000000000000", true},
		{"00000000000000000000000000000063", true},
		{"00000000000000000000000000000064", false},
		{"00000000000000008000000000000064", true}, // the second half is negative
		{"00000000000000010000000000000000", false},
	} {
		if got := image.ReservedDirectory(wire.UUID(kftest.Hex(t, tt.hex))); got != tt.want {
			t.Errorf("%s: %v", tt.hex, got)
		}
	}
}

func TestReleases(t *testing.T) {
	for _, release := range image.Releases() {
		levels, err := image.ReleaseLevels(release)
		if err != nil {
			t.Fatal(err)
		}
		for name, level := range levels {
			if r := image.Supported[name]; level < r.Min || level > r.Max {
				t.Errorf("%s: %s is %d, supported are %v", release, name, level, r)
			}
		}
		if v := image.MetadataVersion(levels[image.FeatureMetadataVersion]).String(); !strings.HasPrefix(v, release) {
			t.Errorf("metadata.version of %s is %s", release, v)
		}
	}
	if _, err := image.ReleaseLevels("3.9"); err == nil {
		t.Error("3.9 has levels")
	}
	if got := image.MetadataVersion(99).String(); got != "level 99" {
		t.Errorf("level 99 is %q", got)
	}
}

// Records in any order and of any content never do worse than fail, and what
// they make is again what the records of its snapshot make.
func FuzzReplay(f *testing.F) {
	for _, v := range kftest.Vectors(f, "metadata-record") {
		f.Add(frame(v.Bytes))
	}
	seed := []byte{}
	for _, r := range []image.Record{
		{Message: broker(1, 0), Version: 4}, {Message: topic("orders", 1)}, {Message: partition(1, 0), Version: 2},
		{Message: change(1, 0, func(r *kraftrec.PartitionChangeRecord) { r.Leader = 2 }), Version: 2},
		{Message: &kraftrec.BeginTransactionRecord{}}, {Message: config("orders", "k", "v")}, {Message: &kraftrec.AbortTransactionRecord{}},
		{Message: &kraftrec.ClearELRRecord{}}, {Message: &kraftrec.RemoveTopicRecord{TopicID: id(1)}},
	} {
		p, err := kraftrec.Append(nil, r.Message, r.Version)
		if err != nil {
			f.Fatal(err)
		}
		seed = append(seed, frame(p)...)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, p []byte) {
		b := image.NewBuilder(image.Empty())
		for len(p) > 0 {
			n := min(int(p[0]), len(p)-1)
			r, err := kraftrec.Decode(p[1 : 1+n])
			p = p[1+n:]
			if err != nil {
				continue
			}
			if err := b.Replay(r.Message); err != nil {
				break
			}
			if n%3 == 0 {
				b.Publish()
			}
		}
		im, _ := b.Publish()
		again := image.NewBuilder(image.Empty())
		first := snapshot(t, im)
		for r := range im.Records() {
			if err := again.Replay(r.Message); err != nil {
				t.Fatal(err)
			}
		}
		restored, _ := again.Publish()
		if second := snapshot(t, restored); !reflect.DeepEqual(first, second) {
			t.Fatalf("records %x, then %x", first, second)
		}
		image.Everything(im)
	})
}

// frame puts the length of a record in front of it, one byte.
func frame(p []byte) []byte { return append([]byte{byte(min(len(p), 255))}, p[:min(len(p), 255)]...) }

func snapshot(t *testing.T, im *image.Image) [][]byte {
	t.Helper()
	var all [][]byte
	for r := range im.Records() {
		p, err := kraftrec.Append(nil, r.Message, r.Version)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}
