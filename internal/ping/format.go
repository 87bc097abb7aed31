package ping

import (
	"encoding/binary"
	"errors"
	"time"
)

// A probe and its reply begin with a header, big-endian, and end in zeros:
//
//	0  magic "BRPG"         8  token               32  queue key of the prober
//	4  version             16  T3 at the responder  36  the responder's source port, 0: not known
//	5  kind                24  T4 at the responder  38  zero
//	6  path
const (
	magic     = 0x42525047
	version   = 1
	headerLen = 40
)

// kind tells messages apart.
type kind uint8

const (
	kindProbe kind = iota + 1
	kindReply
	kindDescribe    // a request for a description
	kindDescription // what it is rejected with
	kindWrite       // a request for a connection to WRITE by
	kindGrant       // what it is accepted with
)

// errFormat is a message that is none of this package's, or of a later version.
var errFormat = errors.New("ping: not a message of this version")

// header is that of a probe or reply.
type header struct {
	kind             kind
	path             uint16
	token            uint64
	arrived, replied time.Duration // T3 and T4, by the responder's clock
	qkey             uint32
	port             uint16
}

func putPrefix(b []byte, k kind) {
	binary.BigEndian.PutUint32(b, magic)
	b[4], b[5] = version, byte(k)
}

// parsePrefix returns the kind of a message of at least so many bytes.
func parsePrefix(b []byte, length int) (kind, error) {
	if len(b) < length || binary.BigEndian.Uint32(b) != magic || b[4] != version {
		return 0, errFormat
	}
	return kind(b[5]), nil
}

// put writes the header to the beginning of b.
func (h *header) put(b []byte) {
	putPrefix(b, h.kind)
	binary.BigEndian.PutUint16(b[6:], h.path)
	binary.BigEndian.PutUint64(b[8:], h.token)
	binary.BigEndian.PutUint64(b[16:], uint64(h.arrived))
	binary.BigEndian.PutUint64(b[24:], uint64(h.replied))
	binary.BigEndian.PutUint32(b[32:], h.qkey)
	binary.BigEndian.PutUint16(b[36:], h.port)
	binary.BigEndian.PutUint16(b[38:], 0)
}

// parseHeader reads a probe or reply, whichever is wanted.
func parseHeader(b []byte, want kind) (h header, err error) {
	k, err := parsePrefix(b, headerLen)
	if err != nil || k != want {
		return header{}, errFormat
	}
	return header{
		kind:    k,
		path:    binary.BigEndian.Uint16(b[6:]),
		token:   binary.BigEndian.Uint64(b[8:]),
		arrived: time.Duration(binary.BigEndian.Uint64(b[16:])),
		replied: time.Duration(binary.BigEndian.Uint64(b[24:])),
		qkey:    binary.BigEndian.Uint32(b[32:]),
		port:    binary.BigEndian.Uint16(b[36:]),
	}, nil
}

// A request to the responder is the private data of a REQ. That for WRITEs names the path
// by which the acknowledgements are to come.
const requestLen = 8

func appendRequest(b []byte, k kind, path int) []byte {
	b = append(b, make([]byte, requestLen)...)
	putPrefix(b, k)
	binary.BigEndian.PutUint16(b[6:], uint16(path))
	return b
}

func parseRequest(b []byte) (k kind, path int, err error) {
	k, err = parsePrefix(b, requestLen)
	if err != nil || k != kindDescribe && k != kindWrite {
		return 0, 0, errFormat
	}
	return k, int(binary.BigEndian.Uint16(b[6:])), nil
}

// description is what a prober must know of a responder to send it datagrams.
type description struct {
	qpn  uint32
	qkey uint32
	mtu  int
}

// descriptionLen counts a last byte that is not zero, since zeros at the end of what a REJ
// says are not told from those that fill it.
const descriptionLen = 20

func (d *description) append(b []byte) []byte {
	b = append(b, make([]byte, descriptionLen)...)
	putPrefix(b, kindDescription)
	binary.BigEndian.PutUint32(b[8:], d.qpn)
	binary.BigEndian.PutUint32(b[12:], d.qkey)
	binary.BigEndian.PutUint16(b[16:], uint16(d.mtu))
	b[descriptionLen-1] = 0xff
	return b
}

func parseDescription(b []byte) (d description, err error) {
	k, err := parsePrefix(b, descriptionLen)
	if err != nil || k != kindDescription {
		return d, errFormat
	}
	d = description{
		qpn:  binary.BigEndian.Uint32(b[8:]),
		qkey: binary.BigEndian.Uint32(b[12:]),
		mtu:  int(binary.BigEndian.Uint16(b[16:])),
	}
	if d.mtu < MinSize {
		return d, errFormat
	}
	return d, nil
}

// grant is where the WRITEs of a connection may go.
type grant struct {
	addr   uint64
	rkey   uint32
	length int
}

const grantLen = 24

func (g *grant) append(b []byte) []byte {
	b = append(b, make([]byte, grantLen)...)
	putPrefix(b, kindGrant)
	binary.BigEndian.PutUint64(b[8:], g.addr)
	binary.BigEndian.PutUint32(b[16:], g.rkey)
	binary.BigEndian.PutUint32(b[20:], uint32(g.length))
	return b
}

func parseGrant(b []byte) (g grant, err error) {
	k, err := parsePrefix(b, grantLen)
	if err != nil || k != kindGrant {
		return g, errFormat
	}
	return grant{
		addr:   binary.BigEndian.Uint64(b[8:]),
		rkey:   binary.BigEndian.Uint32(b[16:]),
		length: int(binary.BigEndian.Uint32(b[20:])),
	}, nil
}
