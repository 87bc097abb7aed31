package udp

import (
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

// A thread that finds nothing to do spins or sleeps. A sleep and the way back from it cost some ten
// microseconds of a processor, and about as much delay; to spin costs the processor for as long as
// it lasts. So a thread spins where somebody waits for an answer, which is after a short message was
// sent or received, and where that was worth it of late. Packets of long messages follow each other
// at whatever rate the network has: who spun there would never sleep below the speed of its processor, and
// who woke for each packet would do little else. There a thread sleeps for the time of some packets, whatever arrives,
// and takes them all at once.

const (
	// wakingTime is what a sleep adds to a wait. It was right to spin, or would have been, where what
	// the thread waited for came within Config.Spin.
	wakingTime = 20 * transport.Microsecond
	// fullScore is that of spinning which was worth it each time; below a quarter there is none, but
	// for one wait of triedWaits. Two that wait for each other, and both sleep, would never learn that
	// without it neither had to.
	fullScore  = 256
	triedWaits = 8

	// moderatedPackets is for how many packets, in or out, a thread sleeps that moves long messages: few
	// enough that the window of the connection, and the queues of the network, have room for them.
	moderatedPackets = 12
	// longestModeration bounds that time, and with less than shortestModeration it is not worth it. Where
	// packets are further apart than a part of it each may wake the thread.
	longestModeration  = 200 * transport.Microsecond
	shortestModeration = 20 * transport.Microsecond
	// quietTime is for how long there was no short message where a thread may do so.
	quietTime = transport.Millisecond

	// catchUp is how late packets may be that a rate held back and still leave at that rate: a
	// moderated sleep, and what the kernel adds to it.
	catchUp = 250 * time.Microsecond
)

// waiting is how a thread has waited, and what it has learned from it. It belongs to that thread.
type waiting struct {
	spin   transport.Time // Config.Spin
	prompt transport.Time // when a short message was last seen
	began  transport.Time // when this wait began; 0: there is work
	asked  bool           // the wait began soon after a short message
	slept  bool
	score  int  // how often spinning was worth it, of late
	waits  uint // soon after short messages

	// Of the last sleep: when it began, and how many packets had been moved by then.
	fellAsleep transport.Time
	packets    uint64
	interval   transport.Time // between packets, of late
}

// newWaiting is that of a thread which has not waited yet.
func newWaiting(cfg *Config) waiting {
	return waiting{spin: transport.Time(cfg.Spin), score: fullScore}
}

// notePrompt looks whether the packet at hand, of a queue pair, is a message by itself: somebody may wait for
// the answer, and in a crowd at queue pair 1 that is no reason to hurry.
func (e *engine) notePrompt(now transport.Time, p *port) {
	o := e.packet.Opcode
	if o.Starts() && o.Ends() && (!e.intake.crowded || p.qp.Number() != wire.ManagementQPN) {
		e.prompt = now
	}
}

// worked ends a wait.
func (w *waiting) worked(now transport.Time) {
	if w.began != 0 && w.asked {
		spin := w.spin
		if w.slept {
			spin += wakingTime
		}
		w.score -= w.score / 8
		if now-w.began <= spin {
			w.score += fullScore / 8
		}
	}
	w.began, w.slept = 0, false
}

// spins says whether a thread that has found nothing to do looks again at once.
func (w *waiting) spins(now transport.Time) bool {
	recent := now-w.prompt < w.spin
	if w.began == 0 {
		w.began, w.asked = now, recent
		if recent {
			w.waits++
		}
	}
	return recent && (w.score >= fullScore/4 || w.waits%triedWaits == 0)
}

// moderation is how long the thread is to sleep whatever arrives, given how many packets have been
// moved so far; 0: until something arrives.
func (w *waiting) moderation(now transport.Time, packets uint64) transport.Time {
	moved := packets - w.packets
	elapsed := now - w.fellAsleep
	w.packets, w.fellAsleep = packets, now
	if moved == 0 {
		return 0
	}
	if sample := elapsed / transport.Time(moved); sample < longestModeration {
		w.interval += (sample - w.interval) / 4
	} else {
		w.interval = longestModeration // it was idle: what comes now may be a single message
	}
	m := min(moderatedPackets*w.interval, longestModeration)
	if now-w.prompt < quietTime || w.interval > longestModeration/2 || m < shortestModeration {
		return 0
	}
	return m
}
