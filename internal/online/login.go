package online

import (
	"fmt"
	"slices"
	"strings"
)

// Properties of kf's own, which spare the user a line of JAAS.
const (
	saslUsername = "sasl.username"
	saslPassword = "sasl.password"
	saslJAAS     = "sasl.jaas.config"
)

// either leaves one of two ways to say the same in force: that which is set at the higher
// level, the second if both are at one.
func (set *Settings) either(levels [][]Value, first, second []string) {
	level := func(names []string) int {
		return slices.IndexFunc(levels, func(values []Value) bool {
			return slices.ContainsFunc(names, func(name string) bool { return has(values, name) })
		})
	}
	a, b := level(first), level(second)
	if a < 0 || b < 0 {
		return
	}
	winners, losers := second, first
	if a < b {
		winners, losers = first, second
	}
	var over []Value
	set.Values = slices.DeleteFunc(set.Values, func(u Used) bool {
		loses := slices.Contains(losers, u.Name)
		if loses {
			over = append(append(over, u.Value), u.Over...)
		}
		return loses
	})
	i := slices.IndexFunc(set.Values, func(u Used) bool { return slices.Contains(winners, u.Name) })
	set.Values[i].Over = append(set.Values[i].Over, over...)
}

// modules are the login modules of mechanisms that take a user and a password.
//
// Source: Kafka 4.4.0, PlainLoginModule.java and ScramLoginModule.java.
var modules = map[string]string{
	"PLAIN":         "org.apache.kafka.common.security.plain.PlainLoginModule",
	"SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
	"SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}

// bearerModule is the login module of OAUTHBEARER.
//
// Source: Kafka 4.4.0, OAuthBearerLoginModule.java.
const bearerModule = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"

// jaas returns the line of JAAS for a user.
func jaas(mechanism, user, password string) (string, error) {
	module, ok := modules[mechanism]
	switch {
	case mechanism == "":
		return "", fmt.Errorf("%s needs sasl.mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", saslUsername)
	case !ok:
		return "", fmt.Errorf("%s is for the mechanisms PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512, not for %s", saslUsername, mechanism)
	case user == "":
		return "", fmt.Errorf("%s is missing beside %s", saslUsername, saslPassword)
	case password == "":
		return "", fmt.Errorf("%s is missing beside %s", saslPassword, saslUsername)
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`) // a quoted text ends with its line
	return fmt.Sprintf(`%s required username="%s" password="%s";`, module, quote.Replace(user), quote.Replace(password)), nil
}
