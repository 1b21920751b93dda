package online

import (
	"fmt"
	"slices"

	"kf/internal/client"
)

// known are the properties that Java clients take, and sasl.username and
// sasl.password, which are kf's own; sorted.
var known = func() []string {
	all := append(client.Names(), saslUsername, saslPassword)
	slices.Sort(all)
	return all
}()

// Known reports whether a client of Kafka has a property of this name.
func Known(name string) bool {
	return client.Known(name) || name == saslUsername || name == saslPassword
}

// Unknown is the error of a name that is no property of Kafka's clients.
func Unknown(name string) error {
	if meant := client.Meant(name); meant != "" {
		return fmt.Errorf("Kafka's clients have no property %q: did you mean %s?", name, meant)
	}
	return fmt.Errorf("Kafka's clients have no property %q", name)
}
