package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kf/internal/kftest"
)

// first and second are segments of testdata/kafka-4.4.
const (
	first  = "00000000000000000000"
	second = "00000000000000000042"
)

// goldenRuns are runs of "kf dump" in testdata/kafka-4.4, one for each kind of
// file and topic.
var goldenRuns = []struct{ name, args string }{
	{"log", "--offset 59:64 transactions/payments-0/" + second + ".log"},
	{"log-batches", "--no-records transactions/payments-0/" + second + ".log"},
	{"log-contents", "--offset :12 codecs/orders-none-0/" + first + ".log"},
	{"log-append-time", "--last 2 codecs/events-append-time-0/" + first + ".log"},
	{"log-empty", "codecs/never-written-0/" + first + ".log"},
	{"log-segments", "--offset 70:74 transactions/payments-0/" + second + ".log transactions/payments-0/00000000000000000072.log"},
	{"log-flipped", "--no-records damaged/data-0/00000000000000000040.log"},
	{"log-torn", "--no-records damaged/data-0/00000000000000000080.log"},
	{"index", "groups/__consumer_offsets-1/" + first + ".index"},
	{"timeindex", "groups/__consumer_offsets-1/" + first + ".timeindex"},
	{"txnindex", "transactions/payments-0/" + first + ".txnindex transactions/payments-0/" + second + ".txnindex"},
	{"txnindex-cut", "damaged/txn-0/" + first + ".txnindex"},
	{"producer-snapshot", "transactions/ledger-0/00000000000000000067.snapshot"},
	{"producer-snapshot-crc", "damaged/txn-0/00000000000000000072.snapshot"},
	{"metadata-snapshot", "groups/__cluster_metadata-0/" + first + "-0000000000.checkpoint"},
	{"cluster-metadata", "--offset 11:24 groups/__cluster_metadata-0/" + first + ".log"},
	{"consumer-offsets", "--offset 4:24 groups/__consumer_offsets-1/" + first + ".log"},
	{"transaction-state", "--last 3 transactions/__transaction_state-0/" + first + ".log"},
	{"share-group-state", "--last 3 groups/__share_group_state-0/" + first + ".log"},
	{"offset-checkpoint", "transactions/replication-offset-checkpoint"},
	{"offset-checkpoint-empty", "transactions/cleaner-offset-checkpoint"},
	{"leader-epoch-checkpoint", "groups/orders-0/leader-epoch-checkpoint"},
	{"partition-metadata", "groups/orders-0/partition.metadata"},
	{"meta-properties", "groups/meta.properties"},
	{"quorum-state", "groups/__cluster_metadata-0/quorum-state"},
	{"clean-shutdown", "groups/.kafka_cleanshutdown"},
}

func TestDumpGolden(t *testing.T) {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("testdata/kafka-4.4")
	for _, tt := range goldenRuns {
		t.Run(tt.name, func(t *testing.T) {
			var all strings.Builder
			for _, format := range []string{"table", "json", "jsonl", "csv"} {
				args := append([]string{"dump", "-o", format}, strings.Fields(tt.args)...)
				got := runKF(args...)
				if format == "table" || format == "json" {
					fmt.Fprintf(&all, "$ kf %s\n%s", strings.Join(args, " "), got.stdout)
					for line := range strings.Lines(got.stderr) {
						fmt.Fprintf(&all, "2> %s", line)
					}
					fmt.Fprintf(&all, "[exit %d]\n", got.exit)
				}
				check(t, format, got.stdout)
			}
			kftest.Golden(t, filepath.Join(dir, "dump", tt.name+".golden"), all.String())
		})
	}
}

// check parses what kf printed, and compares JSON lines with JSON.
func check(t *testing.T, format, text string) {
	t.Helper()
	switch format {
	case "json":
		var doc struct {
			Command string
			Schema  int `json:"schema_version"`
			Rows    []map[string]any
		}
		if err := json.Unmarshal([]byte(text), &doc); err != nil || doc.Command != "dump" || doc.Schema != 1 {
			t.Errorf("json: %v: %+v", err, doc)
		}
		for _, row := range doc.Rows {
			if row["file"] == "" || row["kind"] == "" {
				t.Errorf("json: no file or kind in %v", row)
			}
		}
	case "jsonl":
		for line := range strings.Lines(text) {
			if !json.Valid([]byte(line)) {
				t.Errorf("jsonl: %s", line)
			}
		}
	case "csv":
		if _, err := csv.NewReader(strings.NewReader(text)).ReadAll(); err != nil {
			t.Errorf("csv: %v", err)
		}
	}
}

// The same records come out of each codec.
func TestDumpCodecs(t *testing.T) {
	var want string
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		got := runKF("dump", "-o", "csv", "--offset", ":9", "testdata/kafka-4.4/codecs/orders-"+codec+"-0/"+first+".log")
		// Values with bytes that are no text differ between the partitions, as
		// do the positions of batches.
		var rows strings.Builder
		all, err := csv.NewReader(strings.NewReader(got.stdout)).ReadAll()
		if err != nil || len(all) != 10 || got.exit != 0 {
			t.Fatalf("%s: %d rows, %v, exit %d", codec, len(all), err, got.exit)
		}
		for _, row := range all {
			fmt.Fprintln(&rows, row[2:7], row[8])
		}
		if want == "" {
			want = rows.String()
		}
		if rows.String() != want {
			t.Errorf("%s: got\n%s\nwant\n%s", codec, &rows, want)
		}
	}
}

// Every file of the directories is recognised, under its name or without one,
// and all that are not damaged are sound.
func TestDumpEveryFile(t *testing.T) {
	t.Chdir("testdata/kafka-4.4")
	before := contents(t, ".")
	files := 0
	for path := range before {
		if filepath.Base(path) == "README.md" {
			continue
		}
		files++
		got := runKF("dump", path)
		want := 0
		switch path {
		case "damaged/data-0/00000000000000000040.log", "damaged/data-0/00000000000000000080.log",
			"damaged/txn-0/" + first + ".txnindex", "damaged/txn-0/00000000000000000072.snapshot":
			want = 3
		}
		if got.exit != want || strings.Contains(got.stderr, "warning") {
			t.Errorf("%s: exit code %d: %s", path, got.exit, got.stderr)
		}
		if log := runKF("dump-log", "--print-data-log", path); log.exit != 0 && !strings.HasPrefix(path, "damaged/") {
			t.Errorf("dump-log %s: exit code %d: %s", path, log.exit, log.stderr)
		}
	}
	if files < 150 {
		t.Errorf("%d files", files)
	}
	for path, p := range contents(t, ".") {
		if !bytes.Equal(p, before[path]) {
			t.Errorf("%s changed", path)
		}
	}
}

// contents reads all files below dir.
func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// "kf help formats" names the columns of each table.
func TestHelpNamesColumns(t *testing.T) {
	t.Chdir("testdata/kafka-4.4")
	help := strings.Join(strings.Fields(runKF("help", "formats").stdout), " ")
	for _, tt := range goldenRuns {
		heading, _, _ := strings.Cut(runKF(append([]string{"dump"}, strings.Fields(tt.args)...)...).stdout, "\n")
		columns := strings.ToLower(strings.ReplaceAll(strings.Join(strings.Fields(heading), " "), "-", "_"))
		columns = strings.TrimPrefix(columns, "file ")
		if !strings.Contains(help, " "+columns+" ") {
			t.Errorf("%s: help formats does not have the columns %q", tt.name, columns)
		}
	}
}
