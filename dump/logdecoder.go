package dump

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"kf/internal/cli"
	"kf/internal/dumptext"
	"kf/internal/javafmt"
)

const (
	toolsAPI      = "org.apache.kafka.tools.api."
	stringDecoder = toolsAPI + "StringDecoder"
)

// A class is a decoder of --key-decoder-class and --value-decoder-class.
type class func(dst, p []byte) ([]byte, error)

// classByName returns the class of a name, which may lack the package.
func classByName(name string) (class, error) {
	switch strings.TrimPrefix(name, toolsAPI) {
	case "StringDecoder":
		return func(dst, p []byte) ([]byte, error) { return javafmt.AppendText(dst, p), nil }, nil
	case "IntegerDecoder":
		return func(dst, p []byte) ([]byte, error) {
			if len(p) < 4 {
				return dst, fmt.Errorf("IntegerDecoder needs 4 bytes, there are %d", len(p))
			}
			return strconv.AppendInt(dst, int64(int32(binary.BigEndian.Uint32(p))), 10), nil
		}, nil
	case "LongDecoder":
		return func(dst, p []byte) ([]byte, error) {
			if len(p) < 8 {
				return dst, fmt.Errorf("LongDecoder needs 8 bytes, there are %d", len(p))
			}
			return strconv.AppendInt(dst, int64(binary.BigEndian.Uint64(p)), 10), nil
		}, nil
	case "DefaultDecoder":
		// Java prints the identity of the array object, which is new in each
		// run; this one at least tells equal bytes from others.
		return func(dst, p []byte) ([]byte, error) {
			sum := fnv.New32a()
			sum.Write(p)
			return fmt.Appendf(dst, "[B@%x", sum.Sum32()), nil
		}, nil
	}
	return nil, cli.Usagef("unknown decoder class %q: kf has StringDecoder, IntegerDecoder, LongDecoder and DefaultDecoder of %s*", name, toolsAPI)
}

// isText reports whether the class of that name is StringDecoder.
func isText(name string) bool { return strings.TrimPrefix(name, toolsAPI) == "StringDecoder" }

// A classDecoder decodes keys and values, each with a class.
type classDecoder struct {
	key, value class
	text       bool // both are StringDecoder
}

// Append implements dumptext.Decoder. As Kafka's tool does it decodes both
// before it prints either: an error leaves dst as it was.
func (d classDecoder) Append(dst []byte, prefix string, r dumptext.Record) ([]byte, error) {
	var err error
	out := dst
	if r.Key != nil {
		if out, err = d.key(append(append(out, prefix...), "key: "...), r.Key); err != nil {
			return dst, err
		}
		prefix = " "
	}
	if r.Value != nil {
		if out, err = d.value(append(append(out, prefix...), "payload: "...), r.Value); err != nil {
			return dst, err
		}
	}
	return out, nil
}
