package udp

import "github.com/braid-rdma/braid/verbs"

// A device may have several loops: engines that have its addresses together, as those of several devices
// would (group). Each has its own lock, thread, sockets and part of the numbers, and the kernel gives it the packets of its
// queue pairs. The first has queue pair 1, and finds the addresses that the others follow it to.

// openLoops opens the engines of a device. Where the kernel, a limit or the configuration keeps loops from sharing an
// address there are fewer, at least one.
func openLoops(cfg Config) (loops []*engine, err error) {
	claims := claimLoops(&cfg)
	kin := make([]int, len(claims))
	for i := range claims {
		kin[i] = claims[i].number
	}
	first, err := newEngine(cfg, claims[0], kin, nil)
	if err != nil {
		releaseAll(claims)
		return nil, err
	}
	loops = append(loops, first)
	for i := 1; i < len(claims); i++ {
		e, err := newEngine(first.cfg, claims[i], kin, first)
		if err != nil {
			releaseAll(claims[i:])
			break
		}
		loops = append(loops, e)
	}
	for _, e := range loops {
		e.Lock()
		e.loops = len(loops)
		e.Unlock()
	}
	first.Lock()
	defer first.Unlock()
	first.stats.LoopsRefused = uint64(cfg.Loops - len(loops))
	return loops, nil
}

// claimLoops takes a part of the numbers for each loop, as far as there are any.
func claimLoops(cfg *Config) []part {
	if cfg.Exclusive && cfg.Loops == 1 {
		return []part{noClaim}
	}
	claims := []part{claimPart(cfg.Port, parts)}
	for len(claims) < cfg.Loops && claims[0].number >= 0 {
		p := claimPart(cfg.Port, loopParts)
		if p.number < 0 {
			break
		}
		p.further = true
		claims = append(claims, p)
	}
	return claims
}

func releaseAll(claims []part) {
	for i := range claims {
		claims[i].release()
	}
}

// Follow implements verbs.Follower.
func (e *engine) Follow(r verbs.Route) error {
	a, err := e.take(r.Local)
	if err != nil {
		return err
	}
	e.use(r.Remote, a)
	return nil
}

// enginesOf are those of a device that this package opened; none of another.
func enginesOf(d *verbs.Device) (engines []*engine) {
	for _, e := range d.Engines() {
		if e, ok := e.(*engine); ok {
			engines = append(engines, e)
		}
	}
	return engines
}
