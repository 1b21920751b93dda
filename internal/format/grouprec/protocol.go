package grouprec

import (
	"encoding/binary"

	"kf/internal/format/schema"
	"kf/internal/wire"
)

// ConsumerProtocolType is the protocol type of classic groups of consumers.
const ConsumerProtocolType = "consumer"

// DecodeSubscription decodes the subscription of a member of a classic group of
// consumers: int16 version, body, never flexible. A version above 3 is read as 3,
// a negative one as 0; what is behind the body is ignored, as Kafka does.
func DecodeSubscription(p []byte) (s *ConsumerProtocolSubscription, version int16, err error) {
	s = new(ConsumerProtocolSubscription)
	version, err = decodeBlob(p, s)
	return s, version, err
}

// DecodeSubscribedTopics returns the topics of a subscription. It reads no more
// than a subscription of version 0 has, which every version starts with: what came
// later may be damaged, and Kafka's coordinator does not look at it either.
func DecodeSubscribedTopics(p []byte) ([]string, error) {
	c := wire.Cursor{B: p}
	c.Int16()
	if c.Err() != nil {
		return nil, c.Err()
	}
	var s ConsumerProtocolSubscription
	err := schema.Decode(&c, &s, 0)
	return s.Topics, err
}

// DecodeAssignment decodes the assignment of such a member, which is framed
// likewise. That of a member without one is empty, and an error here.
func DecodeAssignment(p []byte) (a *ConsumerProtocolAssignment, version int16, err error) {
	a = new(ConsumerProtocolAssignment)
	version, err = decodeBlob(p, a)
	return a, version, err
}

func decodeBlob(p []byte, v any) (version int16, err error) {
	c := wire.Cursor{B: p}
	version = c.Int16()
	if c.Err() != nil {
		return 0, c.Err()
	}
	return version, schema.Decode(&c, v, version)
}

// AppendSubscription appends s in a version from 0 to 3.
func AppendSubscription(dst []byte, s *ConsumerProtocolSubscription, version int16) ([]byte, error) {
	return appendBlob(dst, s, version)
}

// AppendAssignment appends a in a version from 0 to 3.
func AppendAssignment(dst []byte, a *ConsumerProtocolAssignment, version int16) ([]byte, error) {
	return appendBlob(dst, a, version)
}

func appendBlob(dst []byte, v any, version int16) ([]byte, error) {
	out, err := schema.Append(binary.BigEndian.AppendUint16(dst, uint16(version)), v, version)
	if err != nil {
		return dst, err
	}
	return out, nil
}
