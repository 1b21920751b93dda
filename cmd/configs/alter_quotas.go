package configs

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/cli"
	"kf/internal/client"
)

func isQuota(c *change) bool { return !isCredential(c) }

// alterQuotas changes quotas, of all entities by one request.
func alterQuotas(ctx context.Context, env *cli.Env, cl alterer, all []*alteration, dryRun bool) {
	var of []*alteration
	var send []kadm.AlterClientQuotaEntry
	for _, a := range all {
		left := a.left(isQuota)
		if a.entity.kind.resource != 0 || len(left) == 0 {
			continue
		}
		to := kadm.AlterClientQuotaEntry{Entity: a.entity.quotaEntity()}
		for _, c := range left {
			f, _ := parseQuota(c.value) // which checkChanges did before
			to.Ops = append(to.Ops, kadm.AlterClientQuotaOp{Key: c.key, Value: f, Remove: c.op == client.DeleteConfig})
		}
		of, send = append(of, a), append(send, to)
	}
	if len(send) == 0 {
		return
	}
	ask := cl.AlterClientQuotas
	if dryRun {
		ask = cl.ValidateAlterClientQuotas
	}
	answers, err := ask(ctx, send)
	if client.Unsupported(err) {
		err = errNoQuotas
	}
	for _, a := range of {
		if err := cmp.Or(err, quotaError(answers, a.entity)); err != nil {
			a.fail(env, err, isQuota)
		}
	}
}

// quotaError returns what an answer says of an entity.
func quotaError(answers kadm.AlteredClientQuotas, e Entity) error {
	i := slices.IndexFunc(answers, func(a kadm.AlteredClientQuota) bool {
		got, ok := quotaEntity(a.Entity)
		return ok && got == e
	})
	if i < 0 {
		return errors.New("the broker said nothing of it")
	}
	return said(answers[i].Err, answers[i].ErrMessage)
}

// said returns an error of Kafka's with what the broker says about it.
func said(err error, message string) error {
	if err == nil || message == "" {
		return err
	}
	return &client.AnswerError{Err: err, Message: message}
}

// quotaEntity returns what quotas call the entity.
func (e Entity) quotaEntity() kadm.ClientQuotaEntity {
	all := kadm.ClientQuotaEntity{{Type: e.kind.quota, Name: unlessEmpty(e.name)}}
	if e.pair {
		all = append(all, kadm.ClientQuotaEntityComponent{Type: clientKind.quota, Name: unlessEmpty(e.client)})
	}
	return all
}

// alterCredentials changes credentials, by as many requests as one user has changes of
// them: a request takes one of each user.
func alterCredentials(ctx context.Context, env *cli.Env, cl alterer, all []*alteration) {
	todo := make(map[*alteration][]change)
	most := 0
	for _, a := range all {
		if a.entity.kind == userKind {
			todo[a] = a.left(isCredential)
			most = max(most, len(todo[a]))
		}
	}
	for round := range most {
		var deletions []kadm.DeleteSCRAM
		var upserts []kadm.UpsertSCRAM
		for _, a := range all {
			if round >= len(todo[a]) {
				continue
			}
			c, user := todo[a][round], a.entity.name
			if c.op == client.DeleteConfig {
				deletions = append(deletions, kadm.DeleteSCRAM{User: user, Mechanism: mechanisms[c.key]})
			} else {
				upserts = append(upserts, kadm.UpsertSCRAM{User: user, Mechanism: mechanisms[c.key], Iterations: c.iterations, Password: c.value})
			}
		}
		answers, err := cl.AlterUserSCRAMs(ctx, deletions, upserts)
		if client.Unsupported(err) {
			err = errors.New("the brokers do not support SCRAM credentials")
		}
		for _, a := range all {
			if round >= len(todo[a]) {
				continue
			}
			answer, ok := answers[a.entity.name]
			if !ok {
				answer.Err = errors.New("the broker said nothing of it")
			}
			if err := cmp.Or(err, said(answer.Err, answer.ErrMessage)); err != nil {
				a.fail(env, err, func(c *change) bool { return c.key == todo[a][round].key })
			}
		}
	}
}
