package transport

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/braid-rdma/braid/wire"
)

// scenario is everything that a run depends on.
type scenario struct {
	seed        uint64
	rc          bool // reliable connection, else multi-path
	mp          MPOptions
	rcOptions   RCOptions
	attr        [2]Attr
	paths       int
	links       [2][]linkSpec
	faults      []*fault
	encode      bool // packets travel as bytes
	quantum     Time // granularity of engines
	ops         [2]int
	maxSize     int
	kinds       []Op // operations to choose from, with repetition
	depth       int  // of send queues
	shared      bool // shared receive queue
	signalAll   bool
	window      int  // SetWindow; 0: none
	lateRecvs   bool // receives are posted after the messages that need them
	pace        Time // mean time between posts
	patience    Time // how long everything may take once all faults are healed
	fragile     bool // retries may run out: the script justifies the error
	expected    []Status
	sabotage    func(h *host, qp QP) QP // plants a bug (canaries)
	tamper      func(wr *SendWR)        // changes a request on its way to the queue pair
	wrongKey    float64                 // chance that a remote access names a key that does not exist
	noRecvs     bool                    // no receive is ever posted
	size        int                     // of every operation; 0: random up to maxSize
	plain       bool                    // no fences, synchronise operations or inline data
	draws       [numDraws]bool          // what harness_draws has drawn
	gated       float64                 // chance that a post waits for another completion
	second      *scenario               // a second connection that depends on this one; nil: none
	apart       bool                    // the hosts do different things:
	only        [2]Op                   // what each does,
	most        [2]int                  // how long it is at most,
	sizes       [2]int                  // or always; 0: as long as size says
	invalidates float64                 // chance that a SEND with invalidate ends a key in use
	interval    float64                 // of a host's interface: ns for each byte; 0: it is never busy
}

// lastPost is a bound of when the program has posted all it wants.
func (s *scenario) lastPost() Time {
	return Second + Time(s.ops[0]+s.ops[1])*s.pace*4
}

func (s *scenario) String() string {
	kind := "MP"
	if s.rc {
		kind = "RC"
	}
	return fmt.Sprintf("%s mtu %d paths %d L %d delta %d iw %d selective %v shared %v timeout %d ops %v faults %d fragile %v encode %v draws %v link %+v",
		kind, s.attr[0].MTU, s.paths, s.mp.Slots, s.mp.Delta, s.mp.InitialWindow, s.mp.Selective, s.shared, s.attr[0].Timeout, s.ops, len(s.faults), s.fragile, s.encode, s.drawList(), s.links[0][0])
}

var allKinds = []Op{
	OpSend, OpSend, OpSend, OpSendImm, OpSendInv, OpWrite, OpWrite, OpWrite, OpWriteImm, OpRead, OpRead, OpCompareSwap, OpFetchAdd,
}

// chance is true with probability p.
func chance(r *rand.Rand, p float64) bool { return r.Float64() < p }

