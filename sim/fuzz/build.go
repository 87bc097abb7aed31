package fuzz

import (
	"errors"
	"math/rand/v2"

	"github.com/braid-rdma/braid/sim"
)

// build makes the network, the talks and the faults.
func (w *world) build() error {
	var err error
	if w.graph, err = w.sc.fabric.Build(); err != nil {
		return err
	}
	if w.net, err = sim.New(w.graph, w.sc.config); err != nil {
		return err
	}
	w.hosts = make([]host, w.net.Hosts())
	for i := range w.hosts {
		h := &w.hosts[i]
		h.device = w.net.Device(i)
		if h.cq, err = h.device.CreateCQ(1024); err != nil {
			return err
		}
		if h.pd, err = h.device.CreatePD(); err != nil {
			return err
		}
	}
	for i := range w.sc.talks {
		w.talks = append(w.talks, newTalk(w, i, &w.sc.talks[i]))
	}
	if err := w.shareReceives(); err != nil {
		return err
	}
	for _, t := range w.talks {
		if err := t.open(); err != nil {
			return err
		}
	}
	for i := range w.sc.chats {
		c, err := newChat(w, i, &w.sc.chats[i])
		if err != nil {
			return err
		}
		w.chats = append(w.chats, c)
	}
	if err := w.newChannels(); err != nil {
		return err
	}
	return w.script()
}

// shareReceives makes the shared receive queues that talks need.
func (w *world) shareReceives() error {
	r := rand.New(rand.NewPCG(w.sc.seed, 0x737271))
	for i := range w.hosts {
		var users []*end
		for _, t := range w.talks {
			for _, e := range t.ends {
				if t.shared && e.host == i {
					users = append(users, e)
				}
			}
		}
		if len(users) == 0 {
			continue
		}
		var err error
		if w.hosts[i].receives, err = newSharedReceives(w, i, users, r); err != nil {
			return err
		}
	}
	return nil
}

// script enters the faults.
func (w *world) script() error {
	for i := range w.sc.channels {
		c := &w.sc.channels[i]
		if c.sheltered > 0 {
			if err := errors.Join(w.net.Divert(c.hosts[0], c.hosts[1], c.sheltered), w.net.Divert(c.hosts[1], c.hosts[0], c.sheltered)); err != nil {
				return err
			}
		}
		for _, m := range c.moves {
			from, to := c.hosts[m.side], c.hosts[1-m.side]
			if err := w.net.At(m.at, from, func() { w.audit(w.net.Divert(from, to, m.delay)) }); err != nil {
				return err
			}
		}
	}
	if err := w.failStreams(); err != nil {
		return err
	}
	for _, f := range w.sc.faults {
		if w.severed(f.link) {
			continue
		}
		if f.storm != 0 {
			if err := w.pause(&f); err != nil {
				return err
			}
			continue
		}
		err := w.net.Impair(f.from, f.link, f.direction, f.impairment)
		if err == nil {
			err = w.net.Impair(f.until, f.link, f.direction, sim.Impairment{})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pause lets a host stop its switch, at once or when it has received more than it takes.
func (w *world) pause(f *faultSpec) error {
	host, duration := f.storm-1, f.until-f.from
	if f.slow != nil {
		return w.net.SlowReceiver(f.from, host, *f.slow, duration)
	}
	return w.net.PauseStorm(f.from, host, 3, duration)
}
