package online

import (
	"strings"

	"kf/internal/client"
)

// Note says what a person should know about a property in force, "" for nothing.
func (set *Settings) Note(name string) string {
	protocol := "PLAINTEXT"
	if u, ok := set.Get(securityProtocol); ok && u.Ref == nil && u.Value.Value != "" {
		protocol = strings.ToUpper(strings.TrimSpace(u.Value.Value))
	}
	idle := client.Properties{name: {}}.Idle()
	switch {
	case !Known(name):
		return "Kafka's clients have no such property"
	case len(idle) > 0:
		return idle[0].Text
	case strings.HasPrefix(name, "sasl.") && !strings.HasPrefix(protocol, "SASL_"),
		strings.HasPrefix(name, "ssl.") && !strings.HasSuffix(protocol, "SSL"):
		return "without effect: security.protocol is " + protocol
	}
	return ""
}
