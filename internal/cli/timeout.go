package cli

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A Timeout is the value of --timeout: more than nothing, with a unit.
type Timeout time.Duration

// DefaultTimeout is that of a command which is told none.
const DefaultTimeout = Timeout(30 * time.Second)

func (t Timeout) String() string { return time.Duration(t).String() }

// Type is what pflag calls the type of the value.
func (t Timeout) Type() string { return "timeout" }

// Set implements pflag.Value.
func (t *Timeout) Set(s string) error {
	d, err := time.ParseDuration(s)
	if _, number := strconv.ParseFloat(s, 64); err != nil && number == nil {
		return fmt.Errorf("has no unit: %ss, %sms, …", s, s)
	}
	switch {
	case err != nil:
		return errors.New("must be a time with a unit: 500ms, 30s, 5m")
	case d <= 0:
		return errors.New("must be more than 0")
	}
	*t = Timeout(d)
	return nil
}
