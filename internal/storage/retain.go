package storage

import (
	"slices"
	"time"
)

// Retain deletes the segments that retention and the log start offset no longer
// want, and forgets producers that have expired. It returns the number of
// segments. As in Kafka a segment that is old enough is only rolled by an append,
// or if all segments go.
//
// Source: Kafka 4.4.0, UnifiedLog.deleteOldSegments.
func (l *Log) Retain() (deleted int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return 0, err
	}
	c, now := l.config.Load(), time.Now()
	l.state.Lock()
	l.producers.expire(now, c.ProducerExpirationMs)
	l.state.Unlock()

	rules := []func(s, next *segment) (bool, error){
		func(_, next *segment) (bool, error) { return next != nil && next.base <= l.LogStartOffset(), nil },
	}
	if c.Delete && c.RetentionBytes >= 0 {
		excess := int64(-1)
		rules = append(rules, func(s, _ *segment) (bool, error) {
			if excess < 0 {
				excess = l.Size() - c.RetentionBytes // what the first rule deleted is gone
			}
			if excess -= s.size.Load(); excess < 0 {
				excess = 0
				return false, nil
			}
			return true, nil
		})
	}
	if c.Delete && c.RetentionMs >= 0 {
		rules = append(rules, func(s, _ *segment) (bool, error) {
			t, err := l.newest(s)
			return now.UnixMilli()-t > c.RetentionMs, err
		})
	}
	for _, rule := range rules {
		n, err := l.deleteWhile(rule)
		deleted += n
		if err != nil {
			return deleted, l.ioFailed(err)
		}
	}
	return deleted, l.failed(l.epochs.flush())
}

// newest returns the largest timestamp of a segment, ms; without one it is the
// modification time.
func (l *Log) newest(s *segment) (int64, error) {
	t, _, err := s.largest()
	if err != nil || t >= 0 {
		return t, err
	}
	info, err := l.fsys.Stat(s.log.name())
	if err != nil {
		return 0, err
	}
	return info.ModTime().UnixMilli(), nil
}

// deleteWhile deletes the oldest segments, as many as rule says one after the
// other, of those whose records are all committed.
func (l *Log) deleteWhile(rule func(s, next *segment) (bool, error)) (int, error) {
	list := l.segments()
	n := 0
	for i, s := range list {
		var next *segment
		upper := l.LogEndOffset()
		if i+1 < len(list) {
			next = list[i+1]
			upper = next.base
		}
		if l.HighWatermark() < upper || next == nil && s.size.Load() == 0 {
			break
		}
		gone, err := rule(s, next)
		if err != nil {
			return 0, err
		}
		if !gone {
			break
		}
		n++
	}
	if n == 0 {
		return 0, nil
	}
	if n == len(list) {
		if _, err := l.roll(l.LogEndOffset()); err != nil {
			return 0, err
		}
		list = l.segments()
	}
	l.raiseLogStart(list[n].base)
	l.written = true
	l.setSegments(slices.Clone(list[n:]))
	return n, l.removeSegments(list[:n])
}
