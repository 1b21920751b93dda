package acls

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/online"
	"kf/internal/render"
)

// CreateOptions are the inputs of "kf acls create".
type CreateOptions struct {
	Resources
	Allow, Deny           []string // principals
	AllowHosts, DenyHosts []string // none: any
	Operations            []string // none: all
	// What a producer needs, with Idempotent one of Kafka before 3.0, and what a
	// consumer needs.
	Producer, Idempotent, Consumer bool

	DryRun bool
	Output render.Format
}

// createPatterns are the values of --pattern for new ACLs.
var createPatterns = []string{"literal", "prefixed"}

func newCreateCommand(env *cli.Env, conn *online.Connection) *cobra.Command {
	var opts CreateOptions
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create ACLs",
		Long: `Creates an ACL for each principal, host, resource and operation that is named: to allow,
to deny, or both. Those that there are already are left alone. Denials win.

--producer is Write, Describe and Create on topics, and Write and Describe on
transactional ids; with --idempotent also IdempotentWrite on the cluster, which producers
need with brokers before 3.0. --consumer is Read and Describe on topics, and Read on
groups.`,
		Example: `  kf acls create --allow-principal User:alice --operation Read --topic orders
  kf acls create --allow-principal User:billing --consumer --topic orders --group billing
  kf acls create --allow-principal User:team-a --producer --topic team-a. --pattern prefixed
  kf acls create --deny-principal User:eve --deny-host 10.0.0.7 --topic '*' --dry-run`,
		Args:              cli.Args(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := opts.acls(); err != nil {
				return cli.Usage(err)
			}
			return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
				return CreateACLs(ctx, env, cl, opts, func(what string) error {
					return conn.Allow(cl, online.Change{What: what})
				})
			})
		},
	}
	opts.Resources.flags(cmd, conn, createPatterns, "literal")
	flags := cmd.Flags()
	flags.StringArrayVar(&opts.Allow, "allow-principal", nil, "allow it to this `principal`, such as User:alice; repeatable")
	flags.StringArrayVar(&opts.Deny, "deny-principal", nil, "deny it to this `principal`")
	flags.StringArrayVar(&opts.AllowHosts, "allow-host", nil, "allow it from this `host` (default any)")
	flags.StringArrayVar(&opts.DenyHosts, "deny-host", nil, "deny it from this `host` (default any)")
	flags.StringArrayVar(&opts.Operations, "operation", nil, "the `operation`, such as Read; repeatable (default All)")
	flags.BoolVar(&opts.Producer, "producer", false, "what a producer needs")
	flags.BoolVar(&opts.Idempotent, "idempotent", false, "… one of an old cluster")
	flags.BoolVar(&opts.Consumer, "consumer", false, "what a consumer needs")
	flags.BoolVar(&opts.DryRun, "dry-run", false, "only show what would be created")
	_ = cmd.RegisterFlagCompletionFunc("operation", completeOperations) // fails only for a flag that is not there
	cli.NoFiles(cmd, "allow-principal", "deny-principal", "allow-host", "deny-host")
	conn.ControllerFlag(cmd)
	conn.YesFlag(cmd)
	render.Flag(cmd, &opts.Output)
	return cmd
}

// check returns what is wrong with the flags taken together.
func (o *CreateOptions) check() error {
	role := o.Producer || o.Consumer
	switch {
	case len(o.Allow)+len(o.Deny) == 0:
		return errors.New("say to whom: --allow-principal or --deny-principal")
	case len(o.AllowHosts) > 0 && len(o.Allow) == 0:
		return errors.New("--allow-host: there is no --allow-principal")
	case len(o.DenyHosts) > 0 && len(o.Deny) == 0:
		return errors.New("--deny-host: there is no --deny-principal")
	case o.Idempotent && !o.Producer:
		return errors.New("--idempotent: it goes with --producer")
	case role && len(o.Deny) > 0:
		return errors.New("--producer and --consumer are for --allow-principal")
	case role && len(o.Operations) > 0:
		return errors.New("--operation: --producer and --consumer choose the operations")
	case role && len(o.Topics) == 0:
		return errors.New("--producer and --consumer need --topic")
	case o.Consumer && len(o.Groups) == 0:
		return errors.New("--consumer needs --group")
	case role && !o.Consumer && len(o.Groups) > 0:
		return errors.New("--group: a producer has none")
	case role && !o.Producer && len(o.TransactionalIDs) > 0:
		return errors.New("--transactional-id: a consumer has none")
	case role && (o.Cluster || len(o.Tokens)+len(o.Resources.Principals) > 0):
		return errors.New("--producer and --consumer are about topics, groups and transactional ids only")
	}
	for flag, hosts := range map[string][]string{"allow-host": o.AllowHosts, "deny-host": o.DenyHosts} {
		if slices.Contains(hosts, "") {
			return fmt.Errorf("--%s: the value is empty", flag)
		}
	}
	return errors.Join(checkPrincipals("allow-principal", o.Allow), checkPrincipals("deny-principal", o.Deny))
}

