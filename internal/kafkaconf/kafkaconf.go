// Package kafkaconf is the table of Kafka's configuration keys: what a topic, a
// group and a broker can be told, of which type and in which range, what holds if
// they are told nothing, and which setting wins where several do.
//
// Values are texts, as in requests, in metadata records and in
// server.properties. [Key.Parse] gives the form in which Kafka shows a value, and
// fails with the sentence that Kafka answers, which scripts and tests look for.
//
// Source: Kafka 4.4.0: names, types, defaults, ranges and update modes as its
// LogConfig.configDef, GroupConfig, KafkaConfig.configDef, ServerTopicConfigSynonyms
// and DynamicBrokerConfig say at run time; the rules are those of ConfigDef,
// ConfigHelper and GroupConfig.
package kafkaconf

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kf/internal/javafmt"
)

// A Type says what a value is. The numbers are those of DescribeConfigs.
type Type int8

const (
	Unknown  Type = 0 // of a key that Kafka does not know
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3 // 32 bits
	Short    Type = 4 // 16 bits
	Long     Type = 5 // 64 bits
	Double   Type = 6
	List     Type = 7 // comma-separated
	Class    Type = 8 // a Java class
	Password Type = 9 // never shown
)

var typeNames = [...]string{Unknown: "UNKNOWN", Boolean: "BOOLEAN", String: "STRING", Int: "INT", Short: "SHORT", Long: "LONG", Double: "DOUBLE", List: "LIST", Class: "CLASS", Password: "PASSWORD"}

func (t Type) String() string { return typeNames[t] }

// A Mode says how a broker key may be changed while the broker runs.
type Mode int8

const (
	ReadOnly    Mode = iota // in server.properties only
	PerBroker               // for one broker
	ClusterWide             // for one broker or for all
)

// A Key is one configuration key.
type Key struct {
	Name string
	Type Type
	Mode Mode // of a broker key
	// Internal says that DescribeConfigs shows it only where it is set.
	Internal bool

	// Default is the value if there is no other, as DescribeConfigs shows it.
	// HasDefault is false if there is none then, which is shown as null.
	Default    string
	HasDefault bool

	// Synonyms are the broker keys that give a key of a topic or a group its
	// default, the one that wins first.
	Synonyms []Synonym

	Min, Max *int64   // bounds of a number, nil for none; both belong to it
	oldMin   *int64   // Min of earlier releases, whose topics keep what they have
	Allowed  []string // values of a string or the elements of a list, nil for any
	anyCase  bool     // Allowed are matched in upper and lower case
	// least and most are the broker keys that say within which bounds a group may
	// set a number, "" for none.
	least, most string

	special check  // what else is asked of the value
	Doc     string // one sentence
}

// A Synonym is a broker key that gives a topic key its default. Its value is
// multiplied, so that hours become milliseconds.
type Synonym struct {
	Name   string
	Factor int64
}

// Sensitive reports whether the value must never be shown. It may be a password
// if nobody knows the key.
func (k *Key) Sensitive() bool { return k.Type == Password || k.Type == Unknown }

// A check is a rule that only few keys have.
type check int8

const (
	anything    check = iota
	gzipLevel         // 1 to 9, or -1
	replicas          // * or a list of partition:broker
	distinct          // a list whose elements are neither empty nor repeated
	some              // such a list, with one element at least
	offsetReset       // earliest, latest, or by_duration and an ISO 8601 duration
)

// The tables are sorted by name.
var (
	topicIndex  = index(topicKeys)
	groupIndex  = index(groupKeys)
	brokerIndex = index(brokerKeys)
)

func index(keys []Key) map[string]*Key {
	m := make(map[string]*Key, len(keys))
	for i := range keys {
		m[keys[i].Name] = &keys[i]
	}
	return m
}

// TopicKeys returns the keys of topics, sorted by name. The slice is the caller's,
// what the keys refer to is not.
func TopicKeys() []Key { return slices.Clone(topicKeys) }

