package kraftrec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"kf/internal/format/kraftrec"
	"kf/internal/format/schema"
	"kf/internal/kftest"
)

func TestVectors(t *testing.T) {
	seen := map[int16]bool{}
	for _, v := range kftest.Vectors(t, "metadata-record") {
		t.Run(v.Name, func(t *testing.T) {
			rec, err := kraftrec.Decode(v.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			seen[rec.Type] = true
			got := schema.AppendJSON(nil, rec.Message, rec.Version)
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
			kftest.EqualJSON(t, got, want.Data)
			if v.Source == "serializer" && !bytes.Equal(got, want.Data) { // these are Kafka's text as it is
				t.Errorf("got  %s\nwant %s", got, want.Data)
			}
			back, err := kraftrec.Append(nil, rec.Message, rec.Version)
			if err != nil || !bytes.Equal(back, v.Bytes) {
				t.Errorf("encoded again: %x, %v; want %x", back, err, v.Bytes)
			}
			for n := range v.Bytes {
				if _, err := kraftrec.Decode(v.Bytes[:n:n]); err == nil {
					t.Errorf("cut to %d of %d bytes: no error", n, len(v.Bytes))
				}
			}
			if _, err := kraftrec.Decode(append(bytes.Clone(v.Bytes), 0)); !errors.Is(err, schema.ErrUnread) {
				t.Errorf("one byte more: %v, want ErrUnread", err)
			}
		})
	}
	for _, id := range kraftrec.Types() {
		if !seen[id] {
			t.Errorf("no vector of type %d, %s", id, kraftrec.Name(id))
		}
	}
}

// Kafka compares the version of a record only when it comes to a struct inside,
// and only with the highest that it knows.
func TestOtherVersions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		message any
		frame   string // frame version, type and version, in place of those of version 0
		version int16
		err     error
	}{
		{"newer, no parts", &kraftrec.TopicRecord{Name: "t"}, "01 02 7d", 125, nil},
		{"newer, no elements", &kraftrec.ClientQuotaRecord{Key: "k"}, "01 0e 01", 1, nil},
		{"newer, an element", &kraftrec.ClientQuotaRecord{Entity: []kraftrec.QuotaEntity{{}}}, "01 0e 01", 1, schema.ErrUnknownVersion},
		{"negative", &kraftrec.TopicRecord{Name: "t"}, "01 02 ffffffff0f", -1, nil},
		{"negative, an element", &kraftrec.ClientQuotaRecord{Entity: []kraftrec.QuotaEntity{{}}}, "01 0e ffffffff0f", -1, nil},
		{"beyond 16 bits", &kraftrec.TopicRecord{Name: "t"}, "8180fcff0f 8280fcff0f 8080feff0f", -32768, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := kraftrec.Append(nil, tt.message, 0)
			if err != nil {
				t.Fatal(err)
			}
			rec, err := kraftrec.Decode(append(kftest.Hex(t, tt.frame), p[3:]...))
			if rec.Version != tt.version || !errors.Is(err, tt.err) || tt.err == nil && err != nil {
				t.Errorf("version %d, %v", rec.Version, err)
			}
		})
	}
}
