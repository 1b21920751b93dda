package dump

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kf/internal/cli"
	"kf/internal/javafmt"
)

// How Kafka's parser takes the argument of an option.
type argument int

const (
	noArgument       argument = iota // "--flag=anything" is the flag
	requiredArgument                 // takes the next word, whatever it looks like
	optionalArgument                 // takes the next word unless it is an option
)

// logOptions are the options of kafka-dump-log.sh of Kafka 4.4.
var logOptions = map[string]argument{
	"files":                       requiredArgument,
	"print-data-log":              noArgument,
	"deep-iteration":              noArgument,
	"skip-record-metadata":        noArgument,
	"max-bytes":                   requiredArgument,
	"max-message-size":            requiredArgument,
	"index-sanity-check":          noArgument,
	"verify-index-only":           noArgument,
	"key-decoder-class":           optionalArgument,
	"value-decoder-class":         optionalArgument,
	"offsets-decoder":             noArgument,
	"transaction-log-decoder":     noArgument,
	"cluster-metadata-decoder":    noArgument,
	"remote-log-metadata-decoder": noArgument,
	"share-group-state-decoder":   noArgument,
	"help":                        noArgument,
	"version":                     noArgument,
}

// NormalizeArgs rewrites the arguments of the whole program, without its name,
// if they call "kf dump-log": what only Kafka's option parser understands (one
// dash, values that look like options, optional values, values of flags without
// one) becomes what pflag understands. Other commands' arguments stay.
func NormalizeArgs(root *cobra.Command, args []string) []string {
	cmd, rest, err := root.Find(args)
	if err != nil || cmd.Name() != logName {
		return args
	}
	return append([]string{logName}, normalizeLogArgs(rest)...)
}

func normalizeLogArgs(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...)
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		kind, known := logOptions[name]
		if !known || !strings.HasPrefix(arg, "-") {
			out = append(out, arg)
			continue
		}
		option := "--" + name
		switch {
		case kind == noArgument:
		case hasValue:
			option += "=" + value
		case i+1 == len(args):
		case kind == requiredArgument || args[i+1] == "-" || !strings.HasPrefix(args[i+1], "-"):
			i++
			option += "=" + args[i]
		}
		out = append(out, option)
	}
	return out
}

// single is an option that may be given once. Kafka's parser finds out about a
// second one, and about a value of the wrong type, only when the value is
// needed; so does this.
type single struct {
	name   string
	def    string
	values []string
	bare   bool // given without a value, any number of times
}

// bareValue is what an option gets that may be given without a value.
const bareValue = "StringDecoder"

// String is empty if the option was not given, so that help shows the default
// where the text says it better.
func (s *single) String() string {
	if len(s.values) == 0 {
		return ""
	}
	return s.values[0]
}

func (s *single) Set(v string) error {
	if v == bareValue {
		s.bare = true
		return nil
	}
	s.values = append(s.values, v)
	return nil
}

func (s *single) Type() string { return "string" }

func (s *single) given() bool { return s.bare || len(s.values) > 0 }

func (s *single) value() (string, error) {
	if len(s.values) > 1 {
		return "", cli.Usagef("--%s: given %d times, may be given once", s.name, len(s.values))
	}
	if len(s.values) == 0 {
		return s.def, nil
	}
	return s.values[0], nil
}

func (s *single) int() (int, error) {
	v, err := s.value()
	if err != nil {
		return 0, err
	}
	n, err := javafmt.ParseInt(v, 32)
	if err != nil {
		return 0, cli.Usagef("--%s: %q is not a number of 32 bits", s.name, v)
	}
	return int(n), nil
}

var _ pflag.Value = (*single)(nil)

// splitFiles splits the value of --files at commas; empty items at the end do
// not count.
func splitFiles(v string) []string {
	if v == "" {
		return []string{""}
	}
	files := strings.Split(v, ",")
	for len(files) > 0 && files[len(files)-1] == "" {
		files = files[:len(files)-1]
	}
	return files
}

// javaPath is the path as Kafka's tool prints it: repeated and trailing slashes
// collapse, nothing else.
func javaPath(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path
}

// baseOffset parses the digits in front of the first dot of a file name.
func baseOffset(name string) (int64, error) {
	digits, _, _ := strings.Cut(name, ".")
	n, err := javafmt.ParseInt(digits, 64)
	if err != nil {
		return 0, fmt.Errorf("the name of a segment file begins with its base offset, %q is none", digits)
	}
	return n, nil
}
