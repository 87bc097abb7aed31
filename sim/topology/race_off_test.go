//go:build !race

package topology_test

// raceEnabled: every access to memory is many times slower.
const raceEnabled = false
