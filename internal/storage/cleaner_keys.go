package storage

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// keys are the last offsets of keys: a hash table of bounded size that holds a
// hash of each key instead of the key. Two keys with the same 128 bits of
// SHA-256 would count as one, which nobody can bring about; Kafka takes MD5.
type keys struct {
	slots  []keySlot
	n      int
	limit  int   // of n
	most   int   // of len(slots)
	latest int64 // the last offset that was looked at
}

type keySlot struct {
	hash [16]byte
	next int64 // offset + 1, 0 in an empty slot
}

const (
	keySlotBytes = 24
	firstSlots   = 1024
)

// init empties the table, which may use as many bytes, filled up to the load, a
// share from 0 to 1; there is room for one key at least.
func (k *keys) init(bytes int64, load float64) {
	most := max(int(bytes/keySlotBytes), 2)
	*k = keys{
		slots:  make([]keySlot, min(firstSlots, most)),
		most:   most,
		limit:  min(max(int(float64(most)*load), 1), most-1), // an empty slot ends a search
		latest: -1,
	}
}

// slot returns the slot of a hash, or the empty one where it would be.
func (k *keys) slot(hash [16]byte) *keySlot {
	hi, _ := bits.Mul64(binary.LittleEndian.Uint64(hash[:]), uint64(len(k.slots)))
	for i := int(hi); ; i++ {
		if i == len(k.slots) {
			i = 0
		}
		if s := &k.slots[i]; s.next == 0 || s.hash == hash {
			return s
		}
	}
}

func hashKey(key []byte) [16]byte {
	sum := sha256.Sum256(key)
	return [16]byte(sum[:16])
}

// put notes that the key has a record at offset, which is not below those noted
// before. If the table is full it does not, and returns false; latest stays at
// the offset before.
func (k *keys) put(key []byte, offset int64) bool {
	if k.n >= k.limit {
		return false
	}
	if 4*(k.n+1) > 3*len(k.slots) && len(k.slots) < k.most {
		k.grow()
	}
	hash := hashKey(key)
	s := k.slot(hash)
	if s.next == 0 {
		s.hash = hash
		k.n++
	}
	s.next = offset + 1
	k.latest = offset
	return true
}

func (k *keys) grow() {
	old := k.slots
	k.slots = make([]keySlot, min(2*len(old), k.most))
	for i := range old {
		if old[i].next != 0 {
			*k.slot(old[i].hash) = old[i]
		}
	}
}

// last returns the last offset of a key, -1 if it has none.
func (k *keys) last(key []byte) int64 { return k.slot(hashKey(key)).next - 1 }
