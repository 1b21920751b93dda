package shard

import (
	"testing"
	"testing/synctest"
	"time"
)

// A postponed operation runs when it was last said, once, later or sooner.
func TestPostpone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := loaded(t, &memory{})
		in := func(f func()) { s.Do(func() Result { f(); return Result{} }, func(err error) { t.Error(err) }) }
		began := time.Now()
		ring := func() Result {
			b.note("after %v", time.Since(began))
			return Result{}
		}
		postpone := func(d time.Duration, want bool) {
			t.Helper()
			if s.Postpone("bell", d) != want {
				t.Errorf("postponed: %v, want %v", !want, want)
			}
		}
		in(func() { postpone(time.Second, false) })
		in(func() { s.Schedule("bell", time.Second, ring) })
		for range 10 { // as heartbeats do
			time.Sleep(700 * time.Millisecond)
			in(func() { postpone(time.Second, true) })
		}
		time.Sleep(time.Minute)
		expect(t, b, "after 8s")
		in(func() { postpone(time.Second, false) })

		began = time.Now()
		in(func() {
			s.Schedule("bell", time.Hour, ring)
			postpone(2*time.Second, true) // sooner
			postpone(3*time.Second, true)
		})
		time.Sleep(2 * time.Hour)
		expect(t, b, "after 3s")

		// Its clock rings while somebody has the lock, who postpones it.
		began = time.Now()
		in(func() {
			s.Schedule("bell", time.Second, ring)
			time.Sleep(time.Second)
			postpone(time.Second, true)
		})
		time.Sleep(time.Hour)
		expect(t, b, "after 2s")

		in(func() {
			s.Schedule("bell", time.Second, ring)
			postpone(2*time.Second, true)
			s.Cancel("bell")
			postpone(time.Second, false)
		})
		time.Sleep(time.Hour)
		expect(t, b, "")
	})
}
