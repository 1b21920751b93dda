package codec

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

// An inflater inflates DEFLATE streams (RFC 1951) that are in memory as a whole,
// into memory that holds all of the result. So it needs no window of its own and
// copies nothing twice, and takes half the time of a reader that works in steps.
// It refuses what zlib, on which Java's Inflater stands, refuses.
type inflater struct {
	src   []byte
	pos   int    // of the next byte of src
	bits  uint64 // bits taken from src, the next one lowest
	nbits int    // how many of them count

	buf   []byte // out, with room behind it
	out   int    // bytes in buf that are written
	start int    // of the stream in buf
	max   int    // bytes that buf may hold in the end

	lit  [1<<litBits + litSymbols<<(maxCode-litBits)]uint32
	dist [1<<distBits + distSymbols<<(maxCode-distBits)]uint32
	lens [litSymbols + 32]uint8
}

// Codes of up to litBits or distBits are found by one look into a table, longer
// ones by a second look into the part for their first bits.
const (
	litBits     = 10
	distBits    = 8
	maxCode     = 15 // bits of the longest code
	litSymbols  = 288
	distSymbols = 32

	// room is what a step may write: two literals and the longest match, which is
	// copied in words of 8 bytes.
	room = 2 + 258 + 8
)

// An entry of a table has the length of its code in the low byte; in the second
// one a kind, or else the number of extra bits of a length or distance; and above
// them the literal, the least length or distance, or where the second table is.
// 0 stands for a code that nobody has.
const (
	kindLiteral = 1 << 15
	kindEnd     = 1 << 14
	kindTable   = 1 << 13 // with the bits of the second look in the place of extra bits
)

var (
	errCut      = errors.New("deflated data are cut off")
	errBlock    = errors.New("unknown kind of block")
	errStored   = errors.New("length of a stored block does not match its complement")
	errCodes    = errors.New("more codes than there are symbols")
	errLengths  = errors.New("invalid code lengths")
	errAlone    = errors.New("a single code for code lengths")
	errCode     = errors.New("invalid code")
	errDistance = errors.New("distance too far back")
)

// inflate appends the stream at the start of src to dst, which may grow to limit
// bytes, and returns how many bytes of src it has, or were read if it fails. It
// uses the room behind the result, up to dst's capacity.
func (z *inflater) inflate(dst, src []byte, limit int) (_ []byte, n int, err error) {
	z.src, z.pos, z.bits, z.nbits = src, 0, 0, 0
	z.buf, z.out, z.start, z.max = dst[:min(cap(dst), limit+room+1)], len(dst), len(dst), limit
	for last := false; !last && err == nil; {
		z.refill()
		last = z.take(1) == 1
		switch z.take(2) {
		case 0:
			err = z.stored()
		case 1:
			z.fixed()
			err = z.block()
		case 2:
			if err = z.dynamic(); err == nil {
				err = z.block()
			}
		default:
			err = errBlock
		}
		if z.nbits < 0 {
			err = errCut
		}
	}
	if err == nil && z.out > limit {
		err = ErrLimit
	}
	dst, n = z.buf[:z.out], z.pos-max(z.nbits, 0)/8
	z.src, z.buf = nil, nil
	return dst, n, err
}

func (z *inflater) refill() { z.pos, z.bits, z.nbits = refill(z.src, z.pos, z.bits, z.nbits) }

// refill makes at least 56 bits count, or all that are left.
func refill(src []byte, pos int, bits uint64, nbits int) (int, uint64, int) {
	if pos > len(src)-8 {
		return refillSlowly(src, pos, bits, nbits)
	}
	// The bits above those that count are right, and are set again later.
	return pos + (63-nbits)>>3, bits | binary.LittleEndian.Uint64(src[pos:])<<(uint(nbits)&63), nbits | 56
}

func refillSlowly(src []byte, pos int, bits uint64, nbits int) (int, uint64, int) {
	for nbits < 56 && pos < len(src) {
		bits |= uint64(src[pos]) << (uint(nbits) & 63)
		pos++
		nbits += 8
	}
	return pos, bits, nbits
}

// take removes n bits. It leaves a negative number of them if the source has no
// more, which is looked for once per step.
func (z *inflater) take(n int) int {
	v := z.bits & (1<<n - 1)
	z.bits >>= n
	z.nbits -= n
	return int(v)
}

