package dumptext_test

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
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
		if want := "# " + d.Text; string(got) != want || fatal != d.Fatal {
			t.Errorf("%s offset %d:\ngot  %s, %q\nwant %s, %q", d.Transcript, d.Offset, got, fatal, want, d.Fatal)
		}
	}
}

// TestFaults: what no transcript shows, in the words of Kafka's classes.
func TestFaults(t *testing.T) {
	segment := func(start, end, epochs, state string) string {
		return "01 00 00 02 74 00000000000000010000000000000002 00000003 00 00000000000000030000000000000004 00" +
			start + end + "00000001 0000000000000005 0000000000000006" + epochs + "00000007 00" + state + "00"
	}
	const one, two, minus = "0000000000000001", "0000000000000002", "ffffffffffffffff"
	const epochs = "03 00000002 0000000000000009 00 00000001 0000000000000008 00"
	const twice = "04 00000002 0000000000000009 00 00000001 0000000000000008 00 00000002 000000000000000a 00"
	for _, tt := range []struct{ name, value, want string }{
		{"sorted", segment(one, two, epochs, "01"), "RemoteLogSegmentMetadata{remoteLogSegmentId=RemoteLogSegmentId{topicIdPartition=AAAAAAAAAAEAAAAAAAAAAg:t-3, id=AAAAAAAAAAMAAAAAAAAABA}, startOffset=1, endOffset=2, brokerId=1, maxTimestampMs=5, eventTimestampMs=6, segmentLeaderEpochs={1=8, 2=9}, segmentSizeInBytes=7, customMetadata=Optional.empty, state=COPY_SEGMENT_FINISHED, txnIdxEmpty=false}"},
		{"last of equal epochs", segment(one, two, twice, "02"), "RemoteLogSegmentMetadata{remoteLogSegmentId=RemoteLogSegmentId{topicIdPartition=AAAAAAAAAAEAAAAAAAAAAg:t-3, id=AAAAAAAAAAMAAAAAAAAABA}, startOffset=1, endOffset=2, brokerId=1, maxTimestampMs=5, eventTimestampMs=6, segmentLeaderEpochs={1=8, 2=10}, segmentSizeInBytes=7, customMetadata=Optional.empty, state=DELETE_SEGMENT_STARTED, txnIdxEmpty=false}"},
		{"start", segment(minus, two, epochs, "01"), "Error at offset 5, skipping. Unexpected start offset = -1. StartOffset for a remote segment cannot be negative"},
		{"end", segment(two, one, epochs, "01"), "Error at offset 5, skipping. Unexpected end offset = 1. EndOffset for a remote segment cannot be less than startOffset = 2"},
		{"no epochs", segment(one, two, "01", "09"), "Error at offset 5, skipping. segmentLeaderEpochs can not be null or empty"},
		{"state", segment(one, two, epochs, "04"), "Error at offset 5, skipping. state can not be null"},
		{"state of a deletion", "01 02 00 02 74 00000000000000010000000000000002 00000003 00 00000001 0000000000000006 03 00", "Error at offset 5, skipping. null"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := dumptext.RemoteLogMetadata.Append(nil, " ", dumptext.Record{Offset: 5, Value: kftest.Hex(t, tt.value)})
			if want := " payload: " + tt.want; err != nil || string(got) != want {
				t.Errorf("got  %s, %v\nwant %s", got, err, want)
			}
		})
	}
	for _, tt := range []struct{ name, key, value, want string }{
		{"negative version of the key", "ffff 0000", "", "org.apache.kafka.common.InvalidRecordException: Invalid version found for control record: -1. May indicate data corruption"},
		{"negative version of a marker", "0000 0000", "fffe 00000000", "org.apache.kafka.common.InvalidRecordException: Invalid version found for end transaction marker: -2. May indicate data corruption"},
		{"short body", "0000 0003", "0000 00", "java.nio.BufferUnderflowException"},
		{"null voters", "0000 0006", "0000 00", "java.lang.RuntimeException: non-nullable field voters was serialized as null"},
		{"varint", "0000 0006", "0000 ffffffffff", "java.lang.IllegalArgumentException: Varint is too long, the most significant bit in the 5th byte is set, converted value: ffffffff"},
		{"size of a tag", "0000 0004", "0000 01 05 ffffffff0f", "java.lang.NegativeArraySizeException: -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := dumptext.AppendControl([]byte("x"), kftest.Hex(t, tt.key), kftest.Hex(t, tt.value))
			if err == nil || err.Error() != tt.want || string(got) != "x" {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
	for _, record := range [][2][]byte{{nil, {0}}, {{0, 0, 0, 1}, nil}} {
		_, err := dumptext.AppendControl(nil, record[0], record[1])
		if e, ok := errors.AsType[*dumptext.FatalError](err); !ok || e.Class != "java.lang.NullPointerException" || e.ShortStack() {
			t.Errorf("%x, %x: got %v, want a NullPointerException", record[0], record[1], err)
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
			parse(t, text(topic.AppendKeyJSON(nil, v.Key)), &key)
			parse(t, text(topic.AppendValueJSON(nil, v.Key, v.Bytes)), &value)
			parse(t, v.Decoded, &want)
			if key.Type == nil || value.Version == nil || *key.Type != *want.Key.Type || *value.Version != *want.Value.Version {
				t.Errorf("got type %v version %v", key.Type, value.Version)
			}
			kftest.EqualJSON(t, key.Data, want.Key.Data)
			if v.Topic != "__transaction_state" { // whose status is a name
				kftest.EqualJSON(t, value.Data, want.Value.Data)
			}
		})
	}
	for _, v := range kftest.Vectors(t, "metadata-record") {
		var value, want part
		parse(t, text(dumptext.ClusterMetadata.AppendValueJSON(nil, nil, v.Bytes)), &value)
		parse(t, v.Decoded, &want)
		kftest.EqualJSON(t, value.Data, want.Data)
	}
	for _, v := range kftest.Vectors(t, "control-record") {
		// The vectors have the name of the type where kf has the number and the name.
		named := regexp.MustCompile(`^{"type":\d+,"name":`).ReplaceAll(text(dumptext.AppendControlJSON(nil, v.Key, v.Bytes)), []byte(`{"type":`))
		kftest.EqualJSON(t, named, v.Decoded)
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
			if got := string(text(topic.AppendKeyJSON(nil, key))); got != tt.wantKey {
				t.Errorf("key\ngot  %s\nwant %s", got, tt.wantKey)
			}
			if got := string(text(topic.AppendValueJSON(nil, key, value))); got != tt.wantValue {
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
		for _, text := range [][]byte{text(topic.AppendKeyJSON(nil, key)), text(topic.AppendValueJSON(nil, key, value)), text(dumptext.AppendControlJSON(nil, key, value))} {
			if !json.Valid(text) {
				t.Errorf("not JSON: %s", text)
			}
		}
	})
}

// text drops why a record was not decoded; its text says so too.
func text(p []byte, _ error) []byte { return p }
