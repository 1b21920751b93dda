package broker

import (
	"net"
	"testing"
)

func TestHostText(t *testing.T) {
	for _, tt := range []struct {
		addr net.Addr
		want string
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}, "/127.0.0.1"},
		{&net.TCPAddr{IP: net.ParseIP("::ffff:10.1.2.3"), Port: 9}, "/10.1.2.3"},
		{&net.TCPAddr{IP: net.IPv6loopback, Port: 9}, "/0:0:0:0:0:0:0:1"},
		{&net.TCPAddr{IP: net.ParseIP("2001:db8::ff:0"), Port: 9}, "/2001:db8:0:0:0:0:ff:0"},
		{&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 9, Zone: "eth0"}, "/fe80:0:0:0:0:0:0:1%eth0"},
		{&net.UnixAddr{Name: "pipe"}, "/pipe"},
	} {
		if got := hostText(tt.addr); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.addr, got, tt.want)
		}
	}
}
