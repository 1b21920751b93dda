package quorumstate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"kf/internal/format/quorumstate"
	"kf/internal/kftest"
	"kf/internal/wire"
)

const (
	v0 = `{"clusterId":"","leaderId":1,"leaderEpoch":2,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}`
	v1 = `{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":1}`
)

func states(t testing.TB) (s0, s1 quorumstate.State) {
	id, err := wire.ParseUUID("J8aAPcfLQt2bqs1JT_rMgQ")
	if err != nil {
		t.Fatal(err)
	}
	return quorumstate.State{LeaderID: 1, LeaderEpoch: 2, VotedID: -1, CurrentVoters: []int32{1}},
		quorumstate.State{Version: 1, LeaderID: -1, LeaderEpoch: 2, VotedID: 1, VotedDirectoryID: id}
}

func TestVectors(t *testing.T) {
	for _, v := range kftest.Vectors(t, "quorum-state") {
		t.Run(v.Name, func(t *testing.T) {
			var want struct {
				Epoch             int32
				LeaderID, VotedID *int32
				VotedDirectoryID  string
			}
			if err := json.Unmarshal(v.Decoded, &want); err != nil {
				t.Fatal(err)
			}
			got, err := quorumstate.Decode(v.Bytes)
			if err != nil || got.LeaderEpoch != want.Epoch || got.LeaderID != orNone(want.LeaderID) || got.VotedID != orNone(want.VotedID) ||
				want.VotedDirectoryID != "" && got.VotedDirectoryID.String() != want.VotedDirectoryID {
				t.Errorf("got %+v, %v; want %s", got, err, v.Decoded)
			}
			if again, err := quorumstate.Append(nil, got); err != nil || !bytes.Equal(again, v.Bytes) {
				t.Errorf("encoded %q, %v; want %q", again, err, v.Bytes)
			}
		})
	}
}

func orNone(id *int32) int32 {
	if id == nil {
		return -1
	}
	return *id
}

// Every case was put before Kafka's reader.
func TestDecode(t *testing.T) {
	s0, s1 := states(t)
	noVoters := s0
	noVoters.CurrentVoters = nil
	for _, tt := range []struct {
		text string
		want quorumstate.State
		err  error
	}{
		{v0, s0, nil},
		{v1, s1, nil},
		{" " + v1 + " x\nfoo", s1, nil},
		{strings.Replace(v0, `{"voterId":1}`, "", 1), noVoters, nil},
		{strings.Replace(v1, "{", `{"x":{},"leaderEpoch":7,`, 1), s1, nil},
		{"", quorumstate.State{}, quorumstate.ErrEmpty},
		{"\n" + v1, quorumstate.State{}, quorumstate.ErrEmpty},
		{"{\n" + v1[1:], quorumstate.State{}, quorumstate.ErrJSON},
		{"garbage", quorumstate.State{}, quorumstate.ErrJSON},
		{"[1]", quorumstate.State{}, quorumstate.ErrJSON},
		{"5", quorumstate.State{}, quorumstate.ErrJSON},
		{"{}", quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v1, `n":1}`, `n":2}`, 1), quorumstate.State{}, quorumstate.ErrVersion},
		{strings.Replace(v1, `n":1}`, `n":-1}`, 1), quorumstate.State{}, quorumstate.ErrVersion},
		{strings.Replace(v0, `n":0}`, `n":1}`, 1), quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v1, `-1`, `"-1"`, 1), quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v1, `-1`, `-1.0`, 1), quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v1, `-1`, `3000000000`, 1), quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v1, `-1`, `null`, 1), quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v1, `leaderId`, `LeaderId`, 1), quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v1, `J8aAPcfLQt2bqs1JT_rMgQ`, `AAAA`, 1), quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v1, `"J8aAPcfLQt2bqs1JT_rMgQ"`, `null`, 1), quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v0, `""`, `null`, 1), quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v0, `""`, `5`, 1), quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v0, `[{"voterId":1}]`, `null`, 1), quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v0, `{"voterId":1}`, `{}`, 1), quorumstate.State{}, quorumstate.ErrField},
		{strings.Replace(v0, `{"voterId":1}`, `1`, 1), quorumstate.State{}, quorumstate.ErrField},
	} {
		got, err := quorumstate.Decode([]byte(tt.text))
		if !errors.Is(err, tt.err) || err == nil && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: got %+v, %v; want %+v, %v", tt.text, got, err, tt.want, tt.err)
		}
	}
}

func TestEveryFieldIsMandatory(t *testing.T) {
	for _, text := range []string{v0, v1} {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatal(err)
		}
		for name, raw := range fields {
			delete(fields, name)
			p, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := quorumstate.Decode(p); !errors.Is(err, quorumstate.ErrField) || !strings.Contains(err.Error(), name) {
				t.Errorf("without %s: %v", name, err)
			}
			fields[name] = raw
		}
	}
}

func TestAppendUnknownVersion(t *testing.T) {
	if got, err := quorumstate.Append(nil, quorumstate.State{Version: 2}); got != nil || !errors.Is(err, quorumstate.ErrVersion) {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCutAtEveryByte(t *testing.T) {
	for _, text := range []string{v0, v1} {
		for n := range len(text) {
			if got, err := quorumstate.Decode([]byte(text[:n])); err == nil {
				t.Errorf("cut at %d: %q gives %+v", n, text[:n], got)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range kftest.Vectors(f, "quorum-state") {
		f.Add(v.Bytes)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		s, err := quorumstate.Decode(p)
		if err != nil {
			return
		}
		again, err := quorumstate.Append(nil, s)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := quorumstate.Decode(again); err != nil || !reflect.DeepEqual(back, s) {
			t.Fatalf("%+v encoded to %q, decoded to %+v, %v", s, again, back, err)
		}
	})
}
