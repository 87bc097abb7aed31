package scenario

import (
	"fmt"

	"github.com/braid-rdma/braid/sim"
	"github.com/braid-rdma/braid/transport"
)

// checkTransports checks the transports, each by its name.
func (c *checker) checkTransports() {
	for _, name := range sortedKeys(c.Transports) {
		c.checkTransport("transports."+name, c.Transports[name])
	}
	c.checkWindow()
}

func (c *checker) checkTransport(field string, t *Transport) {
	c.within(field+".qps", t.QPs, 0, 1024)
	c.within(field+".depth", t.Depth, 0, 4096)
	c.within(field+".host-depth", t.HostDepth, 0, 1<<20)
	c.within(field+".ack-timeout", t.AckTimeout, 0, 31)
	c.within(field+".retry", t.Retry, 0, 7)
	c.within(field+".chunk", int(t.Chunk), 0, 1<<30)
	if t.MP != nil {
		c.checkMP(field, t.MP)
	} else {
		c.checkRC(field, t.RC)
	}
}

func (c *checker) checkMP(field string, m *MP) {
	if m.Slots < 2 || m.Slots > transport.MaxTrackingSlots || m.Slots&(m.Slots-1) != 0 {
		c.wrong(field+".slots", m.Slots, fmt.Sprint("a power of two from 2 to ", transport.MaxTrackingSlots))
	} else if m.Delta < 0 || m.Delta > m.Slots {
		c.wrong(field+".delta", m.Delta, fmt.Sprintf("0 (no control of the order) to slots, which is %d", m.Slots))
	}
	c.share(field+".probe", m.Probe)
	if !(m.Alpha >= 0 && m.Alpha <= 100) {
		c.wrong(field+".alpha", m.Alpha, "a number from 0 to 100")
	}
	c.within(field+".max-window", m.MaxWindow, 1, transport.MaxTrackingSlots)
	if m.InitialWindow < 1 || m.InitialWindow > m.MaxWindow {
		c.wrong(field+".initial-window", m.InitialWindow, fmt.Sprintf("1 to max-window, which is %d", m.MaxWindow))
	}
	c.within(field+".run", m.Run, 1, transport.MaxTrackingSlots)
	if m.EarlyRetransmit < 0 {
		c.wrong(field+".early-retransmit", m.EarlyRetransmit, "a number of round trips, not negative")
	}
	c.atLeastNanosecond(field+".min-rto", m.MinRTO)
	c.atLeastNanosecond(field+".initial-rtt", m.InitialRTT)
	if m.Paths > c.Fabric.Paths {
		c.wrong(field+".paths", m.Paths, fmt.Sprintf("at most fabric.paths, which is %d", c.Fabric.Paths))
	}
}

// atLeastNanosecond demands a time that the transport's clock can show.
func (c *checker) atLeastNanosecond(field string, t sim.Time) {
	if t < sim.Nanosecond {
		c.wrong(field, timeText(t), "a time of at least 1ns")
	}
}

func (c *checker) checkRC(field string, r *RC) {
	c.within(field+".overhead", int(r.Overhead), 0, 1024)
	c.within(field+".window", r.Window, 0, transport.MaxTrackingSlots)
	// The line rate is that of the hosts unless it is given; any will do to check
	// the rest.
	const someRate = 100_000_000_000
	if set := dcqcnSets[r.Rate]; set != nil {
		if err := r.DCQCN.parameters(set, someRate).Check(); err != nil {
			c.wrong(field+".dcqcn", nil, "parameters that fit: "+err.Error())
		}
	} else if r.DCQCN != (DCQCN{}) {
		c.wrong(field+".dcqcn", nil, "none, because the rate control is "+r.Rate)
	}
}

// checkWindow demands that there is one receiver's window for all: it is the
// NICs that have it, not the connections.
func (c *checker) checkWindow() {
	window := c.receiverWindow()
	if window == 0 {
		return
	}
	for _, name := range sortedKeys(c.Transports) {
		t := c.Transports[name]
		if t.RC == nil || t.RC.Window != window {
			c.wrong("transports."+name, "no window or another one",
				fmt.Sprintf("the window of %d packets for all transports, because the NICs have it", window))
		}
	}
}
