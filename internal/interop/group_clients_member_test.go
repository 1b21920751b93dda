//go:build interop && clients

package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A clientMember is a running member of a group.
type clientMember struct {
	name   string
	client client
	id     string // group instance id, empty for a dynamic member
	cmd    *exec.Cmd
	log    *logText // what it prints beside events
	ended  chan struct{}

	// What follows belongs to the mutex of the group.
	over   bool            // the test has ended it
	owned  map[int32]bool  // the partitions it says it has
	next   map[int32]int64 // the offset that must come next in what it owns
	events []clientEvent
}

// A clientEvent is a line that a member prints.
type clientEvent struct {
	Event      string  `json:"event"` // assigned, revoked, record, committed or refused
	Partitions []int32 `json:"partitions"`
	Partition  int32   `json:"partition"`
	Offset     int64   `json:"offset"`
	Error      string  `json:"error"`
}

// What kcat prints: records as its option -f says, the rest on standard error.
var (
	kcatRecord    = regexp.MustCompile(`^record (\d+) (\d+)$`)
	kcatRebalance = regexp.MustCompile(`^% Group \S+ rebalanced.*?: (?:incremental )?(assign|revoke)[^:]*: (.*)$`)
	kcatEnd       = "% Reached end of topic "
	kcatPartition = regexp.MustCompile(`\[(\d+)\]`)
)

// parseClientEvent returns the event in a line, or false if it has none.
func parseClientEvent(line string) (clientEvent, bool) {
	number := func(s string) int64 {
		n, _ := strconv.ParseInt(s, 10, 64) // the pattern has digits only
		return n
	}
	if m := kcatRecord.FindStringSubmatch(line); m != nil {
		return clientEvent{Event: "record", Partition: int32(number(m[1])), Offset: number(m[2])}, true
	}
	if m := kcatRebalance.FindStringSubmatch(line); m != nil {
		e := clientEvent{Event: map[string]string{"assign": "assigned", "revoke": "revoked"}[m[1]]}
		for _, p := range kcatPartition.FindAllStringSubmatch(m[2], -1) {
			e.Partitions = append(e.Partitions, int32(number(p[1])))
		}
		return e, true
	}
	var e clientEvent
	err := json.Unmarshal([]byte(line), &e)
	return e, err == nil && e.Event != ""
}

// start starts a member; t ends it.
func (g *clientGroup) start(t *testing.T, c client, id string) *clientMember {
	t.Helper()
	g.mu.Lock()
	m := &clientMember{
		name: fmt.Sprintf("member %d, %s", len(g.members), c), client: c, id: id, cmd: g.stage.programs.command(c, g.stage.address, g.name, id, g.session),
		log: &logText{}, ended: make(chan struct{}), owned: map[int32]bool{}, next: map[int32]int64{},
	}
	g.members = append(g.members, m)
	g.mu.Unlock()
	var streams []io.Reader
	for _, pipe := range []func() (io.ReadCloser, error){m.cmd.StdoutPipe, m.cmd.StderrPipe} {
		r, err := pipe()
		if err != nil {
			t.Fatal(err)
		}
		streams = append(streams, r)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var read sync.WaitGroup
	for _, r := range streams {
		read.Go(func() { g.listen(m, r) })
	}
	go func() {
		read.Wait()
		_ = m.cmd.Wait()
		close(m.ended)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.happened()
	}()
	t.Cleanup(func() { g.kill(m) })
	return m
}

// listen takes in what a member prints.
func (g *clientGroup) listen(m *clientMember, r io.Reader) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		e, ok := parseClientEvent(lines.Text())
		if (!ok || e.Event == "refused") && !strings.HasPrefix(lines.Text(), kcatEnd) {
			fmt.Fprintln(m.log, lines.Text())
		}
		switch {
		case ok:
			g.take(m, e)
		case strings.HasPrefix(lines.Text(), `{"event"`):
			g.fault("%s: no event: %s", m.name, lines.Text())
		}
	}
	_, _ = io.Copy(m.log, r) // behind a line that is too long
}

// kill ends a member as kill -9 does.
func (g *clientGroup) kill(m *clientMember) {
	g.endings(m)
	_ = m.cmd.Process.Kill()
	<-m.ended
}

// stop lets a member leave the group and end, as SIGTERM does.
func (g *clientGroup) stop(t *testing.T, m *clientMember) {
	t.Helper()
	if m.client.library == "kcat" {
		// It drops, and commits, a record that comes after the signal.
		defer g.pause(t)()
	}
	g.endings(m)
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("%s: stopping %s: %v\n%s", g.name, m.name, err, m.log)
	}
	select {
	case <-m.ended:
	case <-time.After(startLimit):
		t.Fatalf("%s: %s does not stop:\n%s", g.name, m.name, m.log)
	}
	if code := m.cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("%s: %s ends with %d after SIGTERM:\n%s", g.name, m.name, code, m.log)
	}
}

// endings says that the end of a member is no failure.
func (g *clientGroup) endings(m *clientMember) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m.over = true
}

// has returns what a member says it owns.
func (m *clientMember) has() []int32 { return slices.Sorted(maps.Keys(m.owned)) }

// describe tells of a member in a failure.
func (m *clientMember) describe() string {
	last := m.events[max(0, len(m.events)-10):]
	var events strings.Builder
	for _, e := range last {
		fmt.Fprintf(&events, "  %+v\n", e)
	}
	log := m.log.String()
	return fmt.Sprintf("%s has %v, its last events:\n%sits log:\n%s", m.name, m.has(), &events, log[max(0, len(log)-2000):])
}
