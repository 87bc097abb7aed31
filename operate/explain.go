package operate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/braid-rdma/braid/transport"
)

// Cause is what limits a transfer, in one word that stays the same for programs.
type Cause string

// Causes, from those that stop a transfer to those that are how it should be.
const (
	CauseClosed         Cause = "closed"           // the queue pair has failed
	CauseUnreachable    Cause = "unreachable"      // nothing that is sent is acknowledged
	CauseOnTCP          Cause = "on-tcp"           // UDP does not reach the peer, or it is told not to be used
	CausePeerReceives   Cause = "peer-receives"    // the peer has no receive posted
	CausePeerBuffer     Cause = "peer-buffer"      // the peer's receiver takes no more packets
	CausePeerProgram    Cause = "peer-program"     // the peer's program does not take its messages
	CausePeerHandlers   Cause = "peer-handlers"    // the peer's program does not respond to calls
	CauseOwnProgram     Cause = "own-program"      // this program does not take its messages
	CauseOwnHandlers    Cause = "own-handlers"     // its handlers have as many as they may
	CauseMemory         Cause = "memory"           // large messages wait for memory
	CausePolls          Cause = "polls"            // the program does not poll
	CauseHostBusy       Cause = "host-busy"        // threads wait for a processor
	CauseHypervisor     Cause = "hypervisor"       // the machine is not given its processors
	CauseReceiveBuffer  Cause = "receive-buffer"   // the kernel drops what is not fetched
	CauseSendBuffer     Cause = "send-buffer"      // the kernel takes no more
	CauseDamage         Cause = "damage"           // packets arrive damaged
	CauseFlood          Cause = "flood"            // strangers send more than is looked at
	CauseLoss           Cause = "loss"             // the network, or some paths of it, loses packets
	CauseLate           Cause = "late"             // packets come so late that they are taken for lost
	CausePathsRetired   Cause = "paths-retired"    // paths are out of use
	CauseSlowPath       Cause = "slow-path"        // a path is much slower than others, which wait for it
	CauseSpan           Cause = "receiver-span"    // the receiver can track no more packets
	CauseCongestion     Cause = "congestion"       // the network marks packets
	CausePacing         Cause = "pacing"           // the sending rate was cut by congestion notices
	CauseInitiatorDepth Cause = "initiator-depth"  // as many READs and atomics are outstanding as agreed
	CauseCallLimit      Cause = "call-limit"       // as many calls wait as are allowed
	CauseFence          Cause = "fence"            // a fenced request waits for READs before it
	CauseSynchronise    Cause = "synchronise"      // synchronise requests wait for their delay
	CauseFailing        Cause = "failure-in-order" // a request that must fail waits for its turn
	CauseNetwork        Cause = "network"          // the network gives what it has: the window is full
	CauseProcessor      Cause = "processor"        // nothing holds it back but the work itself
	CauseSender         Cause = "sender"           // it receives; what limits it is at the other end
	CauseIdle           Cause = "idle"             // the program asks for nothing
)

// Finding is one thing that limits a transfer, or all transfers of a program.
type Finding struct {
	Cause     Cause    `json:"cause"`
	QueuePair uint32   `json:"queue_pair,omitempty"` // 0: the whole program
	Share     float64  `json:"share"`                // of the time, or of what the evidence is about
	Says      string   `json:"says"`
	Evidence  []string `json:"evidence,omitempty"`
	Advice    string   `json:"advice,omitempty"`
}

// worthTelling is the least share of the time that is told.
const worthTelling = 0.05

// Explain says what limits the transfers of a program: first what concerns all of it, then each queue pair, and of each what weighs most first.
func (e *Evidence) Explain() []Finding {
	findings := e.explainProgram()
	for i := range e.QueuePairs {
		findings = append(findings, e.explainPair(&e.QueuePairs[i])...)
	}
	return findings
}

// explainPair applies every rule to a queue pair. What stops it altogether is told alone.
func (e *Evidence) explainPair(q *QueuePair) []Finding {
	for _, rule := range []func(*QueuePair) *Finding{explainClosed, e.explainUnreachable, explainOnTCP} {
		if f := rule(q); f != nil {
			return []Finding{f.of(q)}
		}
	}
	var some []Finding
	for _, rule := range pairRules {
		if f := rule(e, q); f != nil && f.Share >= worthTelling {
			some = append(some, f.of(q))
		}
	}
	slices.SortStableFunc(some, func(a, b Finding) int { return cmp.Compare(b.Share, a.Share) })
	return some
}

