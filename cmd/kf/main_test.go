package main

import (
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kf": main})
}

// TestScript runs the scripts, which see kf from outside. Besides the commands
// of testscript they have
//
//	code N program [args...]   runs the program, which must end with exit code N
//	kafka                      copies testdata/kafka-4.4 into the current directory
//	poke FILE POS HEX          overwrites bytes from POS on; POS "end" appends
//	cut FILE SIZE              makes the file SIZE bytes long, with zeros behind its end
//
// and onlineCommands.
func TestScript(t *testing.T) {
	commands := map[string]func(*testscript.TestScript, bool, []string){
		"code": code, "kafka": copyKafka, "poke": poke, "cut": cut,
	}
	maps.Copy(commands, onlineCommands)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			// The race detector would sleep a second at each exit of kf.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Values[consumersKey{}] = make(map[string]*kgo.Client)
			return nil
		},
		Cmds: commands,
	})
}

func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("code: %v", err)
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("code: %v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func copyKafka(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: kafka")
	}
	ts.Check(os.CopyFS(ts.MkAbs("."), os.DirFS(kafkaDir)))
}

// kafkaDir is testdata/kafka-4.4; scripts run elsewhere.
var kafkaDir, _ = filepath.Abs("testdata/kafka-4.4")

func poke(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: poke FILE POS HEX")
	}
	p, err := hex.DecodeString(args[2])
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	defer f.Close()
	pos, err := f.Seek(0, io.SeekEnd)
	ts.Check(err)
	if args[1] != "end" {
		pos, err = strconv.ParseInt(args[1], 10, 64)
		ts.Check(err)
	}
	_, err = f.WriteAt(p, pos)
	ts.Check(err)
}

func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FILE SIZE")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}
