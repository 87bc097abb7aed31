package cm

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/verbs"
)

// terms are what braid peers tell each other beyond the standard: the last
// sixteen bytes of the private data of a REQ and of its REP. The program's own
// data comes first, because that is where programs on standard peers look.
//
//	bytes   field
//	0-3     "brai"
//	4       version, 2: that of the multi-path headers, since who has others cannot
//	        have such a queue pair
//	5       flags; bit 0: the sender wants (REQ) or grants (REP) a multi-path queue pair;
//	        bit 1 (REQ): refused with a cookie, the sender asks again with it
//	6       path MTU that the sender wants, as its code: the largest that is not above bytes 14-15
//	7       bytes of the program's private data
//	8-9     virtual paths
//	10-11   packets that the sender tracks out of order, a power of two
//	12-13   packets that it can take before it must have run; 0: not said
//	14-15   payload that the sender wants in a multi-path packet, in bytes, a multiple of 4;
//	        0: one of the standard's, which byte 6 says
//
// Who sends terms also acknowledges an RTU, and expects its own to be.
type terms struct {
	multiPath bool
	retry     bool
	mtu       mad.MTU
	payload   uint16
	paths     uint16
	slots     uint16
	window    uint16
}

const (
	termsLen     = 16
	termsMagic   = "brai"
	termsVersion = 2 // follows wire.MPVersion

	flagMultiPath = 1 << 0
	flagRetry     = 1 << 1
)

// termsOf are the terms of a queue pair.
func termsOf(p *verbs.ConnParams) *terms {
	t := &terms{
		multiPath: p.Type == verbs.MP, mtu: mad.MTUOf(p.MTU),
		paths: uint16(p.Paths), slots: uint16(p.TrackedSlots), window: uint16(p.Window),
	}
	if t.multiPath {
		t.payload = uint16(p.MTU)
	}
	return t
}

// pack fills the room for private data with the program's, and the terms behind
// it. Without terms (nil) the program may have all of the room.
func pack(room, data []byte, t *terms) error {
	limit := len(room)
	if t != nil {
		limit -= termsLen
	}
	if len(data) > limit {
		return fmt.Errorf("%w: %d bytes of at most %d", ErrPrivateData, len(data), limit)
	}
	copy(room, data)
	if t == nil {
		return nil
	}
	b := room[limit:]
	copy(b, termsMagic)
	b[4] = termsVersion
	if t.multiPath {
		b[5] |= flagMultiPath
	}
	if t.retry {
		b[5] |= flagRetry
	}
	b[6], b[7] = byte(t.mtu), byte(len(data))
	binary.BigEndian.PutUint16(b[8:], t.paths)
	binary.BigEndian.PutUint16(b[10:], t.slots)
	binary.BigEndian.PutUint16(b[12:], t.window)
	binary.BigEndian.PutUint16(b[14:], t.payload)
	return nil
}

// unpack finds the program's data and the terms. A standard peer's data has no
// terms and is as long as the room, since nothing tells where it ends.
func unpack(room []byte) (data []byte, t *terms) {
	limit := len(room) - termsLen
	b := room[limit:]
	if !bytes.HasPrefix(b, []byte(termsMagic)) || b[4] != termsVersion || int(b[7]) > limit {
		return room, nil
	}
	return room[:b[7]], &terms{
		multiPath: b[5]&flagMultiPath != 0, retry: b[5]&flagRetry != 0, mtu: mad.MTU(b[6]),
		paths: binary.BigEndian.Uint16(b[8:]), slots: binary.BigEndian.Uint16(b[10:]),
		window: binary.BigEndian.Uint16(b[12:]), payload: binary.BigEndian.Uint16(b[14:]),
	}
}

// supportsRetry says whether the sender of a request knows cookies.
func supportsRetry(req *mad.REQ) bool {
	_, t := unpack(req.PrivateData[mad.IPHeaderLen:])
	return t != nil && t.retry
}

// apply adds the terms to what the standard fields say of a peer. A peer that names no
// payload takes ours to be the power of two that byte 6 names, so that the smaller of
// the two has to be one as well.
func (t *terms) apply(p *verbs.ConnParams, localMTU int) {
	p.MTU, p.Window = t.mtu.Bytes(), int(t.window)
	if p.Type != verbs.MP {
		return
	}
	p.Paths, p.TrackedSlots = int(t.paths), int(t.slots)
	if t.payload != 0 {
		p.MTU = int(t.payload)
	} else {
		p.MTU = min(p.MTU, mad.MTUOf(localMTU).Bytes())
	}
}
