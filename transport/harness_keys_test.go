package transport

import (
	"bytes"
	"math/rand/v2"

	"github.com/braid-rdma/braid/wire"
)

// Memory that a peer uses may end at any moment: its owner gives it another key,
// deregisters it, or the peer's own SEND with invalidate ends the key. From then
// on no byte of it moves on behalf of the peer, not even in the middle of a READ
// response, and what the peer still asks of it fails with a remote access error.

// target is memory that a host offers to its peer.
type target uint8

const (
	noTarget target = iota
	windowTarget
	patternTarget
	cellsTarget
)

// keyEnding is a way in which the use of memory ends.
type keyEnding uint8

const (
	nothingEnds keyEnding = iota
	rekeys
	deregisters
)

// keyEnd is a fault of the script: the owner ends the use of its memory.
type keyEnd struct {
	how   keyEnding
	of    target
	after int // packets of READ responses that the owner has sent by then; 0: it goes by time
}

// offer is memory as the peer learned of it in the beginning.
type offer struct {
	region *Region
	base   uint64
	rkey   wire.RKey
	ended  bool
	at     Time       // when it ended
	by     *operation // the peer's SEND with invalidate that is to end it; nil: none
}

// offered is all memory that a host offers.
type offered struct {
	window, pattern, cells offer
	frozen                 []byte // content of the cells when their key ended
}

func (k *offered) of(t target) *offer {
	switch t {
	case windowTarget:
		return &k.window
	case patternTarget:
		return &k.pattern
	case cellsTarget:
		return &k.cells
	}
	return nil
}

// named is the memory that an operation names; nil: none.
func (k *offered) named(o *operation) *offer {
	switch {
	case o.kind == OpSendInv:
		for _, t := range []target{windowTarget, patternTarget, cellsTarget} {
			if k := k.of(t); k.rkey == o.key {
				return k
			}
		}
		return nil
	case o.kind.isSend():
		return nil
	case o.kind.isAtomic():
		return &k.cells
	case o.kind == OpRead && o.readWindow < 0:
		return &k.pattern
	}
	return &k.window
}

// harnessMemory is the memory of a host, which is told of keys that the peer ends.
type harnessMemory struct {
	*testMemory
	invalidated func(rkey wire.RKey)
	lax         bool // a planted bug: neither keys nor regions end
}

// Invalidate implements Memory.
func (m *harnessMemory) Invalidate(pd PD, rkey wire.RKey) bool {
	if r := m.regions[rkey]; !m.lax && !m.testMemory.Invalidate(pd, rkey) || r == nil {
		return false
	}
	m.invalidated(rkey)
	return true
}

func (m *harnessMemory) rekey(r *Region) {
	if !m.lax {
		m.testMemory.rekey(r)
	}
}

func (m *harnessMemory) deregister(r *Region) {
	if !m.lax {
		m.testMemory.deregister(r)
	}
}

// addKeyEnd writes the end of some memory into the script.
func (s *scenario) addKeyEnd(r *rand.Rand, how keyEnding) {
	f := &fault{from: between(r, Microsecond, 4*Millisecond), host: r.IntN(2), ends: keyEnd{how: how, of: oneOf(r, windowTarget, patternTarget, cellsTarget)}}
	f.until = f.from
	if chance(r, 0.6) {
		f.ends.after = 1 + r.IntN(40)
		f.ends.of = oneOf(r, windowTarget, patternTarget, patternTarget)
		s.slowInterface(r)
	}
	if how == deregisters && f.ends.of == patternTarget && s.attr[0].Timeout == 0 {
		f.ends.of = windowTarget // the peer of who fails alone would never know
	}
	s.faults = append(s.faults, f)
}

