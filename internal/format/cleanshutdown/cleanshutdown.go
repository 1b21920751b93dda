// Package cleanshutdown reads and writes .kafka_cleanshutdown, the mark of a
// clean stop in a log directory. Its presence alone says that the logs need no
// recovery. It is JSON without a line end:
//
//	{"version":0,"brokerEpoch":7}
//
// The broker epoch is that of the run that stopped, -1 if it was unknown. Older
// releases wrote an empty file. A reader of Kafka takes what it can: anything
// that is not a JSON object with a brokerEpoch means "no epoch", never a
// failure; the version is not looked at.
//
// Source: Kafka 4.4.0, CleanShutdownFileHandler.java, and runs of its reader.
// Not followed: its JSON reader also takes a number in quotes, and a fraction,
// which it cuts.
package cleanshutdown

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Version is the only version.
const Version = 0

// ErrFormat says that the broker epoch cannot be read; match with errors.Is. To
// Kafka the stop was clean even so.
var ErrFormat = errors.New("malformed clean shutdown file")

// A Marker is the content of a file.
type Marker struct {
	Version     int64
	BrokerEpoch *int64 // nil if there is none
}

// Decode decodes the file p. An empty file is healthy and has no epoch.
func Decode(p []byte) (Marker, error) {
	if len(p) == 0 {
		return Marker{}, nil
	}
	var fields map[string]json.RawMessage
	// As Kafka does this leaves what follows the object alone.
	if err := json.NewDecoder(bytes.NewReader(p)).Decode(&fields); err != nil {
		return Marker{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	var m Marker
	if raw, ok := fields["version"]; ok {
		if err := json.Unmarshal(raw, &m.Version); err != nil {
			return m, fmt.Errorf("%w: version is not a number", ErrFormat)
		}
	}
	raw, ok := fields["brokerEpoch"]
	if !ok {
		return m, fmt.Errorf("%w: no brokerEpoch", ErrFormat)
	}
	var epoch *int64 // stays nil for null
	if err := json.Unmarshal(raw, &epoch); err != nil {
		return m, fmt.Errorf("%w: brokerEpoch is not a number", ErrFormat)
	}
	m.BrokerEpoch = epoch
	return m, nil
}

// Append appends the file to dst, of which there is nothing without an epoch.
func Append(dst []byte, m Marker) []byte {
	if m.BrokerEpoch == nil {
		return dst
	}
	return fmt.Appendf(dst, `{"version":%d,"brokerEpoch":%d}`, m.Version, *m.BrokerEpoch)
}
