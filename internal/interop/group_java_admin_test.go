//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const consumerGroupCommand = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"

// groupTool are calls of kafka-consumer-groups.sh, in the order in which they change
// the groups of GroupAdmin.
var groupTool = []string{
	"--list", "--list --state", "--list --type", "--list --state --type", "--list --state stable", "--list --state Empty,dead", "--list --type consumer",
	"--list --type classic --state empty", "--list --state no-such", "--list --type no-such",
	"--describe --all-groups --state", "--describe --all-groups --members --verbose", "--describe --all-groups --offsets",
	"--describe --all-groups --offsets --verbose", "--describe --all-groups --state --verbose",
	"--describe --group classic-live", "--describe --group new-live --members", "--describe --group classic-empty --members",
	"--describe --group simple", "--describe --group unknown", "--describe --group unknown --members", "--describe --group unknown --state",
	"--describe --group new-static --group classic-static --state",
	"--validate-regex a(b|c", "--validate-regex a.*",
	"--reset-offsets --group classic-empty --topic classic-empty-topic --to-earliest --dry-run",
	"--reset-offsets --group classic-empty --topic classic-empty-topic --to-earliest --execute",
	"--reset-offsets --group classic-empty --topic classic-empty-topic:0,2 --to-offset 4 --execute",
	"--reset-offsets --group classic-empty --all-topics --shift-by 1 --execute",
	"--reset-offsets --group classic-empty --all-topics --shift-by -100 --execute",
	"--reset-offsets --group classic-empty --all-topics --to-offset 999 --execute",
	"--reset-offsets --group new-empty --all-topics --to-datetime 2020-01-01T00:00:00.000 --execute",
	"--reset-offsets --group new-empty --all-topics --by-duration PT1H --execute",
	"--reset-offsets --group new-empty --all-topics --to-current --execute",
	"--reset-offsets --group new-empty --topic new-empty-topic --shift-by -3 --export --dry-run",
	"--reset-offsets --group new-empty --from-file plan.csv --execute",
	"--reset-offsets --group unknown --topic new-empty-topic --to-latest --execute",
	"--reset-offsets --group unknown --topic no-such --to-latest --execute",
	"--reset-offsets --group classic-live --all-topics --to-earliest --execute",
	"--reset-offsets --group new-live --all-topics --to-earliest --execute",
	"--reset-offsets --all-groups --all-topics --to-latest --dry-run",
	"--describe --all-groups --offsets",
	"--delete-offsets --group simple --topic classic-empty-topic:1",
	"--delete-offsets --group simple --topic no-such",
	"--delete-offsets --group classic-live --topic classic-live-topic",
	"--delete-offsets --group new-live --topic new-live-topic:0",
	"--delete-offsets --group no-such --topic new-live-topic",
	"--describe --group simple --offsets",
	"--delete --group unknown", "--delete --group no-such", "--delete --group classic-live", "--delete --group new-live --group new-empty",
	"--list --state --type",
}

// groupAdmin lets the Admin client and kafka-consumer-groups.sh do all that they can
// do with groups. They say of kf what they say of Kafka, but for the ids of members,
// the address, and the order of lines.
func (s *stage) groupAdmin(t *testing.T, server party) {
	if err := os.WriteFile(filepath.Join(s.root, "plan.csv"), []byte("new-empty-topic,0,1\nnew-empty-topic,2,7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	said := func(p party, dir string) string {
		b := p.start(t, []string{dir}, brisk...)
		names := []string{b.bootstrap, "ADDRESS"}
		for line := range strings.Lines(s.java(t, "GroupAdmin", "", "begin", b.bootstrap)) {
			id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
			names = append(names, id, "ID-OF-"+name)
		}
		var out strings.Builder
		for _, args := range groupTool {
			r, err := s.judge.tools.run(consumerGroupCommand, "", append([]string{"--bootstrap-server", b.bootstrap}, strings.Fields(args)...)...)
			if err != nil {
				t.Fatalf("%s: %v", args, err)
			}
			for line := range strings.Lines(r.stdout + r.stderr) {
				fmt.Fprintf(&out, "%s: %s\n", args, strings.TrimSpace(line))
			}
			fmt.Fprintf(&out, "%s: exit code %d\n", args, r.exit)
		}
		out.WriteString(s.java(t, "GroupAdmin", "", "calls", b.bootstrap))
		s.java(t, "GroupAdmin", "", "end")
		b.stop(t)
		return sortedLines(spaces.ReplaceAllString(strings.NewReplacer(names...).Replace(out.String()), " "))
	}
	got, want := said(server, s.dir(t)), said(s.kafka, s.dir(t)+"-Kafka")
	same(t, "of "+server.name+" other things are said than of Kafka", got, want)
	t.Logf("%d calls of the tool, %d lines", len(groupTool), strings.Count(want, "\n"))
}

// spaces makes columns comparable that have another width in each run.
var spaces = regexp.MustCompile(` +`)
