package main

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"kf/internal/kftest"
)

// TestDemo runs what "make demo" runs.
func TestDemo(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatalf("the demo needs bash: %v", err)
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin, "kf/internal/demo").CombinedOutput(); err != nil {
		t.Fatalf("building the client: %v\n%s", err, out)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(bash, "testdata/demo.sh")
	// The settings of whoever runs it do not matter.
	cmd.Env = append(cmd.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "KF_OUTPUT=csv", "GORACE=atexit_sleep_ms=0", "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v: %s\n%s", err, &stderr, &stdout)
	}
	// The port is any free one, and topics have random ids.
	text := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).ReplaceAllString(stdout.String(), "127.0.0.1:PORT")
	text = regexp.MustCompile(`(?m)^(orders +)[\w-]{22} `).ReplaceAllString(text, "${1}TOPIC-ID               ")
	kftest.Golden(t, "testdata/demo.golden", text)
}
