// Package broker serves the Kafka protocol: connections and framing, one file
// for each API, waiting requests, fetch sessions, and the replicas that the
// broker hosts.
//
// A request goes this way: the reader of its connection reads and decodes it,
// the dispatch table names its handler, the handler calls storage, image,
// controller or the coordinator of groups, and the writer of the connection sends
// the answer in turn. A request that has to wait is parked on the watch lists of
// its partitions, or kept by the coordinator, which replies some time. The
// coordinator's records go to a partition of this broker (groups.go).
// Records are never copied on the way in, and go from file to socket on the way
// out.
package broker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/controller"
	"kf/internal/coordinator/group"
	"kf/internal/format/kraftrec"
	"kf/internal/image"
	"kf/internal/kafkaconf"
	"kf/internal/metalog"
	"kf/internal/storage"
	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// Options say what a broker is and where its data are.
type Options struct {
	NodeID    int32
	ClusterID string   // "" for that of the directories, or a random one if they are new
	Dirs      []string // log directories; each exists
	// MetadataDir is the one of Dirs that has the metadata log, the first if it
	// is empty.
	MetadataDir string
	Listeners   []Listener // at least one
	// Properties are broker settings by Kafka's names, as in server.properties,
	// and valid. Those that other fields stand for are only shown.
	Properties map[string]string
	Topics     []NewTopic // made at start unless they are there
	// Release is the release of Kafka whose features a new cluster gets, the
	// newest if it is empty.
	Release string
	// Sync makes an append wait for the disk.
	Sync bool
	// Log takes what an operator may want to know, nil for nothing.
	Log *slog.Logger
	// FS is the file system of the data, nil for the operating system's.
	FS disk.FS
}

// A Listener is an address on which the broker serves clients.
type Listener struct {
	Name string // as the metadata names it, "" for PLAINTEXT
	// Addr is where to listen, as HOST:PORT; port 0 takes a free one.
	Addr string
	// Listener is used instead of Addr if it is set. The broker closes it.
	Listener net.Listener
	// Advertised is what clients are told, as HOST:PORT; without a host or with
	// port 0 that part is the one that is listened on.
	Advertised string
}

// A NewTopic is a topic to be made.
type NewTopic struct {
	Name       string
	Partitions int32 // -1 for num.partitions
	Configs    map[string]string
}

// A Broker serves the Kafka protocol on the data of its directories.
type Broker struct {
	o    Options
	node int32
	log  *slog.Logger
	apis *apiTable

	// image is what requests see: the newest image of which the replicas are
	// there. next and settings are ahead of it while they are made.
	image        atomic.Pointer[image.Image]
	next         atomic.Pointer[image.Image]
	settings     atomic.Pointer[kafkaconf.Settings]
	groupConfigs atomic.Pointer[groupConfigs]

	autoCreate    bool // auto.create.topics.enable
	deleteTopic   bool // delete.topic.enable
	fetchMaxBytes int  // fetch.max.bytes
	sessions      *sessionCache
	producerIDs   producerIDs
	groups        *group.Coordinator
	groupNews     groupNews
	ready         chan struct{} // closed when the broker serves clients

	// What Start makes.
	ctx        context.Context // ends with the broker
	end        context.CancelFunc
	store      *storage.Store
	controller *controller.Controller
	replicas   *replicas
	server     *server
	clusterID  string
	epoch      int64 // broker epoch
	endpoints  []kraftrec.BrokerEndpoint
	background sync.WaitGroup
	online     atomic.Int32 // log directories in service
	failed     chan error
	stopOnce   sync.Once
	stopped    error
}

