package controller

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
)

// An Error is a refusal with the code that Kafka has for it. It matches Code.
type Error struct {
	Code    *kerr.Error
	Message string // as Kafka says it, "" for the text of the code
}

func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.Message
	}
	return e.Code.Message + ": " + e.Message
}

func (e *Error) Unwrap() error { return e.Code }

// answer returns the code and the message of an error in an answer.
func answer(err error) (code int16, message *string) {
	if err == nil {
		return 0, nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		if e.Message == "" {
			return e.Code.Code, nil
		}
		return e.Code.Code, &e.Message
	}
	text := err.Error()
	if e, ok := errors.AsType[*kerr.Error](err); ok {
		return e.Code, &text
	}
	return kerr.UnknownServerError.Code, &text
}
