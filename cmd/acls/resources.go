package acls

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
)

// Resources are what the flags of resources name.
type Resources struct {
	Topics, Groups, TransactionalIDs, Tokens, Principals []string
	Cluster                                              bool
	Pattern                                              string // "" for the default
}

// A resource is one that an ACL or a filter is about.
type resource struct {
	kind    client.ACLResource
	name    string
	pattern client.ACLPattern
}

// flags adds the flags of resources to cmd; defaultPattern is for the help.
func (r *Resources) flags(cmd *cobra.Command, conn *online.Connection, patterns []string, defaultPattern string) {
	flags := cmd.Flags()
	// Names may have commas in them.
	flags.StringArrayVar(&r.Topics, "topic", nil, "a topic, repeatable; '*' is the resource of all topics (`name`)")
	flags.StringArrayVar(&r.Groups, "group", nil, "a group (`name`)")
	flags.StringArrayVar(&r.TransactionalIDs, "transactional-id", nil, "a transactional `id`")
	flags.StringArrayVar(&r.Tokens, "delegation-token", nil, "a delegation `token`")
	flags.StringArrayVar(&r.Principals, "user-principal", nil, "a `principal` whose tokens others handle")
	flags.BoolVar(&r.Cluster, "cluster", false, "the cluster")
	flags.StringVar(&r.Pattern, "pattern", "", "what the names are: `type` "+join(patterns)+" (default "+defaultPattern+")")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "resource-pattern-type" { // as Kafka's tool has it
			name = "pattern"
		}
		return pflag.NormalizedName(name)
	})
	// These fail only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("topic", conn.Complete(-1, online.Topics))
	_ = cmd.RegisterFlagCompletionFunc("group", conn.Complete(-1, online.Groups))
	_ = cmd.RegisterFlagCompletionFunc("pattern", cli.Complete(patterns...))
	cli.NoFiles(cmd, "transactional-id", "delegation-token", "user-principal")
}

// join is "a, b or c".
func join(words []string) string {
	text := ""
	for i, w := range words {
		switch {
		case i > 0 && i == len(words)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += w
	}
	return text
}

// list returns the resources. The name of the cluster is always literal.
func (r *Resources) list(pattern client.ACLPattern) ([]resource, error) {
	var all []resource
	for _, of := range []struct {
		flag  string
		kind  client.ACLResource
		names []string
	}{
		{"topic", client.TopicResource, r.Topics}, {"group", client.GroupResource, r.Groups},
		{"transactional-id", client.TxnResource, r.TransactionalIDs}, {"delegation-token", client.TokenResource, r.Tokens},
		{"user-principal", client.PrincipalResource, r.Principals},
	} {
		for _, name := range of.names {
			if name == "" {
				return nil, fmt.Errorf("--%s: the value is empty", of.flag)
			}
			all = append(all, resource{of.kind, name, pattern})
		}
	}
	if r.Cluster {
		all = append(all, resource{client.ClusterResource, client.ClusterName, client.LiteralPattern})
	}
	return all, checkPrincipals("user-principal", r.Principals)
}

// pattern returns the type of patterns, one of allowed.
func (r *Resources) pattern(unset client.ACLPattern, allowed []string) (client.ACLPattern, error) {
	if r.Pattern == "" {
		return unset, nil
	}
	p, err := client.ParseACLPattern(r.Pattern)
	for _, name := range allowed {
		if known, _ := client.ParseACLPattern(name); err == nil && p == known {
			return p, nil
		}
	}
	return 0, fmt.Errorf("--pattern: %q is none of %s", r.Pattern, join(allowed))
}
