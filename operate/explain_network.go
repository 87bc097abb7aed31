package operate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/braid-rdma/braid/transport"
)

const (
	// manyMarks and someLoss are the shares of packets from which on marks and losses are what closes the window.
	manyMarks = 0.01
	someLoss  = 0.001
	// aPathOfItsOwn is by how much a path must be worse than all together to be named, and unevenly how much more paths must
	// differ than by chance: losses and marks come in bursts.
	aPathOfItsOwn = 2
	unevenly      = 3
	// most and few are the share of losses or marks that those paths must have, and of packets that they may.
	most, few = 0.5, 0.4
)

// explainWindow: the congestion window is full, or waits for acknowledgements. Losses and marks say why it is not larger.
func explainWindow(e *Evidence, q *QueuePair) *Finding {
	f := &Finding{Share: q.share(transport.ReasonWindow, transport.ReasonClock)}
	sent, lost, marked := q.sums()
	late := min(lost, q.Counters["mp_spurious_retransmits"])
	lost -= late // which was taken for lost, and was not
	switch {
	case sent > 0 && float64(lost) >= someLoss*float64(sent):
		f.Cause = CauseLoss
		f.Says = fmt.Sprintf("The network loses %.2g %% of the packets%s, which keeps the window small.", 100*float64(lost)/float64(sent), q.worst("loss on path", lossOf))
		f.Evidence = append(q.pathEvidence("lost", lossOf), fmt.Sprintf("%d packets lost of %d", lost, sent))
		f.Advice = "Look for a bad cable, a full queue without marking, or a wrong MTU on the way (braid ping --trace shows the source port of each path)."
	case sent > 0 && float64(marked) >= manyMarks*float64(sent):
		f.Cause = CauseCongestion
		f.Says = fmt.Sprintf("The window is cut by marks%s: others use the network too, or the receiver's link is full.", q.worst("on path", marksOf))
		f.Evidence = append(q.pathEvidence("marked", marksOf), fmt.Sprintf("%d packets marked of %d", marked, sent))
		f.Advice = "It is how a shared network should be; marks on one path alone are a hot spot there."
	case sent > 0 && float64(late) >= someLoss*float64(sent):
		f.Cause = CauseLate
		f.Says = fmt.Sprintf("%.2g %% of the packets come so late that they are taken for lost, which keeps the window small; the network loses nothing.", 100*float64(late)/float64(sent))
		f.Evidence = []string{fmt.Sprintf("%d packets of %d were sent again that had arrived", late, sent)}
		f.Advice = "A busy machine at either end holds packets up, or the delay of a path changes much: see how busy the peer's machine is (braid why there)."
	default:
		f.Cause = CauseNetwork
		f.Says = fmt.Sprintf("The window is full %s of the time without marks or loss: it uses what the network gives.", percent(f.Share))
		f.Advice = "A longer round trip needs a larger window; a slow receiver or a busy machine makes the round trip longer."
	}
	f.Evidence = append(f.Evidence, q.flowEvidence(e.Took))
	return f
}

// sums are those of all paths, or of a queue pair with one.
func (q *QueuePair) sums() (sent, lost, marked uint64) {
	if len(q.Paths) == 0 {
		return q.Counters["tx_packets"], q.Counters["packet_seq_err"] + q.Counters["local_ack_timeout_err"], q.Counters["rp_cnp_handled"]
	}
	for _, p := range q.Paths {
		sent, lost, marked = sent+p.Sent, lost+p.Lost, marked+p.Marked
	}
	return sent, lost, marked
}

func lossOf(p *Path) uint64  { return p.Lost }
func marksOf(p *Path) uint64 { return p.Marked }

// worst names the paths that stand out, if not all are alike.
func (q *QueuePair) worst(words string, of func(*Path) uint64) string {
	paths := q.outstanding(of)
	if len(paths) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", words, pathList(paths))
}

