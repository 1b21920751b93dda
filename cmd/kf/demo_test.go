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
		t.Skip("the demo needs bash")
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(bash, "testdata/demo.sh")
	cmd.Env = append(cmd.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "KF_CONFIG=", "KF_OUTPUT=", "KF_KEY_FORMAT=", "KF_VALUE_FORMAT=", "KF_COLOR=", "GORACE=atexit_sleep_ms=0")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v: %s\n%s", err, &stderr, &stdout)
	}
	kftest.Golden(t, "testdata/demo.golden", stdout.String())
}
