package sim

import (
	"fmt"

	"github.com/braid-rdma/braid/sim/workload"
	"github.com/braid-rdma/braid/verbs"
)

// flow is one transfer: its connections, what has been posted and what is done.
type flow struct {
	workload.Flow
	traffic  *Traffic
	from, to *site // who posts the requests, and its peer: a flow by READ is that of its destination
	lanes    []lane
	size     int64 // of a message
	region   [2]*verbs.MR
	remote   uint64 // address at the receiver
	rkey     verbs.RKey

	posted   int64 // bytes
	receives int64 // bytes that receives are posted for; the destination's
	acked    int64
	offered  int64 // bytes that a paced application has offered; without pacing all
	messages int64
	synced   int64
	started  Time
	finished Time // never: not yet
	ended    bool
	arrived  Time // when the receiver was told
	err      error

	wr   verbs.SendWR // room for the request at hand
	sge  [1]verbs.SGE
	into [1]verbs.SGE // likewise, for a receive: source and destination may run at the same time

	queued                 bool // for its turn
	waitsFor               int
	whenSent, whenReceived []*flow
}

// lane is one queue pair of a flow.
type lane struct {
	qp, peer    *verbs.QP
	outstanding int
}

// A work request's ID holds the flow, the lane and the bytes.
const (
	wridFlowShift = 42
	wridLaneShift = 32
	wridLane      = 1<<(wridFlowShift-wridLaneShift) - 1
	wridBytes     = 1<<wridLaneShift - 1
)

func (t *Traffic) newFlow(spec *workload.Flow) (*flow, error) {
	f := &flow{Flow: *spec, traffic: t, from: t.sites[spec.Src], to: t.sites[spec.Dst], finished: never, arrived: never, started: never}
	if t.carrier.Op == ByRead {
		f.from, f.to = f.to, f.from
	}
	f.ID = len(t.flows)
	f.size = f.MessageSize()
	if t.carrier.QPs > 1 {
		f.size = min(f.size, int64(t.carrier.Chunk))
	}
	if err := f.addMemory(); err != nil {
		return nil, err
	}
	for range t.carrier.QPs {
		l, err := f.connect()
		if err != nil {
			return nil, err
		}
		f.lanes = append(f.lanes, l)
	}
	return f, nil
}

// access is what a flow may do with the memory of its ends.
const access = verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead

// addMemory finds the memory that the flow reads and writes: real memory with a
// pattern where bytes are carried.
func (f *flow) addMemory() error {
	f.region = [2]*verbs.MR{f.from.memory, f.to.memory}
	if f.from.memory == nil {
		length := int(max(f.Bytes, f.size))
		for i, s := range []*site{f.from, f.to} {
			mr, err := s.pd.RegisterMemory(make([]byte, length), access)
			if err != nil {
				return err
			}
			f.region[i] = mr
		}
		d := newDice(f.traffic.net.cfg.Seed, uint64(f.ID)<<32)
		source := f.region[0]
		if f.traffic.carrier.Op == ByRead {
			source = f.region[1]
		}
		for i, b := 0, source.Bytes(); i < len(b); i++ {
			b[i] = byte(d.roll())
		}
	}
	f.remote, f.rkey = f.region[1].Addr(), f.region[1].RKey()
	return nil
}

// connect makes a queue pair at each end and connects them.
func (f *flow) connect() (l lane, err error) {
	t := f.traffic
	o := t.carrier.QP
	o.SendDepth, o.RecvDepth = t.carrier.Depth, 1
	if t.carrier.Op == BySend {
		o.RecvDepth = t.carrier.Depth
	}
	o.MaxSendSGE, o.MaxRecvSGE, o.MaxInline = 1, 1, verbs.None
	o.SendCQ, o.Trace = f.from.cq, t.tracer(f.from)
	if l.qp, err = f.from.pd.CreateQP(o); err != nil {
		return l, err
	}
	o.SendCQ, o.SendDepth, o.Trace = f.to.cq, 1, t.tracer(f.to)
	if l.peer, err = f.to.pd.CreateQP(o); err != nil {
		return l, err
	}
	a, b := f.watch(f.from, l.qp), f.watch(f.to, l.peer)
	a.peer, b.peer = b, a
	if err = l.peer.Prepare(); err != nil {
		return l, err
	}
	if err = l.qp.Connect(l.peer.Params()); err != nil {
		return l, err
	}
	return l, l.peer.Connect(l.qp.Params())
}

func (f *flow) watch(s *site, qp *verbs.QP) *conn {
	c := s.host.conns.find(qp.Number())
	c.priority = f.priority()
	c.onDone = func() { f.traffic.drain(s) }
	return c
}

func (f *flow) priority() uint8 {
	if f.Priority == 0 {
		return f.traffic.net.cfg.priority()
	}
	return uint8(f.Priority)
}

// start begins the transfer.
func (f *flow) start() {
	f.started = f.from.host.now()
	if f.Rate > 0 {
		f.offer()
		return
	}
	f.offered = f.Bytes
	f.post()
}

// offer is the application of a paced flow: it has one more message.
func (f *flow) offer() {
	if f.ended {
		return
	}
	f.offered += f.size
	if f.Bytes > 0 {
		f.offered = min(f.offered, f.Bytes)
	}
	if f.offered < f.Bytes || f.Bytes == 0 {
		pause := Time(float64(f.size) * 8 / float64(f.Rate) * float64(Second))
		f.from.host.call(f.from.host.now()+max(1, pause), f.offer)
	}
	f.post()
}

