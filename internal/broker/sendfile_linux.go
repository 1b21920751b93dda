package broker

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"kf/internal/storage"
)

// newRegionSender returns the best way to send regions over c: sendfile(2) for
// TCP, so that records go from the page cache to the socket.
func newRegionSender(c net.Conn) regionSender {
	if tcp, ok := c.(*net.TCPConn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			return &sendfile{raw: raw, other: copier{c}}
		}
	}
	return copier{c}
}

// sendfile sends regions with sendfile(2) at explicit positions: the position
// of the file itself is never used, so that any number of fetches share one
// descriptor. The standard library's way (io.Copy from a file) would use it.
type sendfile struct {
	raw   syscall.RawConn
	other regionSender // for what is no file of the operating system
}

func (s *sendfile) send(r *storage.Region, progress func()) error {
	file := r.OS()
	if file == nil {
		return s.other.send(r, progress)
	}
	from, err := file.SyscallConn()
	if err != nil {
		return err
	}
	pos, end := r.Pos(), r.Pos()+int64(r.Len())
	for pos < end {
		var n int
		var failed error
		// Control keeps the descriptor open; Write waits until the socket
		// takes more, within the connection's deadline.
		err := s.raw.Write(func(to uintptr) bool {
			n, failed = 0, nil
			if err := from.Control(func(fd uintptr) {
				offset := pos
				n, failed = unix.Sendfile(int(to), int(fd), &offset, int(min(end-pos, maxChunk)))
			}); err != nil {
				failed = err
			}
			return failed != unix.EAGAIN
		})
		switch {
		case err != nil:
			return err
		case failed == unix.EINTR:
		case failed != nil:
			return os.NewSyscallError("sendfile", failed)
		case n == 0: // the file became shorter: what was promised is not there
			return fmt.Errorf("%s: ends at byte %d, want %d: %w", file.Name(), pos, end, io.ErrUnexpectedEOF)
		default:
			pos += int64(n)
			progress()
		}
	}
	return nil
}
