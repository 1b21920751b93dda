package txnrec

import (
	"kf/internal/format/schema"
)

// A TransactionLogKey is the key of a [TransactionLogValue].
type TransactionLogKey struct {
	_               struct{} `kf:"v0"`
	TransactionalID string   `kf:"transactionalId"`
}

// A TransactionLogValue is the state of a transactional id. Version 1 is written
// with transaction.version 1 and later.
type TransactionLogValue struct {
	_                                struct{}                `kf:"v0-1,flex=1"`
	ProducerID                       int64                   `kf:"producerId"`
	PreviousProducerID               int64                   `kf:"previousProducerId,v1+,tag=0,default=-1"` // -1 if there is none
	NextProducerID                   int64                   `kf:"nextProducerId,v1+,tag=1,default=-1"`     // -1 if there is none
	ProducerEpoch                    int16                   `kf:"producerEpoch"`
	NextProducerEpoch                int16                   `kf:"nextProducerEpoch,v1+,tag=3,default=-1"` // -1 if there is none
	TransactionTimeoutMs             int32                   `kf:"transactionTimeoutMs"`                   // ms
	TransactionStatus                int8                    `kf:"transactionStatus"`                      // a [Status]
	TransactionPartitions            []TransactionPartitions `kf:"transactionPartitions,nullable"`         // nil before the first of them, empty when it is complete
	TransactionLastUpdateTimestampMs int64                   `kf:"transactionLastUpdateTimestampMs"`       // ms since the Unix epoch
	TransactionStartTimestampMs      int64                   `kf:"transactionStartTimestampMs"`            // ms since the Unix epoch, -1 if there is none
	ClientTransactionVersion         int16                   `kf:"clientTransactionVersion,v1+,tag=2"`     // of the producer, 2 from the first Ongoing on
	Unknown                          schema.Tags
}

// A TransactionPartitions is partitions of one topic.
type TransactionPartitions struct {
	Topic        string  `kf:"topic"`
	PartitionIDs []int32 `kf:"partitionIds"`
	Unknown      schema.Tags
}
