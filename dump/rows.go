package dump

import (
	"context"

	"kf/internal/cli"
)

func DumpLogRows(ctx context.Context, env *cli.Env, opts LogOptions) error { return nil }
