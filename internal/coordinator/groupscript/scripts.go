package groupscript

import (
	"embed"
	"maps"
	"path"
	"slices"
	"strings"

	"kf/internal/format/grouprec"
)

//go:embed testdata
var testdata embed.FS

// Names returns the names of the scripts, which are those of their groups.
func Names() []string {
	files, err := testdata.ReadDir("testdata")
	if err != nil {
		panic(err)
	}
	names := make(map[string]bool)
	for _, f := range files {
		names[strings.TrimSuffix(f.Name(), path.Ext(f.Name()))] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Script returns the script of a name.
func Script(name string) string { return read(name + ".txt") }

// Kafka returns what [Play.Text] was when the script was played before Apache
// Kafka 4.4.0, with the topics that [Before] lists and a session timeout of
// [SessionTimeout].
func Kafka(name string) string { return read(name + ".kafka") }

func read(name string) string {
	p, err := testdata.ReadFile("testdata/" + name)
	if err != nil {
		panic(err)
	}
	return string(p)
}

// Before lists the topics that are there before a script is played, with their
// partitions.
var Before = map[string]int32{"t": 3, "u": 1, "regex-1": 2}

// The settings of the coordinator, by Kafka's names, with which scripts are played.
const (
	SessionTimeout    = 12000 // ms; group.consumer.session.timeout.ms
	HeartbeatInterval = 1000  // ms; group.consumer.heartbeat.interval.ms
	MinSession        = 1000  // ms; group.min.session.timeout.ms
)

// Text tells what was answered, and recorded for the play's group.
func (p *Play) Text(all []grouprec.Record) string {
	notes := p.Named(strings.Join(p.Notes, "\n")) // some ids were not known then
	return "# answers\n" + notes + "\n# records\n" + strings.Join(p.Records(all), "\n") + "\n"
}
