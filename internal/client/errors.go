package client

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

// A BrokerError says which broker did not answer.
type BrokerError struct {
	Node int32
	Host string
	Port int32
	Err  error
}

func (e *BrokerError) Error() string {
	if failed, ok := errors.AsType[*ConnectError](e.Err); ok {
		return failed.Error() // which names the broker
	}
	return fmt.Sprintf("broker %d (%s): %v", e.Node, net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))), e.Err)
}

func (e *BrokerError) Unwrap() error { return e.Err }

// reason returns the error of a connection that err wraps, or err. What franz-go puts in
// front of it says nothing more.
func reason(err error) error {
	if failed, ok := errors.AsType[*ConnectError](err); ok {
		return failed
	}
	return err
}
