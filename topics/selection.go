package topics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/wire"
)

// A Selection says which topics a command is about.
//
// A word that can be the name of a topic is that name and nothing else: the dot of
// "a.b" is no wildcard, as it is for Kafka's scripts, which delete a_b along with it.
// Any other word is a pattern as those scripts read it.
type Selection struct {
	Words    []string // none: all topics
	Regex    bool     // all words are patterns
	Internal bool     // patterns, and no words, also find topics that Kafka keeps for itself

	named []string // see flags
}

// take makes the arguments of a command the words; at least one is needed if some is
// true.
func (s *Selection) take(args []string, some bool) error {
	s.Words = append(s.named, args...)
	if some && len(s.Words) == 0 {
		return cli.Usagef("which topics? (see --help)")
	}
	return nil
}

// A rule is what one word, or a part of it, takes.
type rule struct {
	word     string
	name     string         // "" if it is a pattern
	pattern  *regexp.Regexp // nil for any topic, if name is ""
	from, to int32          // partitions, without the last
}

// A matcher is a Selection ready for use.
type matcher struct {
	rules    []rule
	ids      []wire.UUID
	internal bool
	only     []int32 // no partitions but these; nil for all
}

// legalName is what names of topics are made of, and patterns only by chance.
//
// Source: Kafka 4.4.0, Topic.java.
var legalName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// matcher checks the words; its error is one of usage.
func (s Selection) matcher() (*matcher, error) {
	m := &matcher{internal: s.Internal}
	for _, word := range s.Words {
		r, err := s.rule(word)
		if err != nil {
			return nil, cli.Usage(err)
		}
		m.rules = append(m.rules, r)
	}
	return m, nil
}

// strict refuses patterns without --regex. It is for commands that change topics, as a
// pattern can find more than was meant.
func (s Selection) strict(m *matcher) error {
	for _, r := range m.rules {
		if r.name == "" && !s.Regex {
			return cli.Usagef("%q is no name of a topic: for a pattern give --regex", r.word)
		}
	}
	return nil
}

// rule reads a word that says nothing of partitions.
func (s Selection) rule(word string) (rule, error) {
	r := rule{word: word, to: math.MaxInt32}
	if !s.Regex && legalName.MatchString(word) {
		r.name = word
		return r, nil
	}
	var err error
	r.pattern, err = compile(word)
	return r, err
}

// compile reads a pattern by Kafka's rules: a comma means "or", blanks do not count,
// nor do quotes around it, and it must match the whole name.
//
// Source: Kafka 4.4.0, TopicFilter.java.
func compile(word string) (*regexp.Regexp, error) {
	text := strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(word), ",", "|"), " ", "")
	text = strings.Trim(text, `"'`)
	if text == "" {
		return nil, fmt.Errorf("%q is no name of a topic, and no pattern", word)
	}
	if _, err := regexp.Compile(text); err != nil {
		return nil, fmt.Errorf("%q is no name of a topic, and no pattern: %w", word, err)
	}
	return regexp.Compile("^(?:" + text + ")$")
}

// names returns the topics that words name, without doubles.
func (m *matcher) names() []string {
	var all []string
	for _, r := range m.rules {
		if r.name != "" && !slices.Contains(all, r.name) {
			all = append(all, r.name)
		}
	}
	return all
}

// patterns reports whether some word is none of a name.
func (m *matcher) patterns() bool {
	return slices.ContainsFunc(m.rules, func(r rule) bool { return r.name == "" })
}

// all reports whether the selection names nothing.
func (m *matcher) all() bool { return len(m.rules) == 0 && len(m.ids) == 0 }

func (m *matcher) takes(r rule, t *client.Topic) bool {
	switch {
	case r.name != "":
		return r.name == t.Name
	case t.Internal && !m.internal:
		return false
	}
	return r.pattern == nil || r.pattern.MatchString(t.Name)
}

