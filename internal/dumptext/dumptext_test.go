package dumptext_test

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"kf/internal/dumptext"
	"kf/internal/kftest"
)

// What kafka-dump-log.sh 4.4.0 printed, a line a record: topic is "control" for
// one of a control batch; fatal is the exception that ended the run.
//
//go:embed testdata/dump.jsonl
var dumped []byte

type dumpedRecord struct {
	Transcript, Topic, Prefix string
	Offset                    int64
	Key, Value                *string
	Text, Fatal               string
}

func (d dumpedRecord) bytes(t testing.TB) (key, value []byte) {
	t.Helper()
	parse := func(s *string) []byte {
		if s == nil {
			return nil
		}
		p, err := hex.DecodeString(*s)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	return parse(d.Key), parse(d.Value)
}

func dumpedRecords(t testing.TB) []dumpedRecord {
	t.Helper()
	var all []dumpedRecord
	lines := bufio.NewScanner(bytes.NewReader(dumped))
	lines.Buffer(nil, len(dumped)+1)
	for lines.Scan() {
		var d dumpedRecord
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		t.Fatal("testdata/dump.jsonl is empty")
	}
	return all
}

// javaDoubles are the numbers of the samples that Java 17 prints with digits too
// many, and what Java 19 and kf print.
var javaDoubles = strings.NewReplacer(
	`"value":1.9999999999999998E23`, `"value":2.0E23`,
	`"value":9.999999999999999E22`, `"value":1.0E23`,
	`"value":8.409999999999999E21`, `"value":8.41E21`,
)

func TestText(t *testing.T) {
	for _, d := range dumpedRecords(t) {
		key, value := d.bytes(t)
		var got []byte
		var err error
		if d.Topic == "control" {
			got, err = dumptext.AppendControl([]byte("# "), key, value)
		} else {
			topic, ok := dumptext.TopicOf(d.Topic)
			if !ok {
				t.Fatalf("unknown topic %q", d.Topic)
			}
			prefix := d.Prefix
			if prefix == "" {
				prefix = " "
			}
			got, err = topic.Append([]byte("# "), prefix, dumptext.Record{Offset: d.Offset, Key: key, Value: value})
		}
		fatal := ""
		if err != nil {
			fatal = err.Error()
			if _, ok := errors.AsType[*dumptext.FatalError](err); !ok {
				t.Errorf("%s offset %d: %v is no FatalError", d.Transcript, d.Offset, err)
			}
		}
		if want := "# " + javaDoubles.Replace(d.Text); string(got) != want || fatal != d.Fatal {
			t.Errorf("%s offset %d:\ngot  %s, %q\nwant %s, %q", d.Transcript, d.Offset, got, fatal, want, d.Fatal)
		}
	}
}

func TestJSONOfVectors(t *testing.T) {
	type part struct {
		Type, Version *int16
		Data          json.RawMessage
	}
	parse := func(t *testing.T, text []byte, v any) {
		t.Helper()
		if err := json.Unmarshal(text, v); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	for _, v := range kftest.Vectors(t, "coordinator-record") {
		t.Run(v.Name, func(t *testing.T) {
			topic, ok := dumptext.TopicOf(v.Topic)
			if !ok {
				t.Fatalf("unknown topic %q", v.Topic)
			}
			var key, value part
			var want struct{ Key, Value part }
			parse(t, topic.AppendKeyJSON(nil, v.Key), &key)
			parse(t, topic.AppendValueJSON(nil, v.Key, v.Bytes), &value)
			parse(t, v.Decoded, &want)
			if key.Type == nil || value.Version == nil || *key.Type != *want.Key.Type || *value.Version != *want.Value.Version {
				t.Errorf("got type %v version %v", key.Type, value.Version)
			}
			kftest.EqualJSON(t, key.Data, want.Key.Data)
		})
	}
	for _, v := range kftest.Vectors(t, "metadata-record") {
		var value, want part
		parse(t, dumptext.ClusterMetadata.AppendValueJSON(nil, nil, v.Bytes), &value)
		parse(t, v.Decoded, &want)
		kftest.EqualJSON(t, value.Data, want.Data)
	}
	for _, v := range kftest.Vectors(t, "control-record") {
		kftest.EqualJSON(t, dumptext.AppendControlJSON(nil, v.Key, v.Bytes), v.Decoded)
	}
}

func TestJSON(t *testing.T) {
	for _, tt := range []struct {
		name, topic string
		key, value  string // "-" is null
		wantKey     string
		wantValue   string
	}{
		{"tombstone", "__consumer_offsets", "0003000167", "-", `{"type":3,"name":"CONSUMER_GROUP_METADATA","data":{"groupId":"g"}}`, `null`},
		{"unread", "__consumer_offsets", "0003000167 ffff", "0000 00000007 00 aa", `{"type":3,"name":"CONSUMER_GROUP_METADATA","data":{"groupId":"g"},"unread":2}`, `{"version":0,"data":{"epoch":7},"unread":1}`},
		{"unknown type", "__consumer_offsets", "0063 00", "0000 00", `{"type":99,"error":"unknown record type: 99","base64":"AGMA"}`, `{"error":"unknown record type: 99","base64":"AAAA"}`},
		{"unknown version", "__consumer_offsets", "0003000167", "0009 00", `{"type":3,"name":"CONSUMER_GROUP_METADATA","data":{"groupId":"g"}}`, `{"version":9,"error":"unknown record version: 9, known are 0 to 0","base64":"AAkA"}`},
		{"cut key", "__transaction_state", "0000 0005", "-", `{"type":0,"name":"TRANSACTION_LOG","error":"byte 4: transactionalId: not enough bytes: need 5, have 0","base64":"AAAABQ=="}`, `null`},
		{"key of one byte", "__share_group_state", "00", "0000", `{"error":"byte 0: need 2 bytes, have 1","base64":"AA=="}`, `{"error":"key has no record type","base64":"AAA="}`},
		{"no key", "__share_group_state", "-", "0000", `null`, `{"error":"key has no record type","base64":"AAA="}`},
		{"status is a name", "__transaction_state", "0000 000174", "0000 0000000000000001 0002 00000003 01 ffffffff 0000000000000004 0000000000000005", `{"type":0,"name":"TRANSACTION_LOG","data":{"transactionalId":"t"}}`, `{"version":0,"data":{"producerId":1,"producerEpoch":2,"transactionTimeoutMs":3,"transactionStatus":"Ongoing","transactionPartitions":null,"transactionLastUpdateTimestampMs":4,"transactionStartTimestampMs":5}}`},
		{"metadata", "__cluster_metadata", "-", "01140000", `null`, `{"type":20,"name":"NO_OP_RECORD","version":0,"data":{}}`},
		{"metadata of a later version", "__cluster_metadata", "-", "01140700", `null`, `{"type":20,"name":"NO_OP_RECORD","version":7,"data":{}}`},
		{"metadata unread", "__cluster_metadata", "61", "01140000 0102", `{"base64":"YQ=="}`, `{"type":20,"name":"NO_OP_RECORD","version":0,"data":{},"unread":2}`},
		{"metadata of unknown type", "__cluster_metadata", "-", "016300", `null`, `{"type":99,"version":0,"error":"unknown record type: 99","base64":"AWMA"}`},
		{"metadata of another frame", "__cluster_metadata", "-", "02", `null`, `{"error":"invalid frame: frame version 2, want 1","base64":"Ag=="}`},
		{"remote", "__remote_log_metadata", "-", "010300", `null`, `{"type":3,"name":"REMOTE_LOG_SEGMENT_METADATA_SNAPSHOT_RECORD","version":0,"error":"byte 3: segmentId: not enough bytes: need 16, have 0","base64":"AQMA"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			topic, ok := dumptext.TopicOf(tt.topic)
			if !ok {
				t.Fatalf("unknown topic %q", tt.topic)
			}
			parse := func(s string) []byte {
				if s == "-" {
					return nil
				}
				return kftest.Hex(t, s)
			}
			key, value := parse(tt.key), parse(tt.value)
			if got := string(topic.AppendKeyJSON(nil, key)); got != tt.wantKey {
				t.Errorf("key\ngot  %s\nwant %s", got, tt.wantKey)
			}
			if got := string(topic.AppendValueJSON(nil, key, value)); got != tt.wantValue {
				t.Errorf("value\ngot  %s\nwant %s", got, tt.wantValue)
			}
		})
	}
}

func FuzzRecord(f *testing.F) {
	for _, d := range dumpedRecords(f) {
		key, value := d.bytes(f)
		for topic := range dumptext.ShareGroupState + 1 {
			if d.Topic == topic.String() {
				f.Add(uint8(topic), key, value)
			}
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, key, value []byte) {
		topic := dumptext.Topic(n % (uint8(dumptext.ShareGroupState) + 1))
		_, err := topic.Append(nil, " ", dumptext.Record{Key: key, Value: value})
		if _, ok := errors.AsType[*dumptext.FatalError](err); err != nil && (!ok || key != nil) {
			t.Errorf("%v for a record with a key", err)
		}
		_, _ = dumptext.AppendControl(nil, key, value)
		for _, text := range [][]byte{topic.AppendKeyJSON(nil, key), topic.AppendValueJSON(nil, key, value), dumptext.AppendControlJSON(nil, key, value)} {
			if !json.Valid(text) {
				t.Errorf("not JSON: %s", text)
			}
		}
	})
}
