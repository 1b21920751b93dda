package controller_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/controller"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/metalog"
	"kf/internal/wire"
)

// alter asks for an ISR as the leader of partition 0 does, and returns the code.
func (cl *cluster) alter(topic string, isr []int32, recovering bool) int16 {
	cl.t.Helper()
	t := cl.c.Image().Topic(topic)
	p := t.Partition(0)
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version, req.BrokerID, req.BrokerEpoch = 3, p.Leader, cl.epochs[p.Leader]
	part := kmsg.NewAlterPartitionRequestTopicPartition()
	part.LeaderEpoch, part.PartitionEpoch = p.LeaderEpoch, p.PartitionEpoch
	if recovering {
		part.LeaderRecoveryState = 1
	}
	for _, id := range isr {
		m := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		m.BrokerID, m.BrokerEpoch = id, cl.epochs[id]
		part.NewEpochISR = append(part.NewEpochISR, m)
	}
	topicReq := kmsg.NewAlterPartitionRequestTopic()
	topicReq.TopicID, topicReq.Partitions = t.ID, append(topicReq.Partitions, part)
	req.Topics = append(req.Topics, topicReq)
	res := cl.c.AlterPartition(cl.t.Context(), req)
	if res.ErrorCode != 0 {
		return res.ErrorCode
	}
	answered := res.Topics[0].Partitions[0]
	if answered.ErrorCode == 0 {
		now := cl.c.Image().Topic(topic).Partition(0)
		if answered.LeaderID != now.Leader || answered.PartitionEpoch != now.PartitionEpoch || !slices.Equal(answered.ISR, now.ISR) {
			cl.t.Errorf("answer %+v, partition %+v", answered, now)
		}
	}
	return answered.ErrorCode
}

func (cl *cluster) mustAlter(topic string, isr ...int32) {
	cl.t.Helper()
	if code := cl.alter(topic, isr, false); code != 0 {
		cl.t.Fatalf("ISR %v of %s: %v", isr, topic, kerr.ErrorForCode(code))
	}
}

