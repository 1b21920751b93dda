package storage

import (
	"encoding/binary"
	"testing"

	"kf/internal/format/batch"
)

// BenchmarkAppend appends batches of 16 records of 1 KiB as a produce request
// brings them.
func BenchmarkAppend(b *testing.B) {
	s := newSetup(b)
	l := s.open()
	defer l.Abandon(ErrClosed)
	v := spec{time: 1000}
	for range 16 {
		v.values = append(v.values, big(1024))
	}
	p := v.bytes(b)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		binary.BigEndian.PutUint64(p, 0)
		if _, err := l.Append(p, AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendIdempotent appends small batches of an idempotent producer.
func BenchmarkAppendIdempotent(b *testing.B) {
	s := newSetup(b)
	l := s.open()
	defer l.Abandon(ErrClosed)
	p := produced(1, 0, 0, 1).bytes(b)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for i := int32(0); b.Loop(); i++ {
		binary.BigEndian.PutUint64(p, 0)
		binary.BigEndian.PutUint32(p[53:], uint32(i&0x7fffffff))
		binary.BigEndian.PutUint32(p[17:], batch.Checksum(p))
		if _, err := l.Append(p, AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead reads a log of 64 MiB again and again, from its start to its end,
// and at its end.
func BenchmarkRead(b *testing.B) {
	s := newSetup(b)
	l := s.open()
	defer l.Abandon(ErrClosed)
	v := spec{values: []string{big(16 << 10)}, time: 1000}
	p := v.bytes(b)
	for range 4096 {
		binary.BigEndian.PutUint64(p, 0)
		if _, err := l.Append(p, AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	l.SetHighWatermark(l.LogEndOffset())
	for name, offset := range map[string]func(i int64) int64{
		"along": func(i int64) int64 { return i % l.LogEndOffset() },
		"end":   func(int64) int64 { return l.LogEndOffset() - 1 },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				r, err := l.Read(offset(i), 1<<20, ToHighWatermark, true)
				if err != nil || r.Data.Len() == 0 {
					b.Fatal(r, err)
				}
				r.Data.Release()
			}
		})
	}
}
