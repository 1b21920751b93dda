package partmeta_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"kf/internal/format/partmeta"
	"kf/internal/kftest"
	"kf/internal/wire"
)

const id = "J8aAPcfLQt2bqs1JT_rMgQ"

func topic(t testing.TB) wire.UUID {
	u, err := wire.ParseUUID(id)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestVectors(t *testing.T) {
	for _, v := range kftest.Vectors(t, "partition-metadata") {
		t.Run(v.Name, func(t *testing.T) {
			var want struct {
				Version int32
				TopicID string
			}
			if err := json.Unmarshal(v.Decoded, &want); err != nil {
				t.Fatal(err)
			}
			got, err := partmeta.Decode(v.Bytes)
			if err != nil || got.Version != want.Version || got.TopicID.String() != want.TopicID {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
			if again := partmeta.Append(nil, got); !bytes.Equal(again, v.Bytes) {
				t.Errorf("encoded %q, want %q", again, v.Bytes)
			}
		})
	}
}

// Every case was put before Kafka's reader, which took the log directory offline
// for those with offline set.
func TestDecode(t *testing.T) {
	u := topic(t)
	for _, tt := range []struct {
		text    string
		want    partmeta.Metadata
		err     error
		offline bool
	}{
		{"version: 0\ntopic_id: " + id, partmeta.Metadata{TopicID: u}, nil, false},
		{"version: 0\r\ntopic_id: " + id + "\r\n", partmeta.Metadata{TopicID: u}, nil, false},
		{"version: 0\ntopic_id: " + id + "\nmore: x: y", partmeta.Metadata{TopicID: u}, nil, false},
		{": 0\n: " + id, partmeta.Metadata{TopicID: u}, nil, false},
		{"version: +0\nx:\t " + id, partmeta.Metadata{TopicID: u}, nil, false},
		{"version: 0: \ntopic_id: " + id, partmeta.Metadata{TopicID: u}, nil, false},
		{"version: 7\ntopic_id: " + id, partmeta.Metadata{Version: 7, TopicID: u}, nil, false},
		{"version: 0\ntopic_id: " + id + "==", partmeta.Metadata{TopicID: u}, nil, false},
		{"nonsense\n", partmeta.Metadata{}, partmeta.ErrFormat, true},
		{"\n", partmeta.Metadata{}, partmeta.ErrFormat, true},
		{"version:0\ntopic_id: " + id, partmeta.Metadata{}, partmeta.ErrFormat, true},
		{"version: 0: 1\ntopic_id: " + id, partmeta.Metadata{}, partmeta.ErrFormat, true},
		{"version: : 0\ntopic_id: " + id, partmeta.Metadata{}, partmeta.ErrFormat, true},
		{"version: 0 \ntopic_id: " + id, partmeta.Metadata{}, partmeta.ErrFormat, true},
		{"version: x\ntopic_id: " + id, partmeta.Metadata{}, partmeta.ErrFormat, true},
		{"version: 0\n\n", partmeta.Metadata{}, partmeta.ErrFormat, true},
		{"version: -1\ntopic_id: " + id, partmeta.Metadata{}, partmeta.ErrVersion, true},
		{"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", partmeta.Metadata{}, partmeta.ErrZero, true},
		{"", partmeta.Metadata{}, partmeta.ErrMissing, false},
		{"version: 0", partmeta.Metadata{}, partmeta.ErrMissing, false},
		{"version: 0\n", partmeta.Metadata{}, partmeta.ErrMissing, false},
		{"version: 0\ntopic_id: x", partmeta.Metadata{}, partmeta.ErrUUID, false},
		{"version: 0\ntopic_id: " + id + " ", partmeta.Metadata{}, partmeta.ErrUUID, false},
		{"version: 0\ntopic_id: " + id + "=", partmeta.Metadata{}, partmeta.ErrUUID, false},
	} {
		got, err := partmeta.Decode([]byte(tt.text))
		if got != tt.want || !errors.Is(err, tt.err) || partmeta.FailsDir(err) != tt.offline {
			t.Errorf("%q: got %+v, %v (offline %v); want %+v, %v (%v)", tt.text, got, err, partmeta.FailsDir(err), tt.want, tt.err, tt.offline)
		}
	}
}

func TestCutAtEveryByte(t *testing.T) {
	p := partmeta.Append(nil, partmeta.Metadata{TopicID: topic(t)})
	for n := range len(p) {
		if got, err := partmeta.Decode(p[:n]); err == nil {
			t.Errorf("cut at %d: %q gives %+v", n, p[:n], got)
		}
	}
}

func TestFlipEveryBit(t *testing.T) {
	p := partmeta.Append(nil, partmeta.Metadata{TopicID: topic(t)})
	for bit := range len(p) * 8 {
		q := bytes.Clone(p)
		q[bit/8] ^= 1 << (bit % 8)
		got, err := partmeta.Decode(q)
		if err != nil && !errors.Is(err, partmeta.ErrFormat) && !errors.Is(err, partmeta.ErrUUID) || err == nil && got.TopicID.IsZero() {
			t.Errorf("bit %d: %q gives %+v, %v", bit, q, got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range kftest.Vectors(f, "partition-metadata") {
		f.Add(v.Bytes)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		m, err := partmeta.Decode(p)
		if err != nil {
			return
		}
		again := partmeta.Append(nil, m)
		if back, err := partmeta.Decode(again); err != nil || back != m {
			t.Fatalf("%+v encoded to %q, decoded to %+v, %v", m, again, back, err)
		}
	})
}