// offerKeys tells the peer what there is, when memory is registered.
func (h *host) offerKeys() {
	m := &h.model
	offerOf := func(r *Region) offer { return offer{region: r, base: r.Base, rkey: r.RKey} }
	m.keys = offered{window: offerOf(m.window), pattern: offerOf(m.pattern), cells: offerOf(m.cells)}
	h.mem.invalidated = h.noteInvalidated
	r := rand.New(rand.NewPCG(h.w.sc.seed, uint64(30+h.index)))
	for _, o := range h.peer().work.ops {
		if o.kind != OpSendInv || !chance(r, h.w.sc.invalidates) {
			continue
		}
		k := m.keys.of(oneOf(r, windowTarget, patternTarget, cellsTarget))
		if k.by == nil {
			k.by, o.key = o, k.rkey
		}
	}
}

// endKey ends the use of memory, as its owner may at any time.
func (h *host) endKey(e keyEnd) {
	k := h.model.keys.of(e.of)
	if k.ended {
		return
	}
	if e.how == rekeys {
		h.mem.rekey(k.region)
		k.by = nil
	} else {
		h.mem.deregister(k.region)
		k.by = nil
		h.sourceGone = e.of == patternTarget
	}
	h.noteEnded(k)
	h.service()
}

// noteInvalidated is told of a key that a SEND with invalidate has ended.
func (h *host) noteInvalidated(rkey wire.RKey) {
	for _, t := range []target{windowTarget, patternTarget, cellsTarget} {
		if k := h.model.keys.of(t); k.rkey == rkey && !k.ended {
			h.noteEnded(k)
		}
	}
}

func (h *host) noteEnded(k *offer) {
	h.w.logf("%s: key %#x ends", h.name, k.rkey)
	k.ended, k.at = true, h.w.now
	if k == &h.model.keys.cells {
		h.model.keys.frozen = bytes.Clone(k.region.Bytes)
	}
}

// trespasses says whether an operation names memory whose use has ended. What
// was sent before a SEND with invalidate, and awaits no response, is done when
// the key ends.
func (h *host) trespasses(o *operation) bool {
	k := h.peer().model.keys.named(o)
	if k == nil || !k.ended || o.length == 0 && o.kind != OpSendInv {
		return false
	}
	return k.by == nil || o.index > k.by.index || o.kind.awaitsResponse()
}

// checkKey checks that a completed operation did not use a key that had ended
// when it was posted.
func (h *host) checkKey(o *operation) {
	if k := h.peer().model.keys.named(o); h.trespasses(o) && o.postedAt > k.at {
		h.fail("%v %d completed with a key that had ended before it was posted", o.kind, o.index)
	}
}

// checkLeaving checks that no byte of memory whose key has ended leaves in a
// READ response. Keys whose end the script puts in the middle of responses end
// after this packet.
func (h *host) checkLeaving(p *Packet) {
	if !p.Opcode.Base().IsReadResponse() {
		return
	}
	h.responses++
	for _, f := range h.w.sc.faults {
		if f.ends.after == h.responses && f.host == h.index {
			h.w.events.push(event{at: h.w.now, w: h.w, kind: faultBegins, fault: f})
		}
	}
	k := &h.model.keys
	for _, s := range p.Spans {
		if s.Region == k.window.region && k.window.ended || s.Region == k.pattern.region && k.pattern.ended {
			h.fail("a READ response goes on %v after the key of its memory has ended", h.w.now-max(k.window.at, k.pattern.at))
		}
	}
}

// checkFrozen checks that no atomic has run on cells whose key has ended.
func (h *host) checkFrozen() {
	if f := h.model.keys.frozen; f != nil && !bytes.Equal(f, h.model.cells.Bytes) {
		h.fail("an atomic ran after the key of its memory had ended")
	}
}

// hangUp ends the connection of a program whose memory is gone.
func (h *host) hangUp() {
	h.hungUp, h.work.aborted = true, true
	if err := h.qp.Modify(h.w.now, Err, nil); err != nil {
		h.fail("modify to ERR: %v", err)
	}
	h.w.wakeWaiting()
}

// losesSource says whether an operation takes its bytes from memory that its own
// host has deregistered.
func (h *host) losesSource(o *operation) bool {
	fromPattern := !o.inline && !o.kind.awaitsResponse() && (o.forwards == nil || !o.forwards.arrived())
	return h.sourceGone && fromPattern && o.length > 0
}
