package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The builders of the cases about groups.

func coordinatorOf(kind int8, key string) builder {
	return func(s *stage, c errorCase) any {
		q := kmsg.NewPtrFindCoordinatorRequest()
		q.CoordinatorType, q.CoordinatorKey, q.CoordinatorKeys = kind, key, []string{key}
		return q
	}
}
