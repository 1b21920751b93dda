package cli

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"kf/internal/timearg"
)

// A Duration is the value of a flag that takes one, as timearg.ParseDuration reads it.
type Duration time.Duration

// String returns "0" for none, which help does not print as a default.
func (d Duration) String() string {
	if d == 0 {
		return "0"
	}
	return time.Duration(d).String()
}

// Type is what pflag calls the type of the value.
func (d Duration) Type() string { return "duration" }

// Set implements pflag.Value. Its error goes on after s, which the caller names.
func (d *Duration) Set(s string) error {
	n, err := timearg.ParseDuration(s)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), strconv.Quote(s)+" "))
	}
	*d = Duration(n)
	return nil
}

// A Timeout is the value of --timeout: a duration of more than nothing.
type Timeout Duration

// DefaultTimeout is that of a command which is told none.
const DefaultTimeout = Timeout(30 * time.Second)

func (t Timeout) String() string { return Duration(t).String() }

// Type is what pflag calls the type of the value.
func (t Timeout) Type() string { return "timeout" }

// Set implements pflag.Value.
func (t *Timeout) Set(s string) error {
	var d Duration
	if err := d.Set(s); err != nil {
		return err
	}
	if d <= 0 {
		return errors.New("must be more than 0")
	}
	*t = Timeout(d)
	return nil
}