// acls returns the ACLs that are meant, in order.
func (o *CreateOptions) acls() ([]client.ACL, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	pattern, err := o.pattern(client.LiteralPattern, createPatterns)
	if err != nil {
		return nil, err
	}
	resources, err := o.list(pattern)
	if err != nil {
		return nil, err
	}
	if len(resources) == 0 {
		return nil, errors.New("say on what: --topic, --group, --cluster, …")
	}
	if o.Idempotent {
		resources = append(resources, resource{client.ClusterResource, client.ClusterName, client.LiteralPattern})
	}
	var all []client.ACL
	for _, r := range resources {
		operations, err := o.operations(r.kind)
		if err != nil {
			return nil, err
		}
		for _, operation := range operations {
			add := func(principals, hosts []string, permission client.ACLPermission) {
				if len(hosts) == 0 {
					hosts = []string{"*"}
				}
				for _, principal := range principals {
					for _, host := range hosts {
						all = append(all, client.ACL{
							Resource: r.kind, Name: r.name, Pattern: r.pattern,
							Principal: principal, Host: host, Operation: operation, Permission: permission,
						})
					}
				}
			}
			add(o.Allow, o.AllowHosts, client.Allow)
			add(o.Deny, o.DenyHosts, client.Deny)
		}
	}
	return uniq(all), nil
}

// operations returns those on a kind of resource.
//
// Source: Kafka 4.4.0, AclCommand.java.
func (o *CreateOptions) operations(on client.ACLResource) ([]client.ACLOperation, error) {
	var all []client.ACLOperation
	if o.Producer {
		all = append(all, map[client.ACLResource][]client.ACLOperation{
			client.TopicResource:   {client.Write, client.Describe, client.Create},
			client.TxnResource:     {client.Write, client.Describe},
			client.ClusterResource: {client.IdempotentWrite},
		}[on]...)
	}
	if o.Consumer {
		all = append(all, map[client.ACLResource][]client.ACLOperation{
			client.TopicResource: {client.Read, client.Describe},
			client.GroupResource: {client.Read},
		}[on]...)
	}
	if o.Producer || o.Consumer {
		return all, nil
	}
	for _, name := range o.Operations {
		operation, err := client.ParseACLOperation(name)
		if err != nil {
			return nil, fmt.Errorf("--operation: %w", err)
		}
		if possible := on.Operations(); !slices.Contains(possible, operation) {
			var names []string
			for _, p := range possible {
				names = append(names, camel(p.String()))
			}
			return nil, fmt.Errorf("--operation %s: on a resource of type %s there are only %s", name, on, strings.Join(names, ", "))
		}
		all = append(all, operation)
	}
	if len(all) == 0 {
		all = []client.ACLOperation{client.AllOperations}
	}
	return all, nil
}

// A creator is what CreateACLs asks of the cluster.
type creator interface {
	finder
	AddACLs(context.Context, []client.ACL) ([]error, error)
}

// CreateACLs creates ACLs and prints a row for each. Before, it asks allow. If one
// fails the error is [cli.Silent].
func CreateACLs(ctx context.Context, env *cli.Env, cl creator, opts CreateOptions, allow func(what string) error) error {
	all, err := opts.acls()
	if err != nil {
		return cli.Usage(err)
	}
	there, err := existing(ctx, cl, all)
	if err != nil {
		return err
	}
	result, errs := "to create", make([]error, len(all))
	if !opts.DryRun {
		if err := allow("create " + count(len(all))); err != nil {
			return err
		}
		// All of them: a broker that is behind may not know yet that one was deleted.
		if errs, err = cl.AddACLs(ctx, all); err != nil {
			return err
		}
		result = "created"
	}
	return report(env, opts.Output, "acls create", all, errs, func(a client.ACL) string {
		if there[a] {
			return "exists"
		}
		return result
	})
}

// existing returns which of these ACLs there are. It asks once for each principal.
func existing(ctx context.Context, cl finder, of []client.ACL) (map[client.ACL]bool, error) {
	there := make(map[client.ACL]bool)
	asked := make(map[string]bool)
	for _, a := range of {
		if asked[a.Principal] {
			continue
		}
		asked[a.Principal] = true
		f := client.AnyACL()
		f.Principal = &a.Principal
		all, err := cl.FindACLs(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, a := range all {
			there[a] = true
		}
	}
	return there, nil
}