// New returns a broker, which does nothing before Start.
func New(o Options) (*Broker, error) {
	switch {
	case len(o.Dirs) == 0:
		return nil, errors.New("no log directory")
	case len(o.Listeners) == 0:
		return nil, errors.New("no listener")
	case o.MetadataDir != "" && !slices.Contains(o.Dirs, o.MetadataDir):
		return nil, fmt.Errorf("the directory of the metadata log, %s, is none of the log directories", o.MetadataDir)
	}
	if o.MetadataDir == "" {
		o.MetadataDir = o.Dirs[0]
	}
	if o.FS == nil {
		o.FS = disk.OS
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b := &Broker{o: o, node: o.NodeID, log: o.Log, failed: make(chan error, 1), ready: make(chan struct{}), groupNews: newGroupNews()}
	b.online.Store(int32(len(o.Dirs)))
	b.image.Store(image.Empty())
	b.next.Store(image.Empty())
	file := &kafkaconf.Settings{File: o.Properties}
	b.settings.Store(file)
	b.autoCreate, b.deleteTopic = brokerBool(file, "auto.create.topics.enable"), brokerBool(file, "delete.topic.enable")
	b.fetchMaxBytes = int(brokerInt(file, "fetch.max.bytes"))
	b.sessions = newSessionCache(int(brokerInt(file, "max.incremental.fetch.session.cache.slots")))
	b.groupConfigs.Store(newGroupConfigs(file, image.Empty()))
	b.groups = b.newGroups()
	b.apis = b.newAPIs()
	return b, nil
}

// ClusterID returns the id of the cluster, once the broker has started.
func (b *Broker) ClusterID() string { return b.clusterID }

// Addr returns the address of the first listener as clients are told it, once
// the broker has started.
func (b *Broker) Addr() string {
	e := b.endpoints[0]
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// Failed returns a channel that gets an error if the broker cannot go on: no log
// directory is left, or not the one of the metadata.
func (b *Broker) Failed() <-chan error { return b.failed }

// Start opens the directories and serves clients when it returns nil. If it
// fails, or ctx ends meanwhile, everything is closed again.
func (b *Broker) Start(ctx context.Context) error {
	began := time.Now()
	b.ctx, b.end = context.WithCancel(context.Background())
	if err := b.start(ctx); err != nil {
		b.stopOnce.Do(func() {}) // there is nothing for Shutdown to do
		b.end()
		b.closeListeners()
		if b.server != nil {
			_ = b.server.stop(cancelled(), func() {})
		}
		b.groups.Close()
		b.background.Wait()
		if b.controller != nil {
			err = errors.Join(err, b.controller.Close())
		}
		if b.store != nil {
			err = errors.Join(err, b.store.Close(b.epoch))
		}
		return err
	}
	b.log.Info("ready", "cluster", b.clusterID, "node", b.node, "partitions", len(b.replicas.all()), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// cancelled returns a context that has ended.
func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func (b *Broker) start(ctx context.Context) (err error) {
	levels, err := b.newLevels()
	if err != nil {
		return err
	}
	// The lock comes before anything is written or read.
	settings := b.settings.Load()
	b.store, err = storage.OpenStore(ctx, b.storeOptions(settings))
	if err != nil {
		return err
	}
	if err := b.store.Offline()[slices.Index(b.o.Dirs, b.o.MetadataDir)]; err != nil {
		return fmt.Errorf("the log directory with the metadata of the cluster cannot be used: %w", err)
	}
	b.epoch = b.store.CleanEpoch()
	if err := b.checkMetadataDir(); err != nil {
		return err
	}
	if err := b.listen(); err != nil { // while nothing is written yet
		return err
	}
	identity, err := metalog.Prepare(b.o.FS, b.o.Dirs, b.o.ClusterID, b.node)
	if err != nil {
		return err
	}
	b.clusterID = identity.ClusterID
	if identity.New {
		b.log.Info("the directories were empty: a new cluster begins", "cluster", b.clusterID)
	}
	b.controller, err = controller.Open(ctx, b.controllerOptions(settings, identity, levels))
	if err != nil {
		return err
	}
	has, wanted := b.controller.Image().MetadataVersion(), image.MetadataVersion(levels[image.FeatureMetadataVersion])
	if b.o.Release != "" && has != wanted {
		b.log.Warn("the data directory is not new and keeps its features", image.FeatureMetadataVersion, has, "wanted", wanted, "release", b.o.Release)
	}
	online := slices.Clone(identity.DirectoryIDs)
	for i := range b.store.Offline() {
		online[i] = wire.UUID{}
	}
	registration := controller.Registration{
		BrokerID: b.node, IncarnationID: newUUID(), Endpoints: b.endpoints, PreviousEpoch: b.store.CleanEpoch(),
		LogDirs: slices.DeleteFunc(online, wire.UUID.IsZero),
	}
	if b.epoch, err = b.controller.RegisterBroker(ctx, registration); err != nil {
		return err
	}
	b.replicas = newReplicas(b.ctx, b.node, b.store, identity.DirectoryIDs, b.log)
	b.replicas.committed = b.committed
	b.store.Start()
	stop := b.controller.Subscribe(b.follow)
	b.background.Go(func() {
		defer stop()
		b.report(b.ctx)
	})
	b.background.Go(func() { b.tellGroups(b.ctx) })
	b.replicas.strays(b.image.Load())
	// Nobody is elected who is in a log directory that is not online.
	b.replicas.misplaced(b.image.Load())
	if err := b.reportDirs(ctx); err != nil {
		return err
	}
	if err := b.controller.Unfence(ctx, b.node, b.epoch); err != nil {
		return err
	}
	if err := b.createAtStart(ctx); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	b.server.start()
	close(b.ready)
	return nil
}

// checkMetadataDir refuses to start where the metadata log is in another log
// directory: a new one would know none of the partitions, and they would be set
// aside.
//
// Source: Kafka 4.4.0, KafkaRaftServer.scala.
func (b *Broker) checkMetadataDir() error {
	for _, dir := range b.o.Dirs {
		if dir == b.o.MetadataDir {
			continue
		}
		name := metalog.Dir(dir)
		if _, err := b.o.FS.Stat(name); err != nil {
			continue // not there, or the directory is offline
		}
		return fmt.Errorf("%s: the metadata log is in this log directory, but would be kept in %s: set metadata.log.dir to %s", name, b.o.MetadataDir, dir)
	}
	return nil
}

func (b *Broker) storeOptions(s *kafkaconf.Settings) storage.StoreOptions {
	return storage.StoreOptions{
		FS: b.o.FS, Dirs: b.o.Dirs, Notice: b.notice, Failed: b.dirFailed,
		// The store has its own lock of the partition, which opening a log takes too.
		Moved:                     func(tp storage.TopicPartition) { go b.replicas.moved(tp) },
		LogConfig:                 func(topic string) storage.Config { return b.topicConfig(topic).log },
		FlushCheckpointMs:         brokerInt(s, "log.flush.offset.checkpoint.interval.ms"),
		LogStartCheckpointMs:      brokerInt(s, "log.flush.start.offset.checkpoint.interval.ms"),
		HighWatermarkCheckpointMs: brokerInt(s, "replica.high.watermark.checkpoint.interval.ms"),
		RetentionCheckMs:          brokerInt(s, "log.retention.check.interval.ms"),
		RecoveryThreads:           int(brokerInt(s, "num.recovery.threads.per.data.dir")),
		Cleaner: storage.CleanerOptions{
			Enabled:     brokerBool(s, "log.cleaner.enable"),
			Threads:     int(brokerInt(s, "log.cleaner.threads")),
			DedupeBytes: brokerInt(s, "log.cleaner.dedupe.buffer.size"),
			LoadFactor:  brokerFloat(s, "log.cleaner.io.buffer.load.factor"),
			BufferBytes: int(brokerInt(s, "log.cleaner.io.buffer.size")),
			BackoffMs:   brokerInt(s, "log.cleaner.backoff.ms"),
			BytesPerSec: brokerFloat(s, "log.cleaner.io.max.bytes.per.second"),
		},
	}
}

// newLevels returns the features of a new cluster.
func (b *Broker) newLevels() (map[string]int16, error) {
	release := b.o.Release
	if release == "" {
		releases := image.Releases()
		release = releases[len(releases)-1]
	}
	return controller.NewClusterLevels(release, b.usableLevels())
}

func (b *Broker) controllerOptions(s *kafkaconf.Settings, identity metalog.Identity, levels map[string]int16) controller.Options {
	own := kraftrec.BrokerEndpoint{Name: "CONTROLLER", Host: b.endpoints[0].Host, Port: b.endpoints[0].Port}
	return controller.Options{
		FS: b.o.FS, Dir: b.o.MetadataDir, NodeID: b.node,
		LogDirs:     slices.DeleteFunc(slices.Clone(b.o.Dirs), func(dir string) bool { return dir == b.o.MetadataDir }),
		DirectoryID: identity.DirectoryIDs[slices.Index(b.o.Dirs, b.o.MetadataDir)],
		Endpoints:   []kraftrec.BrokerEndpoint{own}, Notice: b.notice, Levels: levels,
		NumPartitions:            int32(brokerInt(s, "num.partitions")),
		DefaultReplicationFactor: int16(brokerInt(s, "default.replication.factor")),
		MinInsyncReplicas:        int32(brokerInt(s, "min.insync.replicas")),
		Configs: controller.Configs{
			Validate:      b.validateConfig,
			CheckTogether: b.checkTogether,
			IsList:        isListConfig,
			Default: func(t image.ResourceType, name string) (string, bool) {
				return b.defaultConfig(t, name)
			},
			DescribeTopic: func(im *image.Image, topic map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
				return createdConfigs(settingsOf(im, b.node, b.o.Properties), topic)
			},
		},
		Log: controller.LogOptions{
			SegmentBytes:   brokerInt(s, "metadata.log.segment.bytes"),
			SegmentMs:      brokerInt(s, "metadata.log.segment.ms"),
			SnapshotBytes:  brokerInt(s, "metadata.log.max.record.bytes.between.snapshots"),
			SnapshotMs:     brokerInt(s, "metadata.log.max.snapshot.interval.ms"),
			RetentionBytes: brokerInt(s, "metadata.max.retention.bytes"),
			RetentionMs:    brokerInt(s, "metadata.max.retention.ms"),
		},
	}
}

// usableLevels returns for each feature the highest level whose APIs are served.
func (b *Broker) usableLevels() map[string]int16 {
	levels := make(map[string]int16)
	for name, r := range image.Supported {
		if b.usable(name) {
			levels[name] = r.Max
		}
	}
	return levels
}

// defaultConfig returns the value of a key that a resource does not set.
func (b *Broker) defaultConfig(t image.ResourceType, name string) (string, bool) {
	key, ok := configKey(t, name)
	if !ok {
		return "", false
	}
	s := b.settings.Load()
	v := s.Broker(key)
	if t == image.TopicResource {
		v = s.Topic(key, nil)
	}
	return v.Text, !v.Null
}

// topicConfig returns what holds for a topic.
func (b *Broker) topicConfig(topic string) topicConfig {
	return newTopicConfig(b.settings.Load(), topicSettings(b.next.Load(), topic), b.o.Sync)
}

// follow makes the broker what the next image says. The controller calls it for
// one image at a time, and answers the request behind it afterwards.
func (b *Broker) follow(_, next *image.Image, d *image.Delta) {
	b.settings.Store(settingsOf(next, b.node, b.o.Properties))
	b.next.Store(next)
	if len(d.Configs) > 0 || d.Features {
		b.groupConfigs.Store(newGroupConfigs(b.settings.Load(), next))
	}
	changed := b.replicas.apply(next, d, b.topicConfig)
	b.coordinate(d)
	b.image.Store(next)
	b.groupNews.add(next, d)
	for _, r := range changed {
		r.watch.wake()
	}
}

// listen binds the listeners; connections wait until the server accepts them.
func (b *Broker) listen() error {
	var listeners []*listener
	for _, l := range b.o.Listeners {
		if l.Name == "" {
			l.Name = "PLAINTEXT"
		}
		nl := l.Listener
		if nl == nil {
			var err error
			if nl, err = net.Listen("tcp", l.Addr); err != nil {
				for _, open := range listeners {
					open.Close()
				}
				return err
			}
		}
		listeners = append(listeners, &listener{nl, l.Name})
		e, err := advertise(nl.Addr(), l.Advertised)
		if err != nil {
			for _, open := range listeners {
				open.Close()
			}
			return err
		}
		e.Name = l.Name
		b.endpoints = append(b.endpoints, e)
		b.log.Info("listening", "listener", l.Name, "address", nl.Addr(), "advertised", net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))))
	}
	b.server = newServer(b.apis, b.limits(), b.log, listeners)
	b.o.Properties = b.shownProperties(listeners)
	return nil
}

// closeListeners closes what the caller gave and listen did not take.
func (b *Broker) closeListeners() {
	for _, l := range b.o.Listeners {
		if l.Listener != nil {
			l.Listener.Close()
		}
	}
}

// advertise returns what clients are told of an address.
func advertise(listening net.Addr, advertised string) (kraftrec.BrokerEndpoint, error) {
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return kraftrec.BrokerEndpoint{}, err
	}
	if advertised != "" {
		h, p, err := net.SplitHostPort(advertised)
		if err != nil {
			return kraftrec.BrokerEndpoint{}, fmt.Errorf("advertised address: %w", err)
		}
		if h != "" {
			host = h
		}
		if p != "" && p != "0" {
			port = p
		}
	} else if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return kraftrec.BrokerEndpoint{}, fmt.Errorf("advertised address: %w", err)
	}
	return kraftrec.BrokerEndpoint{Host: host, Port: uint16(n)}, nil
}

