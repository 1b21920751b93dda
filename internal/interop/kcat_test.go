//go:build interop && clients

package interop

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestKcat lets kcat, and librdkafka in it, write to kf serve with every codec and
// acknowledgement, and read it all.
func TestKcat(t *testing.T) {
	if _, err := exec.LookPath("kcat"); err != nil {
		t.Fatalf("kcat is not installed: %v", err)
	}
	program := buildKF(t, t.TempDir())
	b, err := startKF(t, program, anyPort, []string{t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kcat := func(stdin string, args ...string) string {
		t.Helper()
		c := exec.Command("kcat", append([]string{"-b", b.bootstrap}, args...)...)
		var out, log bytes.Buffer
		c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &log
		if err := c.Run(); err != nil {
			t.Fatalf("kcat %q: %v\n%s\n%s", args, err, &log, b.log())
		}
		return out.String()
	}
	var want strings.Builder
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		for _, acks := range []string{"0", "1", "all"} {
			var lines strings.Builder
			for i := range 50 {
				fmt.Fprintf(&lines, "%s %s %d\tvalue é %s\n", codec, acks, i, strings.Repeat("x", i*20))
			}
			kcat(lines.String(), "-P", "-t", "kcat", "-p", "0", "-K", "\t", "-z", codec, "-X", "acks="+acks, "-X", fmt.Sprint("enable.idempotence=", acks == "all"))
			want.WriteString(lines.String())
		}
	}
	count := strings.Count(want.String(), "\n")
	got := kcat("", "-C", "-t", "kcat", "-p", "0", "-o", "beginning", "-c", fmt.Sprint(count), "-K", "\t", "-X", "check.crcs=true")
	if got, want := sortedLines(got), sortedLines(want.String()); got != want {
		t.Errorf("kcat reads something else %s", difference(got, want))
	}
	if list := kcat("", "-L", "-t", "kcat"); !strings.Contains(list, `topic "kcat" with 1 partitions`) {
		t.Errorf("kcat lists:\n%s", list)
	}
	if found := kcat("", "-Q", "-t", "kcat:0:0"); !strings.Contains(found, "kcat [0] offset 0") {
		t.Errorf("kcat finds for the time 0: %s", found)
	}
}
