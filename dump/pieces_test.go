package dump

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"kf/internal/format/batch"
	"kf/internal/javafmt"
	"kf/internal/render"
	"kf/internal/segment"
)

// texts are larger than largeValue: sound, broken and binary ones.
func texts() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	noise, stray := make([]byte, largeValue+7), make([]byte, largeValue+7)
	for i := range noise {
		noise[i] = byte(r.UintN(256))
		stray[i] = []byte{0x80, 0xbf, 0xf0, 0xe2, 0xed, 0xa0, 'a', 0xc3}[r.UintN(8)]
	}
	return map[string][]byte{
		"text": []byte(strings.Repeat("a\"\\,\n\x00é€😀", 70_000)), "noise": noise, "stray": stray,
		"continuations": bytes.Repeat([]byte{0x80}, largeValue+7), "zeros": make([]byte, largeValue+7), "emoji": []byte(strings.Repeat("x😀", 300_000)),
	}
}

func TestPieces(t *testing.T) {
	var r batch.Record
	for name, p := range texts() {
		r.SetHeaders([]batch.RecordHeader{{Key: []byte("k")}, {Key: p[:100], Value: p}, {Key: p, Value: []byte("v")}})
		values := map[string]render.Large{"headers": &headersCell{&r}, "JSON": &content{json: p}}
		for _, f := range []render.ByteFormat{render.BytesAuto, render.BytesString, render.BytesHex, render.BytesBase64} {
			values[f.String()] = &content{Cell: render.Cell{Bytes: p, Format: f}}
		}
		for format, v := range values {
			for _, isJSON := range []bool{true, false} {
				pieces, ok := v.Pieces(isJSON)
				if !ok {
					t.Fatalf("%s as %s is not large", name, format)
				}
				var got []byte
				for p := range pieces {
					if got = append(got, p...); len(p) > 8*pieceSize {
						t.Errorf("%s as %s: a piece of %d bytes", name, format, len(p))
					}
				}
				want := v.AppendJSON(nil)
				if !isJSON {
					want, _ = v.AppendText(nil)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s as %s, JSON %t: %d bytes differ from %d", name, format, isJSON, len(got), len(want))
				}
				for range pieces {
					break // ends early
				}
			}
		}
		out := segment.Output{}
		if err := largeText(&out, " ", &batch.Record{Value: p[:largeValue/8]}); err != nil {
			t.Fatal(err)
		}
		if want := javafmt.AppendText([]byte(" payload: "), p[:largeValue/8]); !bytes.Equal(out.B, want) {
			t.Errorf("%s as large text differs", name)
		}
	}
	if _, ok := (&content{Cell: render.Cell{Bytes: make([]byte, largeValue)}}).Pieces(true); ok {
		t.Error("a small value comes in pieces")
	}
}
