package image

import (
	"iter"
	"slices"
)

// An owner is a right to change nodes in place: whoever made a node holds it,
// and everyone else copies the node. A new owner freezes what the old one made.
type owner struct{ _ byte }

// A tree is an ordered map whose copies share what they have in common: set and
// delete copy the few nodes on the way to the key, unless o made them itself.
// It is a B+ tree; a node that deletions empty is dropped, a sparse one stays.
type tree[K, V any] struct {
	cmp  func(a, b K) int
	root *node[K, V] // nil if there is nothing
	len  int
}

// fanout is the most entries of a node.
const fanout = 32

// A node has the values of its keys, or, if it is no leaf, the nodes from each
// of its keys on. What is below the first key of an inner node belongs to its
// first child too, and lowers that key when it comes: else the halves of a child
// could get keys below it, and the keys would be out of order.
type node[K, V any] struct {
	owner *owner
	keys  []K
	vals  []V
	kids  []*node[K, V]
}

// own returns a node that o may change: n itself or a copy of it.
func (n *node[K, V]) own(o *owner) *node[K, V] {
	if n.owner == o {
		return n
	}
	return &node[K, V]{o, slices.Clone(n.keys), slices.Clone(n.vals), slices.Clone(n.kids)}
}

func (t *tree[K, V]) get(k K) (v V, ok bool) {
	n := t.root
	for n != nil {
		i, found := slices.BinarySearchFunc(n.keys, k, t.cmp)
		if n.kids == nil {
			if found {
				return n.vals[i], true
			}
			return v, false
		}
		n = n.kids[child(i, found)]
	}
	return v, false
}

// child turns the place of a key in an inner node into that of the child it is in.
func child(i int, found bool) int {
	if !found && i > 0 {
		i--
	}
	return i
}

// set gives k a value.
func (t *tree[K, V]) set(o *owner, k K, v V) {
	if t.root == nil {
		t.root, t.len = &node[K, V]{owner: o, keys: []K{k}, vals: []V{v}}, 1
		return
	}
	left, right, grew := t.insert(t.root, o, k, v)
	t.root = left
	if right != nil {
		t.root = &node[K, V]{owner: o, keys: []K{left.keys[0], right.keys[0]}, kids: []*node[K, V]{left, right}}
	}
	if grew {
		t.len++
	}
}

// insert returns the node that takes the place of n, and the right half if it
// had to be split.
func (t *tree[K, V]) insert(n *node[K, V], o *owner, k K, v V) (left, right *node[K, V], grew bool) {
	n = n.own(o)
	i, found := slices.BinarySearchFunc(n.keys, k, t.cmp)
	switch {
	case n.kids != nil:
		if i == 0 && !found {
			n.keys[0] = k
		}
		i = child(i, found)
		kid, half, grew := t.insert(n.kids[i], o, k, v)
		n.kids[i] = kid
		if half != nil {
			n.keys = slices.Insert(n.keys, i+1, half.keys[0])
			n.kids = slices.Insert(n.kids, i+1, half)
		}
		return n, n.split(o), grew
	case found:
		n.vals[i] = v
		return n, nil, false
	}
	n.keys = slices.Insert(n.keys, i, k)
	n.vals = slices.Insert(n.vals, i, v)
	return n, n.split(o), true
}

// split moves the upper half of a full node to a new one, nil if n is not full.
func (n *node[K, V]) split(o *owner) *node[K, V] {
	if len(n.keys) <= fanout {
		return nil
	}
	half := &node[K, V]{owner: o}
	at := len(n.keys) / 2
	half.keys, n.keys = slices.Clone(n.keys[at:]), slices.Delete(n.keys, at, len(n.keys))
	if n.kids != nil {
		half.kids, n.kids = slices.Clone(n.kids[at:]), slices.Delete(n.kids, at, len(n.kids))
	} else {
		half.vals, n.vals = slices.Clone(n.vals[at:]), slices.Delete(n.vals, at, len(n.vals))
	}
	return half
}

// delete removes k if it is there.
func (t *tree[K, V]) delete(o *owner, k K) {
	if _, ok := t.get(k); !ok {
		return
	}
	t.len--
	t.root = t.remove(t.root, o, k)
	for t.root != nil && len(t.root.kids) == 1 {
		t.root = t.root.kids[0]
	}
}

// remove returns what takes the place of n without k, which is below it; nil if
// nothing is left.
func (t *tree[K, V]) remove(n *node[K, V], o *owner, k K) *node[K, V] {
	n = n.own(o)
	i, found := slices.BinarySearchFunc(n.keys, k, t.cmp)
	if n.kids == nil {
		n.keys, n.vals = slices.Delete(n.keys, i, i+1), slices.Delete(n.vals, i, i+1)
	} else {
		i = child(i, found)
		if kid := t.remove(n.kids[i], o, k); kid != nil {
			n.kids[i] = kid
		} else {
			n.keys, n.kids = slices.Delete(n.keys, i, i+1), slices.Delete(n.kids, i, i+1)
		}
	}
	if len(n.keys) == 0 {
		return nil
	}
	return n
}

// all yields the entries in the order of their keys.
func (t *tree[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { t.root.each(yield) }
}

func (n *node[K, V]) each(yield func(K, V) bool) bool {
	if n == nil {
		return true
	}
	for _, kid := range n.kids {
		if !kid.each(yield) {
			return false
		}
	}
	for i, v := range n.vals {
		if !yield(n.keys[i], v) {
			return false
		}
	}
	return true
}

// from yields the entries whose keys are not below k, in order.
func (t *tree[K, V]) from(k K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { t.eachFrom(t.root, k, yield) }
}

func (t *tree[K, V]) eachFrom(n *node[K, V], k K, yield func(K, V) bool) bool {
	if n == nil {
		return true
	}
	i, found := slices.BinarySearchFunc(n.keys, k, t.cmp)
	if n.kids == nil {
		for ; i < len(n.keys); i++ {
			if !yield(n.keys[i], n.vals[i]) {
				return false
			}
		}
		return true
	}
	i = child(i, found)
	if !t.eachFrom(n.kids[i], k, yield) {
		return false
	}
	for _, kid := range n.kids[i+1:] {
		if !kid.each(yield) {
			return false
		}
	}
	return true
}
