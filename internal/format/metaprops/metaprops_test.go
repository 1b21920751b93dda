package metaprops_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"kf/internal/format/metaprops"
	"kf/internal/kftest"
	"kf/internal/wire"
)

func TestVectors(t *testing.T) {
	for _, v := range kftest.Vectors(t, "meta-properties") {
		t.Run(v.Name, func(t *testing.T) {
			var want struct {
				Version                int
				ClusterID, DirectoryID *string
				NodeID                 *int32
			}
			if err := json.Unmarshal(v.Decoded, &want); err != nil {
				t.Fatal(err)
			}
			got, err := metaprops.Decode(v.Bytes)
			if err != nil || got.Version != want.Version || !reflect.DeepEqual(got.ClusterID, want.ClusterID) ||
				!reflect.DeepEqual(got.NodeID, want.NodeID) || (got.DirectoryID == nil) != (want.DirectoryID == nil) ||
				got.DirectoryID != nil && got.DirectoryID.String() != *want.DirectoryID {
				t.Errorf("got %+v, %v; want %s", got, err, v.Decoded)
			}
			if v.Source == "by hand" {
				return // without the two comments
			}
			_, date, _ := strings.Cut(string(v.Bytes), "\n#")
			date, _, _ = strings.Cut(date, "\n")
			when, err := time.Parse("Mon Jan 02 15:04:05 MST 2006", date)
			if err != nil {
				t.Fatal(err)
			}
			if again := metaprops.Append(nil, got, when); !bytes.Equal(again, v.Bytes) {
				t.Errorf("encoded %q, want %q", again, v.Bytes)
			}
		})
	}
}

// Every case was put before Kafka's own reader.
func TestDecode(t *testing.T) {
	id, err := wire.ParseUUID("J8aAPcfLQt2bqs1JT_rMgQ")
	if err != nil {
		t.Fatal(err)
	}
	a, empty, one := new("a"), new(""), new(int32(1))
	for _, tt := range []struct {
		text string
		want metaprops.Meta
		err  error
	}{
		{"version=1\ncluster.id=a\nnode.id=1\n", metaprops.Meta{1, a, one, nil}, nil},
		{"version= 1 \ncluster.id=a\nnode.id= 1", metaprops.Meta{1, a, one, nil}, nil},
		{"cluster.id=\nversion=1\nnode.id=+5\nnode.id=1\nx=y", metaprops.Meta{1, empty, one, nil}, nil},
		{"version=1\ncluster.id=a\nnode.id=1\nbroker.id=x\ndirectory.id=" + id.String(), metaprops.Meta{1, a, one, &id}, nil},
		{"", metaprops.Meta{}, nil},
		{"hello world\n", metaprops.Meta{}, nil},
		{"broker.id=3\nnode.id=x", metaprops.Meta{NodeID: new(int32(3))}, nil},
		{"version=0\nbroker.id=-5", metaprops.Meta{NodeID: new(int32(-5))}, nil},
		{"version=2\n", metaprops.Meta{}, metaprops.ErrVersion},
		{"version=-1\n", metaprops.Meta{}, metaprops.ErrVersion},
		{"version=x\n", metaprops.Meta{}, metaprops.ErrNumber},
		{"version=", metaprops.Meta{}, metaprops.ErrNumber},
		{"version=1\nnode.id=1", metaprops.Meta{}, metaprops.ErrMissing},
		{"version=1\ncluster.id=a\nbroker.id=1", metaprops.Meta{}, metaprops.ErrMissing},
		{"version=1\ncluster.id=a\nnode.id=1 ", metaprops.Meta{}, metaprops.ErrNumber},
		{"version=1\ncluster.id=a\nnode.id=99999999999", metaprops.Meta{}, metaprops.ErrNumber},
		{"version=1\ncluster.id=a\nnode.id=1\ndirectory.id=x", metaprops.Meta{}, metaprops.ErrUUID},
		{"version=1\ncluster.id=a\nnode.id=1\ndirectory.id=" + id.String() + " ", metaprops.Meta{}, metaprops.ErrUUID},
		{"version=1\n\\u00zz=1", metaprops.Meta{}, metaprops.ErrEscape},
	} {
		got, err := metaprops.Decode([]byte(tt.text))
		if !errors.Is(err, tt.err) || err == nil && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: got %+v, %v; want %+v, %v", tt.text, got, err, tt.want, tt.err)
		}
	}
}

