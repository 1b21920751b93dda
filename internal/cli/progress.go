package cli

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	progressDelay    = 500 * time.Millisecond // short work shows nothing
	progressInterval = 200 * time.Millisecond
)

// A Progress tells a person at a terminal how far long work has come. Its
// methods may be called from several goroutines, and on nil.
type Progress struct {
	label string
	start time.Time
	total atomic.Int64
	done  atomic.Int64
	stop  chan struct{}
	once  sync.Once
	wg    sync.WaitGroup
}

// Progress starts to report work on total bytes, 0 if that is not known. It
// draws one line on Stderr if that is a terminal and --quiet is not given,
// from half a second on, and removes it in Done; otherwise it returns nil,
// which is just as usable.
func (env *Env) Progress(total int64, label string) *Progress {
	if env.Quiet || !env.StderrTTY || env.Stderr == nil || env.Getenv("TERM") == "dumb" {
		return nil
	}
	p := &Progress{label: label, start: time.Now(), stop: make(chan struct{})}
	p.total.Store(total)
	p.wg.Go(func() { env.draw(p) })
	return p
}

// Add says that n more bytes are done.
func (p *Progress) Add(n int64) {
	if p != nil {
		p.done.Add(n)
	}
}

// Grow says that there are n bytes more to do than was known.
func (p *Progress) Grow(n int64) {
	if p != nil {
		p.total.Add(n)
	}
}

// Done ends the report and removes its line. More calls do nothing.
func (p *Progress) Done() {
	if p != nil {
		p.once.Do(func() { close(p.stop) })
		p.wg.Wait()
	}
}

func (env *Env) draw(p *Progress) {
	timer := time.NewTimer(progressDelay)
	defer timer.Stop()
	for {
		select {
		case <-p.stop:
			env.screen.mu.Lock()
			env.screen.clear(env.Stderr)
			env.screen.mu.Unlock()
			return
		case <-timer.C:
			timer.Reset(progressInterval)
		}
		line := progressLine(p.label, p.done.Load(), p.total.Load(), time.Since(p.start))
		if env.Width != nil {
			if width := env.Width(); width > 1 && len(line) >= width {
				line = line[:width-1]
			}
		}
		env.screen.mu.Lock()
		io.WriteString(env.Stderr, "\r"+line+"\x1b[K")
		env.screen.drawn = true
		env.screen.mu.Unlock()
	}
}

// progressLine is ASCII, so that it can be cut anywhere.
func progressLine(label string, done, total int64, took time.Duration) string {
	line := fmt.Sprintf("%s: %s", label, Bytes(done))
	rate := float64(done) / max(took.Seconds(), 1e-3)
	if total > 0 {
		line = fmt.Sprintf("%s: %s of %s (%d%%)", label, Bytes(done), Bytes(total), min(100, int64(100*float64(done)/float64(total))))
	}
	line += fmt.Sprintf(", %s/s", Bytes(int64(rate)))
	if left := total - done; left > 0 && rate > 1 {
		line += fmt.Sprintf(", %s left", (time.Duration(min(float64(left)/rate, 1e6))*time.Second + time.Second).String())
	}
	return line
}

// Bytes returns n as people read it: "734 B", "12.3 MiB".
func Bytes(n int64) string {
	if n > -1024 && n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n)/1024, 0
	for f >= 1023.95 || f <= -1023.95 {
		f, unit = f/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGTPE"[unit])
}