// What Kafka 4.4 does when leaders and followers die, stop and return, seen on
// three of its brokers.
func TestFailover(t *testing.T) {
	const one, two = "1", "2"
	t.Run("leader killed", func(t *testing.T) {
		cl := start(t, 3)
		cl.mustCreate(assigned("hot", []int32{1, 2, 3}, "min.insync.replicas", two))
		cl.want("hot", "made", "leader 1/0 isr [1 2 3]")
		cl.kill(1)
		cl.want("hot", "killed", "leader 2/1 isr [2 3]")
		cl.up(1, -1)
		cl.want("hot", "returned", "leader 2/1 isr [2 3]")
		cl.mustAlter("hot", 1, 2, 3)
		cl.want("hot", "caught up", "leader 2/1 isr [1 2 3]")
	})
	t.Run("clean stops below the minimum", func(t *testing.T) {
		cl := start(t, 3)
		cl.mustCreate(assigned("t", []int32{1, 2, 3}, "min.insync.replicas", two))
		cl.stop(3)
		cl.want("t", "3 stops", "leader 1/0 isr [1 2]")
		if b := cl.c.Image().Broker(3); !b.Fenced || b.InControlledShutdown {
			t.Errorf("a broker that led nothing: %+v", b)
		}
		cl.stop(2)
		cl.want("t", "2 stops", "leader 1/0 isr [1] elr [2]")
		cl.stop(1)
		cl.want("t", "1 stops", "leader -1/1 isr [] elr [1 2] last [1]")
		if b := cl.c.Image().Broker(1); !b.Fenced || !b.InControlledShutdown {
			t.Errorf("a broker that led: %+v", b)
		}
		cl.up(2, cl.epochs[2])
		cl.want("t", "2 returns", "leader 2/2 isr [2] elr [1]")
		cl.up(1, cl.epochs[1])
		cl.mustAlter("t", 1, 2)
		cl.want("t", "1 returns", "leader 2/2 isr [1 2]")
	})
	t.Run("unclean ends", func(t *testing.T) {
		cl := start(t, 3)
		cl.mustCreate(assigned("t", []int32{1, 2, 3}, "min.insync.replicas", two))
		cl.stop(3)
		cl.stop(1)
		cl.stop(2)
		cl.want("t", "all stopped", "leader -1/2 isr [] elr [1 2] last [2]")
		cl.register(1, -1)
		cl.want("t", "1 had died", "leader -1/2 isr [] elr [2] last [2]")
		if err := cl.c.Unfence(t.Context(), 1, cl.epochs[1]); err != nil {
			t.Fatal(err)
		}
		cl.want("t", "1 is alive, 2 is eligible", "leader -1/2 isr [] elr [2] last [2]")
		cl.register(2, -1)
		cl.want("t", "2 had died", "leader -1/2 isr [] last [2]")
		if err := cl.c.Unfence(t.Context(), 2, cl.epochs[2]); err != nil {
			t.Fatal(err)
		}
		cl.want("t", "the last leader returns", "leader 2/3 isr [2] recovering")
		cl.mustAlter("t", 2)
		cl.want("t", "recovered", "leader 2/3 isr [2]")
	})
	t.Run("killed alone", func(t *testing.T) {
		cl := start(t, 1)
		cl.mustCreate(assigned("t", []int32{1}))
		cl.register(1, -1)
		cl.want("t", "registered", "leader -1/1 isr [] last [1]")
		if err := cl.c.Unfence(t.Context(), 1, cl.epochs[1]); err != nil {
			t.Fatal(err)
		}
		cl.want("t", "alive", "leader 1/2 isr [1] recovering")
	})
	t.Run("stopped alone", func(t *testing.T) {
		cl := start(t, 1)
		cl.mustCreate(assigned("t", []int32{1}))
		cl.stop(1)
		cl.want("t", "stopped", "leader -1/1 isr [] elr [1] last [1]")
		cl.close()
		cl.open()
		cl.up(1, cl.epochs[1])
		cl.want("t", "alive", "leader 1/2 isr [1]")
	})
	t.Run("unclean by configuration", func(t *testing.T) {
		cl := start(t, 3)
		cl.mustCreate(assigned("auto", []int32{1, 2}, "min.insync.replicas", one, "unclean.leader.election.enable", "true"), assigned("never", []int32{1, 2}))
		for _, topic := range []string{"auto", "never"} {
			cl.mustAlter(topic, 1)
			cl.want(topic, "2 behind", "leader 1/0 isr [1]")
		}
		cl.kill(2)
		cl.kill(1)
		for _, topic := range []string{"auto", "never"} {
			cl.want(topic, "1 killed", "leader -1/1 isr [] elr [1] last [1]")
		}
		cl.up(2, -1)
		cl.want("auto", "2 returns", "leader 2/2 isr [2] recovering")
		cl.want("never", "2 returns", "leader -1/1 isr [] elr [1] last [1]")
	})
	t.Run("minimum changed", func(t *testing.T) {
		cl := start(t, 2)
		cl.mustCreate(assigned("t", []int32{1, 2}, "min.insync.replicas", two))
		cl.kill(2)
		cl.want("t", "2 killed", "leader 1/0 isr [1] elr [2]")
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		value := one
		req.Version, req.Resources = 1, []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: 2, ResourceName: "t",
			Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "min.insync.replicas", Value: &value}}}}
		if res := cl.c.IncrementalAlterConfigs(t.Context(), req).Resources; res[0].ErrorCode != 0 {
			t.Fatalf("%+v", res)
		}
		cl.want("t", "minimum 1", "leader 1/0 isr [1]")
	})
}

