package operate

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// sampleEvery is the mean time between two samples of the queue pairs: some hundred tell a share to a few percent, and each
	// takes the lock of the device and wakes a thread. stateEvery is the least time
	// between two of the channels, for which the owner of the context has to do something.
	sampleEvery = 3 * time.Millisecond
	stateEvery  = 20 * time.Millisecond
	// maxSampled is of how many queue pairs samples are taken: the lock of the device is held for each.
	maxSampled = 64
	// maxTook is how long it may take.
	maxTook = time.Minute
)

// sampler gathers evidence.
type sampler struct {
	source   *Source
	began    time.Time
	pairs    []*sampled
	byNumber map[uint32]*sampled
	left     int
	host     hostTimes
	device   map[string]uint64
	samples  int
	states   int
	contexts ContextState // the last one
	waiting  int          // samples in which it was so
	starved  int
}

// sampled is a queue pair while samples are taken.
type sampled struct {
	qp      *verbs.QP
	before  verbs.Stats
	paths   []verbs.PathStats
	reasons map[string]int
	channel *channelSamples
}

// channelSamples counts in how many samples something was so.
type channelSamples struct {
	first, last                                               ChannelState
	samples                                                   int
	closed, unread, openCalls, callsFull, handlersFull, reads int
}

// gather takes samples for a while. Of many queue pairs it takes those that do something.
func (s *Source) gather(ctx context.Context, took time.Duration, of *Selection) (*Evidence, error) {
	g := &sampler{source: s, began: time.Now(), host: readHost(), device: s.Device.Counters(), byNumber: map[uint32]*sampled{}}
	if err := g.choose(ctx, of); err != nil {
		return nil, err
	}
	g.takeState()
	end, nextState := g.began.Add(took), time.Now().Add(stateEvery)
	// One sample at least: on a busy machine the time may be over before the first.
	for now := time.Now(); g.samples == 0 || now.Before(end); now = time.Now() {
		g.takeSample()
		if now.After(nextState) {
			g.takeState()
			nextState = time.Now().Add(stateEvery)
		}
		// Not in step with anything that the program does each millisecond.
		if err := sleep(ctx, time.Duration(rand.Int64N(int64(2*sampleEvery)))); err != nil {
			return nil, err
		}
	}
	return g.evidence(), nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// choose decides of which queue pairs samples are taken: those that were asked for, or those that do something in a short
// time, the busiest first.
func (g *sampler) choose(ctx context.Context, of *Selection) error {
	all := g.source.Device.QPs()
	if !of.Empty() {
		all = slices.DeleteFunc(all, g.source.unwanted(of))
	}
	if len(all) > maxSampled {
		return g.chooseBusy(ctx, all)
	}
	for _, q := range all {
		g.add(q, q.Stats())
	}
	if named := len(of.QueuePairs)+len(of.Channels) > 0; named && len(g.pairs) == 0 {
		return errNoQueuePair // a peer may be that of other programs
	}
	return nil
}

// unwanted says which queue pairs a selection leaves out.
func (s *Source) unwanted(of *Selection) func(*verbs.QP) bool {
	numbers := map[uint32]bool{}
	for _, n := range of.QueuePairs {
		numbers[n] = true
	}
	for _, channel := range of.Channels {
		if s.QueuePairOf == nil {
			break
		}
		if n, ok := s.QueuePairOf(channel); ok {
			numbers[n] = true
		}
	}
	return func(q *verbs.QP) bool {
		return !numbers[uint32(q.Number())] && (len(of.Peers) == 0 || !slices.Contains(of.Peers, q.Query().Attr.Remote.Unmap()))
	}
}

func (g *sampler) chooseBusy(ctx context.Context, all []*verbs.QP) error {
	before := make([]verbs.Stats, len(all))
	for i, q := range all {
		before[i] = q.Stats()
	}
	if err := sleep(ctx, 100*time.Millisecond); err != nil {
		return err
	}
	type busy struct {
		qp    *verbs.QP
		stats verbs.Stats
		work  uint64
	}
	var some []busy
	for i, q := range all {
		now := q.Stats()
		work := now.BytesSent - before[i].BytesSent + now.BytesReceived - before[i].BytesReceived + now.PacketsSent - before[i].PacketsSent
		if work > 0 || waits(now.Blocked) {
			some = append(some, busy{q, now, work})
		}
	}
	slices.SortStableFunc(some, func(a, b busy) int { return cmp.Compare(b.work, a.work) })
	g.left = max(0, len(some)-maxSampled)
	for _, b := range some[:min(len(some), maxSampled)] {
		g.add(b.qp, b.stats)
	}
	return nil
}

func (g *sampler) add(q *verbs.QP, before verbs.Stats) {
	if s := q.State(); q.Type() == verbs.UD || s == verbs.Reset || s == verbs.Init {
		return // datagrams wait for nothing, and who is not connected for nobody
	}
	p := &sampled{qp: q, before: before, paths: q.PathStats(), reasons: map[string]int{}}
	g.pairs = append(g.pairs, p)
	g.byNumber[uint32(q.Number())] = p
}

// waits says whether there is something to send that is not sent.
func waits(r verbs.Reason) bool {
	switch r {
	case transport.ReasonNone, transport.ReasonNoWork, transport.ReasonState, transport.ReasonClosed:
		return false
	}
	return true
}

func (g *sampler) takeSample() {
	g.samples++
	for _, p := range g.pairs {
		p.reasons[p.qp.Blocked().String()]++
	}
}

// takeState asks the context, if there is one.
func (g *sampler) takeState() {
	if g.source.State == nil {
		return
	}
	g.states++
	state := g.source.State(func(qpn uint32) bool { return g.byNumber[qpn] != nil })
	g.contexts = state
	if state.MemoryFull {
		g.starved++
	}
	if state.Waiting > 0 {
		g.waiting++
	}
	for i := range state.Channels {
		c := &state.Channels[i]
		if p := g.byNumber[c.QPN]; p != nil {
			p.takeChannel(c)
		}
	}
}

func (p *sampled) takeChannel(c *ChannelState) {
	if p.channel == nil {
		p.channel = &channelSamples{first: *c}
	}
	s := p.channel
	s.last = *c
	s.samples++
	count := func(n *int, so bool) {
		if so {
			*n++
		}
	}
	count(&s.closed, c.Queued > 0 && c.SendWindow == 0)
	count(&s.unread, c.Unread > 0)
	count(&s.openCalls, c.OpenCalls > 0)
	count(&s.callsFull, c.OpenCalls >= c.Calls)
	count(&s.handlersFull, c.Handling >= c.Calls)
	count(&s.reads, c.Reads > 0)
}

// evidence sums up.
func (g *sampler) evidence() *Evidence {
	g.takeState()
	now := time.Now()
	e := &Evidence{
		Schema: schema, Program: g.source.identity, Took: now.Sub(g.began), Samples: g.samples, Left: g.left,
		Host: g.host.until(readHost()), Device: growth(g.source.Device.Counters(), g.device), QueuePairs: []QueuePair{},
	}
	for _, p := range g.pairs {
		e.QueuePairs = append(e.QueuePairs, p.evidence())
	}
	if g.states > 0 {
		e.Context = &Context{
			MemoryFull: share(g.starved, g.states), Waiting: share(g.waiting, g.states),
			LongestPoll: g.contexts.LongestPoll, PollPlace: g.contexts.PollPlace,
		}
	}
	return e
}

func (p *sampled) evidence() QueuePair {
	info, after := p.qp.Query(), p.qp.Stats()
	q := QueuePair{
		Number: uint32(info.Number), Type: info.Type.String(), State: info.State.String(), Peer: info.Attr.Remote,
		Reasons: p.reasons, Counters: growth(after.Map(), p.before.Map()), Window: info.Flow.Window, PeerWindow: info.Flow.PeerWindow,
		InFlight: info.Flow.InFlight, RTT: time.Duration(info.Flow.SmoothedRTT), MTU: info.Attr.MTU, Reads: info.Attr.Reads,
	}
	for i, now := range p.qp.PathStats() {
		var then verbs.PathStats
		if i < len(p.paths) {
			then = p.paths[i]
		}
		q.Paths = append(q.Paths, pathSince(i, &now, &then))
	}
	if p.channel != nil {
		q.Channel = p.channel.evidence()
	}
	return q
}

func (s *channelSamples) evidence() *Channel {
	return &Channel{
		Number: s.last.Number, OnTCP: s.last.OnTCP, OnCommand: s.last.OnCommand, Samples: s.samples, Peer: s.last.Peer,
		WindowClosed: share(s.closed, s.samples), Unread: share(s.unread, s.samples), OpenCalls: share(s.openCalls, s.samples),
		CallsFull: share(s.callsFull, s.samples), HandlersFull: share(s.handlersFull, s.samples), Reads: share(s.reads, s.samples),
		Sent: s.last.Sent - s.first.Sent, Received: s.last.Received - s.first.Received,
	}
}

func share(n, of int) float64 { return float64(n) / float64(max(1, of)) }

// since is how much a counter has grown; what was taken for lost may be found.
func since(now, then uint64) uint64 {
	if now < then {
		return 0
	}
	return now - then
}

// growth is by how much counters have grown, of those that have.
func growth(now, then map[string]uint64) map[string]uint64 {
	grown := map[string]uint64{}
	for name, n := range now {
		if d := since(n, then[name]); d > 0 {
			grown[name] = d
		}
	}
	return grown
}
