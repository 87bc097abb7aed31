package udp

import (
	"fmt"
	"net/netip"

	"github.com/braid-rdma/braid/verbs"
)

// Open opens a device on the sockets of this host.
func Open(cfg Config) (*verbs.Device, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	e, err := newEngine(cfg)
	if err != nil {
		return nil, err
	}
	return verbs.Open(e), nil
}

// newEngine opens the sockets and starts the background thread.
func newEngine(cfg Config) (*engine, error) {
	rx, err := openReceiver(cfg)
	if err != nil {
		return nil, err
	}
	e, err := assemble(cfg, rx)
	if err != nil {
		_ = rx.close()
		return nil, err
	}
	go e.background()
	return e, nil
}

func openReceiver(cfg Config) (*rxSocket, error) {
	opt := rxOptions{rcvbuf: cfg.RecvBuffer, noGRO: cfg.NoSegmentation}
	if !cfg.Addr.IsValid() {
		return openLoopback(cfg.Port, opt)
	}
	return openRx(netip.AddrPortFrom(cfg.Addr, cfg.Port), opt)
}

func assemble(cfg Config, rx *rxSocket) (*engine, error) {
	local := rx.local.Addr()
	mtu, err := pathMTU(local)
	if err != nil {
		return nil, err
	}
	if cfg.MTU > mtu {
		return nil, fmt.Errorf("udp: path MTU %d does not fit the interface of %v: the largest is %d", cfg.MTU, local, mtu)
	}
	mtu = min(mtu, defaultPayload)
	if cfg.MTU != 0 {
		mtu = cfg.MTU
	}
	pool, err := openTxPool(local, cfg.FirstSourcePort, cfg.SourcePorts,
		txOptions{dscp: cfg.DSCP, sndbuf: cfg.SendBuffer, noGSO: cfg.NoSegmentation})
	if err != nil {
		return nil, err
	}
	e := &engine{
		cfg: cfg, rx: rx, pool: pool, mtu: mtu, local: local,
		batch:   newTxBatch(pool, 0),
		ports:   make(map[uint32]*port),
		peers:   make(map[netip.Addr]*peer),
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
		e.polls[i] = newPollSet(rx, e.wakers[i], pool)
	}
	e.faults.engine = e
	e.checker.init(local, cfg.Port, cfg.AnyIPID)
	e.breath.init()
	e.startCapture(cfg.Capture)
	return e, nil
}
