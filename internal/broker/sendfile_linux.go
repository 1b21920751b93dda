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

// newOutput returns the best way to write answers to c: with sendfile(2) for
// TCP, so that records go from the page cache to the socket.
func newOutput(c net.Conn) output {
	if tcp, ok := c.(*net.TCPConn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			s := &socket{raw: raw, other: copier{c}}
			s.trySend, s.tryFile, s.withFile = s.sendSome, s.fileSome, s.sendfile
			return s
		}
	}
	return copier{c}
}

// A socket sends regions with sendfile(2) at explicit positions: the position of
// the file itself is never used, so that any number of fetches share one
// descriptor. The standard library's way (io.Copy from a file) would use it.
//
// The fields below raw are the arguments and results of the system call that is
// being made, which the functions get without a closure for each.
type socket struct {
	raw   syscall.RawConn
	other output // for what is no file of the operating system

	trySend, tryFile  func(fd uintptr) bool
	withFile          func(fd uintptr)
	p                 []byte // to be sent, with flags
	flags             int
	from              syscall.RawConn // to be sent from, at pos up to end
	pos, end          int64
	socketFD, written int
	err               error
}

func (s *socket) write(p []byte, more bool) error {
	s.p, s.flags = p, unix.MSG_NOSIGNAL
	if more {
		s.flags |= unix.MSG_MORE
	}
	for len(s.p) > 0 {
		if err := s.raw.Write(s.trySend); err != nil {
			return err
		}
		if s.err != nil {
			return os.NewSyscallError("sendmsg", s.err)
		}
		s.p = s.p[s.written:]
	}
	return nil
}

// sendSome sends some of s.p; false asks to be called when the socket takes
// more.
func (s *socket) sendSome(fd uintptr) bool {
	for {
		s.written, s.err = unix.SendmsgN(int(fd), s.p, nil, nil, s.flags)
		if s.err != unix.EINTR {
			return s.err != unix.EAGAIN
		}
	}
}

func (s *socket) send(r *storage.Region, progress func()) error {
	file := r.OS()
	if file == nil {
		return s.other.send(r, progress)
	}
	var err error
	if s.from, err = file.SyscallConn(); err != nil {
		return err
	}
	s.pos, s.end = r.Pos(), r.Pos()+int64(r.Len())
	for s.pos < s.end {
		if err := s.raw.Write(s.tryFile); err != nil {
			return err
		}
		switch {
		case s.err != nil:
			return os.NewSyscallError("sendfile", s.err)
		case s.written == 0: // the file became shorter: what was promised is not there
			return fmt.Errorf("%s: ends at byte %d, want %d: %w", file.Name(), s.pos, s.end, io.ErrUnexpectedEOF)
		}
		s.pos += int64(s.written)
		progress()
	}
	return nil
}

// fileSome sends some of the file. Control keeps its descriptor open meanwhile.
func (s *socket) fileSome(fd uintptr) bool {
	s.socketFD = int(fd)
	if err := s.from.Control(s.withFile); err != nil {
		s.written, s.err = 0, err
	}
	return s.err != unix.EAGAIN
}

func (s *socket) sendfile(fd uintptr) {
	for {
		offset := s.pos
		s.written, s.err = unix.Sendfile(s.socketFD, int(fd), &offset, int(min(s.end-s.pos, maxChunk)))
		if s.err != unix.EINTR {
			return
		}
	}
}
