//go:build !race

package sim

// raceEnabled: every access to memory is many times slower.
const raceEnabled = false
