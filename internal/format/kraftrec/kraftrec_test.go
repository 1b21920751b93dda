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
