package group

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"kf/internal/coordinator/shard"
	"kf/internal/storage"
)

// An Error is the answer to a request that is refused.
type Error struct {
	Code    int16
	Message string // for answers that carry one; "" for none
}

func (e *Error) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return kerr.ErrorForCode(e.Code).Error()
}

// refuse returns an [Error].
func refuse(why *kerr.Error, message string) error { return &Error{why.Code, message} }

// codeOf returns the error code that stands for err, 0 for nil. What an append
// failed with is told in the coordinators' own terms, which clients retry.
//
// Source: Kafka 4.4.0, CoordinatorOperationExceptionHelper.java.
func codeOf(err error) int16 {
	var e *Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, shard.ErrLoading):
		return kerr.CoordinatorLoadInProgress.Code
	case errors.Is(err, shard.ErrResigned), errors.Is(err, storage.ErrClosed), errors.Is(err, storage.ErrOffline):
		return kerr.NotCoordinator.Code
	case errors.Is(err, shard.ErrTimeout), errors.Is(err, shard.ErrUnavailable):
		return kerr.CoordinatorNotAvailable.Code
	}
	return kerr.UnknownServerError.Code // also for a batch that is too large
}

// messageOf returns the message of an [Error], nil if there is none.
func messageOf(err error) *string {
	var e *Error
	if errors.As(err, &e) && e.Message != "" {
		return &e.Message
	}
	return nil
}
