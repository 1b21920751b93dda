package group

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/coordinator/shard"
	"kf/internal/format/grouprec"
	"kf/internal/image"
	"kf/internal/javafmt"
)

// Regular expressions of a group are resolved in the background, all at once, when
// one of them is new, topics were created, or some time has passed. What they match
// is recorded, and raises the group epoch if it is not what they matched before.

// A patternChange says what became of a member's regular expression.
type patternChange int8

const (
	patternSame     patternChange = iota
	patternNew                    // another one, which has yet to be resolved
	patternResolved               // another one that is resolved, or none any more
)

// patternPause is for how long regular expressions that were resolved are not
// resolved again, whatever happens, in ms.
//
// Source: Kafka 4.4.0, GroupMetadataManager.java.
const patternPause = 10_000

// updatePattern writes what follows when the member has another regular expression,
// and has the group's resolved if it is time. It fails with
// INVALID_REGULAR_EXPRESSION.
func (ch *consumerChange) updatePattern() (change patternChange, err error) {
	g := ch.g
	was, is := ch.old.usesPattern(), ch.updated.usesPattern()
	due := false
	if !same(ch.old.pattern, ch.updated.pattern) {
		change = patternNew
		if was != "" && g.patterns[was] == 1 {
			ch.write(g.patternTombstone(was))
		}
		switch {
		case is == "" && was != "", is != "" && g.patterns[is] > 0 && g.resolved[is] != nil:
			change = patternResolved
		case is != "" && g.patterns[is] == 0:
			if err := checkPattern(is); err != nil {
				return 0, err
			}
			due = true
		}
	}
	if !due && len(g.patterns) == 0 || ch.m.shard.Working(g.timerKey(consumerPatterns, "")) {
		return change, nil
	}
	last, resolvedFor := g.lastResolved()
	if last != nil && ch.now <= *last+patternPause {
		return change, nil
	}
	patterns := maps.Clone(g.patterns)
	count(patterns, was, -1)
	count(patterns, is, 1)
	due = due || len(patterns) != len(g.resolved) || resolvedFor < ch.m.topics.created ||
		last == nil || ch.now > *last+int64(ch.config.ConsumerRegexRefresh)
	if due && len(patterns) > 0 {
		ch.done = append(ch.done, func() { ch.m.resolvePatterns(g.groupID, slices.Collect(maps.Keys(patterns))) })
	}
	return change, nil
}

// lastResolved returns when the group's regular expressions were resolved, nil if
// they never were, and for which version of the image.
func (g *consumerGroup) lastResolved() (at *int64, version int64) {
	for _, r := range g.resolved { // all at once, so that any tells it
		if at == nil || *at < r.at {
			at, version = &r.at, r.version
		}
	}
	return at, version
}

// checkPattern fails with INVALID_REGULAR_EXPRESSION.
func checkPattern(pattern string) error {
	if _, err := compilePattern(pattern); err != nil {
		return refuse(kerr.InvalidRegularExpression, fmt.Sprintf("SubscribedTopicRegex `%s` is not a valid regular expression: %v.", pattern, err))
	}
	return nil
}

// compilePattern returns a regular expression that prefers the longest match: a text
// as a whole matches if it is the match that is found. The error has the words of
// RE2/J, which Kafka uses and which is RE2 as Go's package is.
//
// Deviation from Kafka 4.4.0: counted repetitions that come to more than 1000 when
// they are nested, as in (a{50}){50}, are refused with "invalid repeat count".
func compilePattern(pattern string) (*regexp.Regexp, error) {
	re, err := regexp.Compile(pattern)
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		if e.Code == syntax.ErrUnexpectedParen {
			return nil, errors.New("regexp/syntax: internal error")
		}
		return nil, errors.New(e.Code.String())
	}
	seen := make(map[string]bool)
	for _, name := range re.SubexpNames() {
		if name != "" && seen[name] {
			return nil, errors.New("duplicate capture group name")
		}
		seen[name] = true
	}
	re.Longest()
	return re, nil
}

// matchesWhole reports whether a text as a whole matches an expression of
// compilePattern.
func matchesWhole(re *regexp.Regexp, text string) bool {
	at := re.FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text)
}

// resolvePatterns resolves regular expressions of a group in the background.
//
// Source: Kafka 4.4.0, TopicRegexResolver.java.
func (m *machine) resolvePatterns(id string, patterns []string) {
	im, now := m.image, nowMillis()
	m.shard.Go(timerKey(consumerPatterns, id, ""), func(ctx context.Context) func() shard.Result {
		matched := matchTopics(ctx, im, patterns)
		return func() shard.Result { return m.patternsResolved(id, matched, imageVersion(im), now) }
	})
}

// matchTopics returns the topics that each of patterns matches; one that is not
// valid matches none. It stops when ctx ends.
func matchTopics(ctx context.Context, im *image.Image, patterns []string) map[string][]string {
	matched := make(map[string][]string, len(patterns))
	for _, pattern := range patterns {
		matched[pattern] = nil
		re, err := compilePattern(pattern)
		if err != nil { // another release took it
			continue
		}
		for t := range im.Topics() {
			if ctx.Err() != nil {
				return matched
			}
			if matchesWhole(re, t.Name) {
				matched[pattern] = append(matched[pattern], t.Name)
			}
		}
	}
	return matched
}

// patternsResolved records what the regular expressions of a group match.
func (m *machine) patternsResolved(id string, matched map[string][]string, version, at int64) shard.Result {
	g, ok := m.groups[id].(*consumerGroup)
	if !ok {
		return shard.Result{}
	}
	var records []shard.Record
	topics := maps.Clone(g.topics)
	raise := false
	for _, pattern := range slices.SortedFunc(maps.Keys(matched), javafmt.Compare) {
		if g.patterns[pattern] == 0 { // nobody wants it any more
			continue
		}
		names := sortedNames(matched[pattern])
		var before []string
		if r := g.resolved[pattern]; r != nil {
			before = r.topics
		}
		if !slices.Equal(before, names) {
			raise = true
			topics.addAll(before, 0, -1)
			topics.addAll(names, 0, 1)
		}
		records = append(records, put(&grouprec.ConsumerGroupRegularExpressionKey{GroupID: id, RegularExpression: pattern},
			&grouprec.ConsumerGroupRegularExpressionValue{Topics: names, Version: version, Timestamp: at}))
	}
	hash := m.metadataHash(topics)
	if raise || hash != g.hash {
		records = append(records, g.epochRecord(g.epoch+1, hash))
		g.fresh = freshness{nowMillis() + refreshAfter, g.epoch + 1}
	}
	return shard.Result{Records: records}
}
