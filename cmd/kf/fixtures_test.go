//go:build fixtures

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"kf/internal/kftest"
)

// A recorded run of kafka-dump-log.sh: a line of a fixture's runs.jsonl.
type recordedRun struct {
	Argv   []string `json:"argv"`
	Exit   int      `json:"exit"`
	Stdout string   `json:"stdout"` // file beside runs.jsonl, "" for no output
	Cwd    string   `json:"cwd"`    // below the fixture; "" is data
	Tool   string   `json:"tool"`   // "" is kafka-dump-log
}

// TestFixtures runs "kf dump-log" for every run of Kafka's tool that the
// directories in KF_FIXTURES record. It takes them packed (NAME.tar.gz) or not.
func TestFixtures(t *testing.T) {
	dir := os.Getenv("KF_FIXTURES")
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(archives) > 0 {
		unpacked := t.TempDir()
		for _, archive := range archives {
			kftest.Unpack(t, archive, unpacked)
		}
		dir = unpacked
	}
	var lists []string
	for _, pattern := range []string{"*/expected/runs.jsonl", "*/runs.jsonl", "*/*/dump/runs.jsonl"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, found...)
	}
	if len(lists) == 0 {
		t.Fatalf("no runs.jsonl in KF_FIXTURES=%q", os.Getenv("KF_FIXTURES"))
	}
	total, same := 0, 0
	for _, list := range lists {
		damaged := filepath.Base(filepath.Dir(list)) == "dump"
		root := filepath.Dir(list)
		if filepath.Base(root) == "expected" {
			root = filepath.Dir(root)
		}
		data := ""
		if damaged {
			data = variant(t, filepath.Dir(root))
		}
		for _, run := range readRuns(t, list) {
			if run.Tool != "" && run.Tool != "kafka-dump-log" {
				continue
			}
			cwd := data
			if !damaged {
				cwd = filepath.Join(root, "data")
				if run.Cwd != "" {
					cwd = filepath.Join(root, run.Cwd)
				}
			}
			total++
			var want []byte
			if run.Stdout != "" {
				if want, err = os.ReadFile(filepath.Join(filepath.Dir(list), run.Stdout)); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(cwd)
			got := runKF(append([]string{"dump-log"}, run.Argv...)...)
			problem := ""
			switch {
			case got.stdout != string(want):
				problem = "stdout differs at " + firstDifference(got.stdout, string(want))
			case run.Exit != 0 && got.exit == 0:
				problem = fmt.Sprintf("exit 0, Kafka %d", run.Exit)
			case run.Exit == 0 && got.exit != 0 && (got.exit != 3 || !damaged):
				problem = fmt.Sprintf("exit %d, Kafka 0: %s", got.exit, got.stderr)
			}
			if problem == "" {
				same++
				continue
			}
			if total-same < 50 {
				t.Errorf("%s %q: %s", cwd, run.Argv, problem)
			}
		}
	}
	t.Logf("%d of %d recorded runs are the same", same, total)
	if same != total {
		t.Errorf("%d runs differ", total-same)
	}
}

func firstDifference(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	part := func(s string) string { return s[max(0, i-40):min(len(s), i+60)] }
	return fmt.Sprintf("byte %d: got %q, want %q", i, part(got), part(want))
}

func readRuns(t *testing.T, path string) []recordedRun {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var runs []recordedRun
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var run recordedRun
		if err := json.Unmarshal(lines.Bytes(), &run); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		runs = append(runs, run)
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return runs
}

// variant lays out a damaged directory: the files of its base, as links, less
// what it removes, under what it brings.
func variant(t *testing.T, dir string) string {
	t.Helper()
	var v struct {
		Base   string
		Remove []string
	}
	p, err := os.ReadFile(filepath.Join(dir, "variant.json"))
	if err == nil {
		err = json.Unmarshal(p, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	target := t.TempDir()
	link := func(from string) {
		err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			to := filepath.Join(target, rel)
			if d.IsDir() {
				return os.MkdirAll(to, 0o755)
			}
			if err := os.Remove(to); err != nil && !os.IsNotExist(err) {
				return err
			}
			return os.Symlink(path, to)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(dir, "..", "..", v.Base, "data"))
	for _, name := range v.Remove {
		if err := os.RemoveAll(filepath.Join(target, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "files")); err == nil {
		link(filepath.Join(dir, "files"))
	}
	return target
}
