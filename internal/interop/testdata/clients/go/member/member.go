// Package member is what the group members of all Go libraries have in common: the
// command line and the events on standard output.
package member

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Options are the command line.
type Options struct {
	Bootstrap, Topic, Group string
	Static                  string // group instance id, empty for a dynamic member
	Protocol                string // classic or consumer
	Assignor                string
	Session                 time.Duration
	Heartbeat               time.Duration
}

// Parse reads the command line: BOOTSTRAP TOPIC GROUP [flags].
func Parse() Options {
	if len(os.Args) < 4 {
		Fail(fmt.Errorf("usage: %s BOOTSTRAP TOPIC GROUP [flags]", os.Args[0]))
	}
	o := Options{Bootstrap: os.Args[1], Topic: os.Args[2], Group: os.Args[3]}
	flags := flag.NewFlagSet("member", flag.ExitOnError)
	flags.StringVar(&o.Static, "static", "", "group instance `id`")
	flags.StringVar(&o.Protocol, "protocol", "classic", "classic or consumer")
	flags.StringVar(&o.Assignor, "assignor", "range", "`name` of the assignor")
	session := flags.Int("session", 6000, "session timeout in `ms`")
	heartbeat := flags.Int("heartbeat", 500, "heartbeat interval in `ms`")
	_ = flags.Parse(os.Args[4:]) // exits on an error
	o.Session = time.Duration(*session) * time.Millisecond
	o.Heartbeat = time.Duration(*heartbeat) * time.Millisecond
	return o
}

// Context ends with SIGTERM.
func Context() context.Context {
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	return ctx
}

// Fail ends the process with an error that the library gives up with.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

var mu sync.Mutex // an event is a line, whoever prints it

func say(event any) {
	mu.Lock()
	defer mu.Unlock()
	if err := json.NewEncoder(os.Stdout).Encode(event); err != nil {
		Fail(err)
	}
}

type partitions struct {
	Event      string  `json:"event"`
	Partitions []int32 `json:"partitions"`
}

// Assigned says which partitions came to the member.
func Assigned(p []int32) { say(partitions{"assigned", p}) }

// Revoked says which partitions it gave up or lost.
func Revoked(p []int32) { say(partitions{"revoked", p}) }

type position struct {
	Event     string `json:"event"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// Record says that a record was read.
func Record(partition int32, offset int64) { say(position{"record", partition, offset}) }

// Committed says that the broker has taken a commit; offset is the next one to read.
func Committed(partition int32, offset int64) { say(position{"committed", partition, offset}) }

// Refused says that a commit or another request failed and that the member goes on.
func Refused(err error) {
	say(struct {
		Event string `json:"event"`
		Error string `json:"error"`
	}{"refused", err.Error()})
}
