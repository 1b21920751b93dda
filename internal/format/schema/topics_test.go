package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"kf/internal/format/control"
	"kf/internal/format/grouprec"
	"kf/internal/format/kraftrec"
	"kf/internal/format/remoterec"
	"kf/internal/format/schema"
	"kf/internal/format/sharerec"
	"kf/internal/format/txnrec"
	"kf/internal/kftest"
	"kf/internal/wire"
)

// A coordinator is the functions that the packages of the coordinators' topics
// have in common.
type coordinator struct {
	decode      func(key, value []byte) (schema.CoordinatorRecord, error)
	appendKey   func(dst []byte, key any) ([]byte, error)
	appendValue func(dst []byte, value any, version int16) ([]byte, error)
	name        func(int16) string
	types       func() []int16
	new         func(int16) (key, value any)
}

var coordinators = map[string]coordinator{
	"__consumer_offsets":  {grouprec.Decode, grouprec.AppendKey, grouprec.AppendValue, grouprec.Name, grouprec.Types, grouprec.New},
	"__transaction_state": {txnrec.Decode, txnrec.AppendKey, txnrec.AppendValue, txnrec.Name, txnrec.Types, txnrec.New},
	"__share_group_state": {sharerec.Decode, sharerec.AppendKey, sharerec.AppendValue, sharerec.Name, sharerec.Types, sharerec.New},
}

func TestCoordinatorVectors(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range kftest.Vectors(t, "coordinator-record") {
		t.Run(v.Name, func(t *testing.T) {
			c, ok := coordinators[v.Topic]
			if !ok {
				t.Fatalf("unknown topic %q", v.Topic)
			}
			rec, err := c.decode(v.Key, v.Bytes)
			if err != nil || rec.KeyUnread != 0 || rec.ValueUnread != 0 {
				t.Fatalf("%v, unread %d and %d", err, rec.KeyUnread, rec.ValueUnread)
			}
			seen[fmt.Sprint(v.Topic, rec.Type, "v", rec.Version)] = true
			var want struct {
				Key, Value struct {
					Type, Version int16
					Data          json.RawMessage
				}
			}
			if err := json.Unmarshal(v.Decoded, &want); err != nil {
				t.Fatal(err)
			}
			if rec.Type != want.Key.Type || rec.Version != want.Value.Version {
				t.Errorf("got type %d version %d, want %d and %d", rec.Type, rec.Version, want.Key.Type, want.Value.Version)
			}
			for _, part := range []struct{ got, want []byte }{
				{schema.AppendJSON(nil, rec.Key, 0), want.Key.Data},
				{schema.AppendJSON(nil, rec.Value, rec.Version), want.Value.Data},
			} {
				kftest.EqualJSON(t, part.got, part.want)
				if v.Source == "serializer" && !bytes.Equal(part.got, part.want) { // these are Kafka's text as it is
					t.Errorf("got  %s\nwant %s", part.got, part.want)
				}
			}
			key, err := c.appendKey(nil, rec.Key)
			if err != nil || !bytes.Equal(key, v.Key) {
				t.Errorf("key encoded again: %x, %v; want %x", key, err, v.Key)
			}
			value, err := c.appendValue(nil, rec.Value, rec.Version)
			if err != nil || !bytes.Equal(value, v.Bytes) {
				t.Errorf("value encoded again: %x, %v; want %x", value, err, v.Bytes)
			}
			// What was decoded shares no memory with the bytes.
			k, b := bytes.Clone(v.Key), bytes.Clone(v.Bytes)
			rec, err = c.decode(k, b)
			clear(k)
			clear(b)
			key, keyErr := c.appendKey(nil, rec.Key)
			value, valueErr := c.appendValue(nil, rec.Value, rec.Version)
			if err != nil || keyErr != nil || valueErr != nil || !bytes.Equal(key, v.Key) || !bytes.Equal(value, v.Bytes) {
				t.Errorf("encoded after the bytes were cleared: %x and %x, want %x and %x", key, value, v.Key, v.Bytes)
			}
			for n := range v.Key {
				if _, err := c.decode(v.Key[:n:n], v.Bytes); err == nil {
					t.Errorf("key cut to %d of %d bytes: no error", n, len(v.Key))
				}
			}
			for n := range v.Bytes {
				rec, err := c.decode(v.Key, v.Bytes[:n:n])
				if err == nil || rec.Key == nil || rec.Value != nil {
					t.Errorf("value cut to %d of %d bytes: %v, record %+v", n, len(v.Bytes), err, rec)
				}
			}
			rec, err = c.decode(append(bytes.Clone(v.Key), 1, 2), append(bytes.Clone(v.Bytes), 3))
			if err != nil || rec.KeyUnread != 2 || rec.ValueUnread != 1 {
				t.Errorf("with more bytes: %v, unread %d and %d", err, rec.KeyUnread, rec.ValueUnread)
			}
		})
	}
	for topic, c := range coordinators {
		for _, id := range c.types() {
			_, value := c.new(id)
			lowest, highest := schema.Versions(value)
			for version := lowest; version <= highest; version++ {
				if !seen[fmt.Sprint(topic, id, "v", version)] {
					t.Errorf("no vector of %s %s version %d", topic, c.name(id), version)
				}
			}
		}
	}
}

