package javafmt

import (
	"bytes"
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// AppendDouble appends v as Double.toString of Java 18 and older does: plain from
// 1e-3 up to 1e7, else with an exponent; NaN, Infinity and -Infinity as these words.
func AppendDouble(dst []byte, v float64) []byte {
	if math.IsNaN(v) {
		return append(dst, "NaN"...)
	}
	if math.Signbit(v) {
		dst = append(dst, '-')
		v = -v
	}
	switch {
	case math.IsInf(v, 0):
		return append(dst, "Infinity"...)
	case v == 0:
		return append(dst, "0.0"...)
	}
	digits, power := decimal(v)
	n := len(digits)
	switch whole := power + 1; { // digits before the point
	case power < -3 || power > 6:
		dst = appendFraction(append(dst, digits[0]), digits[1:])
		return strconv.AppendInt(append(dst, 'E'), int64(power), 10)
	case whole <= 0:
		return append(append(append(dst, '0', '.'), "00"[:-whole]...), digits...)
	case n <= whole:
		return append(append(append(dst, digits...), "000000"[:whole-n]...), '.', '0')
	default:
		return appendFraction(append(dst, digits[:whole]...), digits[whole:])
	}
}

func appendFraction(dst, digits []byte) []byte {
	if len(digits) == 0 {
		digits = []byte{'0'}
	}
	return append(append(dst, '.'), digits...)
}

// decimal returns the digits that Java gives v, which is finite and above 0, and
// the power of ten that the first of them counts.
func decimal(v float64) (digits []byte, power int) {
	const mantissa = 1<<52 - 1
	word := math.Float64bits(v)
	m, exp := word&mantissa, int(word>>52)
	precision := 53 // bits
	if exp == 0 {   // denormal
		shift := bits.LeadingZeros64(m) - 11
		m, exp, precision = m<<shift, 1-shift, 53-shift
	} else {
		m |= 1 << 52
	}
	exp -= 1023 // v is m × 2^(exp-52), with bit 52 of m set
	zeros := bits.TrailingZeros64(m)
	if exp >= 52-zeros && exp <= 62 {
		return integer(uint64(v), exp-precision-1)
	}

	// The logarithm of v by its tangent at 1.5: as Java rounds it, and therefore
	// without the fused operations that these conversions prevent. The floor is
	// the power of the first digit, or one more.
	slope := float64((math.Float64frombits(1023<<52|m&mantissa) - 1.5) * 0.289529654)
	power = int(math.Floor(float64(slope+0.176091259) + float64(float64(exp)*0.301029995663981)))

	half2 := exp - precision // the power of two that is half the distance to the next double
	if zeros == 52 {         // below it is half of that, and Java takes it for both sides
		half2--
	}
	next := generator(m>>zeros, exp-52+zeros, half2, power)
	digit, low, high, rest := next()
	if digit == 0 && !high {
		power--
	} else {
		digits = append(digits, '0'+digit)
	}
	if power < -3 || power > 6 { // with an exponent two digits are wanted
		low, high = false, false
	}
	for !low && !high {
		digit, low, high, rest = next()
		digits = append(digits, '0'+digit)
	}
	if high && (!low || rest > 0 || rest == 0 && digit&1 != 0) {
		power += increment(digits)
	}
	return digits, power
}

// integer is decimal for whole numbers below 2^63. Of one with insignificant bits
// the last digits are rounded away: as many as 2^insignificant has, less one.
func integer(v uint64, insignificant int) (digits []byte, power int) {
	for unit := uint64(10); unit < 1<<max(0, insignificant); unit *= 10 {
		power++
	}
	if power > 0 {
		unit := uint64(math.Pow10(power))
		v = (v + unit/2) / unit
	}
	digits = strconv.AppendUint(nil, v, 10)
	power += len(digits) - 1
	return bytes.TrimRight(digits, "0"), power
}

// increment adds 1 to the last digit and returns 1 if the number has become the
// next power of ten, which then has zeros at its end.
func increment(digits []byte) (carry int) {
	i := len(digits) - 1
	for ; i > 0 && digits[i] == '9'; i-- {
		digits[i] = '0'
	}
	if digits[i] == '9' {
		digits[i] = '1'
		return 1
	}
	digits[i]++
	return 0
}

// generator returns a function that gives the digits of m × 2^exp from that of
// 10^power on, and for each whether what is left after it (low), or what is
// missing to the next digit (high), is less than 2^half, so that no more digits
// are needed; rest says, if both are so, which is smaller: below 0 what is left.
func generator(m uint64, exp, half, power int) func() (digit byte, low, high bool, rest int) {
	down, up := max(0, -power), max(0, power) // powers of five
	two := max(0, power-exp, power-half)      // makes all three whole numbers
	exp, half = exp-power+two, half-power+two
	if bits.Len64(m)+exp+fiveBits(down) < 64 && two+1+fiveBits(up+1) < 64 {
		// The remainder and the half grow tenfold in 64 bits. Where the half does
		// not fit any more Java has some digits too many.
		left, one, less := int64(m)*five(down)<<exp, five(up)<<two, five(down)<<half
		return func() (digit byte, low, high bool, rest int) {
			digit, left, less = byte(left/one), left%one*10, less*10
			if less <= 0 {
				low, high = true, true
			} else {
				low, high = left < less, left+less > one*10
			}
			return digit, low, high, cmp.Compare(left*2-one*10, 0)
		}
	}
	scaled := func(m uint64, fives, twos int) *big.Int {
		n := new(big.Int).Exp(big.NewInt(5), big.NewInt(int64(fives)), nil)
		return n.Lsh(n.Mul(n, new(big.Int).SetUint64(m)), uint(twos))
	}
	ten := big.NewInt(10)
	left, one, less := scaled(m, down, exp), scaled(1, up, two), scaled(1, down, half)
	whole := new(big.Int).Mul(one, ten)
	return func() (digit byte, low, high bool, rest int) {
		quotient := new(big.Int)
		quotient.QuoRem(left, one, left)
		left.Mul(left, ten)
		less.Mul(less, ten)
		sum := new(big.Int).Add(left, less)
		low, high = left.Cmp(less) < 0, sum.Cmp(whole) >= 0
		return byte(quotient.Uint64()), low, high, sum.Lsh(left, 1).Cmp(whole)
	}
}

// five returns 5^n, for n below 28.
func five(n int) int64 {
	p := int64(1)
	for range n {
		p *= 5
	}
	return p
}

// fiveBits returns how many bits Java makes room for when it multiplies by 5^n.
func fiveBits(n int) int {
	if n < 27 {
		return bits.Len64(uint64(five(n)))
	}
	return 3 * n
}
