// Package configs holds the commands "kf configs …": what is set for topics, brokers
// and their loggers, groups, client metrics, users, clients and addresses, and how that
// is changed.
//
// Kafka has three kinds of requests for these, those of configurations, of quotas and
// of SCRAM credentials; here all are entries of an entity, which is a kind and a name.
package configs

import (
	"github.com/spf13/cobra"

	"kf/internal/cli"
	"kf/internal/online"
)

// NewCommand returns "kf configs".
func NewCommand(env *cli.Env) *cobra.Command {
	parent := &cobra.Command{
		Use:   "configs",
		Short: "Describe and change what is set for topics, brokers, groups, users, …",
		Long: `kf configs shows and changes configurations, quotas and SCRAM credentials.

What has them is named by its type and its name:

  topic orders payments         topics
  broker 1, broker-defaults     brokers, and what all have that are told nothing else
  broker-logger 1               the levels of a broker's loggers
  group billing                 groups of all kinds
  client-metrics sub-1          subscriptions to metrics of clients
  user alice, user-defaults     quotas and credentials of users
  client app, client-defaults   quotas of clients, by client.id
  ip 127.0.0.1, ip-defaults     limits for addresses

or by both in one word, as the column ENTITY has it: topic:orders broker:1. A user's
connections as one client have quotas of their own: user:alice,client:app, or
user-defaults,client-defaults. The flags of kafka-configs are known too.`,
		Example: `  kf configs describe topic orders
  kf configs alter topic orders --set retention.ms=86400000
  kf configs describe broker 1 --diff broker:2`,
	}
	conn := online.Connect(env, parent)
	return cli.Group(parent,
		newDescribeCommand(env, conn),
		newAlterCommand(env, conn),
	)
}
