package group

import "kf/internal/coordinator/shard"

// replayOther …
func (m *machine) replayOther(r shard.Record) { panic("other") }
