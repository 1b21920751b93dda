package dump

import (
	"kf/internal/format/batch"
	"kf/internal/render"
)

// A headersCell shows the headers of a record: [{"key":…,"value":…},…] in JSON,
// key=value elsewhere, in their order, values as by Auto.
type headersCell struct{ r *batch.Record }

// AppendJSON implements render.Value.
func (c *headersCell) AppendJSON(dst []byte) []byte { return render.AppendPairsJSON(dst, c.pairs) }

// AppendText implements render.Value.
func (c *headersCell) AppendText(dst []byte) ([]byte, bool) {
	return render.AppendPairsText(dst, c.pairs)
}

func (c *headersCell) pairs(yield func(key, value []byte) bool) {
	if c.r == nil {
		return
	}
	for h := range c.r.Headers() {
		if !yield(h.Key, h.Value) {
			return
		}
	}
}
