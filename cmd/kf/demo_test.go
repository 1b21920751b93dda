package main

import (
	"bytes"
	"os/exec"
	"testing"

	"kf/internal/kftest"
)

// TestDemo runs what "make demo" runs.
func TestDemo(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatalf("the demo needs bash: %v", err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(bash, "testdata/demo.sh")
	cmd.Env = append(cmd.Environ(), "KF_OUTPUT=csv", "GORACE=atexit_sleep_ms=0") // the settings of whoever runs it do not matter
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v: %s\n%s", err, &stderr, &stdout)
	}
	kftest.Golden(t, "testdata/demo.golden", stdout.String())
}