// Every case was put before java.util.Properties.
func TestParse(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []metaprops.Property
	}{
		{"", nil},
		{"\n\r\n  \t\f\r", nil},
		{"key", []metaprops.Property{{"key", "", 1}}},
		{"=v", []metaprops.Property{{"", "v", 1}}},
		{" \\ k  v  ", []metaprops.Property{{" k", "v  ", 1}}},
		{"k\f=\fv", []metaprops.Property{{"k", "v", 1}}},
		{"k = = v", []metaprops.Property{{"k", "= v", 1}}},
		{"k : \\\n = v", []metaprops.Property{{"k", "= v", 1}}},
		{"a=b\\", []metaprops.Property{{"a", "b", 1}}},
		{"a=b\\\\\\\nc\rx:y\r\n!z\n", []metaprops.Property{{"a", "b\\c", 1}, {"x", "y", 3}}},
		{"# c \\\nversion=1\\\n\n\\\n#x\ncluster.id", []metaprops.Property{{"version", "1", 2}, {"cluster.id", "", 6}}},
		{"\\\n#c=1\nk\\=\\:\\ x : v\\t\\q\\\n   w\\\\", []metaprops.Property{{"k=: x", "v\tqw\\", 3}}},
		{"a=\\\n#b", []metaprops.Property{{"a", "#b", 1}}},
		{"\\u0041=\\ud83d\\ude00", []metaprops.Property{{"A", "😀", 1}}},
		{"a=\\r\\n\\f\\b", []metaprops.Property{{"a", "\r\n\fb", 1}}},
		{"a=\xe9", []metaprops.Property{{"a", "é", 1}}},
		{"a=\xc3\xa9", []metaprops.Property{{"a", "Ã©", 1}}},
		{"a=1\na=2", []metaprops.Property{{"a", "1", 1}, {"a", "2", 2}}},
	} {
		got, err := metaprops.Parse([]byte(tt.text))
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %+v, %v; want %+v", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{`a\u00e`, `a\u00zz`, `a=\u`, `a=\u+041`, `a=\u 041`, `a=\u00_1`} {
		if got, err := metaprops.Parse([]byte("\n" + text)); !errors.Is(err, metaprops.ErrEscape) || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%q: got %+v, %v; want line 2, ErrEscape", text, got, err)
		}
	}
}

func TestAppend(t *testing.T) {
	meta := metaprops.Meta{Version: 1, ClusterID: new("  a=b:c #d!\\\t\n\r\f"), NodeID: new(int32(7))}
	got := string(metaprops.Append(nil, meta, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	want := "#\n#Fri Jan 02 03:04:05 UTC 2026\nnode.id=7\nversion=1\ncluster.id=\\  a\\=b\\:c \\#d\\!\\\\\\t\\n\\r\\f\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if back, err := metaprops.Decode([]byte(got)); err != nil || !reflect.DeepEqual(back, meta) {
		t.Errorf("got %+v, %v; want %+v", back, err, meta)
	}
}

func TestCutAtEveryByte(t *testing.T) {
	p := kftest.Vectors(t, "meta-properties")[0].Bytes
	whole, err := metaprops.Parse(p)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(p) {
		got, err := metaprops.Parse(p[:n])
		ends := bytes.Count(p[:n], []byte("\n")) // two lines are comments
		if err != nil || len(got) < ends-2 || !slices.Equal(got[:max(0, ends-2)], whole[:max(0, ends-2)]) {
			t.Errorf("cut at %d: got %+v, %v", n, got, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, v := range kftest.Vectors(f, "meta-properties") {
		f.Add(v.Bytes)
	}
	f.Add([]byte("version=1\ncluster.id=\\ a\\\n b\nnode.id:1"))
	f.Fuzz(func(t *testing.T, p []byte) {
		m, err := metaprops.Decode(p)
		if err != nil {
			return
		}
		again := metaprops.Append(nil, m, time.Unix(0, 0).UTC())
		back, err := metaprops.Decode(again)
		if err != nil {
			t.Fatalf("%+v encoded to %q: %v", m, again, err)
		}
		if m.ClusterID != nil && strings.ContainsFunc(*m.ClusterID, func(r rune) bool { return r > 0x7f }) {
			m.ClusterID, back.ClusterID = nil, nil // Kafka reads it back as something else
		}
		if !reflect.DeepEqual(back, m) {
			t.Fatalf("%+v encoded to %q, decoded to %+v", m, again, back)
		}
	})
}