func TestRemoteVectors(t *testing.T) {
	seen := map[int16]bool{}
	for _, v := range kftest.Vectors(t, "remote-log-metadata") {
		t.Run(v.Name, func(t *testing.T) {
			rec, err := remoterec.Decode(v.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			seen[rec.Type] = true
			var want struct {
				Type, Version int16
				Data          json.RawMessage
			}
			if err := json.Unmarshal(v.Decoded, &want); err != nil {
				t.Fatal(err)
			}
			if rec.Type != want.Type || rec.Version != want.Version {
				t.Errorf("got type %d version %d, want %d and %d", rec.Type, rec.Version, want.Type, want.Version)
			}
			kftest.EqualJSON(t, schema.AppendJSON(nil, rec.Message, rec.Version), want.Data)
			back, err := remoterec.Append(nil, rec.Message, rec.Version)
			if err != nil || !bytes.Equal(back, v.Bytes) {
				t.Errorf("encoded again: %x, %v; want %x", back, err, v.Bytes)
			}
			for n := range v.Bytes {
				if _, err := remoterec.Decode(v.Bytes[:n:n]); err == nil {
					t.Errorf("cut to %d of %d bytes: no error", n, len(v.Bytes))
				}
			}
		})
	}
	for _, id := range remoterec.Types() {
		if !seen[id] {
			t.Errorf("no vector of %s", remoterec.Name(id))
		}
	}
}

func TestCoordinatorErrors(t *testing.T) {
	for _, tt := range []struct {
		name, topic, key, value string // "-" is null
		err                     error
		java                    string
	}{
		{"null key", "__consumer_offsets", "-", "0000", schema.ErrMissingKey, "null"},
		{"empty key", "__consumer_offsets", "", "0000", schema.ErrShort, "Could not read version from key's buffer."},
		{"unknown type", "__consumer_offsets", "0009", "0000", schema.ErrUnknownType, "Found an unknown record type 9"},
		{"type of another topic", "__transaction_state", "0001", "0000", schema.ErrUnknownType, "Found an unknown record type 1"},
		{"cut key", "__consumer_offsets", "0001 0005", "-", schema.ErrShort, "Could not read record with version 1 from key's buffer due to: Error reading byte array of 5 byte(s): only 0 byte(s) available."},
		{"cut number", "__consumer_offsets", "0001 0000 0000 000000", "-", schema.ErrShort, "Could not read record with version 1 from key's buffer due to: null."},
		{"null group", "__consumer_offsets", "0002 ffff", "-", schema.ErrNull, "Could not read record with version 2 from key's buffer due to: non-nullable field group was serialized as null."},
		{"empty value", "__consumer_offsets", "0002 0000", "", schema.ErrShort, "Could not read version from value's buffer."},
		{"unknown version", "__consumer_offsets", "0002 0000", "0005", schema.ErrUnknownVersion, "Found an unknown record version 5 for 2 type"},
		{"negative version", "__consumer_offsets", "0002 0000", "ffff", schema.ErrUnknownVersion, "Found an unknown record version -1 for 2 type"},
		{"cut value", "__consumer_offsets", "0003 0000", "0000 0000", schema.ErrShort, "Could not read record with version 0 from value's buffer due to: null."},
		{"early access", "__share_group_state", "0001 0000 00000000000000000000000000000000 00000000", "0001", schema.ErrUnknownVersion, "Found an unknown record version 1 for 1 type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parse := func(s string) []byte {
				if s == "-" {
					return nil
				}
				return kftest.Hex(t, s)
			}
			_, err := coordinators[tt.topic].decode(parse(tt.key), parse(tt.value))
			e, ok := errors.AsType[*schema.RecordError](err)
			if !ok || !errors.Is(err, tt.err) || e.Java != tt.java {
				t.Errorf("got %+v, %v; want %v, %q", e, err, tt.err, tt.java)
			}
		})
	}
}

