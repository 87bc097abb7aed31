package outoforder

// FairDegree is the out-of-order degree that arithmetic expects of the degraded
// link: how many packets a connection with a fair share of all paths sends while a
// packet waits in a queue of so many bytes at 1 Gb/s.
func FairDegree(queueBytes int) float64 {
	const (
		connections = 5
		healthy     = 3 * 40e9
		packetBits  = 8 * (1024 + overhead)
	)
	wait := float64(queueBytes) * 8 / degradedRate
	return wait * (healthy + degradedRate) / connections / packetBits
}
