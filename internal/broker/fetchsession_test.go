package broker

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// fetchRequest asks for partitions of the topic "t".
func fetchRequest(version int16, id, epoch int32, partitions ...int32) *kmsg.FetchRequest {
	q := kmsg.NewPtrFetchRequest()
	q.SetVersion(version)
	q.SessionID, q.SessionEpoch = id, epoch
	if len(partitions) == 0 {
		return q
	}
	t := kmsg.NewFetchRequestTopic()
	if version >= 13 {
		t.TopicID = wire.UUID{1}
	} else {
		t.Topic = "t"
	}
	for _, n := range partitions {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition = n
		t.Partitions = append(t.Partitions, p)
	}
	q.Topics = append(q.Topics, t)
	return q
}

func forget(q *kmsg.FetchRequest, partitions ...int32) *kmsg.FetchRequest {
	f := kmsg.NewFetchRequestForgottenTopic()
	if q.Version >= 13 {
		f.TopicID = wire.UUID{1}
	} else {
		f.Topic = "t"
	}
	f.Partitions = partitions
	q.ForgottenTopics = append(q.ForgottenTopics, f)
	return q
}

// asked returns the partitions that are to be read.
func asked(ctx *fetchContext) []int32 {
	var all []int32
	for _, p := range ctx.partitions {
		all = append(all, p.partition)
	}
	return all
}

// answerWith finishes a fetch with high watermarks by partition.
func answerWith(ctx *fetchContext, marks map[int32]int64) (answered []int32, session int32) {
	var results []fetchAnswerPartition
	for _, p := range ctx.partitions {
		r := failedFetch(p.partition, 0)
		r.highWatermark, r.logStartOffset = marks[p.partition], 0
		results = append(results, r)
	}
	keys, _, session := ctx.finish(results)
	for _, k := range keys {
		answered = append(answered, k.partition)
	}
	return answered, session
}

func TestSession(t *testing.T) {
	for _, version := range []int16{7, 12, 13, 18} {
		s := newSessionCache(10)
		marks := map[int32]int64{0: 5, 1: 6, 2: 7, 3: 8}
		open, code := s.begin(fetchRequest(version, 0, 0, 0, 1, 2), false)
		if code != 0 || !slices.Equal(asked(open), []int32{0, 1, 2}) {
			t.Fatalf("v%d: %v, code %d", version, asked(open), code)
		}
		answered, id := answerWith(open, marks)
		if id == 0 || !slices.Equal(answered, []int32{0, 1, 2}) {
			t.Fatalf("v%d: session %d, answered %v", version, id, answered)
		}
		epoch := int32(0)
		for _, step := range []struct {
			name    string
			request func(q *kmsg.FetchRequest) *kmsg.FetchRequest
			names   []int32
			change  func()
			asked   []int32
			want    []int32
		}{
			{"nothing new", nil, nil, func() {}, []int32{0, 1, 2}, nil},
			{"a high watermark moved", nil, nil, func() { marks[1]++ }, []int32{0, 1, 2}, []int32{1}},
			{"another partition", nil, []int32{3}, func() {}, []int32{0, 1, 2, 3}, []int32{3}},
			{"one forgotten", func(q *kmsg.FetchRequest) *kmsg.FetchRequest { return forget(q, 0, 9) }, nil, func() { marks[0]++ }, []int32{1, 2, 3}, nil},
			{"one again", nil, []int32{0}, func() {}, []int32{1, 2, 3, 0}, []int32{0}},
		} {
			epoch++
			q := fetchRequest(version, id, epoch, step.names...)
			if step.request != nil {
				q = step.request(q)
			}
			step.change()
			ctx, code := s.begin(q, false)
			if code != 0 || !slices.Equal(asked(ctx), step.asked) {
				t.Fatalf("v%d, %s: asked %v, code %d; want %v", version, step.name, asked(ctx), code, step.asked)
			}
			if answered, got := answerWith(ctx, marks); got != id || !slices.Equal(answered, step.want) {
				t.Fatalf("v%d, %s: session %d, answered %v; want %v", version, step.name, got, answered, step.want)
			}
		}
		for _, tt := range []struct {
			name string
			q    *kmsg.FetchRequest
			want *kerr.Error
		}{
			{"unknown session", fetchRequest(version, id+1, 1), kerr.FetchSessionIDNotFound},
			{"session 0", fetchRequest(version, 0, 1), kerr.FetchSessionIDNotFound},
			{"same epoch again", fetchRequest(version, id, epoch), kerr.InvalidFetchSessionEpoch},
			{"epoch jumps", fetchRequest(version, id, epoch+2), kerr.InvalidFetchSessionEpoch},
			{"by the other kind of name", fetchRequest(20-version, id, epoch+1), kerr.FetchSessionTopicIDError},
		} {
			if (tt.q.Version >= 13) == (version >= 13) && tt.want == kerr.FetchSessionTopicIDError {
				tt.q.Version = map[bool]int16{true: 12, false: 13}[version >= 13]
			}
			if _, code := s.begin(tt.q, false); code != tt.want.Code {
				t.Errorf("v%d, %s: code %d, want %v", version, tt.name, code, tt.want)
			}
		}
		ctx, code := s.begin(forget(fetchRequest(version, id, epoch+1), 0, 1, 2, 3), false)
		if _, got := answerWith(ctx, marks); code != 0 || got != 0 || s.get(id) != nil {
			t.Errorf("v%d: code %d, session %d after all was forgotten", version, code, got)
		}
	}
}

