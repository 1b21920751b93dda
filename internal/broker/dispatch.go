package broker

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// An api is an entry of the dispatch table.
type api struct {
	key      int16
	name     string
	min, max int16 // versions that are served, and advertised
	from     int16 // the lowest version that works: Produce advertises older ones, which close the connection
	handle   func(*call, kmsg.Request)

	firstFlexible int16 // the first version with tagged fields, max+1 if there is none
}

// request returns an empty request of the API.
func (a *api) request() kmsg.Request { return kmsg.RequestForKey(a.key) }

func (a *api) serves(version int16) bool   { return a.from <= version && version <= a.max }
func (a *api) flexible(version int16) bool { return version >= a.firstFlexible }

// An apiTable says which APIs are served, by which handlers. ApiVersions is
// made from it, so that it advertises what works and nothing else.
type apiTable struct {
	byKey []*api // nil where there is none
}

// newAPITable returns the table of the given APIs.
func newAPITable(apis ...*api) *apiTable {
	last := slices.MaxFunc(apis, func(a, b *api) int { return cmp.Compare(a.key, b.key) })
	t := &apiTable{make([]*api, last.key+1)}
	for _, a := range apis {
		t.byKey[a.key] = a
	}
	return t
}

// find returns the API of a key, nil if it is not served.
func (t *apiTable) find(key int16) *api {
	if key < 0 || int(key) >= len(t.byKey) {
		return nil
	}
	return t.byKey[key]
}

// all yields the APIs by ascending key.
func (t *apiTable) all(yield func(*api) bool) {
	for _, a := range t.byKey {
		if a != nil && !yield(a) {
			return
		}
	}
}

// answers makes an API of a handler that returns its response.
func answers[Q kmsg.Request](min, max int16, h func(*call, Q) kmsg.Response) *api {
	return replies(min, max, func(c *call, q Q) { c.reply(h(c, q)) })
}

// replies makes an API of a handler that replies by itself.
func replies[Q kmsg.Request](min, max int16, h func(*call, Q)) *api {
	var zero Q
	a := &api{key: zero.Key(), min: min, max: max, from: min}
	a.name = kmsg.NameForKey(a.key)
	a.handle = func(c *call, q kmsg.Request) { h(c, q.(Q)) }
	request := a.request()
	for a.firstFlexible = min; a.firstFlexible <= max; a.firstFlexible++ {
		if request.SetVersion(a.firstFlexible); request.IsFlexible() {
			break
		}
	}
	return a
}
