package client

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// passwords are the properties of Java's type PASSWORD that kf heeds.
var passwords = []string{
	"sasl.jaas.config", "sasl.oauthbearer.client.credentials.client.secret",
	"ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.password",
	"ssl.truststore.certificates", "ssl.truststore.password",
}

// settings reads properties by type, as Java's ConfigDef does: values are trimmed,
// those of passwords are not. An empty value is as good as none. What is wrong is kept,
// so that all of it is said at once.
type settings struct {
	props   Properties
	remarks []Remark
	errs    []error
}

func (s *settings) err() error { return errors.Join(s.errs...) }

// refuse says that a property is wrong.
func (s *settings) refuse(name, format string, a ...any) {
	s.errs = append(s.errs, &PropertyError{name, s.props[name].Origin, fmt.Errorf(format, a...)})
}

func (s *settings) warn(name, format string, a ...any) {
	s.remarks = append(s.remarks, Remark{name, s.props[name].Origin, fmt.Sprintf(format, a...), true})
}

func (s *settings) note(name, format string, a ...any) {
	s.remarks = append(s.remarks, Remark{name, s.props[name].Origin, fmt.Sprintf(format, a...), false})
}

func (s *settings) set(name string) bool { return s.get(name) != "" }

func (s *settings) get(name string) string {
	v := s.props.Get(name)
	if slices.Contains(passwords, name) {
		return v
	}
	return strings.TrimSpace(v)
}

// choice returns the value in capitals, or the first of those allowed.
func (s *settings) choice(name string, allowed ...string) string {
	v := strings.ToUpper(s.get(name))
	switch {
	case v == "":
		return allowed[0]
	case !slices.Contains(allowed, v):
		s.refuse(name, "it is %q, but must be one of %s", s.get(name), strings.Join(allowed, ", "))
	}
	return v
}

// number returns an integer of at least least.
func (s *settings) number(name string, unset, least int64) int64 {
	v := s.get(name)
	if v == "" {
		return unset
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least {
		s.refuse(name, "it is %q, but must be a whole number from %d on", v, least)
		return unset
	}
	return n
}

// millis returns a time between two bounds of what is underneath.
func (s *settings) millis(name string, unset, least, most time.Duration) time.Duration {
	n := s.number(name, unset.Milliseconds(), 0)
	d := time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	if bounded := min(max(d, least), most); bounded != d {
		s.note(name, "kf makes it %v", bounded)
		return bounded
	}
	return d
}

func (s *settings) flag(name string) bool {
	switch v := strings.ToLower(s.get(name)); v {
	case "true":
		return true
	case "", "false":
	default:
		s.refuse(name, "it is %q, but must be true or false", v)
	}
	return false
}

// list returns the parts between commas, without blanks.
func (s *settings) list(name string) []string {
	var all []string
	for part := range strings.SplitSeq(s.get(name), ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

// class returns the last part of the name of a class.
func (s *settings) class(name string) string {
	v := s.get(name)
	return v[strings.LastIndexByte(v, '.')+1:]
}
