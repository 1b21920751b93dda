// Package checkpoint reads and writes the text files that hold offsets: the four
// *-offset-checkpoint files of a log directory and the leader-epoch-checkpoint
// of a partition. They share a grammar:
//
//	file         = version EOL count EOL *( entry EOL )
//	version      = "0"
//	count        = decimal number of entries
//	offset-entry = topic " " partition " " offset
//	epoch-entry  = epoch " " start-offset
//
// EOL is a line feed. A reader of Kafka takes CR LF and CR as well, and does
// not need the last one. It splits entries at any run of blanks (space, tab, VT,
// FF); blanks at the end of an entry do no harm, blanks at its start and empty
// lines do. Numbers may have a sign and leading zeros, but no blanks beside
// them in the first two lines. A file of 0 bytes, or of a version line only, is
// healthy and has no entries. Offset entries are in the order of a hash map; if
// a partition occurs twice the last line counts. Epoch entries rise.
//
// What a defect does to a broker depends on the exception that it makes of it:
// [FailsDir].
//
// Source: Kafka 4.4.0, CheckpointFile.java, OffsetCheckpointFile.java and
// LeaderEpochCheckpointFile.java; each rule was seen by running its reader. Not
// followed: Java takes decimal digits of any script, this package ASCII only.
package checkpoint

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"kf/internal/format/textlines"
)

// Version is the only version.
const Version = 0

// MaxLine is the longest line that is read, in bytes. The longest of Kafka has
// less than 300.
const MaxLine = 64 << 10

// The ways a file can be damaged; match with errors.Is.
var (
	ErrVersion       = errors.New("unknown version")
	ErrHeader        = errors.New("not a number in the header")
	ErrNegativeCount = errors.New("negative number of entries")
	ErrFields        = errors.New("wrong number of fields")
	ErrNumber        = errors.New("not a number")
	ErrNegative      = errors.New("negative value")
	ErrCount         = errors.New("wrong number of entries")
	ErrEncoding      = errors.New("not UTF-8")
	ErrLine          = errors.New("line too long")
)

// FailsDir reports whether a broker takes the log directory offline because of
// err. It does for damage of the file as a whole; a bad number in an entry and a
// negative one, or a negative count, make another exception: the start fails, or
// the file counts as empty.
func FailsDir(err error) bool {
	for _, other := range []error{ErrNumber, ErrNegative, ErrNegativeCount} {
		if errors.Is(err, other) {
			return false
		}
	}
	return err != nil
}

