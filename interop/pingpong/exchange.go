package pingpong

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// Port is the TCP port on which the programs listen.
const Port = 18515

// ErrExchange is a peer that does not follow the programs' exchange.
var ErrExchange = errors.New("pingpong: invalid exchange")

// destination is one queue pair as the programs describe it to each other.
type destination struct {
	qpn verbs.QPN
	psn verbs.PSN
	gid [16]byte // an IPv4 address is mapped into IPv6
}

const (
	// messageLen is that of "LLLL:QQQQQQ:PPPPPP:" with the GID in hexadecimal
	// and a zero byte; all fields are hexadecimal.
	messageLen = len("0000:000000:000000:") + 32 + 1
	// farewell ends the exchange.
	farewell = "done\x00"
	// sharedSlots is how many queue pairs ibv_srq_pingpong describes, used or not.
	sharedSlots = 256
)

func (d destination) append(b []byte) []byte {
	return fmt.Appendf(b, "0000:%06x:%06x:%x\x00", uint32(d.qpn), uint32(d.psn), d.gid)
}

// parseDestination reads one description. The local identifier means nothing
// on Ethernet.
func parseDestination(b []byte) (destination, error) {
	var d destination
	if len(b) != messageLen || b[messageLen-1] != 0 {
		return d, fmt.Errorf("%w: description of %d bytes", ErrExchange, len(b))
	}
	var lid, qpn, psn uint32
	var gid string
	if n, err := fmt.Sscanf(string(b[:messageLen-1]), "%4x:%6x:%6x:%32s", &lid, &qpn, &psn, &gid); err != nil || n != 4 {
		return d, fmt.Errorf("%w: %q", ErrExchange, b)
	}
	if n, err := hex.Decode(d.gid[:], []byte(gid)); err != nil || n != len(d.gid) {
		return d, fmt.Errorf("%w: GID %q", ErrExchange, gid)
	}
	d.qpn, d.psn = verbs.QPN(qpn), verbs.PSN(psn)
	return d, nil
}

// addr is the address in the GID.
func (d destination) addr() netip.Addr { return netip.AddrFrom16(d.gid).Unmap() }

// describe is this end's queue pair.
func describe(q *verbs.QP) destination {
	p := q.Params()
	return destination{qpn: p.QPN, psn: p.PSN, gid: p.Addr.As16()}
}

// exchange tells the peer of our queue pairs and reads its own. connect is
// called as soon as they are known: a server must be connected before its
// reply invites the first message.
func exchange(ctx context.Context, conn net.Conn, client bool, slots int, own []destination, connect func([]destination) error) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	var descriptions []byte
	for i := range slots {
		var d destination
		if i < len(own) {
			d = own[i]
		}
		descriptions = d.append(descriptions)
	}
	if client {
		if _, err := conn.Write(descriptions); err != nil {
			return err
		}
	}
	peers, err := readDestinations(conn, slots, len(own))
	if err != nil {
		return err
	}
	if err := connect(peers); err != nil {
		return err
	}
	if client {
		_, err := io.WriteString(conn, farewell)
		return err
	}
	if _, err := conn.Write(descriptions); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, make([]byte, len(farewell)))
	return err
}

// readDestinations reads all descriptions, of which the first ones are used.
func readDestinations(r io.Reader, slots, used int) ([]destination, error) {
	var peers []destination
	message := make([]byte, messageLen)
	for range slots {
		if _, err := io.ReadFull(r, message); err != nil {
			return nil, err
		}
		d, err := parseDestination(message)
		if err != nil {
			return nil, err
		}
		peers = append(peers, d)
	}
	return peers[:used], nil
}
