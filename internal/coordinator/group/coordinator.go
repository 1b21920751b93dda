package group

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/image"
	"kf/internal/javafmt"
	"kf/internal/storage"
)

// Topic is the topic in which groups are kept.
const Topic = "__consumer_offsets"

// Options say what a coordinator works with.
type Options struct {
	// Image returns the newest image of the cluster.
	Image func() *image.Image
	// Config returns the settings that hold for a group; those of the broker for
	// "". It is called for each request, and is quick.
	Config func(group string) *Config
	Log    *slog.Logger
	// Ready says from when on the groups are loaded for which nobody asks, nil for
	// at once.
	Ready <-chan struct{}
}

// A Config has the settings of the coordinator, for a group with those that the
// group overrides; beside each is Kafka's name of it. All are in milliseconds that
// do not say otherwise.
type Config struct {
	ClassicMinSessionTimeout   int32     // group.min.session.timeout.ms
	ClassicMaxSessionTimeout   int32     // group.max.session.timeout.ms
	ClassicInitialDelay        int32     // group.initial.rebalance.delay.ms
	ClassicMaxSize             int32     // group.max.size, members
	ConsumerSessionTimeout     int32     // consumer.session.timeout.ms
	ConsumerHeartbeatInterval  int32     // consumer.heartbeat.interval.ms
	ConsumerAssignmentInterval int32     // consumer.assignment.interval.ms
	ConsumerMaxSize            int32     // group.consumer.max.size, members
	ConsumerRegexRefresh       int32     // group.consumer.regex.refresh.interval.ms
	Assignors                  []string  // group.consumer.assignors, the default first
	Migration                  Migration // group.consumer.migration.policy
	ConsumerProtocol           bool      // group.version is finalised, and the protocol allowed

	OffsetMetadataBytes int32         // offset.metadata.max.bytes
	OffsetRetention     int64         // offsets.retention.minutes, in ms
	OffsetCheckInterval int64         // offsets.retention.check.interval.ms
	CommitTimeout       time.Duration // offsets.commit.timeout.ms
	Compression         int16         // offsets.topic.compression.codec, as in a batch's attributes
	BatchBytes          int           // max.message.bytes of the topic
}

// A Migration says which way groups change their protocol while members are in
// them.
type Migration int8

const (
	MigrateNone Migration = iota
	MigrateUpgrade
	MigrateDowngrade
	MigrateBoth
)

// A Client is who sent a request.
type Client struct {
	ID   string // client id
	Host string // as Kafka writes it: /127.0.0.1
}

// A Coordinator has the groups of the partitions that this broker leads. Its
// methods may be called by any goroutine; a reply may be called before they
// return, or later by another goroutine, and is called once.
type Coordinator struct {
	o Options

	mu     sync.RWMutex
	shards map[int32]*hosted // those that ended stay until another one takes their place
	closed bool

	work   sync.WaitGroup // what goes on in the background
	unread chan struct{}  // a token for the one load that nobody asked for
	loads  chan struct{}  // tokens for loads
}

// loadedAtOnce is how many shards are loaded at once.
const loadedAtOnce = 4

// A hosted is a shard with its machine.
type hosted struct {
	shard   *shard.Shard
	machine *machine
	epoch   int32 // leader epoch
	gone    bool  // this broker does not coordinate it any more

	asked chan struct{} // closed when somebody asks for its groups
	ask   func()        // closes it
}

// New returns a coordinator of no shard.
func New(o Options) *Coordinator {
	if o.Ready == nil {
		now := make(chan struct{})
		close(now)
		o.Ready = now
	}
	return &Coordinator{o: o, shards: make(map[int32]*hosted), unread: make(chan struct{}, 1), loads: make(chan struct{}, loadedAtOnce)}
}

// Lead makes this broker the coordinator of a partition's groups, in a leader
// epoch. They are loaded in the background, and sooner if somebody asks for them;
// ErrLoading is what requests get meanwhile. Like Resign it waits for no shard,
// so that the caller may hold locks.
func (c *Coordinator) Lead(partition, epoch int32, log shard.Log) {
	m := newMachine(&c.o)
	s := shard.New(shard.Options{
		Format:        shard.Format{Decode: grouprec.Decode, AppendKey: grouprec.AppendKey, AppendValue: grouprec.AppendValue},
		Log:           log,
		Compression:   func() int16 { return c.o.Config("").Compression },
		BatchBytes:    func() int { return c.o.Config("").BatchBytes },
		CommitTimeout: func() time.Duration { return c.o.Config("").CommitTimeout },
		Notice: func(message string, err error) {
			c.o.Log.Warn(message, "partition", storage.TopicPartition{Topic: Topic, Partition: partition}, "error", err)
		},
	}, m)
	m.shard = s
	h := &hosted{shard: s, machine: m, epoch: epoch, asked: make(chan struct{})}
	h.ask = sync.OnceFunc(func() { close(h.asked) })
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.shards[partition]
	if c.closed || old != nil && !old.gone && old.epoch >= epoch {
		return
	}
	c.shards[partition] = h
	c.work.Go(func() {
		if old != nil { // it appends nothing after this
			old.shard.Close()
		}
		c.load(partition, h)
	})
}

