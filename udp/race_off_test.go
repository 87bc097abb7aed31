//go:build !race

package udp

// raceEnabled: the race detector slows tests down and takes memory.
const raceEnabled = false
