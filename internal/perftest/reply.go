package perftest

import (
	"errors"
	"fmt"
	"io"
)

// RequestKind is what a client wants of a server that only replies.
type RequestKind uint8

// The requests of a client.
const (
	KeysRequest   RequestKind = iota // reply with ReplyKeys
	ReportRequest                    // reply with ReplyReport
	EndRequest                       // it is done
)

// Request is what a client says next.
type Request struct {
	Kind RequestKind
	Keys Keys // of KeysRequest
}

// NextRequest waits for the client's next message. The messages are not
// labelled: keys begin with a hexadecimal digit, a report with the highest byte of
// a message size, which is zero, and the farewell with its own letters.
func (c *Conn) NextRequest() (Request, error) {
	first := make([]byte, 2)
	if _, err := io.ReadFull(c.conn, first); err != nil {
		if errors.Is(err, io.EOF) {
			return Request{Kind: EndRequest}, nil
		}
		return Request{}, err
	}
	switch {
	case first[0] == 0 && first[1] == 0:
		return Request{Kind: ReportRequest}, nil
	case string(first) == farewell[:2]:
		// What is left of it does not matter, nor does a client that has gone.
		_, _ = io.ReadFull(c.conn, make([]byte, len(farewell)-len(first)))
		return Request{Kind: EndRequest}, nil
	}
	rest := make([]byte, keysLen-len(first))
	if _, err := io.ReadFull(c.conn, rest); err != nil {
		return Request{}, fmt.Errorf("%w: %w", ErrExchange, err)
	}
	keys, err := parseKeys(append(first, rest...))
	return Request{Kind: KeysRequest, Keys: keys}, err
}

// ReplyKeys replies to a KeysRequest.
func (c *Conn) ReplyKeys(own Keys) error {
	_, err := c.conn.Write(own.append(nil))
	return err
}

// ReplyReport replies to a ReportRequest and returns the client's report.
func (c *Conn) ReplyReport(own Report) (Report, error) {
	return c.swapReport(own, 2)
}

// swapRest is swap for a message of which the peer's first bytes have been read
// and were zero.
func (c *Conn) swapRest(own []byte, read int) ([]byte, error) {
	if read == 0 {
		return c.swap(own)
	}
	peer := make([]byte, len(own))
	if _, err := io.ReadFull(c.conn, peer[read:]); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExchange, err)
	}
	_, err := c.conn.Write(own)
	return peer, err
}
