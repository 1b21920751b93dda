package configs

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/kafkaconf"
	"kf/internal/online"
)

// completeEntities completes the arguments: a type, then names of what is there.
func completeEntities(conn *online.Connection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return cli.Complete(kindNames()...)(cmd, args, typed)
		}
		k, defaults, ok := kindNamed(args[0])
		if !ok || defaults {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeNames(conn, k, args[1:], "")(cmd, args, typed)
	}
}

// completeNames offers the names of a kind that the cluster has, less those given.
func completeNames(conn *online.Connection, k *kind, given []string, prefix string) cobra.CompletionFunc {
	return conn.Complete(-1, func(ctx context.Context, cl *client.Client) ([]string, error) {
		r := &reader{cl: cl, all: k == groupKind, warn: func(string, ...any) {}}
		all, err := r.candidates(ctx, selector{kind: k, names: match{any: true}})
		var names []string
		for _, e := range all {
			if e.kind == k && !e.pair && e.name != "" && !slices.Contains(given, e.name) {
				names = append(names, prefix+e.name)
			}
		}
		return slices.Compact(names), err
	})
}

// completeKeys completes the value of a flag that takes keys of the entity that the
// arguments name, with suffix behind them: those of the cluster that keep says, and
// those that are known without it.
func completeKeys(conn *online.Connection, selected *selection, suffix string, keep func(Entity, *entry) bool, known func(*kind) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		if suffix != "" {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		selectors, err := selected.selectors(args)
		if err != nil || len(selectors) == 0 {
			return nil, directive
		}
		s := selectors[0]
		if key, value, ok := strings.Cut(typed, "="); ok && suffix != "" {
			return valuesOf(s.kind, key, value), directive
		}
		e := Entity{s.kind, s.names.name, s.pair, s.client.name}
		fit, _ := conn.Complete(-1, func(ctx context.Context, cl *client.Client) ([]string, error) {
			var names []string
			r := &reader{cl: cl, warn: func(string, ...any) {}}
			err := r.read(ctx, []Entity{e}, func(d described) error {
				for i := range d.entries {
					if keep(e, &d.entries[i]) {
						names = append(names, d.entries[i].key+suffix)
					}
				}
				return nil
			})
			return names, err
		})(cmd, args, typed)
		for _, name := range known(s.kind) {
			if name += suffix; strings.HasPrefix(name, typed) && !slices.Contains(fit, name) {
				fit = append(fit, name)
			}
		}
		slices.Sort(fit)
		return fit, directive
	}
}

// valuesOf completes key=value where only some values are allowed; of a list it is the
// last element.
func valuesOf(k *kind, key, typed string) []string {
	known, ok := tableKey(Entity{kind: k}, key)
	var allowed []string
	switch {
	case k == brokerLoggerKind:
		allowed = []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}
	case ok && known.Type == kafkaconf.Boolean:
		allowed = []string{"true", "false"}
	case ok:
		allowed = known.Allowed
	}
	before := ""
	if ok && known.Type == kafkaconf.List {
		i := strings.LastIndexByte(typed, ',') + 1
		before, typed = typed[:i], typed[i:]
	}
	var fit []string
	for _, v := range allowed {
		if strings.HasPrefix(v, typed) && !slices.Contains(strings.Split(before, ","), v) {
			fit = append(fit, key+"="+before+v)
		}
	}
	return fit
}

// completeDiff completes --diff: the defaults, or an entity of the type described.
func completeDiff(conn *online.Connection, selected *selection) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		fit, directive := cli.Complete(diffDefaults)(cmd, args, typed)
		selectors, err := selected.selectors(args)
		if err != nil || len(selectors) == 0 || selectors[0].pair {
			return fit, directive
		}
		k := selectors[0].kind
		more, _ := completeNames(conn, k, nil, k.name+":")(cmd, args, typed)
		return append(fit, more...), directive
	}
}
