package perftest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

const (
	// version is that of the exchange; peers compare it as a decimal number.
	version       = "6.06"
	oldestVersion = 5.70
	versionLen    = 16

	// What a peer's buffers and cache lines measure: both ends take the larger.
	// Pages and cache lines of this size are those of the machines that braid
	// runs on, and a larger one of the peer's does not concern us, because our
	// memory is one piece.
	pageSize  = 4096
	cacheLine = 64

	farewell = "done\x00"

	// openTimeout is how long a peer may take to begin: a stranger that connects
	// and says nothing is not waited for.
	openTimeout = 10 * time.Second
)

// Conn is a conversation with a program of perftest. It owns its connection.
type Conn struct {
	conn   net.Conn
	client bool
	mtu    int
}

// Open begins the conversation. mtu is the path MTU that this end wants; see MTU.
func Open(conn net.Conn, client bool, mtu int) (*Conn, error) {
	c := &Conn{conn: conn, client: client}
	err := conn.SetDeadline(time.Now().Add(openTimeout))
	if err == nil {
		err = c.open(mtu)
	}
	if err == nil {
		// A test may last for as long as it likes.
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) open(mtu int) error {
	own := make([]byte, versionLen)
	copy(own, version)
	peer, err := c.swap(own)
	if err != nil {
		return err
	}
	text, _, _ := bytes.Cut(peer, []byte{0})
	if number, err := strconv.ParseFloat(string(text), 64); err != nil || number < oldestVersion {
		return fmt.Errorf("%w: its version is %q; it must be %.2f or later", ErrExchange, text, oldestVersion)
	}
	for _, size := range []uint32{pageSize, cacheLine} {
		if _, err := c.swap(binary.BigEndian.AppendUint32(nil, size)); err != nil {
			return err
		}
	}
	code := mtuCode(mtu)
	peer, err = c.swap([]byte{'0' + byte(code), 0})
	if err != nil {
		return err
	}
	theirs := int(peer[0]) - '0'
	if theirs < smallestMTUCode || theirs > largestMTUCode {
		return fmt.Errorf("%w: path MTU %q", ErrExchange, peer)
	}
	c.mtu = mtuOf(min(code, theirs))
	return nil
}

// Path MTUs travel as the codes of the InfiniBand specification: 256 is 1.
const (
	smallestMTUCode = 1
	largestMTUCode  = 5
)

func mtuOf(code int) int { return 128 << code }

// mtuCode is the code of the largest path MTU that is not larger than mtu.
func mtuCode(mtu int) int {
	code := smallestMTUCode
	for code < largestMTUCode && mtuOf(code+1) <= mtu {
		code++
	}
	return code
}

// MTU is the path MTU that both ends carry.
func (c *Conn) MTU() int { return c.mtu }

// swap exchanges messages of the same length: the client writes first.
func (c *Conn) swap(own []byte) ([]byte, error) {
	if c.client {
		if _, err := c.conn.Write(own); err != nil {
			return nil, err
		}
	}
	peer := make([]byte, len(own))
	if _, err := io.ReadFull(c.conn, peer); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExchange, err)
	}
	if !c.client {
		if _, err := c.conn.Write(own); err != nil {
			return nil, err
		}
	}
	return peer, nil
}

// SwapKeys exchanges keys. The programs also use it to wait for each other.
func (c *Conn) SwapKeys(own Keys) (Keys, error) {
	peer, err := c.swap(own.append(nil))
	if err != nil {
		return Keys{}, err
	}
	return parseKeys(peer)
}

// Farewell ends the conversation in good order: it exchanges keys a last time
// and tells the peer that this end is done.
func (c *Conn) Farewell(own Keys) error {
	if _, err := c.SwapKeys(own); err != nil {
		return err
	}
	// A peer that is as far may have closed already.
	_, _ = io.WriteString(c.conn, farewell)
	return nil
}

// Close closes the connection. It may be called twice, and from any goroutine to
// end a conversation that has stalled.
func (c *Conn) Close() error { return c.conn.Close() }