// An Error says in which line something is wrong; Err says what.
type Error struct {
	Line int // from 1 on
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// An Offset is an entry of an *-offset-checkpoint file.
type Offset struct {
	Topic     string
	Partition int32
	Offset    int64
}

// An Epoch is an entry of a leader-epoch-checkpoint file.
type Epoch struct {
	Epoch       int32
	StartOffset int64 // first offset of the epoch
}

// DecodeOffsets decodes an *-offset-checkpoint file as Kafka does: it fails with
// the first thing that [Offsets] finds, or with ErrEncoding if p is not UTF-8
// anywhere. Entries are in file order, duplicates included.
func DecodeOffsets(p []byte) ([]Offset, error) { return strict(p, Offsets) }

// DecodeEpochs decodes a leader-epoch-checkpoint file as Kafka does when it
// loads a log: it fails with the first thing that [Epochs] finds, or with
// ErrEncoding if p is not UTF-8 anywhere. Entries are in file order; that they
// rise is not checked.
func DecodeEpochs(p []byte) ([]Epoch, error) { return strict(p, Epochs) }

func strict[E any](p []byte, read func(io.Reader) iter.Seq2[E, error]) ([]E, error) {
	// Kafka's reader decodes 8 KiB of text before it looks at the first line.
	if !utf8.Valid(p) {
		line := 0
		for text := range textlines.Lines(p) {
			if line++; !utf8.Valid(text) {
				return nil, &Error{line, ErrEncoding}
			}
		}
	}
	var entries []E
	for e, err := range read(bytes.NewReader(p)) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Offsets yields the entries of an *-offset-checkpoint file and all that is
// wrong with it: an [*Error], with a zero Offset, for each bad line. Reading
// goes on behind it. The last value may be ErrCount, which counts bad lines too,
// ErrLine, or what r returned.
func Offsets(r io.Reader) iter.Seq2[Offset, error] {
	return read(r, 3, func(f []string) (Offset, error) {
		partition, err := number(f[1], 32)
		if err != nil {
			return Offset{}, fmt.Errorf("partition: %w", err)
		}
		offset, err := number(f[2], 64)
		if err != nil {
			return Offset{}, fmt.Errorf("offset: %w", err)
		}
		return Offset{f[0], int32(partition), offset}, nil
	})
}

// Epochs yields the entries of a leader-epoch-checkpoint file and all that is
// wrong with it: an [*Error], with a zero Epoch, for each bad line. Reading goes
// on behind it. The last value may be ErrCount, or what r returned. An entry with
// a negative number comes with ErrNegative.
func Epochs(r io.Reader) iter.Seq2[Epoch, error] {
	return read(r, 2, func(f []string) (Epoch, error) {
		epoch, err := number(f[0], 32)
		if err != nil {
			return Epoch{}, fmt.Errorf("epoch: %w", err)
		}
		start, err := number(f[1], 64)
		if err != nil {
			return Epoch{}, fmt.Errorf("start offset: %w", err)
		}
		e := Epoch{int32(epoch), start}
		switch {
		case epoch < 0:
			return e, fmt.Errorf("epoch: %w: %d", ErrNegative, epoch)
		case start < 0:
			return e, fmt.Errorf("start offset: %w: %d", ErrNegative, start)
		}
		return e, nil
	})
}

func number(s string, bits int) (int64, error) {
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%w of %d bits: %q", ErrNumber, bits, clip(s))
	}
	return n, nil
}

// read is the grammar that both kinds share; entry gets as many fields as asked.
func read[E any](r io.Reader, fields int, entry func([]string) (E, error)) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		var none E
		line, count := 0, int64(-1) // count is unknown until line 2
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, MaxLine)
		lines.Split(textlines.Split)
		for lines.Scan() {
			line++
			e, text, err := none, lines.Text(), error(nil)
			switch {
			case !utf8.ValidString(text):
				err = ErrEncoding
			case line == 1:
				err = version(text)
			case line == 2:
				count, err = entries(text)
			default:
				f := split(text)
				if len(f) != fields {
					err = fmt.Errorf("%w: %d, want %d", ErrFields, len(f), fields)
					break
				}
				e, err = entry(f)
			}
			if err != nil {
				err = &Error{line, err}
			}
			if (line > 2 || err != nil) && !yield(e, err) {
				return
			}
		}
		err := lines.Err()
		switch {
		case errors.Is(err, bufio.ErrTooLong):
			yield(none, &Error{line + 1, fmt.Errorf("%w: more than %d bytes", ErrLine, MaxLine)})
		case err != nil:
			yield(none, &Error{line + 1, err})
		case count >= 0 && count != int64(line-2):
			yield(none, &Error{2, fmt.Errorf("%w: header says %d, found %d", ErrCount, count, line-2)})
		}
	}
}

// split cuts text at runs of blanks. As in Java a run at the start makes an
// empty first field, one at the end makes none.
func split(text string) []string {
	f := strings.FieldsFunc(text, blank)
	if text == "" || blank(rune(text[0])) {
		f = append([]string{""}, f...)
	}
	return f
}

func blank(r rune) bool { return r == ' ' || r >= '\t' && r <= '\r' }

func version(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil:
		return fmt.Errorf("version: %w: %q", ErrHeader, clip(text))
	case n != Version:
		return fmt.Errorf("%w %d, want %d", ErrVersion, n, Version)
	}
	return nil
}

func entries(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil:
		return -1, fmt.Errorf("count: %w: %q", ErrHeader, clip(text))
	case n < 0:
		return -1, fmt.Errorf("%w: %d", ErrNegativeCount, n)
	}
	return n, nil
}

// clip keeps messages short: a line may hold anything.
func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}

// AppendOffsets appends an *-offset-checkpoint file to dst.
func AppendOffsets(dst []byte, entries []Offset) []byte {
	dst = appendHeader(dst, len(entries))
	for _, e := range entries {
		dst = fmt.Appendf(dst, "%s %d %d\n", e.Topic, e.Partition, e.Offset)
	}
	return dst
}

// AppendEpochs appends a leader-epoch-checkpoint file to dst.
func AppendEpochs(dst []byte, entries []Epoch) []byte {
	dst = appendHeader(dst, len(entries))
	for _, e := range entries {
		dst = fmt.Appendf(dst, "%d %d\n", e.Epoch, e.StartOffset)
	}
	return dst
}

func appendHeader(dst []byte, n int) []byte { return fmt.Appendf(dst, "%d\n%d\n", Version, n) }