// oneOf picks one of the values.
func oneOf[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// between picks a duration between lo and hi, evenly by magnitude.
func between(r *rand.Rand, lo, hi Time) Time {
	for hi > 2*lo && chance(r, 0.5) {
		hi /= 2
	}
	return lo + Time(r.Int64N(int64(hi-lo)+1))
}

// randomScenario is the scenario of a seed.
func randomScenario(seed uint64) *scenario {
	s := plainScenario(seed)
	s.randomDraws(rand.New(rand.NewPCG(seed, 4)))
	return s
}

// plainScenario is a scenario without what harness_draws adds.
func plainScenario(seed uint64) *scenario {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &scenario{
		seed: seed, rc: chance(r, 0.3), kinds: allKinds,
		encode: chance(r, 0.15), quantum: oneOf(r, 1, 1, Microsecond, 5*Microsecond, 20*Microsecond),
		ops: [2]int{1 + r.IntN(80), r.IntN(60)}, depth: oneOf(r, 1, 2, 4, 16, 64),
		shared: chance(r, 0.2), signalAll: chance(r, 0.5), lateRecvs: chance(r, 0.25),
		pace: oneOf(r, 1, Microsecond, 20*Microsecond, 200*Microsecond), patience: 20 * Second,
	}
	s.maxSize = oneOf(r, 64, 5000, 20000, 20000, 100000)
	s.paths = oneOf(r, 1, 2, 4, 4, 8, 16)
	if s.rc {
		s.paths = 1
	}
	if s.claims() {
		s.maxSize = min(s.maxSize, longestClaimed)
	}
	s.mp, s.rcOptions = randomOptions(r), randomRCOptions(r)
	if chance(r, 0.2) {
		s.window = 1 + r.IntN(64)
	}
	if chance(r, 0.1) {
		s.wrongKey = 0.1
	}
	s.randomAttr(r)
	s.randomLinks(r)
	s.randomFaults(r)
	return s
}

func randomOptions(r *rand.Rand) MPOptions {
	o := PaperOptions()
	if chance(r, 0.6) {
		o = WireOptions()
	}
	if chance(r, 0.5) {
		o.Slots = oneOf(r, 2, 8, 32, 64, 256)
		o.Delta = 1 + r.IntN(o.Slots)
		o.InitialWindow = oneOf(r, 1, 2, 8, 16, 64)
		o.MaxWindow, o.MaxWindowBytes = max(o.InitialWindow, oneOf(r, 4, 32, 512)), 0
		o.Run = oneOf(r, 1, 4, 15)
	}
	if chance(r, 0.3) {
		o.BatchAcks, o.Selective = chance(r, 0.5), chance(r, 0.5)
		o.LossResponse, o.RetirePaths, o.LossTolerance = chance(r, 0.5), chance(r, 0.5), oneOf(r, 0, 0.02, 0.25, 0.9)
		o.WindowedSpan, o.KeepWindow, o.GrowUsed = chance(r, 0.5), chance(r, 0.5), chance(r, 0.5)
	}
	o.ProbeProbability = oneOf(r, 0, 0.01, 0.5)
	o.Alpha = oneOf[float64](r, 0, 1, 1, 4)
	if chance(r, 0.5) {
		o.Policy = oneRegistered(r, &PathPolicies)
	}
	if chance(r, 0.05) {
		o.Policy = NewFlowlet(oneOf(r, 0, 50*time.Microsecond))
	}
	if chance(r, 0.4) {
		o.Control = oneRegistered(r, &CongestionControls)
		o.MaxWindow, o.MaxWindowBytes = max(64, o.InitialWindow), 0
	}
	if chance(r, 0.1) {
		o.Delta = o.Slots // no control of the order
	}
	return o
}

// oneRegistered picks one of all that there are, in an order that does not depend on
// that of their registration.
func oneRegistered[T any](r *rand.Rand, registry *Registry[T]) T {
	entries := registry.Entries()
	slices.SortFunc(entries, func(a, b Entry[T]) int { return strings.Compare(a.Name, b.Name) })
	return oneOf(r, entries...).New
}

func randomRCOptions(r *rand.Rand) RCOptions {
	switch r.IntN(5) {
	case 0:
		return oneRegistered(r, &RateControls)(10e9)
	case 1:
		return oneOf(r, DCQCNAuthors(10e9), DCQCNHPCC(10e9), DCQCNHPCCPaper(1e9)).Options()
	}
	return RCOptions{}
}

// randomMTU is any that a kind of queue pair may have, mostly a usual one.
func randomMTU(r *rand.Rand, rc bool) int {
	switch mtu := oneOf(r, 256, 512, 1024, 1024, 4096); {
	case rc || chance(r, 0.5):
		return mtu
	case chance(r, 0.1):
		return MinMTU + 4*r.IntN((MaxMPMTU-MinMTU)/4+1)
	default:
		return MinMTU + 4*r.IntN(mtu/4)
	}
}

func (s *scenario) randomAttr(r *rand.Rand) {
	mtu := randomMTU(r, s.rc)
	if mtu < 512 {
		s.maxSize = min(s.maxSize, 30000)
	}
	timeout := oneOf[uint8](r, 0, 0, 10, 12)
	if s.rc {
		timeout = oneOf[uint8](r, 13, 14)
	}
	firsts := [2]wire.PSN{randomPSN(r), randomPSN(r)}
	for i := range s.attr {
		reads := oneOf(r, 1, 2, 4, 16)
		s.attr[i] = Attr{
			MTU: mtu, RemoteQPN: wire.QPN(0x100 + 1 - i), SendPSN: firsts[i], RecvPSN: firsts[1-i],
			Reads: reads, Timeout: timeout, RetryCount: 7, RNRRetry: InfiniteRNRRetry,
			MinRNRTimer: oneOf[uint8](r, 1, 4, 8), Paths: s.paths, TrackedSlots: s.mp.Slots,
			Window: oneOf(r, 0, 8, 64),
		}
		if s.rc && s.seed%2 == 0 {
			s.attr[i].Keepalive = Time(20+s.seed%400) * Microsecond
		}
	}
	s.attr[0].ReadsServed, s.attr[1].ReadsServed = s.attr[1].Reads, s.attr[0].Reads
}

// randomPSN is often close to where 24 bits wrap.
func randomPSN(r *rand.Rand) wire.PSN {
	if chance(r, 0.6) {
		return wire.PSN(0xffffff - r.IntN(200))
	}
	return wire.PSN(r.IntN(1 << 24))
}

// randomLinks gives every path and direction its character.
func (s *scenario) randomLinks(r *rand.Rand) {
	base := linkSpec{delay: between(r, 2*Microsecond, 200*Microsecond), nsPerByte: oneOf(r, 0, 0.2, 0.8, 8)}
	if chance(r, 0.5) {
		base.jitter = between(r, 1, base.delay)
	}
	trouble := chance(r, 0.75)
	if trouble {
		s.troubleLinks(r, &base)
	}
	for side := range s.links {
		for range s.paths {
			l := base
			if chance(r, 0.2) {
				l.delay = between(r, l.delay, 4*l.delay)
			}
			if chance(r, 0.1) {
				l.nsPerByte *= 4
			}
			if trouble && chance(r, 0.2) {
				s.troubleLinks(r, &l)
			}
			s.links[side] = append(s.links[side], l)
		}
	}
}

func (s *scenario) troubleLinks(r *rand.Rand, l *linkSpec) {
	switch r.IntN(9) {
	case 0, 1:
		l.loss = oneOf(r, 0.001, 0.01, 0.05, 0.1, 0.3)
		s.fragile = s.fragile || l.loss > 0.02
	case 2:
		l.burstRate, l.burstLen = 0.005, oneOf(r, 3, 32)
		s.fragile = true
	case 3:
		l.everyNth = oneOf(r, 5, 17, 256)
		s.fragile = s.fragile || l.everyNth < 16
	case 4:
		l.duplicate, l.copies = oneOf(r, 0.01, 0.5), 3
	case 5:
		l.reorder, l.lateBy = oneOf(r, 0.01, 0.2), between(r, Microsecond, 500*Microsecond)
	case 6:
		l.ackLoss = 0.5
		s.fragile = true
	case 7:
		l.dataLoss = 0.1
		s.fragile = true
	case 8:
		l.corrupt = 0.02
	}
	if chance(r, 0.3) {
		l.markAbove = 10 * Microsecond
	}
	if chance(r, 0.2) && l.nsPerByte > 0 {
		l.dropAbove = 500 * Microsecond
		s.fragile = true
	}
}

// randomFaults writes a script of cuts and stalls, and ends all troubles.
func (s *scenario) randomFaults(r *rand.Rand) {
	for range oneOf(r, 0, 0, 1, 3) {
		f := &fault{from: between(r, 1, 2*Millisecond), host: r.IntN(3) - 1}
		f.until = f.from + between(r, 10*Microsecond, 40*Millisecond)
		if chance(r, 0.2) {
			f.stall, f.host = true, r.IntN(2)
		}
		for p := range s.paths {
			if s.paths == 1 || chance(r, 0.4) {
				f.paths = append(f.paths, p)
			}
		}
		s.faults = append(s.faults, f)
		s.fragile = true
	}
	for range oneOf(r, 0, 0, 0, 2) {
		from := between(r, 1, 2*Millisecond)
		f := &fault{from: from, until: from + between(r, 1, Millisecond), host: r.IntN(2)}
		f.swaps = !s.rc && chance(r, 0.5)
		f.drains = !f.swaps
		s.faults = append(s.faults, f)
	}
	s.faults = append(s.faults, &fault{from: 0, until: between(r, 10*Millisecond, 100*Millisecond), heals: true})
	if !s.rc && s.attr[0].Timeout == 0 {
		s.fragile = false // without a timeout nothing ever gives up
	}
	if s.fragile {
		s.expected = []Status{RetryExcErr}
	}
}
