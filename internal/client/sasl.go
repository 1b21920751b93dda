package client

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// moduleOf has the login module of each mechanism.
var moduleOf = map[string]string{
	"PLAIN":         "org.apache.kafka.common.security.plain.PlainLoginModule",
	"SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
	"SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
	"OAUTHBEARER":   "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
}

var mechanisms = []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"}

// A credential is how the client logs in, and as whom.
type credential struct {
	sasl.Mechanism
	user string // "" if it is in a token
}

// sasl reads the sasl.* properties; nil if they are wrong.
func (s *settings) sasl() *credential {
	mechanism := s.get("sasl.mechanism")
	switch {
	case mechanism == "" && !s.set("sasl.jaas.config"):
		s.refuse("security.protocol", "it is %s, so sasl.mechanism and sasl.jaas.config must be set; mechanisms are %s", s.get("security.protocol"), strings.Join(mechanisms, ", "))
		return nil
	case mechanism == "":
		s.refuse("sasl.mechanism", "it is not set, and means GSSAPI (Kerberos) then, which kf does not speak: set it to one of %s", strings.Join(mechanisms, ", "))
		return nil
	case mechanism == "GSSAPI":
		s.refuse("sasl.mechanism", "kf does not speak GSSAPI (Kerberos): ask for a listener with one of %s", strings.Join(mechanisms, ", "))
		return nil
	case !slices.Contains(mechanisms, mechanism):
		hint := ""
		if upper := strings.ToUpper(mechanism); slices.Contains(mechanisms, upper) {
			hint = ": it is spelt " + upper
		}
		s.refuse("sasl.mechanism", "kf does not speak %q, but %s%s", mechanism, strings.Join(mechanisms, ", "), hint)
		return nil
	}
	for _, name := range []string{"sasl.client.callback.handler.class", "sasl.login.class"} {
		if s.set(name) {
			s.refuse(name, "kf cannot run Java code")
			return nil
		}
	}
	l, ok := s.login(mechanism)
	if !ok {
		return nil
	}
	if mechanism == "OAUTHBEARER" {
		return s.oauth(l)
	}
	if name := "sasl.login.callback.handler.class"; s.set(name) {
		s.refuse(name, "kf cannot run Java code")
		return nil
	}
	user, password := l.options["username"], l.options["password"]
	for _, option := range []string{"username", "password"} {
		if l.options[option] == "" {
			s.refuse("sasl.jaas.config", `%s has no option %s="…"`, l.class(), option)
			return nil
		}
	}
	token := strings.EqualFold(l.options["tokenauth"], "true")
	switch mechanism {
	case "PLAIN":
		return &credential{plain.Auth{User: user, Pass: password}.AsMechanism(), user}
	case "SCRAM-SHA-256":
		return &credential{scram.Auth{User: user, Pass: password, IsToken: token}.AsSha256Mechanism(), user}
	default:
		return &credential{scram.Auth{User: user, Pass: password, IsToken: token}.AsSha512Mechanism(), user}
	}
}

// login reads sasl.jaas.config, whose module must be that of the mechanism.
func (s *settings) login(mechanism string) (login, bool) {
	const name = "sasl.jaas.config"
	if !s.set(name) {
		s.errs = append(s.errs, &PropertyError{name, s.props["sasl.mechanism"].Origin, fmt.Errorf(
			"it is not set, as sasl.mechanism=%s needs: %s required …; (where java.security.auth.login.config names a file, copy what its KafkaClient has in braces)", mechanism, moduleOf[mechanism])})
		return login{}, false
	}
	l, err := parseJAAS(s.get(name))
	if err != nil {
		s.refuse(name, "%w", err)
		return l, false
	}
	// Programs that bundle Kafka's client move its packages; the class stays.
	want := moduleOf[mechanism]
	if l.class() != want[strings.LastIndexByte(want, '.')+1:] {
		s.refuse(name, "%s is not the login module of sasl.mechanism=%s, which is %s", l.class(), mechanism, want)
		return l, false
	}
	return l, true
}

// withSASL and withTLS say what a security.protocol is.
func withSASL(protocol string) bool { return strings.HasPrefix(protocol, "SASL_") }
func withTLS(protocol string) bool  { return strings.HasSuffix(protocol, "SSL") }

// protocolOf is the security.protocol of a listener.
func protocolOf(sasl, tls bool) string {
	switch {
	case sasl && tls:
		return "SASL_SSL"
	case sasl:
		return "SASL_PLAINTEXT"
	case tls:
		return "SSL"
	}
	return "PLAINTEXT"
}
