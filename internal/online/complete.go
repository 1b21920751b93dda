package online

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
)

// completionTime is how long pressing Tab may take.
const completionTime = time.Second

// Complete returns a completion that offers what list returns of the cluster, and
// nothing, in silence, if it does not answer soon. Names that start with __ are offered
// to who types that. only says for which argument it is, -1 for any.
func (c *Connection) Complete(only int, list func(context.Context, *client.Client) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if only >= 0 && len(args) != only {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		settings, err := c.Settings(cmd)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		timeout := min(time.Duration(c.timeout), completionTime)
		ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
		defer cancel()
		// The shell draws the line that is typed: nobody asks, and nothing complains.
		silent := &cli.Env{Environ: c.env.Environ, Stderr: io.Discard, Now: c.env.Now, Build: c.env.Build}
		cl, err := settings.client(ctx, silent, client.Options{Timeout: timeout, Controllers: asksControllers(cmd)})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer cl.Close()
		all, _ := list(ctx, cl)
		if only < 0 { // one after the other, each once
			all = slices.DeleteFunc(all, func(name string) bool { return slices.Contains(args, name) })
		}
		return offer(all, typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// offer returns the names that what was typed can become. Names that hold what drives a
// terminal, or parts the lines and descriptions that a shell reads, cannot be completed:
// others may have chosen them.
func offer(all []string, typed string) []string {
	var fit []string
	for _, name := range all {
		if strings.ContainsRune(name, '\t') || cli.Printable(name) != name {
			continue
		}
		if strings.HasPrefix(name, typed) && (!strings.HasPrefix(name, "__") || strings.HasPrefix(typed, "_")) {
			fit = append(fit, name)
		}
	}
	return fit
}

// Topics lists the names of all topics, sorted; for [Connection.Complete].
func Topics(ctx context.Context, cl *client.Client) ([]string, error) {
	topics, err := cl.ListTopicsWithInternal(ctx)
	return topics.Names(), err
}

// Groups lists the ids of all groups, sorted; for [Connection.Complete].
func Groups(ctx context.Context, cl *client.Client) ([]string, error) {
	groups, err := cl.ListGroups(ctx)
	return groups.Groups(), err
}

// CompleteContexts offers the names of contexts; only is as in [Connection.Complete].
func CompleteContexts(env *cli.Env, only int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		f, err := LoadContexts(env)
		if err != nil || only >= 0 && len(args) != only {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var fit []string
		for _, c := range f.All() {
			if strings.HasPrefix(c.Name, typed) {
				fit = append(fit, cobra.CompletionWithDesc(c.Name, c.Bootstrap))
			}
		}
		slices.Sort(fit)
		return fit, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeServers offers the servers of contexts.
func completeServers(env *cli.Env) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		f, err := LoadContexts(env)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var fit []string
		for _, c := range f.All() {
			if strings.HasPrefix(c.Bootstrap, typed) {
				fit = append(fit, c.Bootstrap)
			}
		}
		slices.Sort(fit)
		return slices.Compact(fit), cobra.ShellCompDirectiveNoFileComp
	}
}

// choices are the values of properties that take one of a few.
var choices = map[string][]string{
	securityProtocol:                        {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"},
	"sasl.mechanism":                        {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"},
	"ssl.keystore.type":                     {"PEM", "PKCS12", "JKS"},
	"ssl.truststore.type":                   {"PEM", "PKCS12", "JKS"},
	"ssl.endpoint.identification.algorithm": {"https"},
}

// completeProperties offers the names of properties for -X, then values.
func completeProperties(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	name, _, valued := strings.Cut(typed, "=")
	var fit []string
	if !valued {
		for _, property := range known() {
			if strings.HasPrefix(property, typed) {
				fit = append(fit, property+"=")
			}
		}
		return fit, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	for _, value := range choices[name] {
		if text := name + "=" + value; strings.HasPrefix(text, typed) {
			fit = append(fit, text)
		}
	}
	if slices.Contains(paths, name) {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return fit, cobra.ShellCompDirectiveNoFileComp
}
