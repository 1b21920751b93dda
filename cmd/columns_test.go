package cmd_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rowTypes are the types of the rows that the commands of "kf help columns" print, as
// the headings of the topic name the commands.
var rowTypes = map[string]string{
	"topics list":               "topics.listRow topics.sizedRow",
	"topics describe":           "topics.topicRow topics.partitionRow",
	"topics create":             "topics.createRow",
	"topics alter":              "topics.alterRow",
	"topics delete":             "topics.deleteRow",
	"topics offsets":            "topics.rangeRow topics.pointRow",
	"topics trim":               "topics.trimRow",
	"groups list":               "groups.groupRow",
	"groups describe":           "groups.offsetRow groups.fullOffsetRow",
	"groups describe --state":   "groups.stateRow groups.fullStateRow",
	"groups describe --members": "groups.memberRow groups.fullMemberRow",
	"groups members":            "groups.memberRow groups.fullMemberRow",
	"groups lag":                "groups.lagRow",
	"groups lag --watch":        "groups.watchRow groups.plottedRow",
	"groups peek":               "groups.peekRow",
	"groups reset":              "groups.resetRow",
	"groups delete":             "groups.deletedRow",
	"groups delete-offsets":     "groups.deletedOffsetRow",
	"configs describe":          "configs.row",
	"configs describe --diff":   "configs.diffRow",
	"configs alter":             "configs.alterRow",
	"brokers list":              "brokers.brokerRow",
	"brokers describe":          "brokers.describedRow brokers.apiRow brokers.nodeFeatureRow",
	"brokers logdirs":           "brokers.dirRow brokers.replicaRow",
	"brokers quorum":            "brokers.quorumRow",
	"brokers features":          "brokers.featureRow",
	"brokers features mapping":  "brokers.mappingRow",
	"brokers features upgrade":  "brokers.updateRow", "brokers features downgrade": "brokers.updateRow",
	"brokers features disable": "brokers.updateRow",
	"cluster describe":         "cluster.clusterRow",
	"cluster id":               "cluster.idRow",
	"cluster endpoints":        "cluster.endpointRow",
	"cluster unregister":       "cluster.unregisterRow",
	"acls list":                "acls.aclRow",
	"acls create":              "acls.changeRow",
	"acls delete":              "acls.changeRow",
	"context list":             "context.contextRow",
	"context show":             "context.propertyRow",
	"context import":           "context.propertyRow",
	"config explain":           "context.explainRow",
}

// What "kf help columns" names are the columns of each command: none is missing, none
// is made up, and no type of row of an online command is without a command.
func TestColumns(t *testing.T) {
	code, text, stderr := run(t, "help", "columns")
	if code != 0 {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	told := toldColumns(text)
	rows := rowStructs(t, "../topics", "../groups", "acls", "brokers", "cluster", "configs", "context")
	for command, types := range rowTypes {
		var want []string
		for _, name := range strings.Fields(types) {
			row := rows[name]
			if row == nil {
				t.Fatalf("%s: there are no rows %s", command, name)
			}
			row.used(rows)
			want = append(want, row.all(rows)...)
		}
		slices.Sort(want)
		got := slices.Sorted(slices.Values(told[command]))
		if want = slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("kf %s: kf help columns has\n%q, the rows have\n%q", command, got, want)
		}
	}
	for command := range told {
		if rowTypes[command] == "" {
			t.Errorf("kf help columns has %q, of which the test knows no rows", command)
		}
	}
	for name, r := range rows {
		if !r.seen {
			t.Errorf("rows %s belong to no command of kf help columns", name)
		}
	}
}

// toldColumns returns the names below each heading of the topic, by command.
func toldColumns(text string) map[string][]string {
	names := regexp.MustCompile(`^  ([a-z_]+(?:, [a-z_]+)*)(?:  |$)`)
	told := map[string][]string{}
	var commands []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch found := names.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "kf "):
			commands = strings.Split(strings.TrimPrefix(line, "kf "), ", kf ")
		case found != nil:
			for _, c := range commands {
				told[c] = append(told[c], strings.Split(found[1], ", ")...)
			}
		}
	}
	return told
}

// A rowStruct is a struct of the source with columns, or that embeds one.
type rowStruct struct {
	columns  []string // its own
	embedded []string // names as in a map of rowStructs
	seen     bool
}

func (r *rowStruct) all(rows map[string]*rowStruct) []string {
	all := slices.Clone(r.columns)
	for _, e := range r.embedded {
		all = append(all, rows[e].all(rows)...)
	}
	return all
}

func (r *rowStruct) used(rows map[string]*rowStruct) {
	r.seen = true
	for _, e := range r.embedded {
		rows[e].used(rows)
	}
}

// rowStructs returns the structs with columns in the Go source of the folders, by
// package and name. The types are of no use outside of their packages, so no program
// could name them: the source can.
func rowStructs(t *testing.T, dirs ...string) map[string]*rowStruct {
	t.Helper()
	rows := map[string]*rowStruct{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(source, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				fields, ok := spec.Type.(*ast.StructType)
				if !ok {
					return true
				}
				if r := newRowStruct(source.Name.Name, fields); r.columns != nil {
					rows[source.Name.Name+"."+spec.Name.Name] = r
				}
				return false
			})
		}
	}
	return rows
}

func newRowStruct(pkg string, s *ast.StructType) *rowStruct {
	var r rowStruct
	for _, f := range s.Fields.List {
		if f.Tag != nil {
			tag, _ := strconv.Unquote(f.Tag.Value) // the parser has read it
			if name, _, _ := strings.Cut(reflect.StructTag(tag).Get("col"), ","); name != "" && name != "-" {
				r.columns = append(r.columns, name)
			}
		}
		if embedded, ok := f.Type.(*ast.Ident); ok && f.Names == nil {
			r.embedded = append(r.embedded, pkg+"."+embedded.Name)
		}
	}
	return &r
}