// load loads a shard when it is its turn: one after the other, and those that
// somebody asks for before them.
func (c *Coordinator) load(partition int32, h *hosted) {
	ended := h.shard.Loaded()
	select {
	case <-c.o.Ready:
	case <-h.asked:
	case <-ended:
		return
	}
	select {
	case c.unread <- struct{}{}:
		defer func() { <-c.unread }()
	case <-h.asked:
	case <-ended:
		return
	}
	select {
	case c.loads <- struct{}{}:
		defer func() { <-c.loads }()
	case <-ended:
		return
	}
	began := time.Now()
	tp := storage.TopicPartition{Topic: Topic, Partition: partition}
	if err := h.shard.Load(context.Background()); err != nil && err != shard.ErrResigned {
		c.o.Log.Error("the groups of a partition are not served", "partition", tp, "error", err)
		return
	}
	c.o.Log.Debug("groups loaded", "partition", tp, "took", time.Since(began))
}

// Resign ends the coordination of a partition's groups.
func (c *Coordinator) Resign(partition int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.shards[partition]
	if h == nil || h.gone || c.closed {
		return
	}
	h.gone = true
	c.work.Go(h.shard.Close)
}

// Committed tells that the high watermark of a partition moved.
func (c *Coordinator) Committed(partition int32) {
	if h := c.hosted(partition); h != nil {
		h.shard.Committed()
	}
}

// Loaded asks for the groups of a partition. It returns a channel that is closed
// when they are loaded, or it is known that they cannot be; nil if the partition
// is not this broker's.
func (c *Coordinator) Loaded(partition int32) <-chan struct{} {
	if h := c.hosted(partition); h != nil {
		h.ask()
		return h.shard.Loaded()
	}
	return nil
}

// Close ends all shards. What waits is answered with NOT_COORDINATOR.
func (c *Coordinator) Close() {
	c.mu.Lock()
	c.closed = true
	shards := c.shards
	c.shards = make(map[int32]*hosted)
	c.mu.Unlock()
	for _, h := range shards {
		h.shard.Close()
	}
	c.work.Wait()
}

func (c *Coordinator) hosted(partition int32) *hosted {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if h := c.shards[partition]; h != nil && !h.gone {
		return h
	}
	return nil
}

// all returns the shards.
func (c *Coordinator) all() []*hosted {
	c.mu.RLock()
	defer c.mu.RUnlock()
	hs := make([]*hosted, 0, len(c.shards))
	for _, h := range c.shards {
		if !h.gone {
			hs = append(hs, h)
		}
	}
	return hs
}

// Partition returns the partition of Topic that a group belongs to, of n.
//
// Source: Kafka 4.4.0, Utils.abs of the group id's String.hashCode.
func Partition(group string, n int) int32 {
	h := javafmt.HashString(group)
	if h < 0 {
		h = -h
	}
	return max(h, 0) % int32(n) // -MinInt32 is MinInt32, which counts as 0
}

// find returns the shard of a group, nil if it is not this broker's.
func (c *Coordinator) find(group string) *hosted {
	t := c.o.Image().Topic(Topic)
	if t == nil || t.Len() == 0 {
		return nil
	}
	return c.hosted(Partition(group, t.Len()))
}

// do runs an operation on the state of a group's shard, or refuses it with
// NOT_COORDINATOR or COORDINATOR_LOAD_IN_PROGRESS.
func (c *Coordinator) do(group string, op func(m *machine) shard.Result, refused func(code int16)) {
	h := c.find(group)
	if h == nil {
		refused(kerr.NotCoordinator.Code)
		return
	}
	h.do(op, func(err error) { refused(codeOf(err)) })
}

// do runs an operation on the state of the shard. If that is not loaded yet it is
// now asked for.
func (h *hosted) do(op func(m *machine) shard.Result, refused func(err error)) {
	h.shard.Do(func() shard.Result { return op(h.machine) }, func(err error) {
		h.ask()
		refused(err)
	})
}

// Update tells the shards of the next image of the cluster. One that is loading
// takes the newest when it is loaded, but must be told what was deleted meanwhile:
// Kafka, which loads all shards at once, keeps such offsets till they expire.
func (c *Coordinator) Update(im *image.Image, d *image.Delta) {
	for _, h := range c.all() {
		h.shard.Do(func() shard.Result { return h.machine.update(im, d) }, func(err error) {
			if errors.Is(err, shard.ErrLoading) && len(d.Deleted) > 0 {
				c.deleteLater(h, d.Deleted)
			}
		})
	}
}

// deleteLater deletes the offsets of deleted topics when a shard is loaded.
func (c *Coordinator) deleteLater(h *hosted, topics []*image.Topic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.work.Go(func() {
		<-h.shard.Loaded()
		h.shard.Do(func() shard.Result { return h.machine.topicsDeleted(topics) }, func(error) {})
	})
}

// update takes the next image: groups whose topics changed look at them again,
// and the offsets of deleted topics go.
func (m *machine) update(im *image.Image, d *image.Delta) shard.Result {
	m.image = im
	m.topicsChanged(d)
	return m.topicsDeleted(d.Deleted)
}
