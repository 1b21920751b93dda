package online

import (
	"fmt"
	"slices"

	"kf/internal/cli"
	"kf/internal/client"
)

// own are properties of kf, which Java clients do not have.
var own = []string{saslPassword, saslUsername}

// Known reports whether a property of this name can be set.
func Known(name string) bool { return slices.Contains(own, name) || client.Known(name) }

// known returns all properties that can be set, sorted.
func known() []string {
	all := append(client.Names(), own...)
	slices.Sort(all)
	return all
}

// meant returns what a name that is not known was probably to be, "" if that cannot be
// said.
func meant(name string) string {
	if near := cli.Nearest(name, own); near != "" {
		return near
	}
	return client.Meant(name)
}

// Unknown is the error of a name that is no property.
func Unknown(name string) error {
	if meant := meant(name); meant != "" {
		return fmt.Errorf("%s is no property of Kafka's clients: did you mean %s?", name, meant)
	}
	return fmt.Errorf("%s is no property of Kafka's clients", name)
}