// TopicKey returns a key of topics; ok is false if Kafka has none of that name.
func TopicKey(name string) (k Key, ok bool) { return find(topicIndex, name) }

// GroupKeys returns the keys of groups of every type, sorted by name. The slice is
// the caller's, what the keys refer to is not.
func GroupKeys() []Key { return slices.Clone(groupKeys) }

// GroupKey returns a key of groups; ok is false if Kafka has none of that name.
func GroupKey(name string) (k Key, ok bool) { return find(groupIndex, name) }

// BrokerKeys returns the broker keys that kf heeds, sorted by name. The slice
// is the caller's, what the keys refer to is not.
func BrokerKeys() []Key { return slices.Clone(brokerKeys) }

// BrokerKey returns a broker key that kf heeds.
func BrokerKey(name string) (k Key, ok bool) { return find(brokerIndex, name) }

func find(in map[string]*Key, name string) (Key, bool) {
	if k, ok := in[name]; ok {
		return *k, true
	}
	return Key{}, false
}

// UnsupportedBrokerKey reports whether Kafka has a broker key of that name that
// kf does not heed. A name that is neither such nor a [BrokerKey] is misspelt,
// or one that only a plug-in knows.
func UnsupportedBrokerKey(name string) bool {
	_, ok := slices.BinarySearch(unsupportedBrokerKeys, name)
	return ok
}

// ErrUnknownKey is matched by the error for a topic key that Kafka does not have.
var ErrUnknownKey = errors.New("unknown key")

// An UnknownKeyError matches [ErrUnknownKey].
type UnknownKeyError struct{ Name string }

func (e *UnknownKeyError) Error() string { return "Unknown topic config name: " + e.Name }

// Is makes errors.Is(err, ErrUnknownKey) true.
func (e *UnknownKeyError) Is(target error) bool { return target == ErrUnknownKey }

// An Error is Kafka's sentence about a value or a combination of values that it
// does not take.
type Error string

func (e Error) Error() string { return string(e) }

// Validate returns why the value does not fit the key, an [Error], or nil if it
// does.
func (k *Key) Validate(value string) error {
	_, err := k.Parse(value)
	return err
}

// Parse returns the value in the form in which Kafka shows it: without blanks
// around it and around the elements of a list, numbers in Java's notation.
func (k *Key) Parse(value string) (string, error) {
	trimmed := strings.TrimFunc(value, blank)
	switch k.Type {
	case Boolean:
		switch {
		case strings.EqualFold(trimmed, "true"):
			return "true", nil
		case strings.EqualFold(trimmed, "false"):
			return "false", nil
		}
		return "", k.invalid(value, "Expected value to be either true or false")
	case Int, Short, Long:
		n, err := javafmt.ParseInt(trimmed, map[Type]int{Short: 16, Int: 32, Long: 64}[k.Type])
		if err != nil {
			return "", k.invalid(value, "Not a number of type "+k.Type.String())
		}
		shown := strconv.FormatInt(n, 10)
		switch {
		case k.special == gzipLevel && n != -1 && (n < *k.Min || n > *k.Max):
			return "", k.invalid(shown, fmt.Sprintf("Value must be between %d and %d or equal to -1", *k.Min, *k.Max))
		case k.special == gzipLevel:
		case k.Min != nil && n < *k.Min:
			return "", k.invalid(shown, tooLow(*k.Min))
		case k.Max != nil && n > *k.Max:
			return "", k.invalid(shown, tooHigh(*k.Max))
		}
		return shown, nil
	case Double:
		f, ok := parseDouble(trimmed)
		if !ok {
			return "", k.invalid(value, "Not a number of type "+k.Type.String())
		}
		shown := string(javafmt.AppendDouble(nil, f))
		switch {
		case k.Min != nil && f < float64(*k.Min):
			return "", k.invalid(shown, tooLow(*k.Min))
		case k.Max != nil && f > float64(*k.Max):
			return "", k.invalid(shown, tooHigh(*k.Max))
		}
		return shown, nil
	case List:
		elements := Split(trimmed)
		return strings.Join(elements, ","), k.checkList(elements)
	}
	if k.special == offsetReset && !isOffsetReset(trimmed) {
		return "", k.invalid(trimmed, fmt.Sprintf("Invalid value `%s` for configuration %s. The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.", trimmed, k.Name))
	}
	return trimmed, k.oneOf(trimmed)
}