func TestFramedErrors(t *testing.T) {
	for _, tt := range []struct {
		name, value string
		err         error
		java        string
	}{
		{"empty", "", schema.ErrFrame, "Error while reading frame version"},
		{"frame version too long", "8080808080", schema.ErrFrame, "Error while reading frame version"},
		{"frame version 0", "00", schema.ErrFrame, "Could not deserialize metadata record with frame version 0. Note that upgrades from the preview release of KRaft in 2.8 to newer versions are not supported."},
		{"frame version -1", "ffffffff0f", schema.ErrFrame, "Could not deserialize metadata record due to unknown frame version -1(only frame version 1 is supported)"},
		{"type too large", "01 808002", schema.ErrFrame, "Value for type was too large."},
		{"no version", "01 02", schema.ErrFrame, "Error while reading version"},
		{"unknown type", "01 06 00", schema.ErrUnknownType, "org.apache.kafka.common.errors.UnsupportedVersionException: Unknown metadata id 6"},
		{"no body", "01 02 00", schema.ErrShort, "Failed to deserialize record with type 2"},
		{"more bytes", "01 14 00 00 00 00", schema.ErrUnread, "Found 2 byte(s) of garbage after 20"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := kraftrec.Decode(kftest.Hex(t, tt.value))
			e, ok := errors.AsType[*schema.RecordError](err)
			if !ok || !errors.Is(err, tt.err) || e.Java != tt.java {
				t.Errorf("got %+v, %v; want %v, %q", e, err, tt.err, tt.java)
			}
		})
	}
}

// messages returns a new struct of every message of the internal topics.
func messages() map[string]any {
	all := map[string]any{}
	for topic, c := range coordinators {
		for _, id := range c.types() {
			key, value := c.new(id)
			all[topic+" "+c.name(id)+" key"], all[topic+" "+c.name(id)+" value"] = key, value
		}
	}
	for _, id := range kraftrec.Types() {
		all[kraftrec.Name(id)] = kraftrec.New(id)
	}
	for _, id := range remoterec.Types() {
		all[remoterec.Name(id)] = remoterec.New(id)
	}
	for _, v := range []any{
		new(control.EndTxnMarker), new(control.LeaderChangeMessage), new(control.SnapshotHeaderRecord), new(control.SnapshotFooterRecord),
		new(control.KRaftVersionRecord), new(control.VotersRecord), new(grouprec.ConsumerProtocolSubscription), new(grouprec.ConsumerProtocolAssignment),
	} {
		all[reflect.TypeOf(v).String()] = v
	}
	return all
}

// TestAnyValue checks decode(encode(x)) = x for random values of every message
// in every version. What the version does not have is made default first.
func TestAnyValue(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, message := range messages() {
		lowest, highest := schema.Versions(message)
		for version := lowest; version <= highest; version++ {
			for range 30 {
				x := reflect.New(reflect.TypeOf(message).Elem())
				fill(rnd, x.Elem(), version, true)
				bytesOf, err := schema.Append(nil, x.Interface(), version)
				if err != nil {
					t.Fatalf("%s v%d: %v", name, version, err)
				}
				back := reflect.New(x.Type().Elem())
				c := wire.Cursor{B: bytesOf}
				if err := schema.Decode(&c, back.Interface(), version); err != nil || c.Len() != 0 {
					t.Fatalf("%s v%d: %v, %d bytes left", name, version, err, c.Len())
				}
				if !reflect.DeepEqual(x.Interface(), back.Interface()) {
					t.Fatalf("%s v%d: encoded %+v\ndecoded %+v", name, version, x.Interface(), back.Interface())
				}
				if text := schema.AppendJSON(nil, x.Interface(), version); !json.Valid(text) {
					t.Fatalf("%s v%d: not JSON: %s", name, version, text)
				}
			}
		}
	}
}

// fill sets the fields of v that version has. It knows the tags only as far as
// versions, nullable and default are concerned, not the code under test.
func fill(rnd *rand.Rand, v reflect.Value, version int16, top bool) {
	flexible := false
	if top {
		for option := range strings.SplitSeq(v.Type().Field(0).Tag.Get("kf"), ",") {
			var from int16
			if n, _ := fmt.Sscanf(option, "flex=%d", &from); n == 1 {
				flexible = version >= from
			}
		}
	}
	fillStruct(rnd, v, version, flexible)
}

