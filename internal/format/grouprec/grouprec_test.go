package grouprec_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"kf/internal/format/grouprec"
	"kf/internal/format/schema"
	"kf/internal/kftest"
)

func TestSubscription(t *testing.T) {
	owned := []grouprec.ProtocolPartitions{{Topic: "foo", Partitions: []int32{0}}}
	for _, tt := range []struct {
		name, hex string
		version   int16
		want      grouprec.ConsumerProtocolSubscription
	}{
		{"v0", "0000 00000001 0003666f6f 00000002 0102", 0, grouprec.ConsumerProtocolSubscription{Topics: []string{"foo"}, UserData: []byte{1, 2}, GenerationID: -1}},
		{"v1", "0001 00000001 0003666f6f ffffffff 00000001 0003666f6f 00000001 00000000", 1,
			grouprec.ConsumerProtocolSubscription{Topics: []string{"foo"}, OwnedPartitions: owned, GenerationID: -1}},
		{"v3", "0003 00000001 0003666f6f ffffffff 00000001 0003666f6f 00000001 00000000 00000001 ffff", 3,
			grouprec.ConsumerProtocolSubscription{Topics: []string{"foo"}, OwnedPartitions: owned, GenerationID: 1}},
		{"v9 is read as v3", "0009 00000000 ffffffff 00000000 00000007 000172", 9, grouprec.ConsumerProtocolSubscription{GenerationID: 7, RackID: new("r")}},
		{"v-1 is read as v0", "ffff 00000000 ffffffff", -1, grouprec.ConsumerProtocolSubscription{GenerationID: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := kftest.Hex(t, tt.hex)
			got, version, err := grouprec.DecodeSubscription(append(bytes.Clone(p), 0xff)) // which is ignored
			if err != nil || version != tt.version || !reflect.DeepEqual(*got, tt.want) {
				t.Errorf("got %+v, %d, %v; want %+v", got, version, err, tt.want)
			}
			back, err := grouprec.AppendSubscription(nil, &tt.want, tt.version)
			if err != nil || !bytes.Equal(back, p) {
				t.Errorf("encoded again: %x, %v; want %x", back, err, p)
			}
			for n := range p {
				if _, _, err := grouprec.DecodeSubscription(p[:n:n]); err == nil {
					t.Errorf("cut to %d of %d bytes: no error", n, len(p))
				}
			}
		})
	}
}

func TestAssignment(t *testing.T) {
	p := kftest.Hex(t, "0003 00000001 0003666f6f 00000001 00000000 ffffffff")
	want := grouprec.ConsumerProtocolAssignment{AssignedPartitions: []grouprec.ProtocolPartitions{{Topic: "foo", Partitions: []int32{0}}}}
	got, version, err := grouprec.DecodeAssignment(p)
	if err != nil || version != 3 || !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, %d, %v; want %+v", got, version, err, want)
	}
	back, err := grouprec.AppendAssignment(nil, &want, 3)
	if err != nil || !bytes.Equal(back, p) {
		t.Errorf("encoded again: %x, %v; want %x", back, err, p)
	}
	if _, _, err := grouprec.DecodeAssignment(nil); !errors.Is(err, schema.ErrShort) {
		t.Errorf("no bytes: %v, want ErrShort", err)
	}
}

func TestAppendErrors(t *testing.T) {
	if _, err := grouprec.AppendKey(nil, new(grouprec.OffsetCommitValue)); !errors.Is(err, schema.ErrUnknownType) {
		t.Errorf("value as key: %v, want ErrUnknownType", err)
	}
	for _, version := range []int16{-1, 5} {
		if _, err := grouprec.AppendValue(nil, new(grouprec.OffsetCommitValue), version); !errors.Is(err, schema.ErrUnknownVersion) {
			t.Errorf("version %d: %v, want ErrUnknownVersion", version, err)
		}
	}
	// What a commit before version 4 cannot say is lost, as in Kafka.
	commit := &grouprec.OffsetCommitValue{Offset: 5, LeaderEpoch: 3, ExpireTimestamp: -1, TopicID: [16]byte{1}}
	if _, err := grouprec.AppendValue(nil, commit, 0); err != nil {
		t.Errorf("version 0: %v", err)
	}
}
