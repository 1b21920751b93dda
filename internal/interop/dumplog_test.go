//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kf/cmd"
	"kf/internal/cli"
)

// seed returns KF_SEED, or a new one, and names it.
func seed(t *testing.T) int64 {
	t.Helper()
	n := time.Now().UnixNano() % 1e9
	if s := os.Getenv("KF_SEED"); s != "" {
		var err error
		if n, err = strconv.ParseInt(s, 10, 64); err != nil {
			t.Fatalf("KF_SEED: %v", err)
		}
	}
	t.Logf("KF_SEED=%d", n)
	return n
}

// random returns the random numbers of a seed, for one purpose of several.
func random(seed int64, purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), purpose))
}

// A judge runs kf and Kafka's tool on the same files.
type judge struct {
	tools  *tools
	dir    string // of both
	runs   int
	gaveUp int
	failed int
}

// newJudge makes dir the working directory of the test and of Kafka's tool.
func newJudge(t *testing.T, k *kafka, dir string) *judge {
	t.Helper()
	t.Chdir(dir)
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return &judge{tools: k.newTools(t, wd), dir: wd}
}

// A verdict is what both programs did.
type verdict struct {
	args      []string
	kf, kafka ran
	gaveUp    bool   // Kafka's tool came to no end
	differ    string // how kf's answer is wrong, "" if it is not
}