// A full fetch ends the session that it names, with epoch 0 it opens another.
func TestSessionReplaced(t *testing.T) {
	s := newSessionCache(10)
	ctx, _ := s.begin(fetchRequest(12, 0, 0, 0), false)
	_, id := answerWith(ctx, nil)
	ctx, _ = s.begin(fetchRequest(12, id, 0, 0), false)
	_, next := answerWith(ctx, nil)
	if next == 0 || next == id || s.get(id) != nil {
		t.Errorf("session %d after %d, which is still there: %v", next, id, s.get(id) != nil)
	}
	ctx, _ = s.begin(fetchRequest(12, next, -1, 0), false)
	if answered, got := answerWith(ctx, nil); got != 0 || len(answered) != 1 || s.get(next) != nil {
		t.Errorf("session %d after the last fetch, answered %v", got, answered)
	}
	ctx, _ = s.begin(fetchRequest(12, 0, 0), false)
	if _, got := answerWith(ctx, nil); got != 0 {
		t.Errorf("session %d without a partition", got)
	}
}

// Partitions that had records go behind the others, and those with an error are
// answered every time.
func TestSessionOrder(t *testing.T) {
	l := testLog(t, disk.OS, 1, 100)
	s := newSessionCache(10)
	ctx, _ := s.begin(fetchRequest(12, 0, 0, 0, 1, 2), false)
	_, id := answerWith(ctx, nil)
	for epoch, want := range [][]int32{1: {0, 1, 2}, 2: {1, 2, 0}, 3: {2, 0, 1}} {
		if epoch == 0 {
			continue
		}
		ctx, code := s.begin(fetchRequest(12, id, int32(epoch)), false)
		if code != 0 || !slices.Equal(asked(ctx), want) {
			t.Fatalf("epoch %d: asked %v, code %d; want %v", epoch, asked(ctx), code, want)
		}
		var results []fetchAnswerPartition
		for i, p := range ctx.partitions {
			r := failedFetch(p.partition, 0)
			r.highWatermark, r.logStartOffset = 0, 0
			if i == 0 {
				r.records = region(t, l, 100)
			}
			if i == 2 {
				r = failedFetch(p.partition, kerr.UnknownTopicOrPartition.Code)
			}
			results = append(results, r)
		}
		_, answered, _ := ctx.finish(results)
		if len(answered) < 2 {
			t.Errorf("epoch %d: %d partitions answered, want those with records and with an error", epoch, len(answered))
		}
		for i := range answered {
			answered[i].records.Release()
		}
	}
}

