package perftest

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/braid-rdma/braid/wire"
)

// ErrExchange is a peer that does not follow perftest's exchange.
var ErrExchange = errors.New("no peer of perftest")

// Keys are one end of a connection: a queue pair, and the memory that belongs
// to it.
type Keys struct {
	Reads int // READs and atomics that this end takes at a time
	QPN   wire.QPN
	PSN   wire.PSN
	RKey  wire.RKey
	Addr  uint64     // of the memory
	GID   netip.Addr // the address, as a GID names it
}

// keysLen is the fixed length of the text, with zeroes at its end. There is a
// shorter form without GID, which RoCE does not use.
const keysLen = 108

// keyFields are those of the text, all hexadecimal: LID, reads, QPN, PSN, remote
// key, address, the sixteen bytes of the GID, the number of the shared receive
// queue, and an empty one at the end.
const keyFields = 6 + 16 + 1 + 1

// append appends the message that carries the keys.
func (k *Keys) append(b []byte) []byte {
	start := len(b)
	b = fmt.Appendf(b, "%04x:%04x:%06x:%06x:%08x:%016x:", 0, k.Reads, uint32(k.QPN), k.PSN, k.RKey, k.Addr)
	for _, octet := range k.GID.As16() {
		b = fmt.Appendf(b, "%02x:", octet)
	}
	b = fmt.Appendf(b, "%08x:", 0)
	return append(b, make([]byte, keysLen-(len(b)-start))...)
}

// parseKeys reads a message of keys.
func parseKeys(b []byte) (Keys, error) {
	text, _, _ := strings.Cut(string(b), "\x00")
	fields := strings.Split(text, ":")
	if len(b) != keysLen || len(fields) != keyFields {
		return Keys{}, fmt.Errorf("%w: keys %q", ErrExchange, text)
	}
	widths := [...]int{16, 16, 24, 24, 32, 64} // in bits
	var numbers [len(widths)]uint64
	for i, width := range widths {
		var err error
		if numbers[i], err = strconv.ParseUint(fields[i], 16, width); err != nil {
			return Keys{}, fmt.Errorf("%w: keys %q: %w", ErrExchange, text, err)
		}
	}
	var gid [16]byte
	for i := range gid {
		octet, err := strconv.ParseUint(fields[len(widths)+i], 16, 8)
		if err != nil {
			return Keys{}, fmt.Errorf("%w: GID in %q: %w", ErrExchange, text, err)
		}
		gid[i] = byte(octet)
	}
	return Keys{
		Reads: int(numbers[1]), QPN: wire.QPN(numbers[2]), PSN: wire.PSN(numbers[3]),
		RKey: wire.RKey(numbers[4]), Addr: numbers[5], GID: netip.AddrFrom16(gid).Unmap(),
	}, nil
}