// outstanding are the paths that have more of something than their part, if paths differ by more than chance: many
// virtual paths share a few links, and each carries few packets in a second.
func (q *QueuePair) outstanding(of func(*Path) uint64) (paths []int) {
	var sent, sum float64
	for i := range q.Paths {
		sent, sum = sent+float64(q.Paths[i].Sent), sum+float64(of(&q.Paths[i]))
	}
	used, dispersion := 0, 0.0
	var theirs, theirSent float64
	for i := range q.Paths {
		p := &q.Paths[i]
		expected, n := sum*float64(p.Sent)/max(1, sent), float64(of(p))
		if expected == 0 {
			continue
		}
		used++
		dispersion += (n - expected) * (n - expected) / expected
		if n > 1 && n > aPathOfItsOwn*expected {
			paths = append(paths, p.Index)
			theirs, theirSent = theirs+n, theirSent+float64(p.Sent)
		}
	}
	if theirs < most*sum || theirSent > few*sent {
		return nil // it is everywhere
	}
	// The index of dispersion of counts that differ by chance alone is 1, give or take the root of 2/(n-1).
	degrees := float64(max(1, used-1))
	if dispersion/degrees < max(unevenly, 1+5*math.Sqrt(2/degrees)) {
		return nil
	}
	return paths
}

// pathList names some paths of many.
func pathList(paths []int) string {
	const named = 6
	var names []string
	for _, p := range paths[:min(len(paths), named)] {
		names = append(names, strconv.Itoa(p))
	}
	text := strings.Join(names, ", ")
	if len(paths) > named {
		text += fmt.Sprintf(" and %d more", len(paths)-named)
	}
	return text
}

// pathEvidence lists the worst paths.
func (q *QueuePair) pathEvidence(word string, of func(*Path) uint64) (lines []string) {
	for _, i := range q.outstanding(of) {
		at := slices.IndexFunc(q.Paths, func(p Path) bool { return p.Index == i })
		p := &q.Paths[at]
		lines = append(lines, fmt.Sprintf("path %d: %d %s of %d sent", i, of(p), word, p.Sent))
		if len(lines) == 4 {
			break
		}
	}
	return lines
}

func (q *QueuePair) flowEvidence(took time.Duration) string {
	rate := float64(q.Counters["tx_bytes"]) * 8 / max(took.Seconds(), 1e-9)
	text := "sends " + bitsPerSecond(rate)
	if q.Window > 0 {
		text += fmt.Sprintf(", window of %.0f packets of %d B, round trip %v", q.Window, q.MTU, round(q.RTT))
	}
	return text
}

func bitsPerSecond(rate float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "Gb/s"}, {1e6, "Mb/s"}, {1e3, "kb/s"}} {
		if rate >= unit.size {
			return fmt.Sprintf("%.3g %s", rate/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%.0f b/s", rate)
}

// explainUnblocked: nothing holds the next packet back, and yet there is one.
func explainUnblocked(e *Evidence, q *QueuePair) *Finding {
	return &Finding{
		Cause: CauseProcessor, Share: q.share(transport.ReasonNone),
		Says:     fmt.Sprintf("Nothing holds it back %s of the time: it sends as fast as the processor does it.", percent(q.share(transport.ReasonNone))),
		Evidence: []string{q.flowEvidence(e.Took), fmt.Sprintf("the program used %.2f processors", e.Host.Own.Seconds()/max(e.Took.Seconds(), 1e-9))},
		Advice:   "Larger messages and larger packets cost less for each byte.",
	}
}

// explainNoWork: all that was posted is sent. Why is there nothing more?
func explainNoWork(e *Evidence, q *QueuePair) *Finding {
	f := &Finding{Share: q.share(transport.ReasonNoWork, transport.ReasonState)}
	if c := q.Channel; c != nil {
		for _, rule := range channelRules {
			if g := rule(e, c); g != nil && g.Share >= worthTelling {
				return g
			}
		}
	}
	if rate := float64(q.Counters["rx_bytes"]) * 8 / max(e.Took.Seconds(), 1e-9); rate > 8*float64(q.Counters["tx_bytes"])/max(e.Took.Seconds(), 1e-9) {
		f.Cause = CauseSender
		f.Says = fmt.Sprintf("It receives %s and has nothing to send; what limits it is at the sender.", bitsPerSecond(rate))
		f.Advice = fmt.Sprintf("Ask at %v: braid why there.", q.Peer)
		return f
	}
	f.Cause = CauseIdle
	f.Says = fmt.Sprintf("The program has nothing to send %s of the time.", percent(f.Share))
	f.Evidence = []string{q.flowEvidence(e.Took)}
	f.Advice = "To send more it has to post more requests at a time, or larger ones."
	return f
}
