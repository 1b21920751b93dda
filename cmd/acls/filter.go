package acls

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
)

// A Filter says which ACLs are meant: those that fit in everything that is set.
type Filter struct {
	Resources
	ResourceType string // "" or one that replaces the names
	Principals   []string
	Host         string
	Operations   []string
	Permission   string
}

// filterPatterns are the values of --pattern in filters.
var filterPatterns = []string{"literal", "prefixed", "match", "any"}

// flags adds the flags of a filter to cmd.
func (f *Filter) flags(cmd *cobra.Command, conn *online.Connection, defaultPattern string) {
	f.Resources.flags(cmd, conn, filterPatterns, defaultPattern)
	flags := cmd.Flags()
	flags.StringVar(&f.ResourceType, "resource-type", "", "all resources of this `type`: topic, group, cluster, …")
	flags.StringArrayVar(&f.Principals, "principal", nil, "ACLs of this `principal`, such as User:alice; repeatable")
	flags.StringVar(&f.Host, "host", "", "ACLs for this `host`; '*' for those of any host")
	flags.StringArrayVar(&f.Operations, "operation", nil, "ACLs about this `operation`; repeatable")
	flags.StringVar(&f.Permission, "permission", "", "allow or deny (`which`)")
	// These fail only for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc("resource-type", cli.Complete(resourceTypes()...))
	_ = cmd.RegisterFlagCompletionFunc("operation", completeOperations)
	_ = cmd.RegisterFlagCompletionFunc("permission", cli.Complete("allow", "deny"))
	cli.NoFiles(cmd, "principal", "host")
}

func resourceTypes() []string {
	var all []string
	for r := client.TopicResource; r <= client.PrincipalResource; r++ {
		all = append(all, strings.ToLower(r.String()))
	}
	return all
}

// completeOperations offers operations in the way that Kafka's tools spell them.
func completeOperations(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var fit []string
	for r := client.TopicResource; r <= client.PrincipalResource; r++ {
		for _, o := range r.Operations() {
			if name := camel(o.String()); strings.HasPrefix(strings.ToLower(name), strings.ToLower(typed)) {
				fit = append(fit, name)
			}
		}
	}
	slices.Sort(fit)
	return slices.Compact(fit), cobra.ShellCompDirectiveNoFileComp
}

// camel returns ALTER_CONFIGS as AlterConfigs.
func camel(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(strings.ToLower(name), "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// A question is a filter as brokers take it, and what they cannot be asked.
type question struct {
	filters    []client.ACLFilter // one for each resource
	principals []string           // none: any
	operations []client.ACLOperation
	restricted bool // something is set
}

// question reads the filter; unset is the pattern of names where none is given.
func (f *Filter) question(unset client.ACLPattern) (*question, error) {
	pattern, err := f.pattern(unset, filterPatterns)
	if err != nil {
		return nil, err
	}
	resources, err := f.list(pattern)
	if err != nil {
		return nil, err
	}
	q := &question{principals: f.Principals}
	base := client.AnyACL()
	if f.Pattern != "" && len(resources) == 0 {
		if pattern == client.MatchPattern {
			return nil, fmt.Errorf("--pattern match: it needs a name, such as --topic orders")
		}
		base.Pattern = pattern
	}
	if err := f.narrow(&base, q); err != nil {
		return nil, err
	}
	if f.ResourceType != "" {
		if len(resources) > 0 {
			return nil, fmt.Errorf("--resource-type: give that or names of resources")
		}
		if base.Resource, err = client.ParseACLResource(f.ResourceType); err != nil {
			return nil, fmt.Errorf("--resource-type: %w", err)
		}
	}
	for _, r := range resources {
		one := base
		one.Resource, one.Name, one.Pattern = r.kind, &r.name, r.pattern
		q.filters = append(q.filters, one)
	}
	if len(q.filters) == 0 {
		q.filters = []client.ACLFilter{base}
	}
	q.restricted = len(resources) > 0 || base != client.AnyACL() || len(q.principals)+len(q.operations) > 0
	return q, nil
}

// narrow sets what is the same for all resources. Several principals or operations are
// sorted out here: brokers take one.
func (f *Filter) narrow(base *client.ACLFilter, q *question) error {
	if err := checkPrincipals("principal", f.Principals); err != nil {
		return err
	}
	if len(f.Principals) == 1 {
		base.Principal = &f.Principals[0]
	}
	if f.Host != "" {
		base.Host = &f.Host
	}
	for _, name := range f.Operations {
		o, err := client.ParseACLOperation(name)
		if err != nil {
			return fmt.Errorf("--operation: %w", err)
		}
		q.operations = append(q.operations, o)
	}
	if slices.Contains(q.operations, client.AnyOperation) {
		q.operations = nil
	}
	if len(q.operations) == 1 {
		base.Operation = q.operations[0]
	}
	if f.Permission != "" {
		p, err := client.ParseACLPermission(f.Permission)
		if err != nil {
			return fmt.Errorf("--permission: %w", err)
		}
		base.Permission = p
	}
	return nil
}

// find returns the ACLs that are meant, in order.
func (q *question) find(ctx context.Context, cl finder) ([]client.ACL, error) {
	var all []client.ACL
	for _, f := range q.filters {
		some, err := cl.FindACLs(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, a := range some {
			if (len(q.principals) == 0 || slices.Contains(q.principals, a.Principal)) && (len(q.operations) == 0 || slices.Contains(q.operations, a.Operation)) {
				all = append(all, a)
			}
		}
	}
	return uniq(all), nil
}
