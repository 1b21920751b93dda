package broker

// newAPIs returns what the broker serves, with the version ranges of Kafka
// 4.4.0. An API is added when its handler is there and tested; ApiVersions and
// the features that it names follow from this table.
func (b *Broker) newAPIs() *apiTable {
	produce := replies(0, 13, b.produce)
	produce.from = 3
	return newAPITable(
		produce,
		replies(4, 18, b.fetch),
		answers(1, 11, b.listOffsets),
		answers(0, 13, b.metadata),
		replies(2, 10, b.offsetCommit),
		replies(1, 10, b.offsetFetch),
		replies(0, 6, b.findCoordinator),
		replies(0, 9, b.joinGroup),
		replies(0, 4, b.heartbeat),
		replies(0, 5, b.leaveGroup),
		replies(0, 5, b.syncGroup),
		replies(0, 6, b.describeGroups),
		replies(0, 5, b.listGroups),
		answers(0, 5, b.apiVersions),
		answers(2, 7, b.createTopics),
		answers(1, 6, b.deleteTopics),
		answers(0, 2, b.deleteRecords),
		answers(0, 5, b.initProducerID),
		answers(2, 4, b.offsetForLeaderEpoch),
		answers(1, 4, b.describeConfigs),
		answers(1, 5, b.describeLogDirs),
		answers(0, 3, b.createPartitions),
		replies(0, 3, b.deleteGroups),
		answers(0, 1, b.incrementalAlterConfigs),
		replies(0, 0, b.offsetDelete),
		answers(0, 2, b.describeQuorum),
		answers(0, 2, b.describeCluster),
		replies(0, 1, b.consumerGroupHeartbeat),
		replies(0, 1, b.consumerGroupDescribe),
		answers(0, 1, b.listConfigResources),
		answers(0, 0, b.describeTopicPartitions),
	)
}
