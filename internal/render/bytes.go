package render

import (
	"fmt"
	"slices"
	"strings"
)

// A ByteFormat is how keys and values are shown, which are bytes, and the value
// of --key-format and --value-format.
type ByteFormat int

const (
	BytesAuto   ByteFormat = iota // text if the bytes are that, else base64 (JSON) or 0x… (table, CSV)
	BytesString                   // text; bytes that are not UTF-8 become U+FFFD
	BytesHex
	BytesBase64
	BytesJSON // the bytes are JSON and go into the output as that
	BytesInt32
	BytesInt64
	BytesUUID // 16 bytes, in the form with dashes
)

// ByteFormats are the values that flags take.
var ByteFormats = []string{"auto", "string", "hex", "base64", "json", "int32", "int64", "uuid"}

func (f ByteFormat) String() string { return ByteFormats[f] }

// Type is what pflag calls the type of the value.
func (f ByteFormat) Type() string { return "format" }

// Set implements pflag.Value.
func (f *ByteFormat) Set(s string) error {
	i := slices.Index(ByteFormats, s)
	if i < 0 {
		return fmt.Errorf("must be one of %s", strings.Join(ByteFormats, ", "))
	}
	*f = ByteFormat(i)
	return nil
}
