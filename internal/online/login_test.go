package online

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kfake"

	"kf/internal/cli"
	"kf/internal/client"
)

// Whatever is in a password reaches the broker, through the line of JAAS that is made of
// it, and no error tells it.
func TestPasswords(t *testing.T) {
	for _, password := range []string{"simple", `a"b'c\d`, `\`, "ünï ©ode", "tab\tand  blanks ", "two\nlines\r", "a=b;c #d // e /* f", `\n\u0041\101`} {
		for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
			if mechanism != "PLAIN" && strings.ContainsAny(password, "\t\n\r") {
				continue // which SCRAM has no passwords with (RFC 4013)
			}
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser(mechanism, "alice", password))
			if err != nil {
				t.Fatal(err)
			}
			got := ask(t, cluster.ListenAddrs()[0], mechanism, password)
			if got != nil {
				t.Errorf("%s, %q: %v", mechanism, password, got)
			}
			if wrong := ask(t, cluster.ListenAddrs()[0], mechanism, password+"x"); wrong == nil || strings.Contains(wrong.Error(), password) {
				t.Errorf("%s, %q: a wrong password gives %v", mechanism, password, wrong)
			}
			cluster.Close()
		}
	}
}

// ask asks a cluster for its topics.
func ask(t *testing.T, address, mechanism, password string) error {
	t.Helper()
	parent := &cobra.Command{Use: "topics", SilenceErrors: true, SilenceUsage: true}
	env := &cli.Env{Stderr: new(bytes.Buffer), Environ: []string{"XDG_CONFIG_HOME=" + t.TempDir(), "KF_SASL_PASSWORD=" + password}}
	conn := Connect(env, parent)
	parent.AddCommand(&cobra.Command{Use: "list", RunE: func(cmd *cobra.Command, _ []string) error {
		return conn.Run(cmd, func(ctx context.Context, cl *client.Client) error {
			_, err := cl.ListTopics(ctx)
			return err
		})
	}})
	parent.SetArgs([]string{"list", "-b", address, "-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=" + mechanism, "-X", "sasl.username=alice"})
	return parent.ExecuteContext(t.Context())
}