// matches reports whether the selection has the topic.
func (m *matcher) matches(t *client.Topic) bool {
	if m.all() {
		return m.internal || !t.Internal
	}
	return slices.Contains(m.ids, t.ID) || slices.ContainsFunc(m.rules, func(r rule) bool { return m.takes(r, t) })
}

// A topicSource answers for topics.
type topicSource interface {
	Topics(ctx context.Context, names []string) (*client.Cluster, error)
}

// choose asks the cluster for the topics of a selection, with one request. Those
// that can be described are in the cluster's list; failed are the names that cannot,
// each with its reason.
func (m *matcher) choose(ctx context.Context, cl topicSource) (cluster *client.Cluster, failed []client.Topic, err error) {
	var ask []string
	named, ids := m.names(), slices.Clone(m.ids)
	if len(named) > 0 && len(ids) == 0 && !m.patterns() {
		ask = named
	}
	cluster, err = cl.Topics(ctx, ask)
	if err != nil {
		return nil, nil, err
	}
	var chosen []client.Topic
	for _, t := range cluster.Topics {
		named = slices.DeleteFunc(named, func(name string) bool { return name == t.Name })
		ids = slices.DeleteFunc(ids, func(id wire.UUID) bool { return id == t.ID })
		switch {
		case !m.matches(&t):
		case t.Err != nil:
			failed = append(failed, t)
		default:
			chosen = append(chosen, t)
		}
	}
	for _, name := range named { // what a list of all did not have
		failed = append(failed, client.Topic{Name: name, Err: kerr.UnknownTopicOrPartition})
	}
	for _, id := range ids {
		failed = append(failed, client.Topic{Name: id.String(), Err: kerr.UnknownTopicID})
	}
	cluster.Topics = chosen
	return cluster, failed, nil
}

// failures are the targets of a command that could not be done; each is told at
// once, and the others go on.
type failures struct {
	env  *cli.Env
	some bool
	late bool // for one of them time ran out
}

// add tells of a failure; errors among its arguments say whether time ran out.
func (f *failures) add(format string, a ...any) {
	f.some = true
	for _, v := range a {
		if err, ok := v.(error); ok && errors.Is(err, context.DeadlineExceeded) {
			f.late = true
		}
	}
	f.env.Errorf(format, a...)
}

// topic tells why something failed for a topic.
func (f *failures) topic(name string, err error) { f.add("topic %s: %s", name, reason(err)) }

// topics tells of topics that cannot be described. With ifExists those that there are
// not are no failure.
func (f *failures) topics(failed []client.Topic, ifExists bool) {
	for _, t := range failed {
		if !ifExists || !errors.Is(t.Err, kerr.UnknownTopicOrPartition) && !errors.Is(t.Err, kerr.UnknownTopicID) {
			f.topic(t.Name, t.Err)
		}
	}
}

// end returns the error of the command.
func (f *failures) end() error {
	switch {
	case f.late:
		return cli.Status(cli.ExitTimeout)
	case f.some:
		return cli.Silent
	}
	return nil
}

// each returns the errors that were joined into err.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// A reasoned is an error with what to tell a person about it.
type reasoned struct {
	text string
	err  error
}

func (r reasoned) Error() string { return r.text }
func (r reasoned) Unwrap() error { return r.err }

// reason returns err in words for a person, with the next step where there is one.
func reason(err error) error {
	text := strings.TrimSuffix(err.Error(), ".")
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		text = "there is no such topic: 'kf topics list' shows all"
	case errors.Is(err, kerr.UnknownTopicID):
		text = "no topic has this id: 'kf topics list -o json' shows them"
	case errors.Is(err, kerr.TopicAlreadyExists):
		text += ": to take that for success, give --if-not-exists"
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		text += ": an administrator can allow it with ACLs"
	case errors.Is(err, kerr.TopicDeletionDisabled):
		text += ": the brokers run with delete.topic.enable=false"
	}
	return reasoned{text, err}
}
