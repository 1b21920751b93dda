package broker

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"kf/internal/coordinator/group"
)

// client returns who sent a request, as Kafka writes it into the records of
// groups.
func (c *call) client() group.Client {
	return group.Client{ID: c.clientID, Host: hostText(c.conn.nc.RemoteAddr())}
}

// hostText writes the host of an address as Java's InetAddress.toString does
// without its name: a slash, and for IPv6 all eight groups.
func hostText(a net.Addr) string {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return "/" + a.String()
	}
	ip := at.Addr().Unmap()
	if ip.Is4() {
		return "/" + ip.String()
	}
	b := ip.As16()
	groups := make([]string, 8)
	for i := range groups {
		groups[i] = strconv.FormatUint(uint64(b[2*i])<<8|uint64(b[2*i+1]), 16)
	}
	host := "/" + strings.Join(groups, ":")
	if ip.Zone() != "" {
		host += "%" + ip.Zone()
	}
	return host
}
