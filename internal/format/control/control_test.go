package control_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"kf/internal/format/control"
	"kf/internal/format/schema"
	"kf/internal/kftest"
)

func TestVectors(t *testing.T) {
	seen := map[control.Type]bool{}
	for _, v := range kftest.Vectors(t, "control-record") {
		t.Run(v.Name, func(t *testing.T) {
			decode := control.Decode
			laterVersion := len(v.Bytes) > 1 && v.Bytes[1] > 0 // which Kafka's reader does not take
			if laterVersion {
				if _, err := control.Decode(v.Key, v.Bytes); err == nil {
					t.Error("body of version 1 was read with schema version 0")
				}
				decode = control.DecodeOwnVersion
			}
			rec, err := decode(v.Key, v.Bytes)
			if err != nil || rec.Unread != 0 {
				t.Fatalf("%v, %d bytes unread", err, rec.Unread)
			}
			seen[rec.Type] = true
			var want struct {
				Type string
				Data json.RawMessage
			}
			if err := json.Unmarshal(v.Decoded, &want); err != nil {
				t.Fatal(err)
			}
			if rec.Type.String() != want.Type {
				t.Errorf("got type %v, want %s", rec.Type, want.Type)
			}
			kftest.EqualJSON(t, schema.AppendJSON(nil, rec.Message, rec.Version()), want.Data)
			if key := control.AppendKey(nil, rec.Type); !bytes.Equal(key, v.Key) {
				t.Errorf("key encoded again: %x, want %x", key, v.Key)
			}
			value, err := control.AppendValue(nil, rec.Message)
			if laterVersion {
				if !errors.Is(err, schema.ErrUnsupported) {
					t.Errorf("encoded in version 0: %v, want ErrUnsupported", err)
				}
			} else if err != nil || !bytes.Equal(value, v.Bytes) {
				t.Errorf("value encoded again: %x, %v; want %x", value, err, v.Bytes)
			}
			for n := range v.Key {
				if _, err := control.Decode(v.Key[:n:n], v.Bytes); !errors.Is(err, control.ErrKey) {
					t.Errorf("key cut to %d bytes: %v, want ErrKey", n, err)
				}
			}
			for n := range v.Bytes {
				if _, err := decode(v.Key, v.Bytes[:n:n]); err == nil {
					t.Errorf("value cut to %d of %d bytes: no error", n, len(v.Bytes))
				}
			}
		})
	}
	for typ := control.Abort; typ.Known(); typ++ {
		if !seen[typ] {
			t.Errorf("no vector of %v", typ)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		name, key string
		value     []byte
		typ       string
		version   int16
		unread    int
		err       error
	}{
		{"later key", "0005 0001 ff", []byte{0, 0, 0, 0, 0, 9}, "COMMIT", 0, 0, nil},
		{"later marker", "0000 0000", []byte{0, 7, 0, 0, 0, 9, 1}, "ABORT", 7, 1, nil},
		{"negative key version", "ffff 0001", []byte{0, 0, 0, 0, 0, 9}, "ABORT", 0, 0, control.ErrVersion},
		{"negative marker version", "0000 0001", []byte{255, 255, 0, 0, 0, 9}, "COMMIT", 0, 0, control.ErrVersion},
		{"no value", "0000 0002", nil, "LEADER_CHANGE", 0, 0, control.ErrMissing},
		{"short value", "0000 0001", []byte{0, 0, 0}, "COMMIT", 0, 0, schema.ErrShort},
		{"unknown", "0000 0007", nil, "UNKNOWN(7)", 0, 0, nil},
		{"negative type", "0000 ffff", []byte{1}, "UNKNOWN(-1)", 0, 0, nil},
		{"footer", "0000 0004", []byte{0, 3, 0}, "SNAPSHOT_FOOTER", 3, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec, err := control.Decode(kftest.Hex(t, tt.key), tt.value)
			if rec.Type.String() != tt.typ || rec.Version() != tt.version || rec.Unread != tt.unread || !errors.Is(err, tt.err) {
				t.Errorf("got %v version %d unread %d, %v", rec.Type, rec.Version(), rec.Unread, err)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range kftest.Vectors(f, "control-record") {
		f.Add(v.Key, v.Bytes)
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		rec, err := control.Decode(key, value)
		if err != nil || rec.Message == nil {
			return
		}
		again, err := control.AppendValue(nil, rec.Message)
		if err != nil {
			t.Fatalf("decoded but not encoded: %v", err)
		}
		back, err := control.Decode(control.AppendKey(nil, rec.Type), again)
		if err != nil || back.Unread != 0 {
			t.Fatalf("%v, %d bytes unread", err, back.Unread)
		}
		if third, err := control.AppendValue(nil, back.Message); err != nil || !bytes.Equal(again, third) {
			t.Errorf("encoded as %x, then as %x, %v", again, third, err)
		}
	})
}