// makeRoom makes buf larger.
func (z *inflater) makeRoom() error {
	most := z.max + room + 1
	if len(z.buf) >= most {
		return ErrLimit // out is above max
	}
	z.buf = slices.Grow(z.buf[:z.out], max(room, z.out))
	z.buf = z.buf[:min(cap(z.buf), most)]
	return nil
}

// stored copies a block that is not compressed.
func (z *inflater) stored() error {
	if z.nbits < 0 {
		return errCut
	}
	z.pos -= z.nbits / 8 // what is left of the current byte is padding
	z.bits, z.nbits = 0, 0
	if len(z.src)-z.pos < 4 {
		return errCut
	}
	n := binary.LittleEndian.Uint16(z.src[z.pos:])
	if n != ^binary.LittleEndian.Uint16(z.src[z.pos+2:]) {
		return errStored
	}
	z.pos += 4
	if len(z.src)-z.pos < int(n) {
		return errCut
	}
	for p := z.src[z.pos : z.pos+int(n)]; len(p) > 0; {
		if z.out == len(z.buf) {
			if err := z.makeRoom(); err != nil {
				return err
			}
		}
		k := copy(z.buf[z.out:], p)
		z.out += k
		p = p[k:]
	}
	z.pos += int(n)
	return nil
}

// lengthOrder is the order in which a block gives the code lengths of the code
// lengths.
var lengthOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamic reads the codes of a block.
func (z *inflater) dynamic() error {
	z.refill()
	nlit, ndist, nlen := 257+z.take(5), 1+z.take(5), 4+z.take(4)
	if nlit > 286 || ndist > 30 {
		return errCodes
	}
	lens := z.lens[:19]
	clear(lens)
	for _, symbol := range lengthOrder[:nlen] {
		z.refill()
		lens[symbol] = uint8(z.take(3))
	}
	if z.nbits < 0 {
		return errCut
	}
	// The table of distances is not needed yet.
	if !fill(z.dist[:], distBits, lens, func(symbol int) uint32 { return uint32(symbol)<<16 | kindLiteral }) {
		return errLengths
	}
	if slices.Max(lens) == 1 && z.dist[1] == 0 {
		return errAlone
	}
	lens = z.lens[:nlit+ndist]
	for i := 0; i < len(lens); {
		z.refill()
		e := z.dist[z.bits&(1<<distBits-1)]
		if e == 0 {
			return errCode
		}
		z.take(int(e & 0xff))
		symbol := int(e >> 16)
		value, n := uint8(0), 1
		switch {
		case symbol < 16:
			value = uint8(symbol)
		case symbol == 16 && i == 0:
			return errLengths
		case symbol == 16:
			value, n = lens[i-1], 3+z.take(2)
		case symbol == 17:
			n = 3 + z.take(3)
		default:
			n = 11 + z.take(7)
		}
		if z.nbits < 0 {
			return errCut
		}
		if n > len(lens)-i {
			return errLengths
		}
		for range n {
			lens[i] = value
			i++
		}
	}
	if lens[256] == 0 { // no end
		return errLengths
	}
	if !fill(z.lit[:], litBits, lens[:nlit], litEntry) || !fill(z.dist[:], distBits, lens[nlit:], distEntry) {
		return errLengths
	}
	return nil
}

// fixed sets the codes that need not be given.
func (z *inflater) fixed() {
	lens := z.lens[:litSymbols]
	for i := range lens {
		switch {
		case i < 144:
			lens[i] = 8
		case i < 256:
			lens[i] = 9
		case i < 280:
			lens[i] = 7
		default:
			lens[i] = 8
		}
	}
	fill(z.lit[:], litBits, lens, litEntry)
	lens = lens[:distSymbols]
	for i := range lens {
		lens[i] = 5
	}
	fill(z.dist[:], distBits, lens, distEntry)
}

// litEntry returns the entry of a literal, the end or a length, but for the
// length of its code.
func litEntry(symbol int) uint32 {
	switch {
	case symbol < 256:
		return uint32(symbol)<<16 | kindLiteral
	case symbol == 256:
		return kindEnd
	case symbol < 265:
		return uint32(symbol-257+3) << 16
	case symbol < 285:
		extra := uint32(symbol-261) / 4
		return (uint32(symbol-265)%4+4)<<extra<<16 + 3<<16 | extra<<8
	case symbol == 285:
		return 258 << 16
	}
	return 0
}

// distEntry does the same for a distance.
func distEntry(symbol int) uint32 {
	switch {
	case symbol < 4:
		return uint32(symbol+1) << 16
	case symbol < 30:
		extra := uint32(symbol-2) / 2
		return (uint32(symbol)%2+2)<<extra<<16 + 1<<16 | extra<<8
	}
	return 0
}