func (f *Finding) of(q *QueuePair) Finding {
	f.QueuePair = q.Number
	return *f
}

// pairRules each know one cause, or a few that exclude each other.
var pairRules = []func(e *Evidence, q *QueuePair) *Finding{
	explainRNR, explainPeerBuffer, explainSpan, explainWindow, explainPacing, explainDepth, explainFence, explainSynchronise,
	explainFailing, explainUnblocked, explainNoWork, explainRetired,
}

// share is the part of the samples with one of some reasons.
func (q *QueuePair) share(reasons ...transport.Reason) float64 {
	all, n := 0, 0
	for reason, count := range q.Reasons {
		all += count
		for _, r := range reasons {
			if reason == r.String() {
				n += count
			}
		}
	}
	return share(n, all)
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func explainClosed(q *QueuePair) *Finding {
	if q.State != transport.Err.String() {
		return nil
	}
	return &Finding{
		Cause: CauseClosed, Share: 1, Says: "The queue pair has failed and sends nothing any more.",
		Advice: "The status of the first failed completion, or Channel.Err, says why; connect again.",
	}
}

// explainUnreachable: retransmission timeouts, and not one acknowledgement.
func (e *Evidence) explainUnreachable(q *QueuePair) *Finding {
	timeouts, sent := q.Counters["local_ack_timeout_err"], q.Counters["tx_packets"]
	if timeouts == 0 || q.Counters["rx_acks"]+q.Counters["rx_packets"] > 0 {
		return nil
	}
	return &Finding{
		Cause: CauseUnreachable, Share: 1, Says: fmt.Sprintf("Nothing comes back from %v: it is unreachable, or its program does not run.", q.Peer),
		Evidence: []string{fmt.Sprintf("%d packets sent, %d timeouts, no packet received in %v", sent, timeouts, round(e.Took))},
		Advice:   "braid ping and ping tell whether host and network are alive; a firewall must let UDP port 4791 through in both directions.",
	}
}

func explainOnTCP(q *QueuePair) *Finding {
	if q.Channel == nil || !q.Channel.OnTCP {
		return nil
	}
	if q.Channel.OnCommand {
		return &Finding{
			Cause: CauseOnTCP, Share: 1, Says: "The channel goes by TCP, as it was told to, which is slower.",
			Advice: "Let it return to UDP: braid adm set mock=auto, or Channel.SetCarrier in the program.",
		}
	}
	return &Finding{
		Cause: CauseOnTCP, Share: 1, Says: "UDP does not reach the peer, so the channel goes by TCP, which is slower.",
		Advice: "It returns by itself when UDP passes again; until then look for what drops UDP port 4791 between the hosts.",
	}
}

func explainRNR(_ *Evidence, q *QueuePair) *Finding {
	return &Finding{
		Cause: CausePeerReceives, Share: q.share(transport.ReasonRNR),
		Says:     fmt.Sprintf("It waits for the peer's receives %s of the time.", percent(q.share(transport.ReasonRNR))),
		Evidence: []string{fmt.Sprintf("%d RNR NAKs received", q.Counters["rnr_naks_received"])},
		Advice:   "The program at the peer must post more receives, or post them sooner; a shared receive queue may be too short.",
	}
}

func explainPeerBuffer(_ *Evidence, q *QueuePair) *Finding {
	return &Finding{
		Cause: CausePeerBuffer, Share: q.share(transport.ReasonPeerWindow),
		Says:     fmt.Sprintf("The peer's receiver takes no more packets %s of the time.", percent(q.share(transport.ReasonPeerWindow))),
		Evidence: []string{fmt.Sprintf("the peer takes %d packets, the congestion window is %.0f", q.PeerWindow, q.Window)},
		Advice:   "The peer's socket buffer (udp.Config, net.core.rmem_max) bounds it, or its machine is too slow to empty it: ask braid why there.",
	}
}

// explainSpan: packets wait for the oldest one, whose path may be the slow one.
func explainSpan(_ *Evidence, q *QueuePair) *Finding {
	f := &Finding{Cause: CauseSpan, Share: q.share(transport.ReasonSpan)}
	f.Says = fmt.Sprintf("The receiver can track no packet beyond those in flight %s of the time.", percent(f.Share))
	f.Advice = "More slots (MPOptions.Slots, L) let packets of unequal paths overtake each other further."
	if p, times, ok := q.slowPath(); ok {
		f.Cause = CauseSlowPath
		f.Says = fmt.Sprintf("All paths wait for path %d %s of the time: it is %.0f times as slow as the fastest.", p.Index, percent(f.Share), times)
		f.Evidence = []string{fmt.Sprintf("round trip of path %d: %v", p.Index, round(p.RTT))}
		f.Advice = "Look for a slow link or a long queue on that path (braid ping --trace); a larger L helps while it lasts."
	}
	return f
}

// slowPath finds a path in use whose round trip is several times that of the fastest.
func (q *QueuePair) slowPath() (slow Path, times float64, ok bool) {
	fastest := time.Duration(0)
	for _, p := range q.Paths {
		if p.Acknowledged == 0 || p.RTT == 0 {
			continue
		}
		if fastest == 0 || p.RTT < fastest {
			fastest = p.RTT
		}
		if p.RTT > slow.RTT {
			slow = p
		}
	}
	if fastest == 0 || slow.RTT < 3*fastest {
		return slow, 0, false
	}
	return slow, float64(slow.RTT) / float64(fastest), true
}

func explainPacing(_ *Evidence, q *QueuePair) *Finding {
	return &Finding{
		Cause: CausePacing, Share: q.share(transport.ReasonPacing),
		Says:     fmt.Sprintf("It sends at a rate that congestion notices have cut, and waits for it %s of the time.", percent(q.share(transport.ReasonPacing))),
		Evidence: []string{fmt.Sprintf("%d congestion notices", q.Counters["rp_cnp_handled"])},
		Advice:   "The path is shared with others; a multi-path queue pair would use the rest of the network.",
	}
}

func explainDepth(_ *Evidence, q *QueuePair) *Finding {
	return &Finding{
		Cause: CauseInitiatorDepth, Share: q.share(transport.ReasonInitiatorDepth),
		Says:   fmt.Sprintf("As many READs and atomics are outstanding as agreed (%d), %s of the time.", q.Reads, percent(q.share(transport.ReasonInitiatorDepth))),
		Advice: "More may be agreed when the queue pairs connect (max_rd_atomic), or one READ may ask for more bytes.",
	}
}

func explainFence(_ *Evidence, q *QueuePair) *Finding {
	return &Finding{
		Cause: CauseFence, Share: q.share(transport.ReasonFence),
		Says:   fmt.Sprintf("Fenced requests wait for the READs and atomics before them %s of the time.", percent(q.share(transport.ReasonFence))),
		Advice: "Leave the fence away where a request does not depend on what was read.",
	}
}

func explainSynchronise(_ *Evidence, q *QueuePair) *Finding {
	return &Finding{
		Cause: CauseSynchronise, Share: q.share(transport.ReasonSynchronise),
		Says:     fmt.Sprintf("Synchronise requests wait for their delay %s of the time.", percent(q.share(transport.ReasonSynchronise))),
		Evidence: []string{fmt.Sprintf("%d came too early all the same", q.Counters["mp_early_synchronise"])},
		Advice:   "Mark fewer requests as synchronise: only those that must not overtake what was written before.",
	}
}

func explainFailing(_ *Evidence, q *QueuePair) *Finding {
	return &Finding{
		Cause: CauseFailing, Share: q.share(transport.ReasonFailure),
		Says:   fmt.Sprintf("A request that must fail waits for those before it %s of the time.", percent(q.share(transport.ReasonFailure))),
		Advice: "Its memory was deregistered, or its key ended, while it was under way.",
	}
}

// explainRetired tells of paths out of use, which need not be what limits.
func explainRetired(_ *Evidence, q *QueuePair) *Finding {
	var retired []int
	for _, p := range q.Paths {
		if p.Retired {
			retired = append(retired, p.Index)
		}
	}
	return &Finding{
		Cause: CausePathsRetired, Share: share(len(retired), len(q.Paths)),
		Says:   fmt.Sprintf("%d of %d paths are out of use because they lose packets: %s.", len(retired), len(q.Paths), pathList(retired)),
		Advice: "braid ping --trace shows their source ports, by which the switches choose the link that is at fault; they return by themselves.",
	}
}

func round(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Second:
		return d.Round(time.Second)
	case d > 10*time.Millisecond:
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Nanosecond)
}