func TestAlterPartitionErrors(t *testing.T) {
	cl := start(t, 3)
	cl.mustCreate(assigned("t", []int32{1, 2}))
	image0 := cl.c.Image().Topic("t")
	ask := func(f func(req *kmsg.AlterPartitionRequest, p *kmsg.AlterPartitionRequestTopicPartition)) int16 {
		req := kmsg.NewPtrAlterPartitionRequest()
		req.Version, req.BrokerID, req.BrokerEpoch = 3, 1, cl.epochs[1]
		topic := kmsg.NewAlterPartitionRequestTopic()
		topic.TopicID = image0.ID
		part := kmsg.NewAlterPartitionRequestTopicPartition()
		for _, id := range []int32{1, 2} {
			part.NewEpochISR = append(part.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: id, BrokerEpoch: cl.epochs[id]})
		}
		topic.Partitions = []kmsg.AlterPartitionRequestTopicPartition{part}
		req.Topics = []kmsg.AlterPartitionRequestTopic{topic}
		f(req, &req.Topics[0].Partitions[0])
		res := cl.c.AlterPartition(t.Context(), req)
		if res.ErrorCode != 0 {
			return res.ErrorCode
		}
		return res.Topics[0].Partitions[0].ErrorCode
	}
	type request = kmsg.AlterPartitionRequest
	type part = kmsg.AlterPartitionRequestTopicPartition
	for _, tt := range []struct {
		name string
		f    func(*request, *part)
		want *kerr.Error
	}{
		{"broker epoch", func(r *request, _ *part) { r.BrokerEpoch = 1 }, kerr.StaleBrokerEpoch},
		{"topic", func(r *request, _ *part) { r.Topics[0].TopicID = [16]byte{1} }, kerr.UnknownTopicID},
		{"partition", func(_ *request, p *part) { p.Partition = 7 }, kerr.UnknownTopicOrPartition},
		{"newer leader epoch", func(_ *request, p *part) { p.LeaderEpoch = 7 }, kerr.NotController},
		{"older leader epoch", func(_ *request, p *part) { p.LeaderEpoch = -1 }, kerr.FencedLeaderEpoch},
		{"newer partition epoch", func(_ *request, p *part) { p.PartitionEpoch = 7 }, kerr.NotController},
		{"older partition epoch", func(_ *request, p *part) { p.PartitionEpoch = -1 }, kerr.InvalidUpdateVersion},
		{"not the leader", func(r *request, _ *part) { r.BrokerID, r.BrokerEpoch = 2, cl.epochs[2] }, kerr.InvalidRequest},
		{"no replica", func(_ *request, p *part) { p.NewEpochISR[1].BrokerID, p.NewEpochISR[1].BrokerEpoch = 3, cl.epochs[3] }, kerr.InvalidRequest},
		{"twice", func(_ *request, p *part) { p.NewEpochISR[1].BrokerID = 1 }, kerr.InvalidRequest},
		{"without the leader", func(_ *request, p *part) { p.NewEpochISR = p.NewEpochISR[1:] }, kerr.InvalidRequest},
		{"recovery state 2", func(_ *request, p *part) { p.LeaderRecoveryState = 2 }, kerr.InvalidRequest},
		{"recovering again", func(_ *request, p *part) { p.NewEpochISR, p.LeaderRecoveryState = p.NewEpochISR[:1], 1 }, kerr.InvalidRequest},
		{"another incarnation", func(_ *request, p *part) { p.NewEpochISR[1].BrokerEpoch = 1 }, kerr.IneligibleReplica},
	} {
		if code := ask(tt.f); code != tt.want.Code {
			t.Errorf("%s: %v, want %v", tt.name, kerr.ErrorForCode(code), tt.want)
		}
	}
	if now := cl.c.Image().Topic("t"); now != image0 {
		t.Errorf("partition changed to %+v", now.Partition(0))
	}
	cl.kill(2)
	if code := cl.alter("t", []int32{1, 2}, false); code != kerr.IneligibleReplica.Code {
		t.Errorf("fenced: %v", kerr.ErrorForCode(code))
	}
}

