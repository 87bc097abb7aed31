package udp

import (
	"errors"
	"net/netip"

	"github.com/braid-rdma/braid/verbs"
	"github.com/braid-rdma/braid/wire"
)

// Open opens a device on the sockets of this host.
func Open(cfg Config) (*verbs.Device, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	loops, err := openLoops(cfg)
	if err != nil {
		return nil, err
	}
	further := make([]verbs.Engine, len(loops)-1)
	for i := range further {
		further[i] = loops[i+1]
	}
	return verbs.Open(loops[0], further...), nil
}

// newEngine opens the sockets and starts the background thread. first is the first loop of the device, if this is
// to be a further one; kin are the parts of all of them.
func newEngine(cfg Config, p part, kin []int, first *engine) (_ *engine, err error) {
	var own *address
	if first == nil {
		own, err = firstAddress(&cfg, p)
	} else {
		own, err = openAddress(&cfg, p, first.own.ip, nil)
	}
	if err != nil {
		return nil, err
	}
	e, err := assemble(cfg, p, own)
	if err != nil {
		_ = own.close()
		return nil, err
	}
	e.kin = kin
	own.start(e)
	go e.background()
	return e, nil
}

// firstAddress opens the address that the device has from the start. One that is
// to have no other has it in cfg afterwards.
func firstAddress(cfg *Config, p part) (*address, error) {
	if cfg.Addr.IsValid() {
		ip, err := canonical(cfg.Addr)
		if err != nil {
			return nil, err
		}
		return openAddress(cfg, p, ip, nil)
	}
	rx, err := openLoopback(cfg.Port, cfg.rxOptions())
	if err == nil {
		if cfg.Loopback {
			cfg.Addr = rx.local.Addr()
		}
		a, err := newAddress(cfg, rx.local.Addr(), rx)
		if err == nil {
			a.admitOthers(cfg, p, nil, true)
		}
		return a, err
	}
	if errors.Is(err, ErrNoAddress) && !cfg.Loopback {
		// The loopback interface is down, as in a network namespace that is new.
		others, _ := hostAddresses()
		for _, ip := range others {
			if a, err := openAddress(cfg, p, ip, nil); err == nil {
				return a, nil
			}
		}
	}
	return nil, err
}

// openSenders opens the sending sockets: at the device's one address, or for all that
// it may have, of both families where the kernel has both.
func openSenders(cfg *Config) (*txPool, error) {
	opt := txOptions{dscp: cfg.DSCP, sndbuf: cfg.SendBuffer, noGSO: cfg.NoSegmentation}
	if cfg.Addr.IsValid() {
		return openTxPool(cfg.Addr, cfg.FirstSourcePort, cfg.SourcePorts, opt)
	}
	pool, err := openTxPool(netip.IPv6Unspecified(), cfg.FirstSourcePort, cfg.SourcePorts, opt)
	if errors.Is(err, ErrNoAddress) {
		return openTxPool(netip.IPv4Unspecified(), cfg.FirstSourcePort, cfg.SourcePorts, opt)
	}
	return pool, err
}

func assemble(cfg Config, p part, own *address) (*engine, error) {
	pool, err := openSenders(&cfg)
	if err != nil {
		return nil, err
	}
	e := &engine{
		cfg: cfg, part: p, own: own, addrs: []*address{own}, pool: pool,
		batch:  newTxBatch(pool, 0),
		ports:  make(map[wire.QPN]*port),
		peers:  make(map[netip.Addr]*peer),
		via:    make(map[netip.Addr]*address),
		intake: intake{credit: intakeBurst}, turns: newTurns(), appWaiting: newWaiting(&cfg),
		parked:  make(chan struct{}, 1),
		stopped: make(chan struct{}),
	}
	for i := range e.wakers {
		if e.wakers[i], err = newWaker(); err != nil {
			_ = pool.close()
			if i > 0 {
				_ = e.wakers[0].close()
			}
			return nil, err
		}
		e.polls[i] = newPollSet(e.wakers[i], pool)
	}
	e.watchSockets()
	e.yielder.init()
	e.startCapture(cfg.Capture)
	return e, nil
}
