// Package acls holds the commands "kf acls …": who may do what on which resources.
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

// NewCommand returns "kf acls".
func NewCommand(env *cli.Env) *cobra.Command {
	parent := &cobra.Command{
		Use:   "acls",
		Short: "List, create and delete ACLs",
		Example: `  kf acls list --topic orders --pattern match
  kf acls create --allow-principal User:alice --consumer --topic orders --group billing
  kf acls delete --principal User:alice --dry-run`,
	}
	conn := online.Connect(env, parent)
	return cli.Group(parent,
		newListCommand(env, conn),
		newCreateCommand(env, conn),
		newDeleteCommand(env, conn),
	)
}

// A finder finds ACLs.
type finder interface {
	FindACLs(context.Context, client.ACLFilter) ([]client.ACL, error)
}

type aclRow struct {
	Resource   client.ACLResource   `col:"resource_type"`
	Name       string               `col:"resource_name"`
	Pattern    client.ACLPattern    `col:"pattern_type"`
	Principal  string               `col:"principal"`
	Host       string               `col:"host"`
	Operation  client.ACLOperation  `col:"operation"`
	Permission client.ACLPermission `col:"permission"`
}

func rowOf(a client.ACL) aclRow {
	return aclRow{a.Resource, a.Name, a.Pattern, a.Principal, a.Host, a.Operation, a.Permission}
}

// A changeRow is an ACL and what became of it.
type changeRow struct {
	aclRow
	Result string `col:"result"`
	Error  error  `col:"error,data"`
}

// describe is an ACL in a message.
func describe(a client.ACL) string {
	return fmt.Sprintf("%s %s from %s %s %s %q (%s)", strings.ToLower(a.Permission.String()), a.Principal, a.Host, a.Operation, a.Resource, a.Name, a.Pattern)
}

// count is "1 ACL", "2 ACLs".
func count(n int) string {
	if n == 1 {
		return "1 ACL"
	}
	return fmt.Sprintf("%d ACLs", n)
}

// checkPrincipal returns what is wrong with a principal.
func checkPrincipal(s string) error {
	if kind, name, ok := strings.Cut(s, ":"); !ok || kind == "" || name == "" {
		return fmt.Errorf("%q: want type:name, such as User:alice", s)
	}
	return nil
}

// checkPrincipals is checkPrincipal for the values of a flag.
func checkPrincipals(flag string, all []string) error {
	for _, s := range all {
		if err := checkPrincipal(s); err != nil {
			return fmt.Errorf("--%s %w", flag, err)
		}
	}
	return nil
}

// uniq returns ACLs in order, each once.
func uniq(all []client.ACL) []client.ACL {
	slices.SortFunc(all, client.ACL.Compare)
	return slices.Compact(all)
}