// post hands messages to the queue pairs that have room.
func (f *flow) post() {
	if f.traffic.carrier.HostDepth > 0 {
		f.queueUp()
		f.from.postInTurn()
		return
	}
	for i := range f.lanes {
		l := &f.lanes[i]
		for l.outstanding < f.traffic.carrier.Depth && f.hasMore() && !f.ended {
			f.postOn(i, l)
		}
	}
}

// requests are the operations as verbs has them.
var requests = [...]verbs.Op{ByWrite: verbs.OpWrite, BySend: verbs.OpSend, ByRead: verbs.OpRead}

// hasMore says whether there are bytes to post.
func (f *flow) hasMore() bool {
	if f.Bytes == 0 && f.Rate == 0 {
		return true
	}
	return f.posted < f.offered
}

func (f *flow) postOn(i int, l *lane) {
	length := f.size
	offset := int64(0)
	if f.Bytes > 0 {
		length = min(length, f.Bytes-f.posted)
		if f.from.memory == nil {
			offset = f.posted
		}
	}
	f.messages++
	f.sge[0] = f.region[0].SGE(int(offset), int(length))
	wr := &f.wr
	*wr = verbs.SendWR{
		ID: uint64(f.ID)<<wridFlowShift | uint64(i)<<wridLaneShift | uint64(length),
		Op: requests[f.traffic.carrier.Op], Flags: verbs.Signaled, SGEs: f.sge[:],
		RemoteAddr: f.remote + uint64(offset), RKey: f.rkey,
	}
	if float64(f.synced) < f.Sync*float64(f.messages) {
		f.synced++
		wr.Flags |= verbs.Synchronise
	}
	if len(f.whenReceived) > 0 && f.posted+length == f.Bytes {
		wr.Op = verbs.OpWriteImm
	}
	if err := l.qp.PostSend(wr); err != nil {
		f.fail(err)
		return
	}
	f.posted += length
	l.outstanding++
}

// expectNotice lets the receiver learn when everything has arrived, if a flow
// of its host waits for that.
func (f *flow) expectNotice() error {
	if len(f.whenReceived) == 0 {
		return nil
	}
	if len(f.lanes) > 1 || f.Bytes == 0 {
		return fmt.Errorf("%w: flows wait for flow %d, which must then have an end and a single queue pair", ErrConfig, f.ID)
	}
	return f.lanes[0].peer.PostRecv(&verbs.RecvWR{ID: uint64(f.ID) << wridFlowShift})
}

// postReceives lets the destination of a flow by SEND receive as many messages as can be outstanding.
func (f *flow) postReceives() error {
	if f.traffic.carrier.Op != BySend {
		return nil
	}
	for range f.traffic.carrier.Depth {
		if err := f.postReceive(); err != nil {
			return err
		}
	}
	return nil
}

// postReceive posts the receive of the message after those that have one. Where bytes are carried each has its place.
func (f *flow) postReceive() error {
	offset, length := int64(0), f.size
	if f.Bytes > 0 && f.from.memory == nil {
		if offset, length = f.receives, min(length, f.Bytes-f.receives); length <= 0 {
			return nil
		}
	}
	f.receives += length
	f.into[0] = f.region[1].SGE(int(offset), int(length))
	return f.lanes[0].peer.PostRecv(&verbs.RecvWR{ID: uint64(f.ID) << wridFlowShift, SGEs: f.into[:]})
}

// receiveAgain posts a receive for one that was used.
func (f *flow) receiveAgain(c *verbs.Completion) {
	if c.Err() == nil {
		_ = f.postReceive() // fails with its connection only, and the source is told of that
	}
}

// ends are the queue pairs of a lane that the bytes leave from and arrive at.
func (f *flow) ends(l *lane) (source, destination *verbs.QP) {
	if f.traffic.carrier.Op == ByRead {
		return l.peer, l.qp
	}
	return l.qp, l.peer
}

// completed takes the completion of a message.
func (f *flow) completed(c *verbs.Completion) {
	l := &f.lanes[c.WRID>>wridLaneShift&wridLane]
	l.outstanding--
	if f.traffic.carrier.HostDepth > 0 {
		f.from.posts.outstanding--
		defer f.from.postInTurn()
	}
	if err := c.Err(); err != nil {
		f.fail(err)
		return
	}
	f.acked += int64(c.WRID & wridBytes)
	if f.Bytes > 0 && f.acked == f.Bytes {
		f.finished = f.from.host.now()
		f.ended = true
		f.release(f.whenSent)
		return
	}
	f.post()
}

// received takes the notice at the receiver.
func (f *flow) received(c *verbs.Completion) {
	if err := c.Err(); err != nil {
		return // the sender is told of it too
	}
	f.arrived = f.to.host.now()
	f.release(f.whenReceived)
}

// release lets flows start that have waited for this one.
func (f *flow) release(waiting []*flow) {
	for _, w := range waiting {
		if w.waitsFor--; w.waitsFor == 0 {
			h := w.from.host
			h.call(h.now()+Time(w.Start), w.start)
		}
	}
}

func (f *flow) fail(err error) {
	if f.err == nil {
		f.err = err
	}
	f.ended = true
}
