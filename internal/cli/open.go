package cli

import (
	"context"
	"io"
	"os"
)

// Open opens the file that a flag names, "-" is Stdin, and returns how messages call it.
// Neither opening nor reading waits longer than ctx lasts: behind the name may be a
// named pipe, a terminal, or a file system that hangs. The caller closes it.
func (env *Env) Open(ctx context.Context, name string) (file io.ReadCloser, called string, err error) {
	r, w := io.Pipe()
	opened := make(chan error, 1)
	called = name
	if name == "-" {
		called = "standard input"
	}
	go func() { // which outlives the command if the file does not come
		in := env.Stdin
		if name != "-" {
			f, err := os.Open(name)
			if opened <- err; err != nil {
				return
			}
			defer f.Close()
			in = f
		} else {
			opened <- nil
		}
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	select {
	case err := <-opened:
		if err != nil {
			return nil, called, err
		}
	case <-ctx.Done():
		return nil, called, context.Cause(ctx)
	}
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	return &opening{r, stop}, called, nil
}

// An opening is a file of [Env.Open].
type opening struct {
	*io.PipeReader
	stop func() bool
}

func (o *opening) Close() error {
	o.stop()
	return o.PipeReader.Close()
}