// A broker whose log directory has another id is elected once it says where its
// replicas are.
func TestAssignDirectories(t *testing.T) {
	cl := start(t, 1)
	cl.mustCreate(assigned("t", []int32{1}))
	cl.stop(1)
	previous, fresh := cl.epochs[1], dir(77)
	reg := controller.Registration{BrokerID: 1, IncarnationID: metalog.RandomID(), LogDirs: []wire.UUID{fresh}, PreviousEpoch: previous}
	epoch, err := cl.c.RegisterBroker(t.Context(), reg)
	if err != nil {
		t.Fatal(err)
	}
	if err := cl.c.AssignDirectories(t.Context(), 1, epoch-1, nil); !errors.Is(err, kerr.StaleBrokerEpoch) {
		t.Errorf("another epoch: %v", err)
	}
	topic := cl.c.Image().Topic("t")
	err = cl.c.AssignDirectories(t.Context(), 1, epoch, []controller.DirectoryAssignment{
		{TopicID: topic.ID, Partition: 0, Directory: fresh}, {TopicID: topic.ID, Partition: 1, Directory: fresh}, {TopicID: wire.UUID{1}, Directory: fresh},
	})
	if err != nil {
		t.Fatal(err)
	}
	cl.want("t", "assigned", "leader -1/1 isr [] elr [1] last [1]")
	if err := cl.c.Unfence(t.Context(), 1, epoch); err != nil {
		t.Fatal(err)
	}
	cl.want("t", "alive", "leader 1/2 isr [1]")
	if got := cl.c.Image().Topic("t").Partition(0).Directories; !slices.Equal(got, []wire.UUID{fresh}) {
		t.Errorf("directories %v", got)
	}

	// Without that it waits.
	cl = start(t, 1)
	cl.mustCreate(assigned("t", []int32{1}))
	cl.stop(1)
	reg.PreviousEpoch, reg.IncarnationID = cl.epochs[1], metalog.RandomID()
	if epoch, err = cl.c.RegisterBroker(t.Context(), reg); err != nil {
		t.Fatal(err)
	}
	if err := cl.c.Unfence(t.Context(), 1, epoch); err != nil {
		t.Fatal(err)
	}
	cl.want("t", "in a lost directory", "leader -1/1 isr [] elr [1] last [1]")
}

// Replicas go round the brokers: each leads as often as the others, and no
// partition has a broker twice.
func TestPlacement(t *testing.T) {
	for _, brokers := range []int{1, 3, 5} {
		cl := start(t, brokers)
		for factor := range brokers {
			name := fmt.Sprintf("t%d", factor)
			cl.mustCreate(newTopic(name, 60, int16(factor+1)))
			leaders, replicas := map[int32]int{}, map[int32]int{}
			for p := range cl.c.Image().Topic(name).Partitions() {
				leaders[p.Leader]++
				for _, id := range p.Replicas {
					replicas[id]++
				}
				if len(p.Replicas) != factor+1 || !distinct(p.Replicas) || p.Leader != p.Replicas[0] || len(p.Directories) != factor+1 || !slices.Equal(p.ISR, p.Replicas) {
					t.Errorf("%d brokers: partition %+v", brokers, p)
				}
			}
			for id := range int32(brokers) {
				if leaders[id+1] != 60/brokers || replicas[id+1] != 60*(factor+1)/brokers {
					t.Errorf("%d brokers, factor %d: leaders %v, replicas %v", brokers, factor+1, leaders, replicas)
					break
				}
			}
		}
	}
}

func distinct(list []int32) bool {
	sorted := slices.Sorted(slices.Values(list))
	return len(slices.Compact(sorted)) == len(list)
}

// Whatever the racks, who is fenced and how many replicas are asked for, every
// partition gets as many, the first of them alive, over as many racks as there
// are.
func TestPlacementRacks(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		b := image.NewBuilder(image.Empty())
		n := 1 + random.IntN(8)
		racks, alive := map[string]int{}, 0
		for id := range int32(n) {
			rack := fmt.Sprint("r", random.IntN(3))
			fenced := random.IntN(3) == 0 && id > 0
			racks[rack]++
			if !fenced {
				alive++
			}
			if err := b.Replay(&kraftrec.RegisterBrokerRecord{BrokerID: id, Rack: &rack, Fenced: fenced}); err != nil {
				t.Fatal(err)
			}
		}
		im, _ := b.Publish()
		factor := 1 + random.IntN(n)
		for _, replicas := range controller.Place(im, random, 20, factor) {
			seen := map[string]bool{}
			for _, id := range replicas {
				seen[*im.Broker(id).Rack] = true
			}
			if len(replicas) != factor || !distinct(replicas) || im.Broker(replicas[0]).Fenced {
				t.Fatalf("%d of %d brokers alive: replicas %v", alive, n, replicas)
			}
			if len(seen) != min(factor, len(racks)) {
				t.Fatalf("replicas %v are on %d of %d racks", replicas, len(seen), len(racks))
			}
		}
	}
}