func TestSessionEpochWraps(t *testing.T) {
	if got := nextEpoch(math.MaxInt32); got != 1 {
		t.Errorf("after the last epoch comes %d, want 1", got)
	}
}

// A full cache takes a session in place of one that is unused, or of a smaller
// one that has had its time.
func TestSessionEviction(t *testing.T) {
	for _, tt := range []struct {
		name     string
		age      time.Duration // of the session that is there
		used     bool          // at the end of it
		size     int           // of the new session; the old one has 2
		follower bool
		want     bool
	}{
		{"young", minEviction - time.Second, false, 9, false, false},
		{"unused", minEviction + time.Second, false, 1, false, true},
		{"used and larger", minEviction + time.Second, true, 1, false, false},
		{"used and as large", minEviction + time.Second, true, 2, false, false},
		{"used and smaller", minEviction + time.Second, true, 3, false, true},
		{"a consumer's", minEviction + time.Second, true, 1, true, true},
		{"a young consumer's", minEviction - time.Second, true, 1, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSessionCache(1)
				ctx, _ := s.begin(fetchRequest(12, 0, 0, 0, 1), false)
				_, old := answerWith(ctx, nil)
				time.Sleep(tt.age)
				if tt.used {
					if _, code := s.begin(fetchRequest(12, old, 1), false); code != 0 {
						t.Fatal(code)
					}
				}
				var partitions []int32
				for i := range tt.size {
					partitions = append(partitions, int32(i))
				}
				ctx, _ = s.begin(fetchRequest(12, 0, 0, partitions...), tt.follower)
				_, id := answerWith(ctx, nil)
				if (id != 0) != tt.want || (s.get(old) == nil) != tt.want {
					t.Errorf("new session %d, the old one is there: %v", id, s.get(old) != nil)
				}
			})
		})
	}
}

// The sessions have no more partitions in all than there is room for: the next
// one is refused, and one that outgrows it ends.
func TestSessionRoom(t *testing.T) {
	s := newSessionCache(10)
	s.room = 5
	open := func(partitions ...int32) int32 {
		ctx, _ := s.begin(fetchRequest(12, 0, 0, partitions...), false)
		_, id := answerWith(ctx, nil)
		return id
	}
	if open(0, 1, 2, 3, 4, 5) != 0 {
		t.Error("a session is larger than the room for all")
	}
	first := open(0, 1, 2)
	if second := open(0, 1, 2); first == 0 || second != 0 {
		t.Fatalf("sessions %d and %d, want the first only", first, second)
	}
	second := open(0, 1)
	if second == 0 {
		t.Fatal("no session although there is room")
	}
	if _, code := s.begin(forget(fetchRequest(12, first, 1), 2), false); code != 0 {
		t.Fatal(code)
	}
	if _, code := s.begin(fetchRequest(12, second, 1, 2), false); code != 0 {
		t.Errorf("code %d for a partition more, which another session forgot", code)
	}
	if _, code := s.begin(fetchRequest(12, second, 2, 3), false); code != kerr.FetchSessionIDNotFound.Code || s.get(second) != nil {
		t.Errorf("code %d for a session that outgrows the room", code)
	}
	s.remove(first)
	if s.partitions != 0 || len(s.sessions) != 0 {
		t.Errorf("%d partitions in %d sessions are left", s.partitions, len(s.sessions))
	}
}

// The last of two mentions of a partition counts, once.
func TestFetchTwice(t *testing.T) {
	q := fetchRequest(12, 0, -1, 3, 4, 3)
	q.Topics[0].Partitions[2].FetchOffset = 9
	ctx, _ := newSessionCache(1).begin(q, false)
	if !slices.Equal(asked(ctx), []int32{3, 4}) || ctx.partitions[0].offset != 9 {
		t.Errorf("asked %+v", ctx.partitions)
	}
}
