package transport

import (
	"slices"
	"testing"
	"time"

	"github.com/braid-rdma/braid/wire"
)

// TestHostileWork shows that the work for a packet does not grow with what a liar
// has sent before. It takes the time of blocks of packets; the fastest of the
// early ones and of the late ones are compared, since noise only adds.
func TestHostileWork(t *testing.T) {
	const (
		blocks    = 40
		perBlock  = 500
		warm      = 2
		tolerated = 10 // times: a list that is searched gives hundreds
	)
	for _, kind := range []struct {
		name string
		rc   bool
	}{{"RC", true}, {"MP", false}} {
		for _, l := range liesTo(kind.rc) {
			t.Run(kind.name+"/"+l.name, func(t *testing.T) {
				s := &hostileScenario{seed: 1, rc: kind.rc, options: WireOptions(), lies: []*lie{l}, interval: 1, burst: 1, truth: 1, withhold: true}
				w := newHostileWorld(s, true)
				early, late := time.Hour, time.Hour
				err := w.guard(func() {
					for block := range blocks {
						took := w.timeBlock(perBlock)
						switch {
						case block >= warm && block < blocks/4:
							early = min(early, took)
						case block >= 3*blocks/4:
							late = min(late, took)
						}
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				if late > tolerated*early && late > tolerated*perBlock*100*time.Nanosecond {
					t.Errorf("%d packets took %v in the beginning and %v after %d", perBlock, early, late, blocks*perBlock)
				}
			})
		}
	}
}

// timeBlock measures how long the device's end takes for packets of the liar, of
// which an engine under load sends few answers.
func (w *hostileWorld) timeBlock(packets int) (took time.Duration) {
	d, l := w.device, w.liar
	letters := make([]*letter, 0, packets)
	for len(letters) < packets {
		x := l.lies[0].tell(l)
		if x == nil {
			x = l.write(1)
		}
		x.to = d.hostile
		l.log = append(l.log[:len(l.log)%256], x)
		letters = append(letters, x)
	}
	start := time.Now()
	for i, x := range letters {
		w.now += packetCost
		d.hostile.handle(x)
		if i%packetsPerBatch != 0 {
			continue
		}
		for range packetsPerPort {
			d.hostile.qp.PollTransmit(w.now, &d.hostile.packet)
		}
	}
	took = time.Since(start)
	d.hostile.finish()
	return took
}

// TestMPWorkForPacketsInAnyOrder fills the bitmap behind a head that is withheld, with READ requests, which need no
// receive: in order and from the far end backwards. Either way the work for a packet is the same. Of each block of packets the
// fastest try counts: a block is short enough that few of them lose the processor to another program.
func TestMPWorkForPacketsInAnyOrder(t *testing.T) {
	const (
		tries     = 5
		perBlock  = 256
		blocks    = MaxTrackingSlots / perBlock
		tolerated = 10 // times: records that are kept in order by moving them give more than a hundred
	)
	fill := func(fastest *[blocks]time.Duration, backwards bool) {
		q := newMPTest(t, func(o *MPOptions) { o.Slots, o.BatchAcks = MaxTrackingSlots, true })
		packets := make([]Packet, MaxTrackingSlots-1)
		for i := range packets {
			packets[i] = q.peerRequest(wire.ReadRequest, i+1, 0, 0, 64).Packet
		}
		if backwards {
			slices.Reverse(packets)
		}
		for block := range fastest {
			start := time.Now()
			for i := block * perBlock; i < min((block+1)*perBlock, len(packets)); i++ {
				q.mp.HandlePacket(q.now, &packets[i])
			}
			if took := time.Since(start); fastest[block] == 0 || took < fastest[block] {
				fastest[block] = took
			}
		}
		if got := q.mp.Counters().OOOAccepted; got != MaxTrackingSlots-1 {
			t.Fatalf("%d packets were accepted, %d sent", got, MaxTrackingSlots-1)
		}
	}
	var forwards, backwards [blocks]time.Duration
	for range tries {
		fill(&forwards, false)
		fill(&backwards, true)
	}
	inOrder, reversed := sum(forwards[:]), sum(backwards[:])
	if reversed > tolerated*inOrder {
		t.Errorf("%d packets took %v in order and %v backwards", MaxTrackingSlots-1, inOrder, reversed)
	}
	t.Logf("in order %v, backwards %v", inOrder, reversed)
}

func sum(durations []time.Duration) (all time.Duration) {
	for _, d := range durations {
		all += d
	}
	return all
}
