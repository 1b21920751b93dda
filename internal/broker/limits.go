package broker

import (
	"math"
	"time"

	"kf/internal/storage/disk"
)

// What a connection may have under way, for which Kafka has no settings.
const (
	requestMemory = 256 << 20 // of all requests, unless queued.max.request.bytes says another
	slots         = 64
	unsentBytes   = 1 << 20
	stall         = 30 * time.Second
)

func (b *Broker) limits() limits {
	s := b.settings.Load()
	l := limits{
		requestBytes:     int32(brokerInt(s, "socket.request.max.bytes")),
		memoryBytes:      requestMemory,
		slots:            slots,
		unsentBytes:      unsentBytes,
		connections:      min(int(brokerInt(s, "max.connections")), disk.Descriptors()/4), // the rest is for the logs
		connectionsPerIP: int(brokerInt(s, "max.connections.per.ip")),
		idle:             time.Duration(brokerInt(s, "connections.max.idle.ms")) * time.Millisecond,
		stall:            stall,
	}
	if n := brokerInt(s, "queued.max.request.bytes"); n > 0 {
		l.memoryBytes = n
	}
	if l.idle <= 0 {
		l.idle = math.MaxInt64 // never
	}
	return l
}
