//go:build interop

package interop

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tools are Java programs in a process that runs them again and again.
type tools struct {
	k     *kafka
	dir   string // its working directory
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

// answerTime is what a program has for one run.
const answerTime = 90 * time.Second

var errGaveUp = errors.New("the Java program ran out of time or memory")

const dumpLogClass = "org.apache.kafka.tools.DumpLogSegments"

// newTools returns programs that run in dir.
func (k *kafka) newTools(t testing.TB, dir string) *tools {
	j := &tools{k: k, dir: dir}
	t.Cleanup(j.close)
	return j
}

func (j *tools) close() {
	if j.cmd != nil {
		_ = j.cmd.Process.Kill()
		_ = j.cmd.Wait()
		j.cmd = nil
	}
}

// ran is what a run of a program left behind.
type ran struct {
	stdout, stderr string
	exit           int
}

// run runs the main method of class. It fails with errGaveUp if that comes to no
// end.
func (j *tools) run(class, stdin string, args ...string) (ran, error) {
	if j.cmd == nil {
		j.cmd = j.k.java(filepath.Join(j.dir, "..", "tools.log"), "Tools")
		j.cmd.Dir = j.dir
		stdout, err := j.cmd.StdoutPipe()
		if err != nil {
			return ran{}, err
		}
		if j.stdin, err = j.cmd.StdinPipe(); err != nil {
			return ran{}, err
		}
		if err := j.cmd.Start(); err != nil {
			return ran{}, err
		}
		j.out = bufio.NewReader(stdout)
	}
	var request []byte
	text := func(s string) { request = append(binary.BigEndian.AppendUint32(request, uint32(len(s))), s...) }
	text(class)
	text(stdin)
	request = binary.BigEndian.AppendUint32(request, uint32(len(args)))
	for _, arg := range args {
		text(arg)
	}
	late := time.AfterFunc(answerTime, func() { _ = j.cmd.Process.Kill() })
	_, err := j.stdin.Write(request)
	var r ran
	if err == nil {
		r, err = j.answer()
	}
	if !late.Stop() {
		j.close()
		return ran{}, errGaveUp
	}
	if err == nil && strings.Contains(r.stderr, "java.lang.OutOfMemoryError") {
		err = errGaveUp
	}
	return r, err
}

func (j *tools) answer() (ran, error) {
	number := func() int {
		var p [4]byte
		if _, err := io.ReadFull(j.out, p[:]); err != nil {
			return -1
		}
		return int(int32(binary.BigEndian.Uint32(p[:])))
	}
	text := func() string {
		p := make([]byte, max(0, number()))
		if _, err := io.ReadFull(j.out, p); err != nil {
			return ""
		}
		return string(p)
	}
	r := ran{exit: number()}
	r.stdout, r.stderr = text(), text()
	if _, err := j.out.Peek(0); err != nil || r.exit < 0 {
		return r, errors.New("the Java program has ended without an answer")
	}
	return r, nil
}
