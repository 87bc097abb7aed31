package scenario

import (
	"fmt"

	"github.com/braid-rdma/braid/sim"
)

// Receiver is a host whose NIC takes packets out of its receive buffer slowly.
type Receiver struct {
	Host   int
	At     sim.Time // when it becomes slow
	Until  sim.Time // when it is fast again; 0: never
	Rate   Rate     // 0: it takes none
	Buffer Bytes    // 0: 256KiB
	// XOFF is the bytes in the buffer above which it stops its switch; 0: what leaves
	// the headroom of the link.
	XOFF       Bytes `yaml:"xoff"`
	Hysteresis Bytes // from XOFF to XON; 0: 3KiB
}

func (c *checker) checkReceivers() {
	for i, r := range c.Receivers {
		field := fmt.Sprintf("receivers[%d]", i)
		c.within(field+".host", r.Host, 0, len(c.graph.Hosts)-1)
		if r.Until != 0 && r.Until <= r.At {
			c.wrong(field+".until", timeText(r.Until), "a time after "+timeText(r.At))
		}
		c.checkSizes(field, []size{{"buffer", r.Buffer}, {"xoff", r.XOFF}, {"hysteresis", r.Hysteresis}})
	}
}

// slowDown scripts the slow receivers.
func (s *Scenario) slowDown(n *sim.Network) error {
	for _, r := range s.Receivers {
		slow := sim.Receiver{Rate: int64(r.Rate), Buffer: int(r.Buffer), XOFF: int(r.XOFF), Hysteresis: int(r.Hysteresis)}
		if err := n.SlowReceiver(r.At, r.Host, slow, max(0, r.Until-r.At)); err != nil {
			return err
		}
	}
	return nil
}
