package pingpong

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// Program is one of the example programs.
type Program string

// The programs.
const (
	RC  Program = "ibv_rc_pingpong"
	UD  Program = "ibv_ud_pingpong"
	SRQ Program = "ibv_srq_pingpong"
)

// qkey is the one that ibv_ud_pingpong uses.
const qkey = 0x11111111

// Config is a game, with the values that both ends must have.
type Config struct {
	Program    Program
	Size       int // bytes of a message
	Iterations int // messages of each end
	MTU        int
	QPs        int           // SRQ: queue pairs; else 1
	Depth      int           // receives posted; default 500, as in the programs
	AckTimeout time.Duration // of this end; default: that of verbs.ConnOptions
}

// ErrData is a message that holds other bytes than it should.
var ErrData = errors.New("pingpong: wrong data")

// ErrUnacknowledged is the end of a server's game in which every message came, and
// the acknowledgement of the server's own last one did not, until the retries were
// used up. Only the peer knows whether it has that message: a program that ended
// with success has it.
var ErrUnacknowledged = errors.New("pingpong: the peer left without an acknowledgement of the last message")

// Peer is one end of a game on a device.
type Peer struct {
	config  Config
	client  bool
	pd      *verbs.PD
	cq      *verbs.CQ
	srq     *verbs.SRQ
	qps     []*verbs.QP
	pairOf  map[verbs.QPN]int
	memory  *verbs.MR
	ah      verbs.AH
	remotes []destination

	completions []verbs.Completion
	game        game
}

// NewPeer makes an end with its receives posted. Close frees it.
func NewPeer(d *verbs.Device, c Config) (*Peer, error) {
	if c.Depth == 0 {
		c.Depth = 500
	}
	if c.Program != SRQ || c.QPs == 0 {
		c.QPs = 1
	}
	p := &Peer{config: c, pairOf: map[verbs.QPN]int{}, completions: make([]verbs.Completion, 64)}
	if err := p.create(d); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Peer) create(d *verbs.Device) (err error) {
	c := &p.config
	if p.pd, err = d.CreatePD(); err != nil {
		return err
	}
	if p.cq, err = d.CreateCQ(c.Depth + 4*c.QPs); err != nil {
		return err
	}
	// The first half is what goes out, the second what comes in.
	if p.memory, err = p.pd.AllocMemory(2*p.room(), verbs.LocalWrite); err != nil {
		return err
	}
	options := verbs.QPOptions{
		Type: verbs.RC, SendCQ: p.cq, RecvDepth: c.Depth, SignalAll: true,
		// The programs allow no remote WRITE, and would end the connection at the question of a keepalive.
		Conn: verbs.ConnOptions{MTU: c.MTU, AckTimeout: c.AckTimeout, Keepalive: -1},
	}
	switch c.Program {
	case UD:
		options.Type = verbs.UD
	case SRQ:
		if p.srq, err = p.pd.CreateSRQ(c.Depth, 1); err != nil {
			return err
		}
		options.SRQ = p.srq
	}
	for i := range c.QPs {
		q, err := p.pd.CreateQP(options)
		if err != nil {
			return err
		}
		p.qps = append(p.qps, q)
		p.pairOf[q.Number()] = i
		if err := q.Prepare(); err != nil {
			return err
		}
	}
	return p.postReceives(c.Depth)
}

// room is the memory of a message; a datagram comes with a network header.
func (p *Peer) room() int { return p.config.Size + verbs.GRHLength }

func (p *Peer) postReceives(n int) error {
	wr := verbs.RecvWR{SGEs: []verbs.SGE{p.memory.SGE(p.room(), p.room())}}
	for range n {
		post := p.qps[0].PostRecv
		if p.srq != nil {
			post = p.srq.PostRecv
		}
		if err := post(&wr); err != nil {
			return err
		}
	}
	return nil
}

// Serve waits on a listener for the program, and plays.
func (p *Peer) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	return p.run(ctx, conn)
}

// Dial plays with the program that listens at an address.
func (p *Peer) Dial(ctx context.Context, address string) error {
	p.client = true
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return p.run(ctx, conn)
}

func (p *Peer) run(ctx context.Context, conn net.Conn) error {
	defer conn.Close()
	var own []destination
	for _, q := range p.qps {
		own = append(own, describe(q))
	}
	slots := 1
	if p.config.Program == SRQ {
		slots = sharedSlots
	}
	if err := exchange(ctx, conn, p.client, slots, own, p.connect); err != nil {
		return fmt.Errorf("pingpong: exchange: %w", err)
	}
	return p.play(ctx)
}

// connect makes the queue pairs ready for those of the peer.
func (p *Peer) connect(remotes []destination) (err error) {
	p.remotes = remotes
	for i, r := range remotes {
		if p.config.Program == UD {
			if err := p.qps[i].Activate(qkey); err != nil {
				return err
			}
			p.ah, err = p.pd.CreateAH(r.addr())
		} else {
			err = p.qps[i].Connect(verbs.ConnParams{
				Type: verbs.RC, Addr: r.addr(), QPN: r.qpn, PSN: r.psn,
				MTU: p.config.MTU, Paths: 1, ReadsServed: 1,
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Stats are the counters of the queue pairs.
func (p *Peer) Stats() []verbs.Stats {
	var stats []verbs.Stats
	for _, q := range p.qps {
		stats = append(stats, q.Stats())
	}
	return stats
}

// Close frees what the end has made.
func (p *Peer) Close() {
	if p.cq != nil {
		_ = p.cq.Close()
	}
	if p.pd != nil {
		_ = p.pd.Close()
	}
}
