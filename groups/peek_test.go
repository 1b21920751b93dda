package groups_test

import (
	"bytes"
	"context"
	"testing"

	"kf/groups"
	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/render"
)

// Around answers with the record before the offset and the one at it.
func (f *fake) Around(_ context.Context, of []client.Around, _ bool) []client.Surrounding {
	var all []client.Surrounding
	for _, a := range of {
		s := client.Surrounding{Cut: a.Partition == 1}
		for o := a.Offset - 1; o <= a.Offset && o < a.End; o++ {
			s.Records = append(s.Records, client.Record{Offset: o, Timestamp: -1, Key: []byte{0xff}, Value: []byte("[1]")})
		}
		all = append(all, s)
	}
	return all
}

func TestPeek(t *testing.T) {
	f := newFake()
	f.add("g", client.ShareGroup, 50, 100, 60)
	f.offline = map[int32]bool{2: true}
	var stdout, stderr bytes.Buffer
	env := &cli.Env{Stdout: &stdout, Stderr: &stderr}
	opts := groups.PeekOptions{Group: "g", Before: 1, After: 1, Key: render.BytesInt32, Value: render.BytesJSON, Output: render.JSONLines}
	err := groups.Peek(t.Context(), env, f, opts)
	expect(t, "error", ran{err: err}.errs(), `^t-2: NOT_LEADER_FOR_PARTITION`)
	want := `{"topic":"t","partition":0,"offset":49,"state":"read","timestamp":null,"key":{"base64":"/w=="},"value":[1],"headers":[],"current_offset":50}
{"topic":"t","partition":0,"offset":50,"state":"next","timestamp":null,"key":{"base64":"/w=="},"value":[1],"headers":[],"current_offset":50}
{"topic":"t","partition":1,"offset":99,"state":"read","timestamp":null,"key":{"base64":"/w=="},"value":[1],"headers":[],"current_offset":100}
`
	if stdout.String() != want {
		t.Errorf("got %s", stdout.String())
	}
	expect(t, "messages", stderr.String(), `^kf: t-1: all is read, up to the end at 100
kf: warning: t-1: there may be more records within reach, which would take too long to find
kf: warning: 3 of the keys are not int32 and shown as with "auto"
$`)
	if len(f.calls) > 0 {
		t.Errorf("it has done %v", f.calls)
	}
}
