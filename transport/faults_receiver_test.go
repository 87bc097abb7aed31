package transport

import (
	"testing"

	"github.com/braid-rdma/braid/wire"
)

var receiverRows = []faultRow{
	{"row28_slow_receiver", testSlowReceiver},
	{"row29_receiver_not_ready", testReceiverNotReady},
	{"row30_full_windows", testFullWindows},
}

// testSlowReceiver: a program that posts receives far too late loses nothing.
// (That RNR does not occur at all is a promise of the layers above.)
func testSlowReceiver(t *testing.T) {
	for _, rc := range []bool{false, true} {
		sc := bulk(40, 3000)
		sc.kinds, sc.lateRecvs, sc.pace = []Op{OpSend, OpWriteImm}, true, 5*Millisecond
		if rc {
			sc.asRC()
		}
		mustRun(t, sc, nil)
	}
}

// testReceiverNotReady: without a receive a SEND is tried exactly RNRRetry
// times more, each after the wait that the peer asked for.
func testReceiverNotReady(t *testing.T) {
	const timerCode = 14 // 1.28 ms
	wait := Time(wire.RNRTimerNanos(timerCode))
	for _, rc := range []bool{false, true} {
		for retry := range uint8(7) {
			sc := bulk(3, 700)
			sc.kinds, sc.noRecvs, sc.expected = []Op{OpSend}, true, []Status{RNRRetryExcErr}
			sc.attr[0].RNRRetry, sc.attr[1].MinRNRTimer = retry, timerCode
			if rc {
				sc.asRC()
			}
			w := mustRun(t, sc, nil)
			c := w.hosts[0].qp.Counters()
			if !w.hosts[0].failed || w.elapsed() < Time(retry)*wait || w.elapsed() > Time(retry+1)*(wait+10*faultRTT) {
				t.Errorf("rc %v, %d retries: failed %v after %v", rc, retry, w.hosts[0].failed, w.elapsed())
			}
			if rc && c.RNRNaksReceived != uint64(retry)+1 {
				t.Errorf("%d retries: %d RNR NAKs", retry, c.RNRNaksReceived)
			}
		}
	}
}

// testFullWindows: both sides may have a single packet and a single READ
// outstanding, and both wait for each other.
func testFullWindows(t *testing.T) {
	for _, rc := range []bool{false, true} {
		sc := bulk(40, 0)
		sc.ops[1], sc.depth, sc.window = 40, 1, 1
		sc.kinds, sc.maxSize = allKinds, 3000
		sc.mp.InitialWindow, sc.mp.MaxWindow, sc.mp.MaxWindowBytes = 1, 1, 0
		for i := range sc.attr {
			sc.attr[i].Reads, sc.attr[i].ReadsServed, sc.attr[i].Window = 1, 1, 1
		}
		if rc {
			sc.asRC()
		}
		mustRun(t, sc, nil)
	}
}
