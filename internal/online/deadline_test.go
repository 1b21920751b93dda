package online

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, cancel := newDeadline(t.Context(), 30*time.Second)
		defer cancel()
		child, stop := context.WithTimeout(d, time.Hour) // as the client makes them
		defer stop()
		time.Sleep(20 * time.Second)
		resume := d.pause()
		time.Sleep(time.Hour / 2) // a person looks up what that cluster is
		resume()
		if end, ok := d.Deadline(); !ok || time.Until(end) != 10*time.Second {
			t.Errorf("%v are left", time.Until(end))
		}
		time.Sleep(10*time.Second - time.Nanosecond)
		synctest.Wait()
		if child.Err() != nil {
			t.Fatalf("ended too early: %v", child.Err())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if child.Err() != context.DeadlineExceeded || !errors.Is(context.Cause(child), context.DeadlineExceeded) {
			t.Errorf("got %v, cause %v", child.Err(), context.Cause(child))
		}
		d.pause()() // too late, and does no harm
		if d.Err() != context.DeadlineExceeded {
			t.Errorf("got %v", d.Err())
		}
	})
}

func TestDeadlineOfParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, interrupt := context.WithCancel(t.Context())
		d, cancel := newDeadline(parent, time.Second)
		defer cancel()
		resume := d.pause()
		interrupt()
		synctest.Wait()
		resume()
		time.Sleep(time.Minute)
		if d.Err() != context.Canceled {
			t.Errorf("got %v", d.Err())
		}
		d, cancel = newDeadline(t.Context(), time.Second)
		cancel()
		<-d.Done()
		if d.Err() != context.Canceled {
			t.Errorf("got %v", d.Err())
		}
	})
}
