package sim

import (
	"fmt"

	"github.com/braid-rdma/braid/transport"
)

func (c *SwitchConfig) check() error {
	if c.Buffer < 1<<14 || c.Buffer >= 1<<31 {
		return fmt.Errorf("%w: a buffer of %d bytes, must be 16 KiB to 2 GiB", ErrConfig, c.Buffer)
	}
	if err := c.PFC.check(); err != nil {
		return err
	}
	if len(c.Weights) > priorities {
		return fmt.Errorf("%w: %d weights for %d priorities", ErrConfig, len(c.Weights), priorities)
	}
	for p, w := range c.Weights {
		if w < 1 || w > 1000 {
			return fmt.Errorf("%w: weight %d of priority %d, must be 1 to 1000", ErrConfig, w, p)
		}
	}
	c.PFC.withDefaults()
	return c.Marking.prepare()
}

func (c *SwitchConfig) newShares() *shares {
	if len(c.Weights) == 0 {
		return nil
	}
	s := &shares{}
	for p, w := range c.Weights {
		s.weights[p] = int32(w)
	}
	return s
}

// largestPacket is how long a packet may be, with its headers. Other traffic has
// packets of the standard's largest MTU, whatever that of MP is.
func largestPacket(mtu int) int { return max(mtu, transport.MaxMTU) + 200 }
