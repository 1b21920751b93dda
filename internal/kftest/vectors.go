package kftest

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"testing"
)

//go:embed testdata/vectors.jsonl
var vectors []byte

// A Vector is a line of testdata/vectors.jsonl: bytes that Kafka 4.4 wrote or
// reads, and what they mean.
type Vector struct {
	Format  string          // "record-batch", "metadata-record", …
	Name    string          // unique with Format, for people
	Source  string          // who wrote the bytes: "broker", "formatter", "serializer", "by hand"
	Topic   string          // of a coordinator-record; decides the schema
	Base    int64           // base offset of the segment, for indexes
	Key     []byte          // of a record that has one; nil if there is none
	Bytes   []byte          // the file, message or record value; nil for a null value
	Decoded json.RawMessage // what Kafka's own classes make of it
}

// Vectors returns the vectors of a format; none is a failure of the test.
func Vectors(t testing.TB, format string) []Vector {
	t.Helper()
	var found []Vector
	lines := bufio.NewScanner(bytes.NewReader(vectors))
	lines.Buffer(nil, len(vectors)+1)
	for lines.Scan() {
		var line struct {
			Format, Name, Source, Topic string
			Base                        int64
			KeyHex, Hex                 *string
			Decoded                     json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("vectors.jsonl: %v", err)
		}
		if line.Format != format {
			continue
		}
		found = append(found, Vector{
			Format: line.Format, Name: line.Name, Source: line.Source, Topic: line.Topic, Base: line.Base,
			Key: optionalHex(t, line.KeyHex), Bytes: optionalHex(t, line.Hex), Decoded: line.Decoded,
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("vectors.jsonl: %v", err)
	}
	if len(found) == 0 {
		t.Fatalf("vectors.jsonl has no vector of format %q", format)
	}
	return found
}

func optionalHex(t testing.TB, s *string) []byte {
	t.Helper()
	if s == nil {
		return nil
	}
	p, err := hex.DecodeString(*s)
	if err != nil {
		t.Fatalf("vectors.jsonl: %v", err)
	}
	return p
}

// EqualJSON compares two JSON texts as values: blanks, the order of keys and the
// notation of strings do not matter, every digit of a number does.
func EqualJSON(t testing.TB, got, want []byte) {
	t.Helper()
	parse := func(which string, text []byte) any {
		var v any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s is not JSON: %v\n%s", which, err, text)
		}
		return v
	}
	if !reflect.DeepEqual(parse("got", got), parse("want", want)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