func fillStruct(rnd *rand.Rand, v reflect.Value, version int16, flexible bool) {
	for i := range v.NumField() {
		sf, f := v.Type().Field(i), v.Field(i)
		if sf.Name == "_" {
			continue
		}
		if sf.Type == reflect.TypeFor[schema.Tags]() {
			if flexible && rnd.IntN(4) == 0 {
				f.Set(reflect.ValueOf(schema.Tags{{Number: 60 + rnd.Uint32N(3), Data: []byte{1, 2}}, {Number: 70 + rnd.Uint32N(1<<20), Data: []byte{3}}}))
			}
			continue
		}
		options := sf.Tag.Get("kf")
		nullable := strings.Contains(options, ",nullable")
		low, high, def := int16(0), int16(1<<14), int64(0)
		for option := range strings.SplitSeq(options, ",") {
			var n int16
			switch {
			case strings.HasPrefix(option, "default="):
				fmt.Sscanf(option, "default=%d", &def)
			case strings.HasPrefix(option, "v") && strings.HasSuffix(option, "+"):
				if k, _ := fmt.Sscanf(option, "v%d+", &n); k == 1 {
					low = n
				}
			case strings.HasPrefix(option, "v"):
				if k, _ := fmt.Sscanf(option, "v%d", &n); k == 1 && fmt.Sprintf("v%d", n) == option {
					low, high = n, n
				}
			}
		}
		if version < low || version > high { // has its default
			switch {
			case f.CanInt():
				f.SetInt(def)
			case nullable && !strings.Contains(options, "default=null"):
				setEmpty(f)
			}
			continue
		}
		fillValue(rnd, f, nullable, version, flexible)
	}
}

func setEmpty(f reflect.Value) {
	if f.Kind() == reflect.Pointer {
		f.Set(reflect.New(f.Type().Elem()))
	} else {
		f.Set(reflect.MakeSlice(f.Type(), 0, 0))
	}
}

func fillValue(rnd *rand.Rand, f reflect.Value, nullable bool, version int16, flexible bool) {
	switch f.Kind() {
	case reflect.Bool:
		f.SetBool(rnd.IntN(2) == 0)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.SetInt(int64(rnd.Uint64()) >> (64 - f.Type().Bits()) >> rnd.IntN(f.Type().Bits()))
	case reflect.Uint16, reflect.Uint32:
		f.SetUint(rnd.Uint64() >> (64 - f.Type().Bits()))
	case reflect.Float64:
		f.SetFloat(rnd.NormFloat64())
	case reflect.String:
		f.SetString(strings.Repeat("x\xff é", rnd.IntN(40)))
	case reflect.Array:
		for i := range f.Len() {
			f.Index(i).SetUint(uint64(rnd.IntN(256)))
		}
	case reflect.Uint8:
		f.SetUint(uint64(rnd.IntN(256)))
	case reflect.Pointer:
		if rnd.IntN(3) > 0 {
			f.Set(reflect.New(f.Type().Elem()))
			fillValue(rnd, f.Elem(), false, version, flexible)
		}
	case reflect.Slice:
		n := rnd.IntN(12)
		if n == 0 && !nullable || n == 1 {
			return // nil; for a nullable field that is null
		}
		f.Set(reflect.MakeSlice(f.Type(), n, n))
		for i := range n {
			fillValue(rnd, f.Index(i), false, version, flexible)
		}
	case reflect.Struct:
		fillStruct(rnd, f, version, flexible)
	}
}

// FuzzMessage: decoding any bytes as any message never panics, and what was
// decoded encodes to bytes that decode to the same and encode to the same bytes.
func FuzzMessage(f *testing.F) {
	all := messages()
	names := slices.Sorted(maps.Keys(all)) // in a fixed order, so that a finding stays one
	for i, v := range kftest.Vectors(f, "metadata-record") {
		f.Add(uint8(i), int16(v.Bytes[2]), v.Bytes[3:])
	}
	for i, v := range kftest.Vectors(f, "coordinator-record") {
		f.Add(uint8(i), int16(v.Bytes[1]), v.Bytes[2:])
	}
	f.Fuzz(func(t *testing.T, i uint8, version int16, p []byte) {
		name := names[int(i)%len(names)]
		typ := reflect.TypeOf(all[name]).Elem()
		x := reflect.New(typ).Interface()
		c := wire.Cursor{B: p}
		if err := schema.Decode(&c, x, version); err != nil {
			if _, ok := errors.AsType[*schema.DecodeError](err); !ok {
				t.Fatalf("%s: error is a %T", name, err)
			}
			return
		}
		first, err := schema.Append(nil, x, version)
		if err != nil {
			t.Fatalf("%s v%d: decoded but not encoded: %v", name, version, err)
		}
		y := reflect.New(typ).Interface()
		c = wire.Cursor{B: first}
		if err := schema.Decode(&c, y, version); err != nil || c.Len() != 0 {
			t.Fatalf("%s v%d: %v, %d bytes left", name, version, err, c.Len())
		}
		second, err := schema.Append(nil, y, version)
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s v%d: encoded as %x, then as %x, %v", name, version, first, second, err)
		}
		if a, b := schema.AppendJSON(nil, x, version), schema.AppendJSON(nil, y, version); !bytes.Equal(a, b) || !json.Valid(a) {
			t.Errorf("%s v%d: JSON %s, then %s", name, version, a, b)
		}
	})
}
