package cm

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/braid-rdma/braid/cm/machine"
	"github.com/braid-rdma/braid/cm/mad"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// agentReceives is how many datagrams may arrive before the agent has run.
	// More are lost, and repeated by their senders.
	agentReceives = 2048
	// agentSends is how many datagrams may wait for the engine.
	agentSends = 256
	// agentSlot is the room for a datagram behind its route header.
	agentSlot = verbs.GRHLength + mad.Len
	// maxHandles bounds the address handles that are kept for peers.
	maxHandles = 4096
)

// Agent drives a machine on queue pair 1 of a device. It has no thread and no
// lock of its own: the caller runs Step when Notify says so or the time that
// Step answers has come, gives commands to Machine, and takes events from it.
// After a command, Flush sends what it led to.
//
// Programs use a Manager; an Agent suits simulations, in which everything
// happens in one thread.
type Agent struct {
	device  *verbs.Device
	pd      *verbs.PD
	cq      *verbs.CQ
	qp      *verbs.QP
	buffer  *verbs.MR
	machine *machine.Machine
	handles map[netip.Addr]verbs.AH
	found   [64]verbs.Completion
	dropped uint64
}

// NewAgent takes queue pair 1 of the device. Of cfg the identity and the
// source of randomness are filled in from the device where they are left out.
func NewAgent(d *verbs.Device, cfg machine.Config) (*Agent, error) {
	a := &Agent{device: d, handles: make(map[netip.Addr]verbs.AH)}
	if cfg.GUID == 0 {
		cfg.GUID = guidOf(d.Query().Local)
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.New(rand.NewChaCha8(seedOf(d.Engine())))
	}
	a.machine = machine.New(cfg)
	if err := a.open(); err != nil {
		a.Close()
		return nil, fmt.Errorf("cm: %w", err)
	}
	return a, nil
}

// seedOf draws a seed: identifiers that come of it cannot be guessed.
func seedOf(e verbs.Engine) (seed [32]byte) {
	for i := 0; i < len(seed); i += 8 {
		binary.LittleEndian.PutUint64(seed[i:], e.Random())
	}
	return seed
}

func (a *Agent) open() (err error) {
	if a.pd, err = a.device.CreatePD(); err != nil {
		return err
	}
	if a.cq, err = a.device.CreateCQ(agentReceives + agentSends); err != nil {
		return err
	}
	if a.buffer, err = a.pd.AllocMemory(agentReceives*agentSlot, verbs.LocalWrite); err != nil {
		return err
	}
	a.qp, err = a.pd.CreateManagementQP(verbs.QPOptions{
		SendCQ: a.cq, SendDepth: agentSends, RecvDepth: agentReceives, MaxInline: mad.Len,
	})
	if err != nil {
		return err
	}
	if err := a.qp.Prepare(); err != nil {
		return err
	}
	for slot := range agentReceives {
		if err := a.offer(slot); err != nil {
			return err
		}
	}
	return a.qp.Activate(mad.QKey)
}

// offer lets a slot of the buffer take the next datagram.
func (a *Agent) offer(slot int) error {
	return a.qp.PostRecv(&verbs.RecvWR{
		ID: uint64(slot), SGEs: []verbs.SGE{{MR: a.buffer, Offset: slot * agentSlot, Length: agentSlot}},
	})
}

// Machine is the machine that the agent drives.
func (a *Agent) Machine() *machine.Machine { return a.machine }

// Now is the time that commands to the machine need.
func (a *Agent) Now() machine.Time { return machine.Time(a.device.Engine().Now()) }

// Notify receives when datagrams have arrived, or the device was closed.
func (a *Agent) Notify() <-chan struct{} { return a.cq.Notify() }

// Dropped is the number of datagrams that could not be sent.
func (a *Agent) Dropped() uint64 { return a.dropped }

// Step takes what has arrived, does what is due, and sends. It answers when it
// wants to run again. The error tells that the device was closed.
func (a *Agent) Step() (machine.Time, error) {
	for a.cq.Ready() {
		n, err := a.cq.Poll(a.found[:])
		if err != nil {
			return machine.Never, err
		}
		for i := range n {
			if err := a.take(&a.found[i]); err != nil {
				return machine.Never, err
			}
		}
	}
	a.machine.HandleTimeout(a.Now())
	a.Flush()
	return a.machine.Timeout(), nil
}

// take gives a datagram to the machine and its room back to the queue pair.
func (a *Agent) take(c *verbs.Completion) error {
	if c.Op != verbs.OpRecv {
		return nil
	}
	if err := c.Err(); err != nil {
		return err // flushed: the queue pair is closed
	}
	slot := int(c.WRID)
	// Managers speak from queue pair 1 to queue pair 1.
	if from, err := a.pd.AddrOf(c.Source); err == nil && c.SrcQP == mad.QPN {
		start := slot * agentSlot
		a.machine.Handle(a.Now(), from.Unmap(), a.buffer.Bytes()[start+verbs.GRHLength:start+int(c.Bytes)])
	}
	return a.offer(slot)
}

// Flush sends what the machine has to say. What cannot be sent counts as lost,
// as on any network; the machine will repeat it.
func (a *Agent) Flush() {
	for {
		to, b, ok := a.machine.PollSend()
		if !ok {
			return
		}
		if a.send(to, b) != nil {
			a.dropped++
		}
	}
}

func (a *Agent) send(to netip.Addr, b []byte) error {
	h, err := a.handle(to)
	if err != nil {
		return err
	}
	return a.qp.PostSend(&verbs.SendWR{
		Op: verbs.OpSend, Inline: b, AH: h, RemoteQPN: mad.QPN, RemoteQKey: mad.QKey,
	})
}

// handle is the address handle of a peer. When there are too many, all are
// forgotten: those that are needed come back at once.
func (a *Agent) handle(to netip.Addr) (verbs.AH, error) {
	if h, ok := a.handles[to]; ok {
		return h, nil
	}
	if len(a.handles) >= maxHandles {
		for _, h := range a.handles {
			a.pd.DestroyAH(h)
		}
		clear(a.handles)
	}
	h, err := a.pd.CreateAH(to)
	if err == nil {
		a.handles[to] = h
	}
	return h, err
}

// Close gives queue pair 1 back. Peers are not told anything.
func (a *Agent) Close() {
	for _, h := range a.handles {
		a.pd.DestroyAH(h)
	}
	if a.cq != nil {
		a.cq.Close() // the queue pair with it
	}
	if a.pd != nil {
		a.pd.Close() // the buffer with it
	}
}
