package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kf/cmd"
	"kf/internal/cli"
	"kf/internal/kftest"
)

// result is what a run of kf left behind.
type result struct {
	stdout, stderr string
	exit           int
}

// run runs kf in this process, in its working directory.
func runKF(args ...string) result {
	var stdout, stderr bytes.Buffer
	env := &cli.Env{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Now: time.Now,
		Environ: []string{"XDG_CONFIG_HOME=/no-home"}, // not the settings of whoever runs the tests
	}
	code := cmd.Main(env, args)
	return result{stdout.String(), stderr.String(), code}
}

// A transcript is a recorded run of kafka-dump-log.sh 4.4.0.
type transcript struct {
	args   []string
	stdout string
	stderr []string
	exit   int
}

// readTranscript reads a file of testdata/kafka-dump-log: the command behind
// "$ ", stdout, stderr with "2> " in front of each line, the exit code.
func readTranscript(t *testing.T, path string) transcript {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	command, rest, _ := strings.Cut(string(p), "\n")
	var tr transcript
	words := splitWords(strings.TrimPrefix(command, "$ "))
	if strings.Contains(words[0], "=") { // LC_ALL=C
		words = words[1:]
	}
	tr.args = words[1:]
	end := strings.LastIndex(rest, "[exit ")
	if _, err := fmt.Sscanf(rest[end:], "[exit %d]", &tr.exit); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	rest = rest[:end]
	if i := strings.Index("\n"+rest, "\n2> "); i >= 0 {
		for line := range strings.Lines(rest[i:]) {
			tr.stderr = append(tr.stderr, strings.TrimSuffix(strings.TrimPrefix(line, "2> "), "\n"))
		}
		rest = rest[:i]
	}
	if cut, ok := strings.CutSuffix(rest, "<NO NEWLINE>\n"); ok {
		rest = cut
	}
	tr.stdout = rest
	return tr
}

// splitWords splits a command line at blanks outside single quotes.
func splitWords(line string) []string {
	var words []string
	var word strings.Builder
	quoted, any := false, false
	for _, r := range line + " " {
		switch {
		case r == '\'':
			quoted, any = !quoted, true
		case r == ' ' && !quoted:
			if any {
				words = append(words, word.String())
			}
			word.Reset()
			any = false
		default:
			word.WriteRune(r)
			any = true
		}
	}
	return words
}

// differs says where kf's standard output is meant to differ from Kafka's.
var differs = map[string]string{
	"help":              "the help is kf's own",
	"positional":        "Kafka ignores words without an option, kf takes them as files",
	"default-decoder":   "DefaultDecoder prints the identity of a Java object",
	"text-posix-locale": "kf prints UTF-8 in every locale",
}

// Every recorded run of kafka-dump-log.sh prints the same on standard output,
// the same reports on standard error where Kafka gets that far, and fails where
// Kafka fails. What kf says besides, and its exit codes, are in a golden file.
func TestDumpLogLikeKafka(t *testing.T) {
	dir, err := filepath.Abs("testdata/kafka-dump-log")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) < 250 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	golden := filepath.Join(dir, "kf.golden")
	t.Chdir(filepath.Join(dir, "data"))
	before := snapshot(t, ".")
	var said strings.Builder
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		want := readTranscript(t, file)
		got := runKF(append([]string{"dump-log"}, want.args...)...)
		fmt.Fprintf(&said, "%s: exit %d\n", name, got.exit)
		kafkas, own := splitReports(got.stderr, filepath.Join(dir, "data"))
		for _, line := range own {
			fmt.Fprintf(&said, "  %s\n", line)
		}
		if differs[name] != "" {
			if got.stdout == want.stdout {
				t.Errorf("%s: same as Kafka, although %s", name, differs[name])
			}
			continue
		}
		if got.stdout != want.stdout {
			t.Errorf("%s: stdout differs: kf %v\ngot\n%s\nwant\n%s", name, want.args, got.stdout, want.stdout)
		}
		switch {
		case want.exit != 0 && got.exit == 0:
			t.Errorf("%s: exit 0, Kafka %d", name, want.exit)
		case want.exit == 0 && got.exit != 0 && got.exit != 3 && name != "missing-txnindex":
			t.Errorf("%s: exit %d, Kafka 0", name, got.exit)
		}
		if want.exit == 0 {
			if name == "many-reports" { // the order of files follows from the hash of the path
				slices.Sort(kafkas)
				slices.Sort(want.stderr)
			}
			if !slices.Equal(kafkas, want.stderr) && !strings.HasPrefix(name, "snapshot") {
				t.Errorf("%s: stderr differs:\ngot\n%s\nwant\n%s", name, strings.Join(kafkas, "\n"), strings.Join(want.stderr, "\n"))
			}
		}
	}
	kftest.Golden(t, golden, said.String())
	if after := snapshot(t, "."); after != before {
		t.Errorf("dumping changed files:\nbefore\n%s\nafter\n%s", before, after)
	}
}

// splitReports takes what Kafka's tool says on standard error apart from what is
// kf's own, with <CWD> for the working directory.
func splitReports(stderr, wd string) (kafkas, own []string) {
	for line := range strings.Lines(strings.ReplaceAll(stderr, wd, "<CWD>")) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "kf: ") || strings.HasPrefix(line, "Run ") {
			own = append(own, line)
		} else {
			kafkas = append(kafkas, line)
		}
	}
	return kafkas, own
}

// snapshot lists all files below dir with size, mode and time of change.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %d %v %v\n", path, info.Size(), info.Mode(), info.ModTime())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