// createAtStart makes the topics of the options that are not there.
func (b *Broker) createAtStart(ctx context.Context) error {
	q := kmsg.NewPtrCreateTopicsRequest()
	q.SetVersion(q.MaxVersion())
	for _, t := range b.o.Topics {
		if there := b.image.Load().Topic(t.Name); there != nil {
			if n := there.Len(); t.Partitions > 0 && int(t.Partitions) != n {
				b.log.Warn("a topic is there already, with another number of partitions", "topic", t.Name, "partitions", n, "wanted", t.Partitions)
			}
			continue
		}
		to := kmsg.NewCreateTopicsRequestTopic()
		to.Topic, to.NumPartitions, to.ReplicationFactor = t.Name, t.Partitions, -1
		for name, value := range t.Configs {
			c := kmsg.NewCreateTopicsRequestTopicConfig()
			c.Name, c.Value = name, &value
			to.Configs = append(to.Configs, c)
		}
		q.Topics = append(q.Topics, to)
	}
	if len(q.Topics) == 0 {
		return nil
	}
	for _, t := range b.controller.CreateTopics(ctx, q).Topics {
		if t.ErrorCode == 0 {
			continue
		}
		message := kerr.ErrorForCode(t.ErrorCode).Error()
		if t.ErrorMessage != nil {
			message = *t.ErrorMessage
		}
		return fmt.Errorf("topic %s: %s", t.Topic, message)
	}
	return nil
}

