package sim

import (
	"math/bits"
	"unsafe"

	"github.com/braid-rdma/braid/internal/prefetch"
)

// A large network does not fit the processor's cache: each event waits several
// times for memory, for some hundred instructions each time. But what happens
// soon is known, so what it needs is asked for ahead of its turn, in steps that
// each read what the step before asked for.

// warm takes the events of a day through all steps.
func warm(day []event) {
	for i := range day {
		day[i].warmSubject()
	}
	for i := range day {
		day[i].warmLeads()
	}
	for i := range day {
		day[i].warmBehind()
	}
}

// warmSubject asks for the packet, or for the port or queue pair.
func (e *event) warmSubject() { prefetch.Lines(e.subject, subjectLines[e.kind()]) }

// subjectLines is how much of its subject a kind of event needs first.
var subjectLines = [...]int{arriving: 1, ending: 2, timing: 2, calling: 1}

// warmLeads follows the subject one step.
func (e *event) warmLeads() {
	switch e.kind() {
	case arriving:
		(*packet)(e.subject).expect()
	case ending:
		(*egress)(e.subject).expect()
	}
}

// warmBehind follows it one step more.
func (e *event) warmBehind() {
	switch e.kind() {
	case arriving:
		(*packet)(e.subject).await()
	case ending:
		(*egress)(e.subject).await()
	}
}

// expect asks for what the arrival of a packet will touch: the port, and at a
// switch the one by which it leaves, at a host the queue pair.
func (p *packet) expect() {
	prefetch.Lines(unsafe.Pointer(p.ingress), 1)
	switch {
	case p.out != nil:
		prefetch.Lines(unsafe.Pointer(p.out), 2)
	case p.to != nil:
		prefetch.Lines(unsafe.Pointer(p.to), 2)
		p.warmBody()
	}
}

// await asks for what that leads to: the packet behind which this one will wait.
func (p *packet) await() {
	if p.out != nil {
		prefetch.Lines(unsafe.Pointer(p.out.queue(p.priority).tail), 1)
	}
}

// warmBody asks for what the receiver of a packet looks at.
func (p *packet) warmBody() { prefetch.Lines(unsafe.Pointer(p.body), bodyLines) }

// bodyLines is how much of a packet's body its receiver looks at.
const bodyLines = 3

// expect asks for the packet that the port sends next, or for the queue pair
// whose turn it is to make one.
func (e *egress) expect() {
	if e.host == nil {
		if p := e.main.head; p != nil {
			prefetch.Lines(unsafe.Pointer(p), 1)
		}
		return
	}
	if c := e.host.upcoming(); c != nil {
		prefetch.Lines(unsafe.Pointer(c), 2)
	}
}

// await asks for what the packet leads to.
func (e *egress) await() {
	if e.host == nil {
		if p := e.main.head; p != nil {
			prefetch.Lines(unsafe.Pointer(p.ingress), 1)
		}
	}
}

// upcoming is the queue pair of the highest priority whose turn is next, or nil.
func (h *host) upcoming() *conn {
	if h.wanting == 0 {
		return nil
	}
	return h.ready[bits.Len8(h.wanting)-1].head
}
