package sim

import (
	"fmt"

	"github.com/braid-rdma/braid/transport"
)

func (c *SwitchConfig) check() error {
	if c.Buffer < 1<<14 || c.Buffer >= 1<<31 {
		return fmt.Errorf("%w: a buffer of %d bytes, must be 16 KiB to 2 GiB", ErrConfig, c.Buffer)
	}
	if c.PFC.Headroom < 0 || c.PFC.XOFF < 0 || c.PFC.Hysteresis < 0 || c.PFC.Watchdog < 0 {
		return fmt.Errorf("%w: PFC thresholds must not be negative", ErrConfig)
	}
	if c.PFC.Quanta < EndlessPause || c.PFC.Quanta > longestPause {
		return fmt.Errorf("%w: a pause of %d quanta, must be 1 to %d", ErrConfig, c.PFC.Quanta, longestPause)
	}
	if len(c.Weights) > priorities {
		return fmt.Errorf("%w: %d weights for %d priorities", ErrConfig, len(c.Weights), priorities)
	}
	for p, w := range c.Weights {
		if w < 1 || w > 1000 {
			return fmt.Errorf("%w: weight %d of priority %d, must be 1 to 1000", ErrConfig, w, p)
		}
	}
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

// reserve sets aside the headroom: what still arrives from a port after XOFF was
// sent, while the frame travels and what was on the way comes in, of packets that
// carry up to mtu bytes.
func (s *fabricSwitch) reserve(mtu int) {
	s.total = int32(s.cfg.Buffer)
	s.buffer = s.total
	if !s.cfg.PFC.On {
		return
	}
	if s.cfg.PFC.Shift == 0 && s.cfg.PFC.XOFF == 0 {
		s.cfg.PFC.Shift = defaultPFCShift
	}
	if s.cfg.PFC.Hysteresis == 0 {
		s.cfg.PFC.Hysteresis = defaultHysteresis
	}
	room := 0
	for _, port := range s.ports {
		headroom := s.cfg.PFC.Headroom
		if headroom == 0 {
			headroom = int(uint64(2*port.speed.delay)<<16/port.speed.perByte) + 4*largestPacket(mtu)
		}
		room += headroom
	}
	// A buffer that headroom alone would fill still has to forward something.
	s.buffer = max(s.total-int32(room), s.total/4)
}

const (
	defaultPFCShift   = 3
	defaultHysteresis = 3 << 10
)

// largestPacket is how long a packet may be, with its headers. Other traffic has
// packets of the standard's largest MTU, whatever that of MP is.
func largestPacket(mtu int) int { return max(mtu, transport.MaxMTU) + 200 }
