package acls

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/cli"
	"kf/internal/client"
	"kf/internal/render"
)

// fake is a cluster with ACLs. It matches all but patterns, as brokers do.
type fake struct {
	acls    []client.ACL
	asked   []client.ACLFilter
	refused client.ACL
	changed []client.ACL
}

func (f *fake) FindACLs(_ context.Context, q client.ACLFilter) ([]client.ACL, error) {
	f.asked = append(f.asked, q)
	is := func(want *string, got string) bool { return want == nil || *want == got }
	return slices.DeleteFunc(slices.Clone(f.acls), func(a client.ACL) bool {
		return !(is(q.Name, a.Name) && is(q.Principal, a.Principal) && is(q.Host, a.Host) &&
			(q.Resource == client.AnyResource || q.Resource == a.Resource) && (q.Operation == client.AnyOperation || q.Operation == a.Operation) &&
			(q.Pattern == client.AnyPattern || q.Pattern == a.Pattern) && (q.Permission == client.AnyPermission || q.Permission == a.Permission))
	}), nil
}

func (f *fake) change(all []client.ACL) ([]error, error) {
	errs := make([]error, len(all))
	for i, a := range all {
		if a == f.refused {
			errs[i] = kerr.PolicyViolation
		} else {
			f.changed = append(f.changed, a)
		}
	}
	return errs, nil
}

func (f *fake) AddACLs(_ context.Context, all []client.ACL) ([]error, error)    { return f.change(all) }
func (f *fake) RemoveACLs(_ context.Context, all []client.ACL) ([]error, error) { return f.change(all) }

