package sim

import "math"

// DefaultReaction is what the driver of a common NIC (mlx5) reckons with beside cable and
// packets, 301 bytes per Gb/s: the way of a PFC frame through both MACs and PHYs, and the
// time until the scheduler obeys. The standard allows 1.2 to 3.1 µs, by rate, for the
// latter alone (IEEE 802.3 31B.3.7: 60 quanta at 10 Gb/s, 394 at 100 Gb/s).
const DefaultReaction = 2408 * Nanosecond

// Headroom is how many bytes can arrive over a link of a rate, in bits per second, and a
// delay after a switch found that it has to stop the sender: the packet that it found it
// by; what the sender sends while XOFF waits for a packet that has just begun and for the
// frames of other priorities, travels and is obeyed, and what is on its way then; and
// the packet that the sender has begun by that time. Packets have up to packet bytes on
// the link.
func Headroom(rate int64, delay, reaction Time, packet int) int {
	return bytesIn(rate, 2*delay+reaction) + 3*packet + priorities*pauseFrameSize
}

// HeadroomMLX5 is the headroom by mlx5's driver for a cable of a length in metres: it
// reckons with packets of mtu bytes and reaction times of its own.
func HeadroomMLX5(rate int64, metres float64, mtu int) int {
	return int(math.Ceil((301+2.16*metres)*float64(rate)/1e9 + 2.72*float64(mtu)))
}

// HeadroomHPCC is the headroom of HPCC's simulator, whose packets are short against what
// is on a link.
func HeadroomHPCC(rate int64, delay Time) int { return bytesIn(rate, 3*delay) }

// HeadroomConWeave is the headroom of ConWeave's simulator.
func HeadroomConWeave(rate int64, delay Time, mtu int) int {
	return bytesIn(rate, 2*delay) + 2*mtu
}

// CableDelay is how long light takes through a fibre of a length in metres: 5 ns for each.
func CableDelay(metres float64) Time { return Time(metres * float64(5*Nanosecond)) }

// bytesIn is how many bytes a link of a rate sends in a time.
func bytesIn(rate int64, d Time) int {
	return int(math.Ceil(float64(rate) / 8 * d.Seconds()))
}
