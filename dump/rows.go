package dump

import (
	"context"
	"math"

	"kf/internal/cli"
)

// DumpLogRows prints what "kf dump-log" was asked for as rows: those of "kf
// dump", batches alone without deep iteration. Records always have their keys and
// values, also where the text has none: null is a tombstone.
func DumpLogRows(ctx context.Context, env *cli.Env, opts LogOptions) error {
	if opts.SanityOnly || opts.VerifyOnly || opts.maxBytes.given() {
		return cli.Usagef("--index-sanity-check, --verify-index-only and --max-bytes have no rows: leave out --output")
	}
	if opts.keyDecoder.given() || opts.valueDecoder.given() {
		return cli.Usagef("decoder classes print text: leave out --output, or use kf dump with --key-format and --value-format")
	}
	rows := Options{
		Paths: opts.Files, BaseOffset: -1, FromOffset: math.MinInt64, ToOffset: math.MaxInt64, Topic: noTopic,
		NoRecords: !opts.deep(),
		Output:    opts.Output, Command: logName, Limits: opts.Limits,
	}
	for _, topic := range decoderOrder {
		if opts.topics[topic] {
			rows.Topic = topic.String()
			break
		}
	}
	if opts.SkipMetadata {
		return cli.Usagef("--skip-record-metadata has no rows: choose columns with jq, or leave out --output")
	}
	return Dump(ctx, env, rows)
}
