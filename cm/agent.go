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

// agentSlot is the room for a datagram behind its route header.
const agentSlot = verbs.GRHLength + mad.Len

// Agent drives a machine on queue pair 1 of a device. It has no thread and no
// lock of its own: the caller runs Step when Notify says so or the time that
// Step returned has come, gives commands to Machine, and takes events from it.
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
	dropped uint64

	// A batch on its way in, and one on its way out.
	completions [stepDatagrams]verbs.Completion
	sources     [stepDatagrams]netip.Addr
	senders     map[netip.Addr]verbs.AH // of the datagrams of this batch
	recvs       []verbs.RecvWR
	sends       []verbs.SendWR
	sges        [agentReceives]verbs.SGE
}

// NewAgent takes queue pair 1 of the device. Of cfg the identity, the identifiers and the
// source of randomness are filled in from the device where they are left out.
func NewAgent(d *verbs.Device, cfg machine.Config) (*Agent, error) {
	a := &Agent{
		device: d, handles: make(map[netip.Addr]verbs.AH), senders: make(map[netip.Addr]verbs.AH),
		sends: make([]verbs.SendWR, 0, agentSends),
	}
	if cfg.GUID == 0 {
		cfg.GUID = guidOf(d.Query().Local)
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.New(rand.NewChaCha8(seedOf(d.Engine())))
	}
	if cfg.IDs == nil {
		part := d.Engine().Info().Part
		cfg.IDs = func(random uint32) mad.CommID { return mad.CommID(part.Of(random, 32)) }
	}
	if cfg.SupportsRetry == nil {
		cfg.SupportsRetry = supportsRetry
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
		wr := a.recvOf(slot)
		if err := a.qp.PostRecv(&wr); err != nil {
			return err
		}
	}
	return a.qp.Activate(mad.QKey)
}

// recvOf is the request that lets a slot of the buffer take a datagram.
func (a *Agent) recvOf(slot int) verbs.RecvWR {
	a.sges[slot] = a.buffer.SGE(slot*agentSlot, agentSlot)
	return verbs.RecvWR{ID: uint64(slot), SGEs: a.sges[slot : slot+1]}
}

// Machine is the machine that the agent drives.
func (a *Agent) Machine() *machine.Machine { return a.machine }

// Now is the time that commands to the machine need.
func (a *Agent) Now() machine.Time { return machine.Time(a.device.Engine().Now()) }

// Notify receives when datagrams have arrived, or the device was closed.
func (a *Agent) Notify() <-chan struct{} { return a.cq.Notify() }

// Dropped is the number of datagrams that could not be sent.
func (a *Agent) Dropped() uint64 { return a.dropped }

// Step takes a bounded number of the datagrams that have arrived, does what is
// due, and sends. It returns when it wants to run again: at once, if there are
// more. The error tells that the device was closed.
func (a *Agent) Step() (machine.Time, error) {
	if a.cq.Ready() {
		n, err := a.cq.Poll(a.completions[:])
		if err == nil {
			err = a.handle(a.completions[:n])
		}
		if err != nil {
			return machine.Never, err
		}
	}
	a.machine.HandleTimeout(a.Now())
	a.Flush()
	if a.cq.Ready() {
		return a.Now(), nil
	}
	return a.machine.Timeout(), nil
}

// handle gives datagrams to the machine, sends what it has to say to them, and
// gives their room back to the queue pair. It does so for a batch, because the
// device's lock is busy when many arrive.
func (a *Agent) handle(completions []verbs.Completion) error {
	a.pd.SourcesOf(completions, a.sources[:])
	now := a.Now()
	for i := range completions {
		c := &completions[i]
		if c.Op != verbs.OpRecv {
			continue
		}
		if err := c.Err(); err != nil {
			return err // flushed: the queue pair is closed
		}
		slot := int(c.WRID)
		// Managers send from queue pair 1 to queue pair 1.
		if from := a.sources[i].Unmap(); from.IsValid() && c.SrcQP == mad.QPN {
			a.senders[from] = c.Source
			start := slot * agentSlot
			a.machine.Handle(now, from, a.buffer.Bytes()[start+verbs.GRHLength:start+int(c.Bytes)])
		}
		a.recvs = append(a.recvs, a.recvOf(slot))
	}
	a.Flush()
	clear(a.senders)
	_, err := a.qp.PostRecvs(a.recvs)
	a.recvs = a.recvs[:0]
	return err
}

// Flush sends what the machine has to say, in batches. What cannot be sent
// counts as lost, as on any network; the machine will repeat it.
func (a *Agent) Flush() {
	for {
		to, b, ok := a.machine.PollSend()
		if !ok {
			break
		}
		a.send(to, b)
	}
	a.postSends()
}

// send adds a datagram to the batch.
func (a *Agent) send(to netip.Addr, b []byte) {
	h, ok := a.senders[to]
	if !ok {
		var err error
		if h, err = a.addressHandle(to); err != nil {
			a.dropped++
			return
		}
	}
	a.sends = append(a.sends, verbs.SendWR{
		Op: verbs.OpSend, Inline: b, AH: h, RemoteQPN: mad.QPN, RemoteQKey: mad.QKey,
	})
	if len(a.sends) == cap(a.sends) {
		a.postSends()
	}
}

func (a *Agent) postSends() {
	for rest := a.sends; len(rest) > 0; {
		posted, err := a.qp.PostSends(rest)
		if rest = rest[posted:]; err != nil {
			rest = rest[1:]
			a.dropped++
		}
	}
	clear(a.sends)
	a.sends = a.sends[:0]
}

// addressHandle is the address handle of a peer. When there are too many, all are
// forgotten: those that are needed come back at once.
func (a *Agent) addressHandle(to netip.Addr) (verbs.AH, error) {
	if h, ok := a.handles[to]; ok {
		return h, nil
	}
	if len(a.handles) >= maxHandles {
		a.postSends() // they need their handles
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
