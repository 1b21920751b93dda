package storage

import (
	"context"

	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// TODO(contract): the bodies of this file are stubs until the store is written.

// StoreOptions say which log directories a store has and how it keeps them.
type StoreOptions struct {
	FS     disk.FS
	Dirs   []string // log.dirs; each exists and has its meta.properties
	Notice func(Notice)
	// LogConfig returns the settings of a topic's logs.
	LogConfig func(topic string) Config
	// CheckpointMs, HighWatermarkMs and RetentionCheckMs are the schedules of
	// the checkpoint files and of retention.
	FlushCheckpointMs, HighWatermarkCheckpointMs, RetentionCheckMs int64
	RecoveryThreads                                                int // per log directory
	Cleaner                                                        CleanerOptions
}

// CleanerOptions are the broker's settings of compaction.
type CleanerOptions struct {
	Enabled       bool
	Threads       int
	DedupeBytes   int64 // log.cleaner.dedupe.buffer.size
	BackoffMs     int64
	IOBufferBytes int
}

// A Store has the partitions of a broker's log directories.
type Store struct{}

// OpenStore locks the directories, then reads their checkpoints and what lies
// in them. After a clean stop no partition is opened.
func OpenStore(ctx context.Context, o StoreOptions) (*Store, error) { panic("stub") }

// A Replica is a partition that the store has, open or not.
type Replica struct {
	TP  TopicPartition
	Dir int // index of its log directory
}

// Replicas returns what the store has, without opening anything.
func (s *Store) Replicas() []Replica { panic("stub") }

// Create makes the directory of a partition that is not there and opens its log.
func (s *Store) Create(tp TopicPartition, id wire.UUID, dir int) (*Log, error) { panic("stub") }

// Open opens the log of a partition that is there, once: it recovers it if
// need be, compares its topic id and returns the same log from then on.
func (s *Store) Open(ctx context.Context, tp TopicPartition, id wire.UUID) (*Log, error) {
	panic("stub")
}

// Delete renames the directory of a partition to "-delete" and removes it after
// file.delete.delay.ms.
func (s *Store) Delete(tp TopicPartition) error { panic("stub") }

// Stray renames the directory of a partition that the cluster does not know to
// "-stray".
func (s *Store) Stray(tp TopicPartition) error { panic("stub") }

// Move copies a partition to another log directory and replaces it when the
// copy has caught up.
func (s *Store) Move(tp TopicPartition, dir int) error { panic("stub") }

// Offline returns the log directories that failed, with why.
func (s *Store) Offline() map[int]error { panic("stub") }

// Close stops the store: every open log is closed, the checkpoints are written,
// and then the marker of a clean stop with the broker epoch.
func (s *Store) Close(brokerEpoch int64) error { panic("stub") }
