package broker

import (
	"context"
	"log/slog"
	"testing"
)

// startBroker starts a broker on directories of the test, or on those of o, and
// stops it at the end of the test.
func startBroker(t testing.TB, o Options) *Broker {
	t.Helper()
	if o.NodeID == 0 {
		o.NodeID = 1
	}
	if o.Dirs == nil {
		o.Dirs = []string{t.TempDir()}
	}
	if o.Listeners == nil {
		o.Listeners = []Listener{{Addr: "127.0.0.1:0"}}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}
