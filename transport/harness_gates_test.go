package transport

import "math/rand/v2"

// gate is a completion that a program awaits before it posts something: the
// next receive only when a READ is done, a message only when another one came,
// perhaps on another connection.
type gate struct {
	h     *host
	recv  bool // a receive, else a request
	index int
}

// open says whether the completion has come, or never will.
func (g *gate) open() bool {
	l := &g.h.work
	if g.h.failed || l.aborted || g.h.peer().failed || g.h.peer().work.aborted {
		return true
	}
	if g.recv {
		return l.recvDone > g.index
	}
	return l.completed > g.index
}

// opens says whether the program may post what has this gate. If not it is woken
// by the next completion.
func (h *host) opens(g *gate) bool {
	if g == nil || g.open() {
		return true
	}
	h.waits = true
	return false
}

// mayPost says whether there is something to post that waits for no completion.
func (h *host) mayPost() bool {
	l := &h.work
	return l.posted < len(l.ops) && h.opens(l.ops[l.posted].gate) ||
		l.recvPosted < len(l.recvs) && !h.w.sc.noRecvs && h.opens(l.recvs[l.recvPosted].gate)
}

// wakeWaiting lets the programs that wait for a completion look again.
func (w *world) wakeWaiting() {
	for _, c := range w.connections() {
		for _, h := range c.hosts {
			if !h.waits || h.postDue {
				continue
			}
			h.waits, h.postDue = false, true
			w.events.push(event{at: w.now + 1, w: c, kind: posts, host: h})
		}
	}
}

// gatePlan ranks the requests of all programs. What has a rank may wait only
// for what has a lower one, so that there is always somebody who can go on,
// however the queue pairs order requests within a connection.
type gatePlan struct {
	*rand.Rand
	gated    float64
	hosts    []*host // both of the first connection, then both of the second
	requests []int   // of each, that have a rank
	messages []int   // to each, that have a rank
}

// planGates decides which posts wait, and which messages pass on another.
func (w *world) planGates() {
	if w.sc.gated == 0 {
		return
	}
	g := &gatePlan{Rand: rand.New(rand.NewPCG(w.sc.seed, 5)), gated: w.sc.gated}
	for _, c := range w.connections() {
		g.hosts = append(g.hosts, c.hosts[:]...)
	}
	g.requests, g.messages = make([]int, len(g.hosts)), make([]int, len(g.hosts))
	for g.rankNext() {
	}
}

// rankNext gives the next rank to a request of a random host.
func (g *gatePlan) rankNext() bool {
	var unranked []int
	for i, h := range g.hosts {
		if g.requests[i] < len(h.work.ops) {
			unranked = append(unranked, i)
		}
	}
	if len(unranked) == 0 {
		return false
	}
	i := oneOf(g.Rand, unranked...)
	o, peer := g.hosts[i].work.ops[g.requests[i]], i^1
	if chance(g.Rand, g.gated) {
		o.gate = g.completion(i)
	}
	if len(g.hosts) > 2 && o.kind.isSend() {
		g.forward(o, 3-i)
	}
	g.requests[i]++
	if o.message < 0 {
		return true
	}
	if chance(g.Rand, g.gated) {
		g.hosts[peer].work.recvs[o.message].gate = g.completion(peer)
	}
	g.messages[peer]++
	return true
}

// completion picks one that the program of a host may await: of its own
// connection, or of the other one that its machine has (the opposite end of
// the second connection). Nil: there is none yet.
func (g *gatePlan) completion(i int) *gate {
	var choices []*gate
	for _, at := range []int{i, 3 - i} {
		if at >= len(g.hosts) || at < 0 {
			continue
		}
		if n := g.requests[at]; n > 0 {
			choices = append(choices, &gate{h: g.hosts[at], index: g.recent(n)})
		}
		if n := g.messages[at]; n > 0 {
			choices = append(choices, &gate{h: g.hosts[at], recv: true, index: g.recent(n)})
		}
	}
	if len(choices) == 0 {
		return nil
	}
	c := oneOf(g.Rand, choices...)
	if !c.recv {
		c.h.work.ops[c.index].flags |= Signaled // or nobody would know
	}
	return c
}

// recent picks one of n, mostly the last.
func (g *gatePlan) recent(n int) int {
	if chance(g.Rand, 0.7) {
		return n - 1
	}
	return g.IntN(n)
}

// forward makes a SEND pass on the latest message that the same machine has of
// its other connection, out of the memory where that arrived.
func (g *gatePlan) forward(o *operation, at int) {
	n := g.messages[at]
	if n == 0 || !chance(g.Rand, 0.5) {
		return
	}
	m := g.hosts[at].model.messages[n-1]
	if !m.kind.isSend() || m.length == 0 || m.length > o.length {
		return
	}
	o.forwards, o.length, o.source = m, m.length, m.source
	o.inline = false
	o.gate = &gate{h: g.hosts[at], recv: true, index: m.message}
}