// compare runs kf dump-log and kafka-dump-log with args. Standard output has to
// be the same, and where Kafka's tool succeeds its reports; kf has to fail where
// Kafka fails, and may return 0, or 3 for damage, where it succeeds.
func (j *judge) compare(t *testing.T, args ...string) verdict {
	t.Helper()
	v := verdict{args: args}
	answer := make(chan error)
	go func() {
		var err error
		v.kafka, err = j.tools.run(dumpLogClass, "", args...)
		answer <- err
	}()
	late := time.AfterFunc(answerTime, func() { panic(fmt.Sprintf("kf dump-log comes to no end: %q in %s", args, j.dir)) })
	v.kf = runKF(append([]string{"dump-log"}, args...)...)
	late.Stop()
	j.runs++
	switch err := <-answer; {
	case err == errGaveUp:
		j.gaveUp++
		v.gaveUp = true
		return v
	case err != nil:
		t.Fatalf("%q: %v", args, err)
	}
	switch {
	case v.kf.stdout != v.kafka.stdout:
		v.differ = "standard output differs " + difference(v.kf.stdout, v.kafka.stdout)
	case v.kafka.exit != 0 && v.kf.exit == 0, v.kafka.exit == 0 && v.kf.exit != 0 && v.kf.exit != 3:
		v.differ = fmt.Sprintf("kf exits with %d, Kafka with %d", v.kf.exit, v.kafka.exit)
	case v.kafka.exit == 0:
		if badSnapshot.MatchString(v.kafka.stderr) && v.kf.exit != 3 {
			v.differ = "kf finds no damage in a producer snapshot"
		}
		if got, want := reports(v.kf.stderr), reports(badSnapshot.ReplaceAllString(v.kafka.stderr, "")); !slices.Equal(got, want) {
			v.differ = "the reports differ " + difference(strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	return v
}

// badSnapshot is what Kafka says of a producer snapshot in words that are not kf's.
var badSnapshot = regexp.MustCompile(`(?m)^Snapshot (failed schema validation|is corrupt).*\n`)

// fail reports a verdict, and keeps the files of the first ones that fail.
func (j *judge) fail(t *testing.T, v verdict, why string) {
	t.Helper()
	if j.failed++; j.failed > 20 {
		t.Fail()
		return
	}
	t.Errorf("kf dump-log %s\n%s\nkf: exit %d, %s\nKafka: exit %d, %s\nfiles: %s", strings.Join(v.args, " "), why,
		v.kf.exit, short(v.kf.stderr), v.kafka.exit, short(v.kafka.stderr), keep(t, filepath.Dir(v.args[len(v.args)-1])))
}

func short(s string) string { return s[:min(len(s), 600)] }

// keep copies a folder to where it outlives the test.
func keep(t *testing.T, dir string) string {
	t.Helper()
	kept, err := os.MkdirTemp("", "kf-interop-failed-*")
	if err != nil {
		t.Fatal(err)
	}
	copyTree(t, dir, filepath.Join(kept, filepath.Base(dir)))
	return kept
}

// difference shows where two texts part.
func difference(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	at := func(s string) string { return s[max(0, i-200):min(len(s), i+200)] }
	return fmt.Sprintf("at byte %d:\n got  %q\n want %q", i, at(got), at(want))
}

// reports returns the lines of standard error that both programs print: neither
// kf's own messages nor what it leaves to a reader of the message, the traces.
func reports(stderr string) []string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "kf: ") && !strings.HasPrefix(line, "Run ") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// runKF runs kf in this process.
func runKF(args ...string) (r ran) {
	var stdout, stderr bytes.Buffer
	defer func() {
		if p := recover(); p != nil {
			r = ran{stdout.String(), fmt.Sprintf("panic: %v", p), -1}
		}
	}()
	env := &cli.Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Now: time.Now}
	code := cmd.Main(env, args)
	return ran{stdout.String(), stderr.String(), code}
}

// A file is a file of a copy of a data directory.
type file struct {
	path string // relative to the judge's folder
	size int
}

// files lists all files below dir, relative to the working directory.
func files(t *testing.T, dir string) []file {
	t.Helper()
	var all []file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		all = append(all, file{path, int(info.Size())})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// decoders are the options that the records of the internal topics want.
var decoders = []struct{ folder, option string }{
	{"__consumer_offsets-", "--offsets-decoder"},
	{"__transaction_state-", "--transaction-log-decoder"},
	{"__share_group_state-", "--share-group-state-decoder"},
	{"__cluster_metadata-", "--cluster-metadata-decoder"},
	{"__remote_log_metadata-", "--remote-log-metadata-decoder"},
}

// options returns the options with which f is worth a look.
func options(f file, r *rand.Rand) [][]string {
	name := filepath.Base(f.path)
	switch filepath.Ext(name) {
	case ".log", ".checkpoint":
		all := [][]string{
			{}, {"--deep-iteration"}, {"--print-data-log"}, {"--deep-iteration", "--skip-record-metadata"}, {"--print-data-log", "--skip-record-metadata"},
			{"--max-bytes", "17"}, {"--deep-iteration", "--max-bytes", fmt.Sprint(f.size - 1)}, {"--print-data-log", "--max-bytes", fmt.Sprint(r.IntN(f.size + 2))},
			{"--value-decoder-class", toolsAPI + []string{"Integer", "Long", "String"}[r.IntN(3)] + "Decoder", "--key-decoder-class"},
			{decoders[r.IntN(len(decoders))].option},
		}
		for _, d := range decoders {
			if strings.HasPrefix(filepath.Base(filepath.Dir(f.path)), d.folder) {
				all = append(all, []string{d.option}, []string{d.option, "--skip-record-metadata"}, []string{d.option, "--max-bytes", fmt.Sprint(r.IntN(f.size + 2))})
			}
		}
		return all
	case ".index":
		return [][]string{{}, {"--index-sanity-check"}, {"--verify-index-only"}, {"--index-sanity-check", "--verify-index-only"}, {"--max-message-size", fmt.Sprint(r.IntN(2000))}}
	case ".timeindex":
		return [][]string{{}, {"--index-sanity-check"}, {"--verify-index-only"}}
	default:
		return [][]string{{}, {"--deep-iteration"}}
	}
}

const toolsAPI = "org.apache.kafka.tools.api."

func TestDumpLog(t *testing.T) {
	seed := seed(t)
	k := newKafka(t)
	root := filepath.Join(t.TempDir(), "copies")
	start := time.Now()
	copies(t, k, root, seed)
	filled := time.Since(start)

	j := newJudge(t, k, root)
	all := files(t, ".")
	start = time.Now()
	t.Run("files", func(t *testing.T) { compareAll(t, j, all, random(seed, 1)) })
	compared, runs := time.Since(start), j.runs
	start = time.Now()
	damages, refused := 0, 0
	t.Run("damages", func(t *testing.T) { damages, refused = compareDamaged(t, j, all, random(seed, 2)) })
	t.Logf("%d files of 3 copies in %d runs; %d damages in %d runs, of which Kafka gave up %d, and kf refused compressed data in %d. Filling took %.0f s, files %.0f s, damages %.0f s",
		len(all), runs, damages, j.runs-runs, j.gaveUp, refused, filled.Seconds(), compared.Seconds(), time.Since(start).Seconds())
}

// copies fills a node and copies its folder into root: live, while it and its
// clients run; clean, after it was stopped; killed, after it was started again
// and killed.
func copies(t *testing.T, k *kafka, root string, seed int64) {
	n := k.newNode(t)
	server := n.start(t)
	clients := n.fill(t, seed)
	copyTree(t, n.data(), filepath.Join(root, "live"))
	clients.stop(t)
	server.stop(t)
	copyTree(t, n.data(), filepath.Join(root, "clean"))
	server = n.start(t)
	clients = n.fill(t, seed+1)
	server.kill()
	clients.kill()
	copyTree(t, n.data(), filepath.Join(root, "killed"))
}

// compareAll compares the programs on every file, and on all of a folder at once.
func compareAll(t *testing.T, j *judge, all []file, r *rand.Rand) {
	kinds := map[string]int{}
	folders := map[string][]string{}
	for _, f := range all {
		kinds[filepath.Ext(f.path)]++
		dir := filepath.Dir(f.path)
		folders[dir] = append(folders[dir], f.path)
		if _, err := os.Stat(strings.TrimSuffix(f.path, ".timeindex") + ".index"); strings.HasSuffix(f.path, ".timeindex") && err != nil {
			continue // Kafka's tool would make that file
		}
		for _, option := range options(f, r) {
			sound(t, j, append(slices.Clone(option), "--files", f.path))
		}
	}
	for _, kind := range []string{".log", ".index", ".timeindex", ".snapshot", ".txnindex", ".checkpoint", ".deleted"} {
		if kinds[kind] < 2 {
			t.Errorf("the node has only %d files of the kind %s", kinds[kind], kind)
		}
	}
	for _, paths := range folders {
		if !slices.ContainsFunc(paths, func(p string) bool { return strings.Contains(p, ",") }) {
			sound(t, j, []string{"--deep-iteration", "--files", strings.Join(paths, ",")})
		}
	}
}

// sound compares the programs; on a file of a clean stop kf has to find nothing.
func sound(t *testing.T, j *judge, args []string) {
	t.Helper()
	v := j.compare(t, args...)
	switch {
	case v.differ != "":
		j.fail(t, v, v.differ)
	case v.gaveUp:
		t.Errorf("%q: Kafka's tool comes to no end", args)
	case strings.HasPrefix(args[len(args)-1], "clean"+string(filepath.Separator)) && v.kafka.exit == 0 && v.kf.exit != 0:
		j.fail(t, v, "kf finds something in a directory of a clean stop")
	}
}