// run returns what a command prints without the heading, says on stderr, and its exit
// code.
func run(t *testing.T, command func(env *cli.Env) error) (stdout, stderr string, exit int) {
	t.Helper()
	var out, errs bytes.Buffer
	env := &cli.Env{Stdout: &out, Stderr: &errs}
	exit = env.Exit(command(env))
	_, rows, _ := strings.Cut(out.String(), "\n")
	return rows, errs.String(), exit
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

func topicACL(name, principal string, o client.ACLOperation) client.ACL {
	return client.ACL{
		Resource: client.TopicResource, Name: name, Pattern: client.LiteralPattern,
		Principal: principal, Host: "*", Operation: o, Permission: client.Allow,
	}
}

var (
	alice, bob = "User:alice", "User:CN=bob,OU=x"
	some       = []client.ACL{
		topicACL("b", alice, client.Write), topicACL("a", bob, client.Read), topicACL("a", alice, client.Read),
		{Resource: client.GroupResource, Name: "g", Pattern: client.PrefixedPattern, Principal: alice, Host: "h", Operation: client.Read, Permission: client.Deny},
	}
)

func TestList(t *testing.T) {
	list := func(f *fake, filter Filter) string {
		out, errs, exit := run(t, func(env *cli.Env) error {
			return List(t.Context(), env, f, ListOptions{Filter: filter, Output: render.CSV})
		})
		if exit != 0 || errs != "" {
			t.Errorf("exit %d, %s", exit, errs)
		}
		return out
	}
	ra, rb := "TOPIC,a,LITERAL,User:alice,*,READ,ALLOW\n", `TOPIC,a,LITERAL,"User:CN=bob,OU=x",*,READ,ALLOW`+"\n"
	w, g := "TOPIC,b,LITERAL,User:alice,*,WRITE,ALLOW\n", "GROUP,g,PREFIXED,User:alice,h,READ,DENY\n"
	for _, tt := range []struct {
		name   string
		filter Filter
		want   string
		asked  int
	}{
		{"all", Filter{}, rb + ra + w + g, 1},
		{"topic", Filter{Resources: Resources{Topics: []string{"a"}}}, rb + ra, 1},
		{"topics and a group", Filter{Resources: Resources{Topics: []string{"b", "c"}, Groups: []string{"g"}}}, w + g, 3},
		{"twice", Filter{Resources: Resources{Topics: []string{"b", "b"}}}, w, 2},
		{"principal", Filter{Principals: []string{bob}}, rb, 1},
		{"principals", Filter{Principals: []string{bob, alice, "User:x"}, Operations: []string{"Read"}}, rb + ra + g, 1},
		{"operations", Filter{Operations: []string{"write", "DESCRIBE"}}, w, 1},
		{"any operation", Filter{Operations: []string{"write", "any"}}, rb + ra + w + g, 1},
		{"permission", Filter{Permission: "Deny"}, g, 1},
		{"host", Filter{Host: "*"}, rb + ra + w, 1},
		{"type", Filter{ResourceType: "group"}, g, 1},
		{"pattern", Filter{Resources: Resources{Pattern: "prefixed"}}, g, 1},
	} {
		f := &fake{acls: some}
		expect(t, tt.name, list(f, tt.filter), tt.want)
		if len(f.asked) != tt.asked {
			t.Errorf("%s: %d requests, want %d", tt.name, len(f.asked), tt.asked)
		}
	}
	f := &fake{}
	list(f, Filter{Resources: Resources{Topics: []string{"a"}, Cluster: true, Pattern: "match"}})
	if f.asked[0].Pattern != client.MatchPattern || f.asked[1].Pattern != client.LiteralPattern || *f.asked[1].Name != "kafka-cluster" {
		t.Errorf("%+v", f.asked)
	}
}

func TestDelete(t *testing.T) {
	var asked []string
	remove := func(f *fake, opts DeleteOptions) (stdout, stderr string, exit int) {
		asked = nil
		opts.Output = render.CSV
		return run(t, func(env *cli.Env) error {
			return Delete(t.Context(), env, f, opts, func(what string) error {
				asked = append(asked, what)
				return nil
			})
		})
	}
	f := &fake{acls: some, refused: some[2]}
	out, errs, exit := remove(f, DeleteOptions{Filter: Filter{Principals: []string{alice}, Operations: []string{"Read"}}})
	expect(t, "delete", out, "TOPIC,a,LITERAL,User:alice,*,READ,ALLOW,failed,"+quoted(kerr.PolicyViolation)+"\nGROUP,g,PREFIXED,User:alice,h,READ,DENY,deleted,\n")
	expect(t, "delete", errs, "kf: allow User:alice from * READ TOPIC \"a\" (LITERAL)\nkf: deny User:alice from h READ GROUP \"g\" (PREFIXED)\n"+
		"kf: error: allow User:alice from * READ TOPIC \"a\" (LITERAL): "+kerr.PolicyViolation.Error()+"\n")
	if exit != 1 || !slices.Equal(asked, []string{"delete 2 ACLs"}) || !slices.Equal(f.changed, some[3:]) {
		t.Errorf("exit %d, %q, %v", exit, asked, f.changed)
	}

	// A name is that of literal ACLs.
	f = &fake{acls: some}
	out, errs, exit = remove(f, DeleteOptions{Filter: Filter{Resources: Resources{Groups: []string{"g"}}}})
	if out != "" || errs != "kf: no ACL matches\n" || exit != 0 || asked != nil {
		t.Errorf("%q %q %d %q", out, errs, exit, asked)
	}
	out, _, _ = remove(f, DeleteOptions{Filter: Filter{Resources: Resources{Groups: []string{"g"}, Pattern: "any"}}, DryRun: true})
	expect(t, "dry run", out, "GROUP,g,PREFIXED,User:alice,h,READ,DENY,would_delete,\n")
	if asked != nil || f.changed != nil {
		t.Errorf("a dry run asks %q and deletes %v", asked, f.changed)
	}

	// Many are not all shown.
	f = &fake{}
	for i := range shown + 5 {
		f.acls = append(f.acls, topicACL(fmt.Sprintf("t%02d", i), alice, client.Read))
	}
	out, errs, _ = remove(f, DeleteOptions{All: true})
	if strings.Count(out, "deleted") != shown+5 || strings.Count(errs, "\n") != shown+1 || !strings.HasSuffix(errs, "kf: and 5 ACLs more: --dry-run shows all\n") {
		t.Errorf("%s%s", out, errs)
	}
	if _, _, exit := remove(f, DeleteOptions{}); exit != cli.ExitUsage {
		t.Errorf("without a filter: exit %d", exit)
	}
}

func quoted(err error) string {
	if text := err.Error(); strings.ContainsAny(text, `,"`) {
		return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
	}
	return err.Error()
}

func TestCreate(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts CreateOptions
		want string // "KIND name OPERATION", a line each, or an error
	}{
		{"default", CreateOptions{Allow: []string{alice}, Resources: Resources{Topics: []string{"a", "b"}}}, "TOPIC a ALL; TOPIC b ALL"},
		{"operations", CreateOptions{Allow: []string{alice}, Resources: Resources{Groups: []string{"g"}}, Operations: []string{"read", "DescribeConfigs", "Read"}}, "GROUP g READ; GROUP g DESCRIBE_CONFIGS"},
		{"producer", CreateOptions{Allow: []string{alice}, Producer: true, Resources: Resources{Topics: []string{"a"}}}, "TOPIC a WRITE; TOPIC a CREATE; TOPIC a DESCRIBE"},
		{"transactional", CreateOptions{Allow: []string{alice}, Producer: true, Idempotent: true, Resources: Resources{Topics: []string{"a"}, TransactionalIDs: []string{"x"}}},
			"TOPIC a WRITE; TOPIC a CREATE; TOPIC a DESCRIBE; CLUSTER kafka-cluster IDEMPOTENT_WRITE; TRANSACTIONAL_ID x WRITE; TRANSACTIONAL_ID x DESCRIBE"},
		{"consumer", CreateOptions{Allow: []string{alice}, Consumer: true, Resources: Resources{Topics: []string{"a"}, Groups: []string{"g"}}}, "TOPIC a READ; TOPIC a DESCRIBE; GROUP g READ"},
		{"both", CreateOptions{Allow: []string{alice}, Consumer: true, Producer: true, Resources: Resources{Topics: []string{"a"}, Groups: []string{"g"}}},
			"TOPIC a READ; TOPIC a WRITE; TOPIC a CREATE; TOPIC a DESCRIBE; GROUP g READ"},
		{"cluster", CreateOptions{Allow: []string{alice}, Resources: Resources{Cluster: true, Pattern: "prefixed"}, Operations: []string{"ClusterAction"}}, "CLUSTER kafka-cluster CLUSTER_ACTION"},
		{"tokens", CreateOptions{Allow: []string{alice}, Resources: Resources{Principals: []string{bob}}, Operations: []string{"CreateTokens"}}, "USER User:CN=bob,OU=x CREATE_TOKENS"},
		{"two phases", CreateOptions{Allow: []string{alice}, Resources: Resources{TransactionalIDs: []string{"x"}}, Operations: []string{"two_phase_commit"}}, "TRANSACTIONAL_ID x TWO_PHASE_COMMIT"},
		{"empty host", CreateOptions{Allow: []string{alice}, AllowHosts: []string{""}, Resources: Resources{Cluster: true}}, "--allow-host: the value is empty"},
		{"producer of groups", CreateOptions{Allow: []string{alice}, Producer: true, Resources: Resources{Topics: []string{"a"}, Groups: []string{"g"}}}, "--group: a producer has none"},
		{"consumer with transactions", CreateOptions{Allow: []string{alice}, Consumer: true, Resources: Resources{Topics: []string{"a"}, Groups: []string{"g"}, TransactionalIDs: []string{"x"}}},
			"--transactional-id: a consumer has none"},
		{"producer and operation", CreateOptions{Allow: []string{alice}, Producer: true, Operations: []string{"Read"}, Resources: Resources{Topics: []string{"a"}}},
			"--operation: --producer and --consumer choose the operations"},
		{"bad user", CreateOptions{Allow: []string{alice}, Resources: Resources{Principals: []string{"bob"}}}, `--user-principal "bob": want type:name, such as User:alice`},
	} {
		all, err := tt.opts.acls()
		var words []string
		for _, a := range all {
			words = append(words, fmt.Sprintf("%s %s %s", a.Resource, a.Name, a.Operation))
		}
		got := strings.Join(words, "; ")
		if err != nil {
			got = err.Error()
		}
		expect(t, tt.name, got, tt.want)
	}

	// Both permissions, several hosts; what is there already; one that fails.
	f := &fake{acls: some, refused: topicACL("b", alice, client.Read)}
	opts := CreateOptions{
		Allow: []string{alice}, Deny: []string{bob}, DenyHosts: []string{"h1", "h2"},
		Resources: Resources{Topics: []string{"a", "b"}}, Operations: []string{"Read"}, Output: render.CSV,
	}
	asked := ""
	create := func(env *cli.Env) error {
		return CreateACLs(t.Context(), env, f, opts, func(what string) error {
			asked = what
			return nil
		})
	}
	rows := `TOPIC,a,LITERAL,"User:CN=bob,OU=x",h1,READ,DENY,%[1]s,
TOPIC,a,LITERAL,"User:CN=bob,OU=x",h2,READ,DENY,%[1]s,
TOPIC,a,LITERAL,User:alice,*,READ,ALLOW,exists,
TOPIC,b,LITERAL,"User:CN=bob,OU=x",h1,READ,DENY,%[1]s,
TOPIC,b,LITERAL,"User:CN=bob,OU=x",h2,READ,DENY,%[1]s,
TOPIC,b,LITERAL,User:alice,*,READ,ALLOW,%[2]s
`
	out, _, exit := run(t, create)
	expect(t, "create", out, fmt.Sprintf(rows, "created", "failed,"+quoted(kerr.PolicyViolation)))
	if exit != 1 || asked != "create 6 ACLs" || len(f.changed) != 5 || len(f.asked) != 2 {
		t.Errorf("exit %d, %q, %v, %d questions", exit, asked, f.changed, len(f.asked))
	}
	f.changed, opts.DryRun, asked = nil, true, ""
	out, _, exit = run(t, create)
	expect(t, "dry run", out, fmt.Sprintf(rows, "to create", "to create,"))
	if exit != 0 || asked != "" || f.changed != nil {
		t.Errorf("a dry run asks %q and creates %v", asked, f.changed)
	}
}
