package cleanshutdown_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"kf/internal/format/cleanshutdown"
	"kf/internal/kftest"
)

func TestVectors(t *testing.T) {
	for _, v := range kftest.Vectors(t, "clean-shutdown") {
		t.Run(v.Name, func(t *testing.T) {
			var want struct{ BrokerEpoch *int64 }
			if err := json.Unmarshal(v.Decoded, &want); err != nil {
				t.Fatal(err)
			}
			got, err := cleanshutdown.Decode(v.Bytes)
			if err != nil || !reflect.DeepEqual(got.BrokerEpoch, want.BrokerEpoch) {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
			if again := cleanshutdown.Append(nil, got); !bytes.Equal(again, v.Bytes) {
				t.Errorf("encoded %q, want %q", again, v.Bytes)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	for _, tt := range []struct {
		text string
		want cleanshutdown.Marker
		err  error
	}{
		{`{"version":0,"brokerEpoch":7}`, cleanshutdown.Marker{BrokerEpoch: new(int64(7))}, nil},
		{` {"version":5,"brokerEpoch":-1,"x":[]}` + "\n", cleanshutdown.Marker{Version: 5, BrokerEpoch: new(int64(-1))}, nil},
		{`{"brokerEpoch":7} x`, cleanshutdown.Marker{BrokerEpoch: new(int64(7))}, nil},
		{`{"version":0,"brokerEpoch":null}`, cleanshutdown.Marker{}, nil},
		{"", cleanshutdown.Marker{}, nil},
		{`{"version":0}`, cleanshutdown.Marker{}, cleanshutdown.ErrFormat},
		{`{"version":0,"BrokerEpoch":7}`, cleanshutdown.Marker{}, cleanshutdown.ErrFormat},
		{`{"version":0,"brokerEpoch":99999999999999999999}`, cleanshutdown.Marker{}, cleanshutdown.ErrFormat},
		{`{"version":"x","brokerEpoch":7}`, cleanshutdown.Marker{}, cleanshutdown.ErrFormat},
		{"not json", cleanshutdown.Marker{}, cleanshutdown.ErrFormat},
		{"null", cleanshutdown.Marker{}, cleanshutdown.ErrFormat},
		{"[7]", cleanshutdown.Marker{}, cleanshutdown.ErrFormat},
	} {
		got, err := cleanshutdown.Decode([]byte(tt.text))
		if !errors.Is(err, tt.err) || err == nil && !reflect.DeepEqual(got, tt.want) || err != nil && got.BrokerEpoch != nil {
			t.Errorf("%q: got %+v, %v; want %+v, %v", tt.text, got, err, tt.want, tt.err)
		}
	}
}

func TestCutAtEveryByte(t *testing.T) {
	p := cleanshutdown.Append(nil, cleanshutdown.Marker{BrokerEpoch: new(int64(3601))})
	for n := range len(p) {
		if got, err := cleanshutdown.Decode(p[:n]); (err == nil) != (n == 0) {
			t.Errorf("cut at %d: %q gives %+v, %v", n, p[:n], got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range kftest.Vectors(f, "clean-shutdown") {
		f.Add(v.Bytes)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		m, err := cleanshutdown.Decode(p)
		if err != nil || m.BrokerEpoch == nil {
			return
		}
		again := cleanshutdown.Append(nil, m)
		if back, err := cleanshutdown.Decode(again); err != nil || !reflect.DeepEqual(back, m) {
			t.Fatalf("%+v encoded to %q, decoded to %+v, %v", m, again, back, err)
		}
	})
}