// parseDouble reads what Java's Double.parseDouble reads.
func parseDouble(s string) (f float64, ok bool) {
	switch strings.TrimLeft(s, "+-") {
	case "NaN", "Infinity":
	default:
		if strings.Contains(s, "_") || strings.ContainsAny(s, "nN") { // Go's liberties
			return 0, false
		}
		if n := len(s) - 1; n > 0 && strings.Contains("dDfF", s[n:]) {
			s = s[:n]
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

// Split returns the elements of a list.
func Split(value string) []string {
	value = strings.TrimFunc(value, blank)
	if value == "" {
		return nil
	}
	elements := strings.Split(value, ",")
	for i, e := range elements {
		// Java's pattern \s*,\s* takes the blanks next to commas only.
		if i > 0 {
			e = strings.TrimLeft(e, space)
		}
		if i < len(elements)-1 {
			e = strings.TrimRight(e, space)
		}
		elements[i] = e
	}
	return elements
}

// space is what Java's \s matches.
const space = " \t\n\v\f\r"

// blank reports whether Java's trim removes a character.
func blank(r rune) bool { return r <= ' ' }

func (k *Key) checkList(elements []string) error {
	switch k.special {
	case replicas:
		if !slices.ContainsFunc(elements, notReplica) || len(elements) == 1 && elements[0] == "*" {
			return nil
		}
		return k.invalid("["+strings.Join(elements, ", ")+"]", k.Name+" must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...")
	case distinct, some:
		if k.special == some && len(elements) == 0 {
			values := "any non-empty value"
			if k.Allowed != nil {
				values = "[" + strings.Join(k.Allowed, ", ") + "]"
			}
			return Error(fmt.Sprintf("Configuration '%s' must not be empty. Valid values include: %s", k.Name, values))
		}
		sorted := slices.Sorted(slices.Values(elements))
		if len(slices.Compact(sorted)) < len(elements) {
			return Error(fmt.Sprintf("Configuration '%s' values must not be duplicated.", k.Name))
		}
	}
	for _, e := range elements {
		if e == "" && (k.special == distinct || k.special == some) {
			return Error(fmt.Sprintf("Configuration '%s' values must not be empty.", k.Name))
		}
		if err := k.oneOf(e); err != nil {
			return err
		}
	}
	return nil
}

var replica = regexp.MustCompile(`^([0-9]+:[0-9]+)?$`)

func notReplica(s string) bool { return !replica.MatchString(s) }

func (k *Key) oneOf(value string) error {
	if k.anyCase {
		if !slices.Contains(k.Allowed, strings.ToUpper(value)) {
			return k.invalid(value, "String must be one of (case insensitive): "+strings.Join(k.Allowed, ", "))
		}
		return nil
	}
	if k.Allowed != nil && !slices.Contains(k.Allowed, value) {
		return k.invalid(value, "String must be one of: "+strings.Join(k.Allowed, ", "))
	}
	return nil
}

func tooLow(least int64) string { return fmt.Sprintf("Value must be at least %d", least) }
func tooHigh(most int64) string { return fmt.Sprintf("Value must be no more than %d", most) }

// invalid is Kafka's sentence for a value that does not fit.
func (k *Key) invalid(value, why string) error {
	return Error(fmt.Sprintf("Invalid value %s for configuration %s: %s", value, k.Name, why))
}
