package storage

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"kf/internal/format/batch"
	"kf/internal/format/control"
	"kf/internal/format/txnindex"
)

// cleanedTxns are the transactions on the way through a log: which of them were
// aborted, and whether data of them is left, without which their markers can go.
type cleanedTxns struct {
	listed    []txnindex.Entry // aborted ones that were not come to yet, by first offset
	aborted   map[int64]*abortedTxn
	committed map[int64]struct{} // producers with data of a transaction that was not aborted
}

type abortedTxn struct {
	entry txnindex.Entry
	data  bool // some of it was there
}

// add takes up the aborted transactions that overlap segment i, which ends in
// front of upper. Those of earlier segments may be among them again.
func (t *cleanedTxns) add(list []*segment, i int, upper int64) error {
	from := list[i].base
	for _, s := range list[i:] {
		complete, err := s.eachAborted(func(e txnindex.Entry) bool {
			if e.LastOffset >= from && e.FirstOffset < upper {
				t.listed = append(t.listed, e)
			}
			return e.LastStableOffset < upper
		})
		if err != nil {
			return err
		}
		if complete {
			break
		}
	}
	slices.SortStableFunc(t.listed, func(a, b txnindex.Entry) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return nil
}

// eachAborted calls f for the entries of the .txnindex until it returns false,
// which makes the list complete.
func (s *segment) eachAborted(f func(e txnindex.Entry) bool) (complete bool, err error) {
	n := s.aborts.Load()
	if n == 0 {
		return false, nil
	}
	file, err := s.txns.acquire()
	if err != nil {
		return false, err
	}
	defer file.release()
	for e, err := range txnindex.Entries(io.NewSectionReader(file, 0, n*txnEntry)) {
		if err != nil && !errors.Is(err, txnindex.ErrVersion) {
			return false, err
		}
		if !f(e) {
			return true, nil
		}
	}
	return false, nil
}

// begin notes the aborted transactions that begin up to offset.
func (t *cleanedTxns) begin(offset int64) {
	n := 0
	for ; n < len(t.listed) && t.listed[n].FirstOffset <= offset; n++ {
		e := t.listed[n]
		if _, ok := t.aborted[e.ProducerID]; ok {
			continue
		}
		if t.aborted == nil {
			t.aborted = map[int64]*abortedTxn{}
		}
		t.aborted[e.ProducerID] = &abortedTxn{entry: e}
	}
	t.listed = t.listed[n:]
}

// data notes a batch that is no control batch, and reports whether its
// transaction was aborted.
func (t *cleanedTxns) data(h *batch.Header) (aborted bool) {
	t.begin(h.LastOffset())
	if !h.Transactional() {
		return false
	}
	if a, ok := t.aborted[h.ProducerID]; ok {
		a.data = true
		return true
	}
	if t.committed == nil {
		t.committed = map[int64]struct{}{}
	}
	t.committed[h.ProducerID] = struct{}{}
	return false
}

// control notes the control batch p with header h. Done says that nothing is
// left of what it ends, so that it can go. If it ends an aborted transaction
// with data, that is returned for the new .txnindex.
func (t *cleanedTxns) control(h *batch.Header, p []byte) (done bool, left *txnindex.Entry, err error) {
	t.begin(h.LastOffset())
	if h.Count == 0 {
		return true, nil, nil // emptied in an earlier round
	}
	d := batch.Decoder{MaxInflated: 1 << 20}
	rs, err := d.Open(*h, p)
	if err != nil {
		return false, nil, err
	}
	var r batch.Record
	if _, err := rs.Next(&r, 0, 0); err != nil { // Kafka looks at the first one only
		return false, nil, err
	}
	rec, err := control.Decode(r.Key, r.Value)
	if err != nil {
		return false, nil, err
	}
	switch rec.Type {
	case control.Abort:
		a := t.aborted[h.ProducerID]
		delete(t.aborted, h.ProducerID)
		if a != nil && a.data {
			return false, &a.entry, nil
		}
		return true, nil, nil
	case control.Commit:
		_, data := t.committed[h.ProducerID]
		delete(t.committed, h.ProducerID)
		return !data, nil, nil
	}
	return false, nil, nil
}