// notice logs what storage and the controller have to say.
func (b *Broker) notice(n storage.Notice) {
	level := slog.LevelInfo
	switch n.Level {
	case storage.Warn:
		level = slog.LevelWarn
	case storage.Error:
		level = slog.LevelError
	}
	b.log.Log(context.Background(), level, n.Message, "path", n.Path)
}

// dirFailed is told when a log directory goes out of service: its partitions
// answer KAFKA_STORAGE_ERROR. Without the metadata, or any other, the broker
// cannot go on.
func (b *Broker) dirFailed(dir int, err error) {
	if left := b.online.Add(-1); b.o.Dirs[dir] != b.o.MetadataDir && left > 0 {
		return
	}
	select {
	case b.failed <- fmt.Errorf("log directory %s: %w", b.o.Dirs[dir], err):
	default:
	}
}

// Shutdown stops the broker as Kafka stops: its partitions get other leaders, or
// none, what is under way is answered, and the directories are closed so that
// the next start trusts them. When ctx ends, connections are cut off; what was
// written is closed in order all the same.
func (b *Broker) Shutdown(ctx context.Context) error {
	b.stopOnce.Do(func() {
		began := time.Now()
		b.log.Info("stopping")
		err := b.controller.ControlledShutdown(ctx, b.node, b.epoch)
		if err != nil {
			b.log.Warn("the controlled shutdown failed", "error", err)
		}
		b.groups.Close()                          // who waits to join a group is answered
		_ = b.server.stop(ctx, b.replicas.finish) // ctx ended: connections were cut off
		b.end()
		b.background.Wait()
		b.stopped = errors.Join(b.controller.Close(), b.store.Close(b.epoch))
		b.log.Info("stopped", "clean", b.stopped == nil, "took", time.Since(began).Round(time.Millisecond))
	})
	return b.stopped
}

// newUUID returns a random UUID of version 4.
func newUUID() wire.UUID {
	var id wire.UUID
	rand.Read(id[:])
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}
