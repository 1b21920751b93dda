package kafkaconf

const (
	minute = 60 * 1000 // ms
	hour   = 60 * minute
)

// topicKeys are the keys of topics, sorted by name.
var topicKeys = []Key{
	{Name: "cleanup.policy", Type: List, Default: "delete", HasDefault: true, Synonyms: []Synonym{{"log.cleanup.policy", 1}}, Allowed: []string{"compact", "delete"}, special: distinct, Doc: "What happens to old records: delete removes segments by age and size, compact keeps the newest record of each key; both may be set, or neither."},
	{Name: "compression.gzip.level", Type: Int, Default: "-1", HasDefault: true, Synonyms: []Synonym{{"compression.gzip.level", 1}}, Min: new(int64(1)), Max: new(int64(9)), special: gzipLevel, Doc: "How hard gzip works if the broker compresses with it: 1 to 9, or -1 for the default."},
	{Name: "compression.lz4.level", Type: Int, Default: "9", HasDefault: true, Synonyms: []Synonym{{"compression.lz4.level", 1}}, Min: new(int64(1)), Max: new(int64(17)), Doc: "How hard lz4 works if the broker compresses with it."},
	{Name: "compression.type", Type: String, Default: "producer", HasDefault: true, Synonyms: []Synonym{{"compression.type", 1}}, Allowed: []string{"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"}, Doc: "The codec in which the broker stores batches; producer leaves them as they were sent."},
	{Name: "compression.zstd.level", Type: Int, Default: "3", HasDefault: true, Synonyms: []Synonym{{"compression.zstd.level", 1}}, Min: new(int64(-131072)), Max: new(int64(22)), Doc: "How hard zstd works if the broker compresses with it."},
	{Name: "delete.retention.ms", Type: Long, Default: "86400000", HasDefault: true, Synonyms: []Synonym{{"log.cleaner.delete.retention.ms", 1}}, Min: new(int64(0)), Doc: "For how long, in ms, a compacted log keeps tombstones and transaction markers after it was cleaned."},
	{Name: "errors.deadletterqueue.group.enable", Type: Boolean, Default: "false", HasDefault: true, Doc: "Whether share groups may use the topic for records that nobody could process."},
	{Name: "file.delete.delay.ms", Type: Long, Default: "60000", HasDefault: true, Synonyms: []Synonym{{"log.segment.delete.delay.ms", 1}}, Min: new(int64(0)), Doc: "For how long, in ms, the files of a deleted segment stay on the disk."},
	{Name: "flush.messages", Type: Long, Default: "9223372036854775807", HasDefault: true, Synonyms: []Synonym{{"log.flush.interval.messages", 1}}, Min: new(int64(1)), Doc: "After how many records a log is forced to the disk."},
	{Name: "flush.ms", Type: Long, Default: "9223372036854775807", HasDefault: true, Synonyms: []Synonym{{"log.flush.interval.ms", 1}, {"log.flush.scheduler.interval.ms", 1}}, Min: new(int64(0)), Doc: "After how many ms a log with new records is forced to the disk."},
	{Name: "follower.replication.throttled.replicas", Type: List, Default: "", HasDefault: true, special: replicas, Doc: "The replicas, as partition:broker, whose followers copy at the throttled rate; * for all."},
	{Name: "index.interval.bytes", Type: Int, Default: "4096", HasDefault: true, Synonyms: []Synonym{{"log.index.interval.bytes", 1}}, Min: new(int64(0)), Doc: "How many bytes of records lie between two entries of the offset index."},
	{Name: "internal.segment.bytes", Type: Int, Internal: true, Doc: "At which size, in bytes, a new segment begins, without the lower bound of segment.bytes, which it overrides; for tests."},
	{Name: "leader.replication.throttled.replicas", Type: List, Default: "", HasDefault: true, special: replicas, Doc: "The replicas, as partition:broker, that leaders serve at the throttled rate; * for all."},
	{Name: "local.retention.bytes", Type: Long, Default: "-2", HasDefault: true, Synonyms: []Synonym{{"log.local.retention.bytes", 1}}, Min: new(int64(-2)), Doc: "Up to which size, in bytes, a tiered partition keeps segments locally; -2 stands for retention.bytes."},
	{Name: "local.retention.ms", Type: Long, Default: "-2", HasDefault: true, Synonyms: []Synonym{{"log.local.retention.ms", 1}}, Min: new(int64(-2)), Doc: "For how long, in ms, a tiered partition keeps segments locally; -2 stands for retention.ms."},
	{Name: "max.compaction.lag.ms", Type: Long, Default: "9223372036854775807", HasDefault: true, Synonyms: []Synonym{{"log.cleaner.max.compaction.lag.ms", 1}}, Min: new(int64(1)), Doc: "After how many ms a record is compacted whatever the share of dirty records."},
	{Name: "max.decompressed.message.bytes", Type: Int, Default: "2147483639", HasDefault: true, Synonyms: []Synonym{{"max.decompressed.message.bytes", 1}}, Min: new(int64(1)), Max: new(int64(2147483639)), Doc: "How many bytes one record of a compressed batch may have once it is inflated."},
	{Name: "max.message.bytes", Type: Int, Default: "1048588", HasDefault: true, Synonyms: []Synonym{{"message.max.bytes", 1}}, Min: new(int64(0)), Doc: "How many bytes a record batch may have."},
	{Name: "message.timestamp.after.max.ms", Type: Long, Default: "3600000", HasDefault: true, Synonyms: []Synonym{{"log.message.timestamp.after.max.ms", 1}}, Min: new(int64(0)), Doc: "By how many ms a record may be dated ahead of the broker's clock."},
	{Name: "message.timestamp.before.max.ms", Type: Long, Default: "9223372036854775807", HasDefault: true, Synonyms: []Synonym{{"log.message.timestamp.before.max.ms", 1}}, Min: new(int64(0)), Doc: "By how many ms a record may be dated behind the broker's clock."},
	{Name: "message.timestamp.type", Type: String, Default: "CreateTime", HasDefault: true, Synonyms: []Synonym{{"log.message.timestamp.type", 1}}, Allowed: []string{"CreateTime", "LogAppendTime"}, Doc: "Whether records keep the time of the producer or get that of the append."},
	{Name: "min.cleanable.dirty.ratio", Type: Double, Default: "0.5", HasDefault: true, Synonyms: []Synonym{{"log.cleaner.min.cleanable.ratio", 1}}, Min: new(int64(0)), Max: new(int64(1)), Doc: "Which share of a log must be uncleaned before it is compacted, from 0 to 1."},
	{Name: "min.compaction.lag.ms", Type: Long, Default: "0", HasDefault: true, Synonyms: []Synonym{{"log.cleaner.min.compaction.lag.ms", 1}}, Min: new(int64(0)), Doc: "For how many ms at least a record stays uncompacted."},
	{Name: "min.insync.replicas", Type: Int, Default: "1", HasDefault: true, Synonyms: []Synonym{{"min.insync.replicas", 1}}, Min: new(int64(1)), Doc: "How many replicas must be in sync for an append with acks=all."},
	{Name: "preallocate", Type: Boolean, Default: "false", HasDefault: true, Synonyms: []Synonym{{"log.preallocate", 1}}, Doc: "Whether a new segment gets its full size on the disk at once."},
	{Name: "remote.copy.lag.bytes", Type: Long, Default: "-1", HasDefault: true, Synonyms: []Synonym{{"log.remote.copy.lag.bytes", 1}}, Min: new(int64(-1)), Doc: "By how many bytes copies to remote storage may stay behind."},
	{Name: "remote.copy.lag.ms", Type: Long, Default: "0", HasDefault: true, Synonyms: []Synonym{{"log.remote.copy.lag.ms", 1}}, Min: new(int64(-1)), Doc: "By how many ms copies to remote storage may stay behind."},
	{Name: "remote.log.copy.disable", Type: Boolean, Default: "false", HasDefault: true, Doc: "Whether segments are no longer copied to remote storage."},
	{Name: "remote.log.delete.on.disable", Type: Boolean, Default: "false", HasDefault: true, Doc: "Whether remote segments are deleted when remote storage is turned off."},
	{Name: "remote.storage.enable", Type: Boolean, Default: "false", HasDefault: true, Doc: "Whether segments are copied to remote storage."},
	{Name: "retention.bytes", Type: Long, Default: "-1", HasDefault: true, Synonyms: []Synonym{{"log.retention.bytes", 1}}, Doc: "Up to which size, in bytes, a partition keeps old segments; -1 for any."},
	{Name: "retention.ms", Type: Long, Default: "604800000", HasDefault: true, Synonyms: []Synonym{{"log.retention.ms", 1}, {"log.retention.minutes", minute}, {"log.retention.hours", hour}}, Min: new(int64(-1)), Doc: "For how long, in ms, records are kept under the policy delete; -1 for ever."},
	{Name: "segment.bytes", Type: Int, Default: "1073741824", HasDefault: true, Synonyms: []Synonym{{"log.segment.bytes", 1}}, Min: new(int64(1048576)), oldMin: new(int64(14)), Doc: "At which size, in bytes, a new segment begins."},
	{Name: "segment.index.bytes", Type: Int, Default: "10485760", HasDefault: true, Synonyms: []Synonym{{"log.index.size.max.bytes", 1}}, Min: new(int64(4)), Doc: "How many bytes an index file may have, which is preallocated."},
	{Name: "segment.jitter.ms", Type: Long, Default: "0", HasDefault: true, Synonyms: []Synonym{{"log.roll.jitter.ms", 1}, {"log.roll.jitter.hours", hour}}, Min: new(int64(0)), Doc: "By how many ms at most a segment begins earlier than segment.ms, at random, so that not all do at once."},
	{Name: "segment.ms", Type: Long, Default: "604800000", HasDefault: true, Synonyms: []Synonym{{"log.roll.ms", 1}, {"log.roll.hours", hour}}, Min: new(int64(1)), Doc: "After how many ms a new segment begins even if the last one is not full."},
	{Name: "unclean.leader.election.enable", Type: Boolean, Default: "false", HasDefault: true, Synonyms: []Synonym{{"unclean.leader.election.enable", 1}}, Doc: "Whether a replica that is not in sync may become leader if no other can, at the price of records."},
}
