package client

import "github.com/twmb/franz-go/pkg/kmsg"

// An UnsupportedError says that an API is not there; see [Unsupported].
type UnsupportedError struct {
	API string // "UpdateFeatures"
	Err error
}

func (e *UnsupportedError) Error() string { return "this broker does not support " + e.API }

func (e *UnsupportedError) Unwrap() error { return e.Err }

// serves returns the error of a request, in words where it is that the API of the
// request is not there.
func serves(q kmsg.Request, err error) error {
	if Unsupported(err) {
		return &UnsupportedError{apiName(q.Key()), err}
	}
	return err
}
