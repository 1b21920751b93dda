package configs

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/client"
)

// A change is what is done to a key.
type change struct {
	op    client.ConfigOp
	key   string
	value string // not of a deletion; a password of a credential
	from  string // the flag or the line of the file, for messages

	iterations int32 // of a credential

	err error // why it was not done
}

var opNames = map[client.ConfigOp]string{
	client.SetConfig: "set", client.DeleteConfig: "delete", client.AppendConfig: "append", client.SubtractConfig: "subtract",
}

// cutPair cuts "key=value" at the first equals sign.
func cutPair(flag, text string) (key, value string, err error) {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return "", "", fmt.Errorf("%s %s: want key=value", flag, text)
	}
	return key, value, nil
}

// parsePairs reads the values of --set, --append or --subtract, each key=value: what
// stands behind the first equals sign is taken as it is.
func parsePairs(op client.ConfigOp, pairs []string) ([]change, error) {
	var all []change
	flag := "--" + opNames[op]
	for _, text := range pairs {
		key, value, err := cutPair(flag, text)
		if err != nil {
			if password(text) { // nobody wants to read it again
				text, _, _ = strings.Cut(text, "[")
				err = fmt.Errorf("%s %s: want key=value", flag, text)
			}
			return nil, err
		}
		all = append(all, change{op: op, key: key, value: value, from: flag})
	}
	return all, nil
}

func password(text string) bool { return strings.Contains(text, "password=") }

// parseAddConfig reads --add-config as kafka-configs does: k1=v1,k2=[v1,v2],k3=, where
// commas between brackets separate nothing.
func parseAddConfig(text string) ([]change, error) {
	var all []change
	const flag = "--add-config"
	for start, inside, i := 0, false, 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] == '[':
			inside = true
		case i < len(text) && text[i] == ']':
			inside = false
		case i < len(text) && (text[i] != ',' || inside):
		default:
			key, value, err := cutPair(flag, strings.TrimSpace(text[start:i]))
			if err != nil {
				return nil, fmt.Errorf("%s: want key=value, or key=[value,value] for values with commas, separated by commas", flag)
			}
			all = append(all, change{key: strings.TrimSpace(key), value: unbracket(strings.TrimSpace(value)), from: flag})
			start = i + 1
		}
	}
	return all, nil
}

// unbracket removes a pair of brackets around a value.
func unbracket(s string) string {
	if len(s) >= 2 && s[0] == '[' && s[len(s)-1] == ']' {
		return s[1 : len(s)-1]
	}
	return s
}

// parseDeletions reads the keys of --delete, which may be lists.
func parseDeletions(flag string, lists []string) ([]change, error) {
	var all []change
	for _, list := range lists {
		for key := range strings.SplitSeq(list, ",") {
			if key = strings.TrimSpace(key); key == "" {
				return nil, fmt.Errorf("%s %s: a key is empty", flag, list)
			}
			all = append(all, change{op: client.DeleteConfig, key: key, from: flag})
		}
	}
	return all, nil
}

// mechanisms are the keys of credentials.
var mechanisms = map[string]kadm.ScramMechanism{"SCRAM-SHA-256": kadm.ScramSha256, "SCRAM-SHA-512": kadm.ScramSha512}

// The iterations of SCRAM that Kafka takes. Source: Kafka 4.4.0, ScramMechanism.java,
// ScramControlManager.java, ConfigCommand.java.
const (
	minIterations     = 4096
	maxIterations     = 16384
	defaultIterations = minIterations
)

// checkIterations returns what is wrong with a number of iterations.
func checkIterations(n int64) error {
	if n < minIterations || n > maxIterations {
		return fmt.Errorf("%d iterations: Kafka takes %d to %d", n, minIterations, maxIterations)
	}
	return nil
}

// parseCredential reads "[iterations=8192,password=x]", as kafka-configs takes it, into
// the change; brackets and iterations may be missing.
func (c *change) parseCredential() error {
	text := unbracket(c.value)
	c.iterations = defaultIterations
	if rest, ok := strings.CutPrefix(text, "iterations="); ok {
		number, after, _ := strings.Cut(rest, ",")
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil {
			return fmt.Errorf("%s %s: the iterations are no number", c.from, c.key)
		}
		if n != -1 { // kafka-configs takes it for the default
			if err := checkIterations(n); err != nil {
				return fmt.Errorf("%s %s: %w", c.from, c.key, err)
			}
			c.iterations = int32(n)
		}
		text = after
	}
	secret, ok := strings.CutPrefix(text, "password=")
	if !ok || secret == "" {
		return fmt.Errorf("%s %s: want %s=[iterations=8192,password=…]; better --scram %s, which keeps the password off the command line", c.from, c.key, c.key, c.key)
	}
	c.value = secret
	return nil
}

// parseQuota reads a number as Java does, without its "NaN" and "Infinity".
func parseQuota(text string) (float64, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is no number", text)
	}
	return f, nil
}

// checkChanges checks the changes of an entity as far as that needs no cluster, and
// reads credentials.
func checkChanges(e Entity, changes []change) error {
	seen := make(map[string]bool)
	for i := range changes {
		c := &changes[i]
		if seen[c.key] {
			return fmt.Errorf("%s is changed twice", c.key)
		}
		seen[c.key] = true
		_, credential := mechanisms[c.key]
		list := c.op == client.AppendConfig || c.op == client.SubtractConfig
		switch {
		case e.kind.resource != 0:
			if e.kind == brokerLoggerKind && list {
				return fmt.Errorf("%s %s: the level of a logger is no list", c.from, c.key)
			}
			continue
		case list:
			return fmt.Errorf("%s %s: what %s has is no list", c.from, c.key, e)
		case credential && (e.kind != userKind || e.pair || e.name == ""):
			return fmt.Errorf("%s: only users have credentials, such as user:alice", c.key)
		case credential && c.op == client.SetConfig && c.iterations == 0:
			if err := c.parseCredential(); err != nil {
				return err
			}
		case credential:
		case !slices.ContainsFunc(e.kind.quotaKeys(), func(q quotaKey) bool { return q.name == c.key }) && c.op == client.SetConfig:
			known := make([]string, 0, 6)
			for _, q := range e.kind.quotaKeys() {
				known = append(known, q.name)
			}
			if e.kind == userKind && !e.pair {
				known = slices.AppendSeq(known, maps.Keys(mechanisms))
			}
			slices.Sort(known)
			return fmt.Errorf("%s has no %s: it can have %s", e, c.key, strings.Join(known, ", "))
		case c.op == client.SetConfig:
			if _, err := parseQuota(c.value); err != nil {
				return fmt.Errorf("%s %s: %w", c.from, c.key, err)
			}
		}
	}
	return nil
}
