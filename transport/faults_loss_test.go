package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

var lossRows = []faultRow{
	{"row01_uniform_loss", testUniformLoss},
	{"row02_burst_loss", testBurstLoss},
	{"row03_every_nth_lost", testEveryNthLost},
	{"row04_tail_loss", testTailLoss},
	{"row05_retransmissions_lost", testRetransmissionsLost},
	{"row06_one_direction_loss", testOneDirectionLoss},
}

// testUniformLoss holds goodput against a curve, as a share of the lossless run.
func testUniformLoss(t *testing.T) {
	lossless := mustRun(t, bulk(32, 65536), nil).elapsed()
	for _, c := range []struct{ loss, share float64 }{
		{0.0001, 0.9}, {0.001, 0.5}, {0.005, 0.25}, {0.01, 0.2}, {0.02, 0.1}, {0.05, 0.04}, {0.1, 0.02}, {0.3, 0.002},
	} {
		sc := bulk(32, 65536)
		sc.setLinks(linkSpec{delay: faultRTT / 2, nsPerByte: 0.8, loss: c.loss})
		took := mustRun(t, sc, nil).elapsed()
		share := float64(lossless) / float64(took)
		t.Logf("loss %v: %.3f of the lossless goodput", c.loss, share)
		if share < c.share {
			t.Errorf("loss %v: %.3f of the lossless goodput, want %v", c.loss, share, c.share)
		}
		if sc.patience = 60 * Second; c.loss <= 0.1 {
			mustRun(t, sc.asPaper(), nil)
			mustRun(t, sc.asRC(), nil)
		}
	}
}

func testBurstLoss(t *testing.T) {
	for _, length := range []int{3, 32, 256} {
		sc := bulk(64, 65536)
		sc.setLinks(linkSpec{delay: faultRTT / 2, nsPerByte: 0.8, burstRate: 0.002, burstTime: Time(length) * Microsecond})
		var stall *Time
		w := mustRun(t, sc, func(w *world) { stall = watchStalls(w) })
		t.Logf("bursts of %d: longest stall %v, %d timeouts", length, *stall, w.hosts[0].qp.Counters().LocalAckTimeoutErr)
		if limit := 2*Time(sc.mp.MinRTO) + faultRTT; *stall > limit {
			t.Errorf("bursts of %d: stalled for %v, want at most %v", length, *stall, limit)
		}
	}
}

// testEveryNthLost: go-back-N alone would lose the same packet for ever if the
// loss fell into step with it.
func testEveryNthLost(t *testing.T) {
	for _, rc := range []bool{false, true} {
		sc := bulk(32, 65536)
		sc.setLinks(linkSpec{delay: faultRTT / 2, nsPerByte: 0.8, everyNth: 256})
		if rc {
			sc.asRC()
		}
		var stall *Time
		mustRun(t, sc, func(w *world) { stall = watchStalls(w) })
		if *stall > 10*faultRTT && !rc {
			t.Errorf("nothing arrived for %v", *stall)
		}
	}
}

// testTailLoss: the last packet, or the last acknowledgement, of a message is
// lost once. A few round trips repair it, without the retransmission timeout.
func testTailLoss(t *testing.T) {
	for _, paper := range []bool{true, false} {
		for _, ack := range []bool{false, true} {
			sc := bulk(1, 8*1024)
			if paper {
				sc.asPaper()
			}
			dropped := false
			w := mustRun(t, sc, func(w *world) {
				w.filter = func(from *host, p *Packet) int {
					last := p.Opcode == wire.MPBit|wire.WriteLast
					if isMPAck(p) {
						last = p.Ack.SACK == sc.attr[0].SendPSN.Add(7)
					} else if p.Opcode == wire.MPAcknowledgeBatch {
						last = p.Batch.AACK == sc.attr[0].SendPSN.Add(8)
					}
					if !dropped && last && (from.index == 1) == ack {
						dropped = true
						return 0
					}
					return 1
				}
			})
			c := w.hosts[0].qp.Counters()
			if took := w.elapsed() - faultRTT; !dropped || took > 3*faultRTT || c.LocalAckTimeoutErr != 0 {
				t.Errorf("paper %v, ACK %v: dropped %v, repaired in %v after %d timeouts", paper, ack, dropped, took, c.LocalAckTimeoutErr)
			}
		}
	}
}

// testRetransmissionsLost: everything is lost until n acknowledgement timeouts
// have passed. Up to the retry count that is survived, and beyond it fails exactly
// once, at the same time whatever the kind of queue pair.
func testRetransmissionsLost(t *testing.T) {
	for _, rc := range []bool{false, true} {
		for _, n := range []Time{0, 1, 3, 7, 9} {
			sc := bulk(2, 4096)
			if rc {
				sc.asRC()
			}
			if n == 9 {
				sc.expected = []Status{RetryExcErr}
			}
			timeout := sc.attr[0].ackTimeout()
			started, failedAt := Time(0), Time(0)
			w := mustRun(t, sc, func(w *world) {
				w.filter = func(from *host, p *Packet) int {
					if started == 0 {
						started = w.now
					}
					if from.index == 0 && w.now < started+n*timeout {
						return 0
					}
					return 1
				}
				w.onStep = func(w *world) {
					if failedAt == 0 && w.hosts[0].qp.State() == Err {
						failedAt = w.now
					}
				}
			})
			if failed := w.hosts[0].failed; failed != (n == 9) {
				t.Errorf("rc %v: after %d timeouts failed: %v", rc, n, failed)
			}
			if after := failedAt - started; n == 9 && (after < 8*timeout || after > 8*timeout+timeout/2) {
				t.Errorf("rc %v: failed after %v, want eight times %v", rc, after, timeout)
			}
		}
	}
}

// testOneDirectionLoss loses only acknowledgements, or only data. That nothing
// is executed twice is a check of every run.
func testOneDirectionLoss(t *testing.T) {
	for _, rc := range []bool{false, true} {
		for seed := range uint64(20) {
			for _, l := range []linkSpec{{ackLoss: 0.5}, {dataLoss: 0.2}} {
				sc := bulk(60, 0)
				sc.seed, sc.kinds, sc.maxSize = seed, allKinds, 8000
				l.delay, l.nsPerByte = faultRTT/2, 0.8
				sc.setLinks(l)
				if rc {
					// Where every second ACK is lost, eight in a row are once in a while.
					sc.asRC().expected = []Status{RetryExcErr}
				}
				mustRun(t, sc, nil)
			}
		}
	}
}
