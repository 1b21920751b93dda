package groups

import (
	"net"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"

	"kf/internal/client"
	"kf/internal/render"
)

// text returns s for a column that is null where nothing is known.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// number returns n for a column that is null where nothing is known, which is -1.
func number[T int32 | int64](n T) *T {
	if n < 0 {
		return nil
	}
	return &n
}

func address(b kadm.BrokerDetail) string {
	return net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
}

// assignment prints partitions as "orders:0,1;audit:2", in JSON as
// [{"topic":"orders","partitions":[0,1]},…]. A nil list is null.
type assignment struct{ list *kadm.TopicsList }

func (a *assignment) AppendJSON(dst []byte) []byte {
	if a.list == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, t := range *a.list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = render.AppendJSON(append(dst, `{"topic":`...), t.Topic)
		dst = append(dst, `,"partitions":[`...)
		dst = append(appendNumbers(dst, t.Partitions), "]}"...)
	}
	return append(dst, ']')
}

func (a *assignment) AppendText(dst []byte) ([]byte, bool) {
	if a.list == nil || len(*a.list) == 0 {
		return dst, false
	}
	for i, t := range *a.list {
		if i > 0 {
			dst = append(dst, ';')
		}
		dst = append(append(dst, t.Topic...), ':')
		dst = appendNumbers(dst, t.Partitions)
	}
	return dst, true
}

func appendNumbers(dst []byte, all []int32) []byte {
	for i, n := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	return dst
}

// words prints names as "a,b", in JSON as an array. A nil list is null.
type words []string

func (w *words) AppendJSON(dst []byte) []byte {
	if *w == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, s := range *w {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = render.AppendJSON(dst, s)
	}
	return append(dst, ']')
}

func (w *words) AppendText(dst []byte) ([]byte, bool) {
	return append(dst, strings.Join(*w, ",")...), len(*w) > 0
}

// taskList prints the tasks of a member of a streams group as "active 0:0,1;
// standby 1:2", in JSON as {"active":[{"subtopology":"0","partitions":[0,1]}],…}. It
// is null for other members.
type taskList struct {
	kinds []taskKind
}

type taskKind struct {
	name  string
	tasks []client.Tasks
}

func (l *taskList) AppendJSON(dst []byte) []byte {
	if l.kinds == nil {
		return append(dst, "null"...)
	}
	for i, kind := range l.kinds {
		dst = append(dst, "{,"[min(i, 1)])
		dst = append(render.AppendJSON(dst, kind.name), ":["...)
		for j, t := range kind.tasks {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = render.AppendJSON(append(dst, `{"subtopology":`...), t.Subtopology)
			dst = append(dst, `,"partitions":[`...)
			dst = append(appendNumbers(dst, t.Partitions), "]}"...)
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func (l *taskList) AppendText(dst []byte) ([]byte, bool) {
	start := len(dst)
	for _, kind := range l.kinds {
		if len(kind.tasks) == 0 {
			continue
		}
		if len(dst) > start {
			dst = append(dst, "; "...)
		}
		dst = append(dst, kind.name...)
		for _, t := range kind.tasks {
			dst = append(append(append(dst, ' '), t.Subtopology...), ':')
			dst = appendNumbers(dst, t.Partitions)
		}
	}
	return dst, len(dst) > start
}