// fill makes the table of the codes with the given lengths, 0 for a symbol that
// has none. It reports false if there are more codes than these lengths allow, or
// fewer; but a single code of one bit may be alone, and there may be none.
func fill(table []uint32, first int, lens []uint8, entry func(symbol int) uint32) bool {
	var count [maxCode + 1]int
	for _, n := range lens {
		count[n]++
	}
	clear(table[:1<<first])
	longest, left := 0, 1
	var next [maxCode + 1]uint16 // code of the next symbol, by length
	code := 0
	for n := 1; n <= maxCode; n++ {
		if left = left<<1 - count[n]; left < 0 {
			return false
		}
		code = (code + count[n-1]) << 1
		if n == 1 {
			code = 0 // symbols without a code do not count
		}
		next[n] = uint16(code)
		if count[n] > 0 {
			longest = n
		}
	}
	if left > 0 && longest > 1 {
		return false
	}
	free := 1 << first // where the next second table begins
	for symbol, length := range lens {
		n := int(length)
		if n == 0 {
			continue
		}
		reversed := int(bits.Reverse16(next[n]) >> (16 - n))
		next[n]++
		e := entry(symbol)
		if n <= first {
			if e != 0 {
				e |= uint32(n)
			}
			for i := reversed; i < 1<<first; i += 1 << n {
				table[i] = e
			}
			continue
		}
		at := reversed & (1<<first - 1)
		if table[at] == 0 {
			table[at] = uint32(free)<<16 | kindTable | uint32(longest-first)<<8 | uint32(first)
			free += 1 << (longest - first)
		}
		if e != 0 {
			e |= uint32(n - first)
		}
		second := table[table[at]>>16:][:1<<(longest-first)]
		for i := reversed >> first; i < len(second); i += 1 << (n - first) {
			second[i] = e
		}
	}
	return true
}

// block inflates a block with the codes of the tables.
func (z *inflater) block() error {
	src, pos, bits, nbits := z.src, z.pos, z.bits, z.nbits
	buf, out := z.buf, z.out
	var err error
loop:
	for {
		if out > len(buf)-room {
			z.out = out
			if err = z.makeRoom(); err != nil {
				break
			}
			buf = z.buf
		}
		// The 56 bits are enough for three literals, or for two and a length.
		pos, bits, nbits = refill(src, pos, bits, nbits)
		var e uint32
		for range 3 {
			e = z.lit[bits&(1<<litBits-1)]
			if e&kindTable != 0 {
				bits >>= litBits
				nbits -= litBits
				e = z.lit[e>>16+uint32(bits)&(1<<(e>>8&15)-1)]
			}
			bits >>= e & 15
			nbits -= int(e & 15)
			if e&kindLiteral == 0 {
				break
			}
			buf[out] = byte(e >> 16)
			out++
		}
		switch {
		case nbits < 0:
			err = errCut
			break loop
		case e&kindLiteral != 0:
			continue
		case e&kindEnd != 0:
			break loop
		case e == 0:
			err = errCode
			break loop
		}
		extra := e >> 8 & 15
		length := int(e>>16) + int(bits&(1<<extra-1))
		bits >>= extra
		nbits -= int(extra)

		pos, bits, nbits = refill(src, pos, bits, nbits)
		e = z.dist[bits&(1<<distBits-1)]
		if e&kindTable != 0 {
			bits >>= distBits
			nbits -= distBits
			e = z.dist[e>>16+uint32(bits)&(1<<(e>>8&15)-1)]
		}
		bits >>= e & 15
		nbits -= int(e & 15)
		extra = e >> 8 & 15
		distance := int(e>>16) + int(bits&(1<<extra-1))
		bits >>= extra
		nbits -= int(extra)
		switch {
		case nbits < 0:
			err = errCut
			break loop
		case e == 0:
			err = errCode
			break loop
		case distance > out-z.start:
			err = errDistance
			break loop
		}
		from, to := buf[out-distance:], buf[out:out+length+8]
		if distance >= 8 {
			for i := 0; i < length; i += 8 {
				binary.LittleEndian.PutUint64(to[i:], binary.LittleEndian.Uint64(from[i:]))
			}
		} else {
			for i := range length {
				to[i] = from[i]
			}
		}
		out += length
	}
	z.pos, z.bits, z.nbits, z.out = pos, bits, nbits, out
	return err
}
