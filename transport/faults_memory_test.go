package transport

import "testing"

var memoryRows = []faultRow{
	{"row33_deregistered_in_flight", testDeregisteredInFlight},
	{"row34_bad_access", testBadAccess},
}

// testDeregisteredInFlight: after a region is gone no byte of it changes, and
// the writer is told of it.
func testDeregisteredInFlight(t *testing.T) {
	for _, rc := range []bool{false, true} {
		for _, kind := range []Op{OpWrite, OpRead} {
			sc := bulk(40, 50000)
			sc.kinds, sc.expected = []Op{kind}, []Status{RemAccessErr}
			if rc {
				sc.asRC()
			}
			var frozen []byte
			w := mustRun(t, sc, func(w *world) {
				w.onStep = func(w *world) {
					b := w.hosts[1]
					if frozen == nil && b.qp.Counters().PacketsReceived > 20 {
						region := b.model.window
						if kind == OpRead {
							region = b.model.pattern
						}
						b.mem.deregister(region)
						frozen = append([]byte{}, b.model.window.Bytes...)
					}
				}
			})
			if !w.hosts[0].failed || string(frozen) != string(w.hosts[1].model.window.Bytes) {
				t.Errorf("rc %v, %v: failed %v, memory changed %v", rc, kind, w.hosts[0].failed, string(frozen) != string(w.hosts[1].model.window.Bytes))
			}
		}
	}
}

// testBadAccess: each way to reach what one may not reach.
func testBadAccess(t *testing.T) {
	for _, c := range []struct {
		name   string
		tamper func(wr *SendWR, b *model)
	}{
		{"one byte beyond", func(wr *SendWR, b *model) { wr.RemoteAddr = b.window.Base + b.window.Length - 5000 + 1 }},
		{"one byte before", func(wr *SendWR, b *model) { wr.RemoteAddr = b.window.Base - 1 }},
		{"address and length overflow", func(wr *SendWR, _ *model) { wr.RemoteAddr = ^uint64(0) - 100 }},
		{"wrong key", func(wr *SendWR, _ *model) { wr.RKey ^= 0x5a5a }},
		{"wrong right", func(wr *SendWR, b *model) { wr.RKey, wr.RemoteAddr = b.pattern.RKey, b.pattern.Base }},
	} {
		for _, rc := range []bool{false, true} {
			sc := bulk(3, 5000)
			sc.expected = []Status{RemAccessErr}
			if rc {
				sc.asRC()
			}
			var w *world
			sc.tamper = func(wr *SendWR) { c.tamper(wr, &w.hosts[1].model) }
			w = newWorld(sc)
			if err := w.run(); err != nil {
				t.Errorf("%s, rc %v: %v", c.name, rc, err)
				continue
			}
			b := w.hosts[1]
			if !w.hosts[0].failed || b.qp.Counters().AccessErrors == 0 {
				t.Errorf("%s, rc %v: failed %v, %d access errors", c.name, rc, w.hosts[0].failed, b.qp.Counters().AccessErrors)
			}
			b.checkZero(b.model.window.Bytes, "memory after a refused access")
		}
	}
}
